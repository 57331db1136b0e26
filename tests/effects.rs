//! The effects part of a release, as a user meets it.

mod common;

use common::Scratch;

const EFFECTS_ONLY: &str =
    "format: dpcausal.workload/1\nmechanism: causal\neffects: {share: 1, squares: [age]}\n";

/// Of the outcome, which lies between 0 and 60,000 dollars.
const HALF_RANGE: f64 = 30_000.0;

/// A scratch folder whose schema says `observational`, with a release of effects alone.
fn observational(epsilon: f64) -> Scratch {
    let scratch = Scratch::new();
    let schema = String::from_utf8(scratch.read("schema.yaml")).expect("text");
    let changed = schema.replace("design: randomised", "design: observational");
    assert_ne!(schema, changed);
    scratch.write("schema.yaml", changed);
    scratch.write("workload.yaml", EFFECTS_ONLY);
    scratch.measure("release.json", epsilon);
    scratch
}

#[test]
fn a_randomised_design_is_a_difference_in_means_and_costs_no_more() {
    let scratch = Scratch::new();
    scratch.write("workload.yaml", EFFECTS_ONLY);
    // At so loose a budget the noise is a few percent of the sampling error.
    scratch.measure("release.json", 200.0);
    let page = scratch
        .run("analyze release.json --estimand ate --json -q")
        .json();
    let rows = page["effects"].as_array().expect("rows");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["estimator"], "difference-in-means");
    assert_eq!(rows[0]["route"], "effects");
    // The table's own is 1792.68 with a standard error of 671: a tenth of that is far more than the noise.
    let estimate = rows[0]["estimate"].as_f64().expect("a number");
    assert!((estimate - 1792.68).abs() < 67.0, "{estimate}");
}

#[test]
fn an_observational_design_is_adjusted_with_a_second_estimate_beside() {
    let scratch = observational(5.0);
    let page = scratch
        .run("analyze release.json --estimand ate,att,atc,arm-mean --json -q")
        .json();
    let rows = page["effects"].as_array().expect("rows");
    let of = |estimator: &str| rows.iter().filter(|r| r["estimator"] == estimator).count();
    assert_eq!((of("adjusted"), of("gram"), rows.len()), (5, 1, 6));
    for row in rows {
        let terms = row["variance_terms"].as_array().expect("terms");
        let sum: f64 = terms.iter().filter_map(|t| t["variance"].as_f64()).sum();
        let error = row["standard_error"].as_f64().expect("a number");
        assert!((sum.sqrt() / error - 1.0).abs() < 1e-9);
    }
    // What clipped outcomes may bias is what the release says of its clip, in the outcome's units: of effects and means alike.
    let release: serde_json::Value =
        serde_json::from_slice(&scratch.read("release.json")).expect("JSON");
    let excess = release["effects"]["parameters"]["residual_excess"].as_f64();
    let expected = (excess.expect("a number") * HALF_RANGE).powi(2);
    assert!(expected > 0.0);
    for row in rows {
        let terms = row["variance_terms"].as_array().expect("terms");
        let clipping = terms.iter().find(|t| t["source"] == "clipped outcomes");
        let found = clipping
            .and_then(|t| t["variance"].as_f64())
            .expect("a term");
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
    let again = scratch.run("analyze release.json --estimand ate,att,atc,arm-mean --json -q");
    assert_eq!(
        again.json()["effects"],
        page["effects"],
        "post-processing repeats"
    );
    let text = scratch.run("analyze release.json -q").text();
    assert!(text.contains("Where the variance comes from"), "{text}");
}

#[test]
fn what_an_effects_release_cannot_do_is_said_with_the_way_out() {
    let scratch = observational(2.0);
    let refused = |words: &str| {
        let output = scratch.run_for(words, 2);
        output
            .stderr
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    for words in [
        "reconstruct release.json -o synthetic.csv",
        "impute release.json -m 3 -o imputed.csv",
    ] {
        let message = refused(words);
        assert!(
            message.contains("dpcausal analyze") && message.contains("blocks"),
            "{message}"
        );
    }
    assert!(!scratch.path("synthetic.csv").exists());
    let message = refused("analyze release.json --estimator model");
    assert!(
        message.contains("add `blocks` to the workload"),
        "{message}"
    );
    let message = refused("analyze release.json --by married");
    assert!(message.contains("measured no leaf of married"), "{message}");
    let message = refused("analyze release.json --estimand risk-ratio");
    assert!(message.contains("re78"), "{message}");
    let message = refused("analyze release.json --estimator aipw");
    assert!(message.contains("impute"), "{message}");
}

#[test]
fn the_plan_shows_every_stage_and_the_ledger_its_cost() {
    let scratch = observational(1.0);
    let page = scratch
        .run("plan --schema schema.yaml --workload workload.yaml --epsilon 1 --json")
        .json();
    let lines = page["measurements"].as_array().expect("lines");
    let names: Vec<&str> = lines
        .iter()
        .filter_map(|l| l["measurement"].as_str())
        .collect();
    let expected = [
        "arms",
        "ranges",
        "scale",
        "spread",
        "outcome-means",
        "score-means",
        "imbalance",
        "cross",
        "covariance",
    ];
    assert_eq!(names, expected);
    let shares: f64 = lines.iter().filter_map(|l| l["share"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    let release = String::from_utf8(scratch.read("release.json")).expect("text");
    let release: serde_json::Value = serde_json::from_str(&release).expect("JSON");
    let epsilon = release["accounting"]["epsilon"].as_f64().expect("a number");
    assert!(epsilon <= 1.0 + 1e-6 && epsilon > 0.99, "{epsilon}");
}

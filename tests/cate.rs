//! Conditional effects, as a user meets them, and their error on simulated setups.

mod common;
#[path = "../benchmarks/study/harness/cate/simulated/mod.rs"]
#[allow(dead_code, reason = "these tests have workloads of their own")]
mod simulated;

use common::Scratch;
use dpcausal::privacy::Budget;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use simulated::setups::Setup;
use simulated::{Found, PairErrors, Task};

const WORKLOAD: &str = "format: dpcausal.workload/1\nmechanism: cate\n";

fn measured(epsilon: f64) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("workload.yaml", WORKLOAD);
    scratch.measure("release.json", epsilon);
    scratch
}

#[test]
fn a_release_gives_average_shapes_rows_and_a_picture() {
    let scratch = measured(5.0);
    let page = scratch
        .run("analyze release.json --rows lalonde.csv --by married --svg shapes.svg --html shapes.html --json -q")
        .json();
    let rows = page["rows"]["effects"].as_array().expect("effects");
    assert_eq!(rows.len(), 445);
    let groups = page["rows"]["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 2);
    let counted: u64 = groups.iter().filter_map(|g| g["rows"].as_u64()).sum();
    assert_eq!(counted, 445);
    assert!(page["shapes"].as_array().expect("shapes").len() >= 6);
    let picture = String::from_utf8(scratch.read("shapes.svg")).expect("text");
    assert!(picture.contains("<polyline") && picture.contains("married"));
    let html = String::from_utf8(scratch.read("shapes.html")).expect("text");
    for part in [
        "average (",
        "<svg",
        "What each covariate adds",
        "Terms of the release",
    ] {
        assert!(html.contains(part), "{part}");
    }
    let text = scratch.run("analyze release.json -q").text();
    assert!(
        text.contains("No intervals") && text.contains("What age adds"),
        "{text}"
    );
}

#[test]
fn a_release_holds_no_exact_number() {
    let scratch = measured(5.0);
    let release = String::from_utf8(scratch.read("release.json")).expect("text");
    let page: serde_json::Value = serde_json::from_str(&release).expect("JSON");
    for measured in page["measurements"].as_array().expect("measurements") {
        assert!(measured["scale"].as_u64().expect("a scale") > 1000);
        assert!(
            measured["cost"]["gaussian_mu_squared"]
                .as_f64()
                .expect("a charge")
                > 0.0
        );
    }
}

#[test]
fn other_verbs_say_what_to_run_instead() {
    let scratch = measured(5.0);
    for verb in ["reconstruct", "impute"] {
        let message = scratch.run_for(&format!("{verb} release.json"), 2).stderr;
        assert!(
            message.contains("dpcausal analyze RELEASE --rows TABLE"),
            "{message}"
        );
    }
    let message = scratch
        .run_for("analyze release.json --by married", 2)
        .stderr;
    assert!(message.contains("--rows FILE"), "{message}");
    let message = scratch
        .run_for(
            "analyze lalonde.csv --schema schema.yaml --rows lalonde.csv",
            2,
        )
        .stderr;
    assert!(message.contains("mechanism: cate"), "{message}");
}

#[test]
fn the_plan_shows_every_stage() {
    let scratch = Scratch::new();
    scratch.write("workload.yaml", WORKLOAD);
    let page = scratch
        .run("plan --schema schema.yaml --workload workload.yaml --epsilon 1 --json")
        .json();
    let stages = page["stages"].as_array().expect("stages");
    assert_eq!(stages.len(), 5);
    let spent: f64 = stages.iter().filter_map(|s| s["mu_squared"].as_f64()).sum();
    let mu = page["mu"].as_f64().expect("mu");
    assert!((spent / (mu * mu) - 1.0).abs() < 1e-9);
}

/// The errors of so many pairs of tables of a setup, at so many test rows; with each pair's mean bias of the average.
fn errors(
    letter: char,
    workload: &str,
    [n, test_rows, pairs]: [usize; 3],
    epsilon: f64,
) -> Vec<(PairErrors, f64)> {
    let setup = Setup(letter);
    let schema = setup.schema_text("observational");
    let sample = |n: usize, seed: u64| setup.sample(n, &mut ChaCha8Rng::seed_from_u64(seed));
    let test = sample(test_rows, 7);
    let mean = test.effects.iter().sum::<f64>() / test_rows as f64;
    let found = |seed: u64| -> Found {
        let task = Task {
            schema: &schema,
            workload,
            budget: Budget::approximate(epsilon, 1e-5).expect("a budget"),
            seed: seed + 1_000_000,
        };
        let found = task.effects(sample(n, seed).table, &test.table);
        found.expect("effects")
    };
    (0..pairs as u64)
        .map(|k| {
            let pair = [found(2 * k), found(2 * k + 1)];
            let bias = (pair[0].average + pair[1].average) / 2.0 - mean;
            (PairErrors::of(&pair, &test.effects), bias)
        })
        .collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Means of four repetitions are below the error of the best public learner at 16 000 records (of DP-CATE's code,
/// interpret 0.7.8 and doubly robust regressions on second moments), which is two to six times as large; a mean of four
/// varies by less than a third of itself.
#[test]
fn effects_err_less_than_public_learners() {
    for (letter, epsilon, best) in [('B', 4.0, 0.034), ('D', 4.0, 0.37), ('E', 1.0, 1.17)] {
        let errors = errors(letter, WORKLOAD, [16_000, 5000, 2], epsilon);
        let mse = mean(errors.iter().map(|(e, _)| e.mse));
        assert!(mse < best, "{letter}: {errors:?} against {best}");
        for (error, _) in &errors {
            assert!(error.variance() >= 0.0 && error.squared_bias <= error.mse);
        }
        // The implied average is off by less than the effect at a typical row.
        let bias = mean(errors.iter().map(|(_, bias)| *bias));
        assert!(bias * bias < best, "{letter}: {errors:?}");
    }
}

/// `compat: published` errs as the paper's own figures say (2000 records, epsilon 4): 1.88 in setup B and 3.86 in D. Its errors
/// vary by .72 and 1.08 between repetitions, so a mean of ten is within .95 and 1.4 of them but for one time in 10^4. The corrected
/// learner errs a third as much, or less than half.
#[test]
fn the_published_code_errs_as_published() {
    for (letter, published, most) in [('B', 1.88, 0.95), ('D', 3.86, 1.4)] {
        let error = |keys: &str| {
            let workload = format!("{WORKLOAD}learner: dr\nbase: ebm\n{keys}");
            let errors = errors(letter, &workload, [2000, 2000, 5], 4.0);
            mean(errors.iter().map(|(e, _)| e.mse))
        };
        let compat = error("compat: published\n");
        assert!(
            (compat - published).abs() < most,
            "{letter}: {compat} for {published}"
        );
        let corrected = error("");
        assert!(
            corrected < 0.5 * compat,
            "{letter}: {corrected} against {compat}"
        );
    }
}

/// Each learner goes from plan to analysis, says on screen what it is, and reads its own release alone.
#[test]
fn learners_that_split_the_sample_go_through_the_verbs() {
    for (keys, name, stages) in [
        ("learner: dr\n", "dr (second moments, hats)", 3),
        ("learner: dr\nbase: ebm\n", "dr (boosted step functions)", 5),
        (
            "learner: r\nbasis: linear\n",
            "r (second moments, lines)",
            3,
        ),
        (
            "learner: s\nbasis: one-hot\n",
            "s (second moments, bins)",
            1,
        ),
    ] {
        let scratch = Scratch::new();
        scratch.write("workload.yaml", format!("{WORKLOAD}{keys}"));
        let plan = "plan --schema schema.yaml --workload workload.yaml --epsilon 5";
        let page = scratch.run(&format!("{plan} --json")).json();
        assert_eq!(page["stages"].as_array().expect("stages").len(), stages);
        assert!(scratch.run(plan).text().contains("parallel composition"));
        scratch.measure("release.json", 5.0);
        let text = scratch.run("analyze release.json -q").text();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(name), "{text}");
        assert_eq!(text.contains("same for everyone"), name.starts_with('s'));
        assert_eq!(text.contains("costliest"), !name.starts_with('s'), "{text}");
        let rows = "analyze release.json --rows lalonde.csv --by married --svg s.svg --json -q";
        let page = scratch.run(rows).json();
        assert_eq!(
            page["rows"]["effects"].as_array().expect("effects").len(),
            445
        );
        assert_eq!(page["is_constant"], name.starts_with('s'));
    }
}

/// A trial with its propensity stated gets intervals, named for what they are for; the published code's release says what it
/// is in the file and on screen, and no ledger takes it.
#[test]
fn intervals_and_the_mark_of_the_published_code_are_printed() {
    let scratch = Scratch::new();
    let schema = String::from_utf8(scratch.read("schema.yaml")).expect("text");
    let start = "format: dpcausal.schema/1\n";
    let plain: String = schema
        .lines()
        .filter(|l| !l.starts_with("design"))
        .fold(String::new(), |text, line| text + line + "\n");
    let stated = plain.replace(
        start,
        &format!("{start}design: {{propensity: [.58, .42]}}\n"),
    );
    scratch.write("schema.yaml", stated);
    scratch.write(
        "workload.yaml",
        format!("{WORKLOAD}learner: dr\nbasis: linear\n"),
    );
    scratch.measure("release.json", 20.0);
    let text = scratch.run("analyze release.json --level .9 -q").text();
    assert!(
        text.contains("Intervals at 90 %, of the projection"),
        "{text}"
    );
    let page = scratch.run("analyze release.json --json -q").json();
    let average = &page["projection"]["average"];
    assert!(
        average["lower"].as_f64() < average["upper"].as_f64(),
        "{page}"
    );

    scratch.write("schema.yaml", plain);
    scratch.write(
        "workload.yaml",
        format!("{WORKLOAD}learner: dr\nbase: ebm\ncompat: published\n"),
    );
    let measure = "measure lalonde.csv --schema schema.yaml --workload workload.yaml --epsilon 5 --delta 1e-5 -o r.json";
    let stderr = scratch.run(measure).stderr;
    assert!(stderr.contains("NOT PRIVATE"), "{stderr}");
    let release = String::from_utf8(scratch.read("r.json")).expect("text");
    assert!(release.contains("\"guarantee\": \"NOT PRIVATE"));
    assert!(
        scratch
            .run("analyze r.json -q")
            .text()
            .contains("NOT PRIVATE")
    );
    let plan = "plan --schema schema.yaml --workload workload.yaml --epsilon 5 --delta 1e-5";
    assert!(scratch.run(plan).text().contains("NOT PRIVATE"));
    let message = scratch
        .run_for(&format!("{measure} --ledger l.jsonl"), 2)
        .stderr;
    assert!(message.contains("a ledger can't account"), "{message}");
}

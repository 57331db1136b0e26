//! `analyze --by` and the further estimands, as a user asks for them.

mod common;

use common::Scratch;
use serde_json::Value;

/// The rows of an estimator in one subgroup.
fn rows<'a>(page: &'a Value, estimator: &str, level: Option<&str>) -> Vec<&'a Value> {
    let rows = page["effects"].as_array().expect("rows");
    rows.iter()
        .filter(|r| r["estimator"] == estimator && r["subgroup"]["level"].as_str() == level)
        .collect()
}

fn number(row: &Value, field: &str) -> f64 {
    row[field]
        .as_f64()
        .unwrap_or_else(|| panic!("{field} in {row}"))
}

/// The release's subgroups are those of the model: a large table sampled from the base fit gives the same
/// regressions, within five of its standard errors and the noise of the draws (false alarm below 1e-5 over
/// all rows).
#[test]
fn subgroups_of_a_release_are_those_of_a_table_from_its_model() {
    let scratch = Scratch::new();
    scratch.measure("release.json", 100.0);
    scratch.run("reconstruct release.json --rows 200000 -q -o synthetic.parquet");
    let ask =
        "--by married,nodegree --estimand ate,att,atc,arm-mean --estimator regression --json -q";
    let released = scratch
        .run(&format!("analyze release.json -m 20 {ask}"))
        .json();
    let sampled = scratch
        .run(&format!("analyze synthetic.parquet {ask}"))
        .json();
    let all = |page: &Value| page["effects"].as_array().cloned().expect("rows");
    let (released, sampled) = (all(&released), all(&sampled));
    assert_eq!((released.len(), sampled.len()), (25, 25));
    for (a, b) in released.iter().zip(&sampled) {
        for field in ["estimand", "contrast", "population", "subgroup"] {
            assert_eq!(a[field], b[field]);
        }
        let error = number(b, "standard_error").hypot(number(a, "privacy_variance").sqrt());
        let difference = number(a, "estimate") - number(b, "estimate");
        assert!(difference.abs() < 5.0 * error, "{difference} {error} {a}");
    }
    let records: f64 = (released.iter())
        .filter(|r| r["subgroup"]["column"] == "married" && r["estimand"] == "ate")
        .map(|r| number(r, "n"))
        .sum();
    assert!((records - 445.0).abs() < 1e-6, "{records}");
}

#[test]
fn what_was_not_measured_is_refused_with_the_line_that_would() {
    let scratch = Scratch::new();
    let workload = String::from_utf8(scratch.read("workload.yaml")).expect("text");
    let narrow = workload.replace(
        "share: 0.53, columns: all",
        "share: 0.53, columns: [married]",
    );
    assert_ne!(narrow, workload);
    scratch.write("workload.yaml", narrow);
    scratch.measure("release.json", 5.0);
    let refused = scratch.run_for("analyze release.json --by age", 2).stderr;
    let flat = refused.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "measured no leaf of age",
        "columns: [married, age]",
        "measure again",
    ] {
        assert!(flat.contains(part), "{part}: {refused}");
    }
    // Age stands in a pair, so imputed tables hold it: they say what was measured.
    scratch.run("impute release.json -m 2 -q -o imputed.parquet");
    let refused = scratch
        .run_for("analyze imputed.parquet --by age", 2)
        .stderr;
    assert!(refused.contains("no leaf of age"), "{refused}");
    let page = scratch.run("analyze imputed.parquet --by married --estimator regression --json");
    assert_eq!(rows(&page.json(), "regression", Some("1")).len(), 2);
    let refused = scratch.run_for("analyze release.json --by treat", 2).stderr;
    assert!(refused.contains("it is the treatment"), "{refused}");
    let refused = scratch
        .run_for("analyze release.json --estimand risk-ratio", 2)
        .stderr;
    assert!(refused.contains("`re78` is numeric"), "{refused}");
}

/// LaLonde's outcome as employment: earnings above zero.
#[test]
fn a_two_level_outcome_has_risk_ratios() {
    let scratch = Scratch::new();
    let data = String::from_utf8(scratch.read("lalonde.csv")).expect("text");
    let mut lines = data.lines().map(|line| {
        let (rest, last) = line.rsplit_once(',').expect("columns");
        match last.parse::<f64>() {
            Ok(earnings) => format!("{rest},{}", u8::from(earnings > 0.0)),
            Err(_) => line.to_string(),
        }
    });
    let text = lines.by_ref().collect::<Vec<_>>().join("\n");
    scratch.write("lalonde.csv", text + "\n");
    let schema = String::from_utf8(scratch.read("schema.yaml")).expect("text");
    let outcome = schema.find("  - name: re78").expect("the outcome");
    let employed = "  - name: re78\n    role: outcome\n    type: boolean\n";
    let rest = schema[outcome..]
        .find("\nstructural_zeros")
        .map_or("", |at| &schema[outcome + at..]);
    scratch.write(
        "schema.yaml",
        format!("{}{employed}{rest}", &schema[..outcome]),
    );
    let workload = String::from_utf8(scratch.read("workload.yaml")).expect("text");
    let workload = workload
        .replace("  spread: {share: 0.03}", "")
        .replace("0.27", "0.30");
    scratch.write("workload.yaml", workload);
    scratch.measure("release.json", 20.0);
    let page = scratch
        .run("analyze release.json --estimand arm-mean,risk-ratio --estimator regression --by married --json -q")
        .json();
    for level in [None, Some("0"), Some("1")] {
        let rows = rows(&page, "regression", level);
        let [control, treated, ratio] = rows[..] else {
            panic!("{rows:?}");
        };
        assert_eq!(control["contrast"], "treat 0");
        assert_eq!(ratio["contrast"], "treat 1 / 0");
        assert_eq!(ratio["scale"], "log");
        // The exponential of a mean of logarithms, over draws that hardly differ.
        let expected = number(treated, "estimate") / number(control, "estimate");
        assert!(
            (number(ratio, "estimate") / expected - 1.0).abs() < 0.02,
            "{ratio}"
        );
        let ends = [0, 1].map(|end| ratio["interval"][end].as_f64().expect("an end"));
        let middle = (ends[0] * ends[1]).sqrt();
        assert!(
            (middle / number(ratio, "estimate") - 1.0).abs() < 1e-9,
            "{ratio}"
        );
    }
}

#[test]
fn levels_of_few_rows_are_named_beneath() {
    let scratch = Scratch::new();
    let page = scratch
        .run("analyze lalonde.csv --schema schema.yaml --by age --estimator regression,difference-in-means --svg forest.svg")
        .text();
    assert!(page.contains("Not estimated:"), "{page}");
    assert!(
        page.contains("age = 16..19") && !page.contains("NaN"),
        "{page}"
    );
    let picture = String::from_utf8(scratch.read("forest.svg")).expect("text");
    assert!(picture.contains("rows with age = 16..19"), "{picture}");
}

//! `plan --error-budget`: what a plan's intervals will be, from a schema or a public population.

mod common;

use common::Scratch;
use serde_json::Value;
use std::fmt::Write;

const SCHEMA: &str = "
format: dpcausal.schema/1
unit: {column: person, max_rows: 2}
columns:
  - {name: person, role: id}
  - {name: t, role: treatment, type: boolean}
  - {name: age, type: integer, bounds: [20, 80], bins: 6, missing: [NA]}
  - {name: north, type: boolean}
  - {name: y, role: outcome, type: real, bounds: [0, 100], bins: 5}
";

const EFFECTS: &str = "format: dpcausal.workload/1\nmechanism: causal\neffects: {share: 1}\n";

/// A public table in which treatment adds 8, and age confounds: the treated are older, and the older have more.
/// No column of the privacy unit, since there is none to protect.
fn population() -> String {
    let mut csv = "t,age,north,y\n".to_string();
    for i in 0..1000u32 {
        let age = 20 + i % 61;
        let treated = u32::from((i * 7919 + age * 13) % 100 < 20 + age / 2);
        let residual = f64::from(i * 104_729 % 41) - 20.0;
        let y = 30.0 + 8.0 * f64::from(treated) + 0.3 * f64::from(age - 20) + residual;
        let age = if i % 50 == 0 {
            "NA".into()
        } else {
            age.to_string()
        };
        writeln!(csv, "{treated},{age},{},{y}", i % 3 % 2).expect("a string");
    }
    csv
}

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("schema.yaml", SCHEMA);
    scratch.write("effects.yaml", EFFECTS);
    scratch.write("public.csv", population());
    scratch
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_public_population_is_simulated_on() {
    let scratch = scratch();
    let before = scratch.names();
    let plan = "plan --schema schema.yaml --workload effects.yaml --epsilon 2 --delta 1e-6";
    let words = format!("{plan} --population public.csv --rows 3000 --repetitions 40 --json -q");
    let page = scratch.run(&words).json();
    let budget = &page["error_budget"];
    let real = scratch.run("analyze public.csv --schema schema.yaml --estimator regression --json");
    let effect = number(&real.json()["effects"][0]["estimate"]);
    // Age by bins there, by value here.
    assert!((number(&budget["truth"]) - effect).abs() < 1.0, "{budget}");
    assert_eq!(budget["rows"], 3000);
    assert_eq!(budget["repetitions"], 40);
    assert_eq!(budget["contrast"], "t true - false");
    let sources: Vec<&str> = budget["terms"]
        .as_array()
        .expect("terms")
        .iter()
        .filter_map(|term| term["source"].as_str())
        .collect();
    let all = [
        "sampling",
        "privacy",
        "approximation",
        "monte-carlo",
        "calibration",
    ];
    assert_eq!(sources, all);
    assert!(number(&budget["width"]) > number(&budget["floor_width"]));
    assert!(number(&budget["coverage"]["value"]) > 0.8);
    assert!(number(&budget["smallest_budget"]["value"]) > 0.0);
    assert_eq!(budget["target"], Value::Null);
    assert_eq!(scratch.names(), before, "it writes nothing");
    // Equal whatever the number of threads.
    let again = scratch.run(&format!("{words} --threads 1")).json();
    assert_eq!(again, page);
}

#[test]
fn a_population_from_the_schema_says_what_it_assumes() {
    let scratch = scratch();
    let plan = "plan --schema schema.yaml --workload effects.yaml --epsilon 2 --delta 1e-6";
    let text = scratch
        .run(&format!(
            "{plan} --rows 2000 --repetitions 20 --target-width 1000"
        ))
        .text();
    for part in [
        "Error budget",
        "sampling",
        "privacy",
        "Width law",
        "uniform",
        "Smallest epsilon",
        "Verdict",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Without the flag, nothing is simulated; without a size, nothing can be.
    assert!(!scratch.run(plan).text().contains("Error budget"));
    let failed = scratch.run_for(&format!("{plan} --error-budget"), 2);
    assert!(failed.stderr.contains("--rows"), "{}", failed.stderr);
    scratch.run_for(&format!("{plan} --rows 2000 --target-width -1"), 2);
    scratch.run_for(&format!("{plan} --population nowhere.csv"), 3);
}

#[test]
fn a_plan_that_tells_nothing_is_called_that() {
    let scratch = scratch();
    let plan = "plan --schema schema.yaml --workload effects.yaml --delta 1e-6 --rows 200 --repetitions 20";
    let page = scratch.run(&format!("{plan} --epsilon 0.1 --json")).json();
    assert_eq!(page["error_budget"]["verdict"]["useful"], false);
    let text = scratch.run(&format!("{plan} --epsilon 0.1")).text();
    assert!(text.contains("will not be useful"), "{text}");
    let page = scratch.run(&format!("{plan} --epsilon 50 --json")).json();
    assert_eq!(page["error_budget"]["verdict"]["useful"], true);
}

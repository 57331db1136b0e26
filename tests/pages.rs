//! Pages about the program: help, manual, completions, JSON Schemas, plan.

mod common;

use common::Scratch;

#[test]
fn pages_are_printed() {
    let scratch = Scratch::new();
    for (words, expected) in [
        ("--help", "quickstart"),
        ("help measure", "--ledger"),
        ("man", "dpcausal"),
        ("man", "evaluate"),
        ("completions bash", "evaluate"),
        ("json-schema schema", "structural_zeros"),
        ("json-schema workload", "adjacency"),
    ] {
        let page = scratch.run(words).text();
        assert!(page.contains(expected), "{words}: {page}");
    }
}

#[test]
fn usage_errors_exit_with_2() {
    let scratch = Scratch::new();
    for words in [
        "",
        "measure",
        "measure lalonde.csv --schema schema.yaml",
        "measure lalonde.csv --schema schema.yaml --epsilon 1 --mu 1",
        "measure lalonde.csv --schema schema.yaml --epsilon -1",
        "measure lalonde.csv --schema schema.yaml --epsilon nan",
        "measure lalonde.csv --schema nowhere.yaml --epsilon 1",
        "measure lalonde.csv --schema schema.yaml --epsilon 1 --ledger nowhere.jsonl",
        "measure lalonde.csv --schema schema.yaml --epsilon 1 -o nowhere/release.json",
        "plan --schema schema.yaml --epsilon 1 --delta 2",
        "analyze lalonde.csv --schema schema.yaml --level 95",
        "analyze lalonde.csv --schema schema.yaml --estimator model",
        "analyze lalonde.csv",
    ] {
        let failed = scratch.run_for(words, 2);
        assert!(!failed.stderr.is_empty(), "{words}: no message");
    }
    scratch.run_for("analyze nowhere.json", 3);
    scratch.run_for("impute lalonde.csv", 3);
}

#[test]
fn a_plan_needs_no_data_and_adds_up() {
    let scratch = Scratch::new();
    let page = scratch
        .run("plan --schema schema.yaml --workload workload.yaml --epsilon 1 --json")
        .json();
    let lines = page["measurements"].as_array().expect("measurements");
    let sum: f64 = lines
        .iter()
        .map(|l| l["mu_squared"].as_f64().expect("a number"))
        .sum();
    let mu = page["mu"].as_f64().expect("a number");
    assert!((sum - mu * mu).abs() < 1e-9 * sum);
    let epsilon = page["epsilon"].as_f64().expect("a number");
    assert!((0.999..=1.0).contains(&epsilon), "{epsilon}");
    let text = scratch
        .run("plan --schema schema.yaml --workload workload.yaml --epsilon 1")
        .text();
    assert!(
        text.contains("leaf:age") && text.contains("largest clique"),
        "{text}"
    );
}

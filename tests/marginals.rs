//! The mechanisms that treat all columns alike: their releases go through every verb.

mod common;

use common::Scratch;

const MECHANISMS: [(&str, &str); 4] = [
    ("independent", include_str!("../workloads/independent.yaml")),
    ("mst", include_str!("../workloads/mst.yaml")),
    ("aim", include_str!("../workloads/aim.yaml")),
    ("mwem", include_str!("../workloads/mwem.yaml")),
];

#[test]
fn releases_go_through_every_verb() {
    for (mechanism, workload) in MECHANISMS {
        let scratch = Scratch::new();
        scratch.write("workload.yaml", workload);
        let documents = "--schema schema.yaml --workload workload.yaml --epsilon 2";
        let plan = scratch.run(&format!("plan {documents} --json")).json();
        let planned: f64 = plan["measurements"]
            .as_array()
            .expect("lines")
            .iter()
            .map(|line| line["share"].as_f64().expect("a share"))
            .sum();
        assert!((planned - 1.0).abs() < 1e-6, "{mechanism}: {planned}");
        scratch.run(&format!("plan {documents}"));
        scratch.run(&format!(
            "measure lalonde.csv {documents} -o release.json --insecure-seed 1"
        ));
        scratch.run("reconstruct release.json -o synthetic.csv");
        let table = String::from_utf8(scratch.read("synthetic.csv")).expect("text");
        assert_eq!(table.lines().count(), 446, "{mechanism}");
        scratch.run("impute release.json -m 3 -o imputed.parquet");
        for input in ["release.json -m 3", "imputed.parquet"] {
            let page = scratch.run(&format!("analyze {input} --json")).json();
            let effects = page["effects"].as_array().expect("effects");
            assert!(!effects.is_empty(), "{mechanism} {input}");
            for effect in effects {
                assert!(effect["estimate"].as_f64().is_some_and(f64::is_finite));
            }
        }
    }
}

#[test]
fn a_ledger_keeps_the_charge_of_choices() {
    let scratch = Scratch::new();
    scratch.write("workload.yaml", MECHANISMS[1].1);
    scratch.run("ledger init ledger.jsonl --rho 1");
    let measure =
        "measure lalonde.csv --schema schema.yaml --workload workload.yaml --ledger ledger.jsonl";
    scratch.run(&format!("{measure} --rho 0.6 -o one.json"));
    // The rest is not enough for as much again.
    scratch.run_for(&format!("{measure} --rho 0.6 -o two.json"), 4);
    scratch.run(&format!("{measure} --rho 0.4 -o two.json"));
    let budget_in_mu = "measure lalonde.csv --schema schema.yaml --workload workload.yaml --mu 1";
    scratch.run_for(&format!("{budget_in_mu} -o three.json"), 4);
}

//! Leaves that are chosen privately: through every verb, and the confounders found among twelve covariates.

mod common;
#[path = "common/twelve.rs"]
mod twelve;

use common::Scratch;
use dpcausal::measure::{self, Counted, Documents, Guarantee, Plan};
use dpcausal::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use dpcausal::release::Release;
use dpcausal::schema::Schema;
use dpcausal::table::Counter;
use dpcausal::workload::Workload;

const WORKLOAD: &str = include_str!("../workloads/causal-aim.yaml");

#[test]
fn a_release_goes_through_every_verb() {
    let scratch = Scratch::new();
    scratch.write("workload.yaml", WORKLOAD);
    let documents = "--schema schema.yaml --workload workload.yaml --epsilon 20";
    let plan = scratch.run(&format!("plan {documents} --json")).json();
    let lines = plan["measurements"].as_array().expect("lines");
    let share = |line: &serde_json::Value| line["share"].as_f64().expect("a share");
    let of = |block: &str| -> f64 {
        lines
            .iter()
            .filter(|l| l["block"] == block)
            .map(share)
            .sum()
    };
    for (block, expected) in [
        ("hub", 0.12),
        ("spread", 0.03),
        ("selection", 0.15),
        ("leaves", 0.7),
    ] {
        assert!(
            (of(block) - expected).abs() < 1e-6,
            "{block}: {}",
            of(block)
        );
    }
    scratch.run(&format!("plan {documents} --error-budget --repetitions 10"));
    scratch.run(&format!(
        "measure lalonde.csv {documents} -o release.json --insecure-seed 3"
    ));
    let release: serde_json::Value =
        serde_json::from_slice(&scratch.read("release.json")).expect("JSON");
    let rounds = release["selection"]["rounds"].as_array().expect("rounds");
    assert!(!rounds.is_empty());
    scratch.run("reconstruct release.json -o synthetic.csv");
    scratch.run("impute release.json -m 3 -o imputed.parquet");
    for input in ["release.json -m 3", "imputed.parquet"] {
        let page = scratch.run(&format!("analyze {input} --json")).json();
        let effects = page["effects"].as_array().expect("effects");
        assert!(!effects.is_empty(), "{input}");
        for effect in effects {
            assert!(effect["estimate"].as_f64().is_some_and(f64::is_finite));
        }
    }
}

#[test]
fn effects_and_microdata_share_one_selection() {
    let scratch = Scratch::new();
    let schema = String::from_utf8(scratch.read("schema.yaml")).expect("text");
    scratch.write(
        "schema.yaml",
        schema.replace("design: randomised", "design: observational"),
    );
    let text = format!("{WORKLOAD}\neffects: {{share: 0.5, keep: 3}}\n");
    scratch.write("workload.yaml", text);
    scratch.measure("release.json", 5.0);
    let release: serde_json::Value =
        serde_json::from_slice(&scratch.read("release.json")).expect("JSON");
    assert_eq!(
        release["effects"]["selection"].as_array().map(Vec::len),
        Some(3)
    );
    assert_eq!(
        release["selection"]["rounds"].as_array().map(Vec::len),
        Some(0)
    );
    let page = scratch.run("analyze release.json --json -q").json();
    assert_eq!(page["effects"][0]["estimator"], "adjusted");
    scratch.run("reconstruct release.json -o synthetic.csv");
}

/// A seeded release of the twelve-covariate design.
fn release(rows: usize, seed: u64) -> Release {
    let (schema, schema_file) = Schema::parse(&twelve::schema(rows), "s.yaml").expect("a schema");
    let (workload, workload_file) =
        Workload::parse(WORKLOAD, "w.yaml", &schema).expect("a workload");
    let budget = Budget::approximate(1.0, 1e-6).expect("a budget");
    let plan =
        Plan::new(schema.clone(), workload, Guarantee::new(budget, &schema)).expect("a plan");
    let (table, _) = twelve::table(rows, seed);
    let mut counter = Counter::new(&schema, &plan.queries()).expect("a counter");
    counter.add(&table);
    let counted = Counted {
        answers: counter.answers(),
        rows: Some(Confidential::new(table)),
    };
    let documents = Documents {
        schema: schema_file,
        workload: workload_file,
    };
    let id = ReleaseId::random().expect("an identifier");
    let authorisation = Authorisation::without_ledger(id, plan.cost, &budget).expect("a budget");
    let mut noise = NoiseSource::insecure_seed(seed);
    measure::run(&plan, documents, counted, authorisation, &mut noise).expect("a release")
}

/// Of 150 simulated releases all found all three confounders, so one misses with a probability below 1 in 50 (at
/// 95 %, by the rule of three); then 20 miss more than 4 with a probability below 1e-4.
#[test]
fn confounders_are_found_among_instruments_and_predictors() {
    let found = |seed: u64| {
        let release = release(5000, seed);
        let rounds = release.selection.expect("a selection").rounds;
        let chosen = rounds.iter().flat_map(|round| &round.chosen);
        let mut names: Vec<&String> = chosen.collect();
        names.sort();
        names.dedup();
        names
            .iter()
            .filter(|name| twelve::CONFOUNDERS.contains(&name.as_str()))
            .count()
    };
    let total: usize = (1000..1020).map(found).sum();
    assert!(total >= 56, "{total} of 60");
}

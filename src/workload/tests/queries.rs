//! What a workload asks, and its defaults.

use super::*;
use crate::schema::Feature;

fn asked(workload: &Workload, schema: &Schema) -> Vec<(String, f64)> {
    let queries = workload.queries(schema);
    queries
        .into_iter()
        .map(|q| (q.query.name, q.share))
        .collect()
}

#[track_caller]
fn assert_asked(workload: &Workload, schema: &Schema, expected: &[(&str, f64)]) {
    let asked = asked(workload, schema);
    let names: Vec<&str> = asked.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        expected.iter().map(|(name, _)| *name).collect::<Vec<_>>()
    );
    for ((name, share), (_, expected)) in asked.iter().zip(expected) {
        assert!(
            (share - expected).abs() < 1e-12,
            "{name}: {share} is not {expected}"
        );
    }
}

#[test]
fn numeric_outcomes_ask_for_every_block() {
    let schema = schema();
    let workload = parse(WORKLOAD, &schema).unwrap();
    assert_eq!(
        (workload.adjacency, workload.accountant),
        (Adjacency::AddRemove, AccountantKind::Zcdp)
    );
    assert_eq!(
        (workload.max_cells, workload.mechanism_name()),
        (1000, "causal")
    );
    let leaf = 0.4 / 3.0;
    let expected = [
        ("hub:histogram", 0.1),
        ("hub:moments", 0.1),
        ("leaf:age", leaf),
        ("leaf:married", leaf),
        ("leaf:region", leaf),
        ("pair:age*region", 0.15),
        ("pair:age*married", 0.15),
        ("spread", 0.1),
    ];
    assert_asked(&workload, &schema, &expected);
    let queries = workload.queries(&schema);
    let shapes: Vec<Vec<usize>> = queries.iter().map(|q| q.query.shape(&schema)).collect();
    assert_eq!(shapes[0], [2, 5]);
    assert_eq!(shapes[1], [2, 2]);
    assert_eq!(shapes[2], [2, 2, 4]);
    assert_eq!(shapes[5], [4, 3]);
    assert_eq!(shapes[7], [2, 1]);
    assert_eq!(queries[1].query.axes[1].feature, Feature::Split);
    assert_eq!(queries[7].query.axes[1].feature, Feature::Spread);
    assert_eq!(queries[7].block, Block::Spread);
}

#[test]
fn blocks_without_work_are_shared_out() {
    let schema = two_level_schema();
    let text = WORKLOAD.replace("[[region, age], [age, married]]", "none");
    let workload = parse(&text, &schema).unwrap();
    let leaf = 0.4 / 0.6 / 3.0;
    let expected = [
        ("hub:moments", 0.2 / 0.6),
        ("leaf:age", leaf),
        ("leaf:married", leaf),
        ("leaf:region", leaf),
    ];
    assert_asked(&workload, &schema, &expected);
}

#[test]
fn blocks_and_keys_have_defaults() {
    let schema = schema();
    let text = "format: dpcausal.workload/1\nmechanism: causal\nblocks: {hub: {share: 0.5}, leaves: {share: 0.5}}";
    let workload = parse(text, &schema).unwrap();
    assert_eq!(
        (workload.adjacency, workload.accountant),
        (Adjacency::AddRemove, AccountantKind::Gdp)
    );
    assert_eq!(workload.max_cells, 10_000_000);
    assert_eq!(workload.queries(&schema).len(), 5);
    let all = WORKLOAD.replace("[[region, age], [age, married]]", "all");
    let names: Vec<String> = asked(&parse(&all, &schema).unwrap(), &schema)
        .into_iter()
        .map(|(n, _)| n)
        .collect();
    assert_eq!(
        names[5..8],
        ["pair:age*married", "pair:age*region", "pair:married*region"]
    );
    let some = WORKLOAD.replace("columns: all", "columns: [region, age]");
    assert_eq!(
        asked(&parse(&some, &schema).unwrap(), &schema)[2..4]
            .iter()
            .map(|(n, _)| n.as_str())
            .collect::<Vec<_>>(),
        ["leaf:age", "leaf:region"]
    );
}

#[test]
fn shipped_workloads_fit_the_shipped_schema() {
    let schema = Schema::parse(
        include_str!("../../../schemas/lalonde.yaml"),
        "lalonde.yaml",
    )
    .unwrap()
    .0;
    let generic = parse(include_str!("../../../workloads/causal.yaml"), &schema).unwrap();
    assert_eq!(generic.queries(&schema).len(), 2 + 8 + 1);
    let lalonde = parse(include_str!("../../../workloads/lalonde.yaml"), &schema).unwrap();
    let queries = lalonde.queries(&schema);
    assert_eq!(queries.len(), 2 + 8 + 4 + 1);
    // hub 2 x 11 + 4; leaves 4 x (10 + 8 + 4 x 2 + 2 x 11); pairs 16 + 121 + 4 + 20; spread 2.
    let cells: usize = queries
        .iter()
        .map(|q| q.query.cells(&schema).unwrap())
        .sum();
    assert_eq!(cells, 26 + 4 * 48 + 161 + 2);
    let effects = lalonde.effects().unwrap();
    let sum: f64 = effects.share + queries.iter().map(|q| q.share).sum::<f64>();
    assert!((sum - 1.0).abs() < 1e-12);
    // A randomised design: nothing to adjust for.
    assert!(effects.scores.is_empty());
}

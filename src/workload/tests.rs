//! Tests of the workload document: what it asks, every error with its place, and that nothing panics.

use super::*;
use crate::schema::Feature;
use proptest::prelude::*;

const SCHEMA: &str = "\
format: dpcausal.schema/1
columns:
  - {name: treat, role: treatment, type: categorical, levels: [0, 1]}
  - {name: age, type: integer, bounds: [16, 60], bins: 4}
  - {name: married, type: boolean}
  - {name: region, type: categorical, levels: [a, b, c]}
  - {name: person, role: id}
  - {name: wage, role: outcome, type: integer, bounds: [0, 9], bins: 5}
";

const WORKLOAD: &str = "\
format: dpcausal.workload/1
mechanism: causal
adjacency: add-remove
accountant: zcdp
blocks:
  hub: {share: 0.2}
  leaves: {share: 0.4, columns: all}
  pairs: {share: 0.3, columns: [[region, age], [age, married]]}
  spread: {share: 0.1}
model: {max_cells: 1000}
";

fn schema() -> Schema {
    Schema::parse(SCHEMA, "s.yaml").unwrap().0
}

fn two_level_schema() -> Schema {
    let text = SCHEMA.replace("type: integer, bounds: [0, 9], bins: 5", "type: boolean");
    Schema::parse(&text, "s.yaml").unwrap().0
}

fn parse(text: &str, schema: &Schema) -> Result<Workload, String> {
    match Workload::parse(text, "w.yaml", schema) {
        Ok((workload, _)) => Ok(workload),
        Err(error) => Err(error.to_string()),
    }
}

#[track_caller]
fn assert_error(from: &str, to: &str, starts: &str) {
    assert_eq!(
        WORKLOAD.matches(from).count(),
        1,
        "{from:?} must stand once"
    );
    let error =
        parse(&WORKLOAD.replace(from, to), &schema()).expect_err("the change must be refused");
    assert!(
        error.starts_with(starts),
        "expected {starts:?}...\n   found {error:?}"
    );
}

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
fn errors_have_places_and_remedies() {
    assert_error(
        "accountant: zcdp",
        "acountant: zcdp",
        "w.yaml:4:1: unknown key \"acountant\"; did you mean \"accountant\"?",
    );
    assert_error(
        "accountant: zcdp",
        "accountant: zcpd",
        "w.yaml:4:13: unknown value \"zcpd\"; did you mean \"zcdp\"?",
    );
    assert_error(
        "mechanism: causal",
        "mechanism: casual",
        "w.yaml:2:12: unknown value \"casual\"; did you mean \"causal\"?",
    );
    assert_error(
        "mechanism: causal\n",
        "",
        "w.yaml:1:1: key \"mechanism\" is missing",
    );
    assert_error(
        "workload/1",
        "schema/1",
        "w.yaml:1:9: format \"dpcausal.schema/1\" is not",
    );
    assert_error(
        "  spread:",
        "  sprad:",
        "w.yaml:9:3: unknown key \"sprad\"; did you mean \"spread\"?",
    );
    assert_error(
        "  hub: {share: 0.2}\n",
        "",
        "w.yaml:6:3: key \"hub\" is missing",
    );
    assert_error(
        "columns: all",
        "columns: al",
        "w.yaml:7:33: expected `all` or a list of covariates, found \"al\"",
    );
    assert_error(
        "[[region, age], [age, married]]",
        "some",
        "w.yaml:8:32: expected `all`, `none` or a list of pairs",
    );
    assert_error(
        "[age, married]",
        "[age]",
        "w.yaml:8:48: expected an array of length 2",
    );
    assert_error(
        "[age, married]",
        "[age, maried]",
        "w.yaml:8:54: no column is named \"maried\"; did you mean \"married\"?",
    );
    assert_error(
        "[age, married]",
        "[age, age]",
        "w.yaml:8:48: a pair is of two columns, and this one names \"age\" twice",
    );
    assert_error(
        "[age, married]",
        "[age, region]",
        "w.yaml:8:48: the pair \"age\", \"region\" stands twice",
    );
    assert_error(
        "[age, married]",
        "[age, treat]",
        "w.yaml:8:54: \"treat\" is the treatment or the outcome",
    );
    assert_error(
        "[age, married]",
        "[age, wage]",
        "w.yaml:8:54: \"wage\" is the treatment or the outcome",
    );
    assert_error(
        "[age, married]",
        "[age, person]",
        "w.yaml:8:54: \"person\" is not released",
    );
    assert_error(
        "columns: all",
        "columns: [age, age]",
        "w.yaml:7:39: \"age\" stands twice",
    );
    assert_error(
        "hub: {share: 0.2}",
        "hub: {share: 0.21}",
        "w.yaml:6:3: the shares sum to 1.01, not 1",
    );
    assert_error(
        "hub: {share: 0.2}",
        "hub: {share: 0.20000001}",
        "w.yaml:6:3: the shares sum to 1.00000001, not 1",
    );
    assert_error(
        "hub: {share: 0.2}",
        "hub: {share: -0.2}",
        "w.yaml:6:16: a share is a number from 0 to 1, and hub has -0.2",
    );
    assert_error(
        "hub: {share: 0.2}",
        "hub: {share: .nan}",
        "w.yaml:6:16: a share is a number from 0 to 1",
    );
    assert_error(
        "hub: {share: 0.2}",
        "hub: {share: 0}",
        "w.yaml:6:16: hub has work but no share",
    );
    assert_error(
        "{max_cells: 1000}",
        "{max_cells: 0}",
        "w.yaml:10:20: a model has at least one cell",
    );
    assert_error(
        "add-remove",
        "replace-one",
        "w.yaml:3:12: replace-one adjacency takes the number of rows as public",
    );
}

/// The workload with effects of half the budget.
fn with_effects(effects: &str) -> String {
    WORKLOAD.replace("blocks:\n", &format!("effects: {effects}\nblocks:\n"))
}

#[test]
fn effects_take_their_share_and_leave_the_rest() {
    let schema = schema();
    let workload = parse(&with_effects("{share: 0.25, squares: all}"), &schema).unwrap();
    let effects = workload.effects().unwrap();
    let names: Vec<&str> = effects.scores.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names[..2], ["age", "age^2"]);
    assert!(!effects.selects());
    let blocks: f64 = workload.queries(&schema).iter().map(|q| q.share).sum();
    assert!((blocks - 0.75).abs() < 1e-12);
    let stages: f64 = effects
        .stages(Some(0.2))
        .iter()
        .map(|(_, share)| share)
        .sum();
    assert!((stages - 1.0).abs() < 1e-12);
    let kept = parse(&with_effects("{share: 0.25, keep: 2}"), &schema).unwrap();
    assert!(kept.effects().unwrap().selects());
    let alone = "format: dpcausal.workload/1\nmechanism: causal\neffects: {share: 1}";
    assert!(parse(alone, &schema).unwrap().queries(&schema).is_empty());
}

#[test]
fn errors_of_effects_have_places_and_remedies() {
    let schema = schema();
    for (effects, message) in [
        (
            "{share: 1}",
            "w.yaml:5:18: the effects take the whole budget",
        ),
        (
            "{share: 0}",
            "w.yaml:5:18: the effects' share is a number above 0",
        ),
        (
            "{share: 0.5, keep: 0}",
            "w.yaml:5:29: nothing would be adjusted for",
        ),
        (
            "{share: 0.5, keep: some}",
            "w.yaml:5:29: expected `auto`, `all` or a number",
        ),
        (
            "{share: 0.5, squares: [married]}",
            "w.yaml:5:33: \"married\" is not numeric",
        ),
        (
            "{share: 0.5, squares: [aeg]}",
            "w.yaml:5:33: no column is named \"aeg\"; did you mean",
        ),
        (
            "{share: 0.5, columns: [married], squares: [age]}",
            "w.yaml:5:53: \"age\" is not among the effects' columns",
        ),
        (
            "{share: 0.5, stages: {cross: 0}}",
            "w.yaml:5:39: a stage's share is a positive number",
        ),
    ] {
        let error = parse(&with_effects(effects), &schema).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
    let nothing = "format: dpcausal.workload/1\nmechanism: causal";
    let error = parse(nothing, &schema).unwrap_err();
    assert!(
        error.starts_with("w.yaml:2:12: the workload measures nothing"),
        "{error}"
    );
}

#[test]
fn the_schema_must_have_the_roles() {
    for (role, what) in [
        ("role: treatment, ", "treatment"),
        ("role: outcome, ", "outcome"),
    ] {
        let schema = Schema::parse(&SCHEMA.replace(role, ""), "s.yaml")
            .unwrap()
            .0;
        let error = parse(WORKLOAD, &schema).unwrap_err();
        assert!(
            error.starts_with(&format!("w.yaml:2:12: the causal workload needs {what}")),
            "{error}"
        );
    }
    let text: String = SCHEMA
        .lines()
        .filter(|l| l.contains("role") || !l.contains("name"))
        .map(|l| format!("{l}\n"))
        .collect();
    let error = parse(WORKLOAD, &Schema::parse(&text, "s.yaml").unwrap().0).unwrap_err();
    assert!(
        error.starts_with("w.yaml:2:12: the causal workload needs covariate"),
        "{error}"
    );
}

#[test]
fn shipped_workloads_fit_the_shipped_schema() {
    let schema = Schema::parse(include_str!("../../schemas/lalonde.yaml"), "lalonde.yaml")
        .unwrap()
        .0;
    let generic = parse(include_str!("../../workloads/causal.yaml"), &schema).unwrap();
    assert_eq!(generic.queries(&schema).len(), 2 + 8 + 1);
    let lalonde = parse(include_str!("../../workloads/lalonde.yaml"), &schema).unwrap();
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

#[test]
fn documents_survive_yaml_and_json() {
    let schema = schema();
    for text in [WORKLOAD, include_str!("../../workloads/causal.yaml")] {
        let (workload, file) = Workload::parse(text, "w.yaml", &schema).unwrap();
        let yaml = serde_yaml::to_string(&file).unwrap();
        assert_eq!(parse(&yaml, &schema).unwrap(), workload);
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(parse(&json, &schema).unwrap(), workload);
        let embedded: WorkloadFile = serde_json::from_str(&json).unwrap();
        assert_eq!(embedded, file);
        assert_eq!(Workload::from_file(&embedded, &schema).unwrap(), workload);
    }
    let json = WorkloadFile::json_schema().to_string();
    assert!(json.contains("\"max_cells\"") && json.contains("\"replace-one\""));
}

proptest! {
    #[test]
    fn arbitrary_and_mutated_documents_never_panic(
        arbitrary in "\\PC{0,100}",
        accidents in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..6, "[\\[\\]{}:,&*!|>\"'%@~?# \n\ta-z0-9.-]{0,3}"), 1..6),
    ) {
        let schema = schema();
        let _ = parse(&arbitrary, &schema);
        let mut text: Vec<char> = WORKLOAD.chars().collect();
        for (at, removed, inserted) in accidents {
            let at = at.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, inserted.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(workload) = parse(&text, &schema) {
            let sum: f64 = workload.queries(&schema).iter().map(|q| q.share).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9);
        }
    }
}

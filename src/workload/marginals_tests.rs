//! Tests of the documents of mechanisms without roles: what they ask, and every error with its place.

use super::*;

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

fn schema() -> Schema {
    Schema::parse(SCHEMA, "s.yaml").unwrap().0
}

fn document(mechanism: &str, more: &str) -> String {
    format!("format: dpcausal.workload/1\nmechanism: {mechanism}\n{more}")
}

fn parse(text: &str) -> Result<Workload, String> {
    let parsed = Workload::parse(text, "w.yaml", &schema());
    parsed
        .map(|(workload, _)| workload)
        .map_err(|e| e.to_string())
}

fn block(mechanism: &str, more: &str) -> MarginalsBlock {
    let workload = parse(&document(mechanism, more)).unwrap();
    assert_eq!(workload.mechanism_name(), mechanism);
    workload.marginals().unwrap().clone()
}

#[test]
fn all_columns_are_ordinary_ones() {
    for mechanism in ["independent", "mst", "aim", "mwem"] {
        assert_eq!(block(mechanism, "").columns, [0, 1, 2, 3, 5]);
        assert_eq!(
            block(mechanism, "columns: [wage, region, age]").columns,
            [1, 3, 5]
        );
    }
}

#[test]
fn what_is_asked_whatever_the_data_say() {
    let asked = |mechanism: &str, more: &str| -> Vec<(String, f64)> {
        let workload = parse(&document(mechanism, more)).unwrap();
        let queries = workload.queries(&schema()).into_iter();
        queries.map(|q| (q.query.name, q.share)).collect()
    };
    let independent = asked("independent", "columns: [age, wage]");
    assert_eq!(
        independent,
        [("one-way:age".into(), 0.5), ("one-way:wage".into(), 0.5)]
    );
    let mst = asked(
        "mst",
        "shares: {one_way: 0.5, selection: 0.1, two_way: 0.4}",
    );
    assert_eq!((mst.len(), mst[0].1), (5, 0.1));
    let aim = asked("aim", "rounds: 10\ntogether: [[age, region]]");
    assert_eq!((aim.len(), aim[5].0.as_str()), (6, "together:age*region"));
    assert!(aim.iter().all(|(_, share)| (share - 0.09).abs() < 1e-15));
    let mwem = asked(
        "mwem",
        "total_share: 0.04\nrounds: 4\ntogether: [[wage, age]]",
    );
    assert_eq!(
        mwem,
        [("total".into(), 0.04), ("together:age*wage".into(), 0.24)]
    );
}

#[test]
fn shares_of_stages_without_work_go_to_the_others() {
    let rule = |more: &str| match block("mst", more).method {
        Method::Mst(rule) => rule,
        other => panic!("{other:?}"),
    };
    let all_named = rule("columns: [age, wage]\ntogether: [[age, wage]]");
    assert!((all_named.one_way - 0.5).abs() < 1e-12 && all_named.selection == 0.0);
    let single = rule("columns: [age]");
    assert_eq!((single.one_way, single.two_way), (1.0, 0.0));
}

#[test]
fn marginals_of_a_degree_and_listed_ones() {
    let marginals = |more: &str| match block("aim", more).method {
        Method::Aim(rule) => rule.marginals,
        other => panic!("{other:?}"),
    };
    assert_eq!(marginals("marginals: {degree: 2}").len(), 10);
    assert_eq!(marginals("").len(), 10);
    // Pairs of at most 8 cells: treat with age, married, region; married with age and region.
    assert_eq!(marginals("marginals: {degree: 2, max_cells: 8}").len(), 5);
    let listed = marginals("marginals: [{columns: [wage, age]}, {columns: [region], weight: 2.5}]");
    assert_eq!(listed[0].columns, [1, 5]);
    assert_eq!((listed[0].weight, listed[1].weight), (1.0, 2.5));
}

#[test]
fn errors_have_places_and_remedies() {
    for (mechanism, more, message) in [
        (
            "mts",
            "",
            "w.yaml:2:12: unknown value \"mts\"; did you mean \"mst\"?",
        ),
        (
            "mst",
            "accountant: gdp",
            "w.yaml:3:1: unknown key \"accountant\"",
        ),
        (
            "aim",
            "colums: all",
            "w.yaml:3:1: unknown key \"colums\"; did you mean \"columns\"?",
        ),
        (
            "aim",
            "columns: some",
            "w.yaml:3:10: expected `all` or a list of columns",
        ),
        (
            "aim",
            "columns: []",
            "w.yaml:3:10: there is no column to release",
        ),
        (
            "independent",
            "columns: [aeg]",
            "w.yaml:3:11: no column is named \"aeg\"; did you mean \"age\"?",
        ),
        (
            "independent",
            "columns: [person]",
            "w.yaml:3:11: \"person\" is an identifier or ignored",
        ),
        (
            "independent",
            "columns: [age, age]",
            "w.yaml:3:16: \"age\" stands twice",
        ),
        (
            "independent",
            "together: [[age, wage]]",
            "w.yaml:3:1: unknown key \"together\"",
        ),
        (
            "mst",
            "together: [[age]]",
            "w.yaml:3:12: expected an array of length 2",
        ),
        (
            "mst",
            "together: [[age, wage], [wage, region], [age, region]]",
            "w.yaml:3:41: with the pairs before it, this pair closes a cycle",
        ),
        (
            "mst",
            "columns: [age, wage]\ntogether: [[age, region]]",
            "w.yaml:4:12: \"region\" is not among the workload's columns",
        ),
        (
            "mst",
            "compression: -1",
            "w.yaml:3:14: the threshold is a number of standard deviations",
        ),
        (
            "mst",
            "shares: {one_way: 0.5, selection: 0.5, two_way: 0}",
            "w.yaml:3:49: a stage's share is a positive number",
        ),
        (
            "mst",
            "model: {max_cells: 0}",
            "w.yaml:3:20: a model has at least one cell",
        ),
        (
            "mst",
            "adjacency: replace-one",
            "w.yaml:3:12: replace-one adjacency takes",
        ),
        (
            "aim",
            "together: [[age]]",
            "w.yaml:3:12: a set to keep together has two columns",
        ),
        (
            "aim",
            "together: [[age, wage], [wage, age]]",
            "w.yaml:3:25: this set stands twice",
        ),
        (
            "aim",
            "marginals: 2",
            "w.yaml:3:12: expected `{degree: K}` or a list",
        ),
        (
            "aim",
            "marginals: {degree: 6}",
            "w.yaml:3:21: a marginal of the workload has 1 to 5 columns",
        ),
        (
            "aim",
            "marginals: {degree: 2, max_cells: 3}",
            "w.yaml:3:35: no marginal of 2 columns has 3 cells",
        ),
        (
            "aim",
            "marginals: []",
            "w.yaml:3:12: there is no marginal to choose",
        ),
        (
            "aim",
            "marginals: [{columns: [age], weight: 0}]",
            "w.yaml:3:38: a weight is a positive number",
        ),
        (
            "aim",
            "marginals: [{columns: [age]}, {columns: [age]}]",
            "w.yaml:3:31: this marginal stands twice",
        ),
        (
            "aim",
            "rounds: 5",
            "w.yaml:3:9: the 5 marginals measured at the start",
        ),
        (
            "aim",
            "selection_share: 1",
            "w.yaml:3:18: a share here is a number between 0 and 1",
        ),
        ("mwem", "rounds: 0", "w.yaml:3:9: 0 rounds are too few"),
        (
            "mwem",
            "total_share: .nan",
            "w.yaml:3:14: a share here is a number between 0 and 1",
        ),
    ] {
        let error = parse(&document(mechanism, more)).expect_err(more);
        assert!(
            error.starts_with(message),
            "expected {message}\n   found {error}"
        );
    }
}

#[test]
fn shipped_workloads_say_the_defaults() {
    for (mechanism, text) in [
        (
            "independent",
            include_str!("../../workloads/independent.yaml"),
        ),
        ("mst", include_str!("../../workloads/mst.yaml")),
        ("aim", include_str!("../../workloads/aim.yaml")),
        ("mwem", include_str!("../../workloads/mwem.yaml")),
    ] {
        let (workload, file) = Workload::parse(text, "w.yaml", &schema()).unwrap();
        let bare = parse(&document(mechanism, "")).unwrap();
        assert_eq!(workload, bare);
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(parse(&json).unwrap(), workload);
        let embedded: WorkloadFile = serde_json::from_str(&json).unwrap();
        assert_eq!(Workload::from_file(&embedded, &schema()).unwrap(), workload);
        let yaml = serde_yaml::to_string(&file).unwrap();
        assert_eq!(parse(&yaml).unwrap(), workload);
    }
    let schema = WorkloadFile::json_schema().to_string();
    for word in [
        "\"independent\"",
        "\"mst\"",
        "\"aim\"",
        "\"mwem\"",
        "\"compression\"",
    ] {
        assert!(schema.contains(word), "{word}");
    }
}

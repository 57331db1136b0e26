//! Every error with its place.

use super::*;

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

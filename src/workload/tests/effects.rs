//! Effects beside blocks.

use super::*;

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

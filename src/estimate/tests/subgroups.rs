//! Subgroups of tables: the rows of a level, and nothing else.

use super::reference::small;
use crate::estimate::{
    Analysis, Estimand, Estimator, Group, Imputed, Options, Request, Rows, RuleKind, estimate,
    from_imputations, from_table,
};
use crate::impute::Kappa;

const X: usize = 1;
const G: usize = 2;

fn request(estimators: Vec<Estimator>, column: usize, levels: u16) -> Request {
    Request {
        estimands: vec![
            Estimand::Ate,
            Estimand::Att,
            Estimand::Atc,
            Estimand::ArmMean,
        ],
        estimators,
        rule: RuleKind::Unified,
        level: 0.95,
        groups: (0..levels).map(|code| Group { column, code }).collect(),
    }
}

fn in_level<'a>(
    analysis: &'a Analysis,
    level: &'a str,
) -> impl Iterator<Item = &'a crate::estimate::Effect> {
    (analysis.effects.iter()).filter(move |e| e.subgroup.as_ref().is_some_and(|s| s.level == level))
}

#[test]
fn a_subgroup_is_the_analysis_of_its_rows() {
    let (schema, table) = small();
    let estimators = vec![Estimator::Regression, Estimator::DifferenceInMeans];
    let analysis = from_table(&table, &schema, false, &request(estimators, G, 3)).unwrap();
    // Three contrasts and two means, by two estimators, of everyone and of three levels.
    assert_eq!(analysis.effects.len(), 5 * 2 * 4);
    assert_eq!(analysis.not_estimated, []);
    let codes = table.codes[G].as_ref().unwrap();
    let rows: Vec<usize> = (0..60).filter(|&row| codes[row] == 1).collect();
    let alone = estimate(
        &table,
        &Rows::Indices(rows),
        &schema,
        Estimator::Regression,
        Estimand::Atc,
        1,
        &Options::default(),
    )
    .unwrap();
    let row = in_level(&analysis, "b")
        .find(|e| e.estimand == Estimand::Atc && e.estimator == Estimator::Regression)
        .unwrap();
    assert_eq!(row.estimate, alone.value);
    assert_eq!(row.population, "rows with t = false and g = b");
    assert_eq!(row.contrast, "t true - false");
    let means: Vec<&str> = in_level(&analysis, "b")
        .filter(|e| e.estimand == Estimand::ArmMean && e.estimator == Estimator::Regression)
        .map(|e| e.contrast.as_str())
        .collect();
    assert_eq!(means, ["t false", "t true"]);
}

/// A level without rows, and one with a single control.
#[test]
fn a_level_of_few_rows_is_named_and_the_others_stand() {
    let (schema, mut table) = small();
    // Nobody has x = 3, and of those with x = 4 one is a control.
    let arms = table.codes[0].clone().unwrap();
    let mut seen = 0;
    for (row, code) in table.codes[X].as_mut().unwrap().iter_mut().enumerate() {
        if *code == 3 {
            *code = 2;
        }
        if *code == 4 && arms[row] == 0 {
            seen += 1;
            *code = if seen > 1 { 2 } else { 4 };
        }
    }
    let request = request(vec![Estimator::DifferenceInMeans], X, 5);
    let analysis = from_table(&table, &schema, false, &request).unwrap();
    assert_eq!(in_level(&analysis, "2").count(), 5);
    assert_eq!(in_level(&analysis, "3").count(), 0);
    let reasons = |level: &str| -> Vec<&str> {
        (analysis.not_estimated.iter())
            .filter(|r| r.subgroup.as_ref().is_some_and(|s| s.level == level))
            .map(|r| r.reason.as_str())
            .collect()
    };
    assert_eq!(reasons("3"), ["nobody has x = 3"; 5]);
    // Its treated have a mean, and the control none.
    assert_eq!(in_level(&analysis, "4").count(), 1);
    assert_eq!(reasons("4").len(), 4);
    assert!(reasons("4")[0].contains("has 1 rows"), "{:?}", reasons("4"));
}

#[test]
fn imputations_speak_for_the_share_of_the_records() {
    let (schema, table) = small();
    let mut stack = table.clone();
    stack.rows = 120;
    for codes in stack.codes.iter_mut().flatten() {
        *codes = codes.repeat(2);
    }
    stack.outcome = stack.outcome.repeat(2);
    stack.imputation = Some([[1; 60], [2; 60]].concat());
    let imputed = Imputed {
        n: 30.0,
        kappa: Kappa::Posterior,
    };
    let request = request(vec![Estimator::DifferenceInMeans], G, 3);
    let analysis = from_imputations(&stack, &schema, imputed, &request).unwrap();
    let share = table.codes[G]
        .as_ref()
        .unwrap()
        .iter()
        .filter(|g| **g == 1)
        .count() as f64
        / 60.0;
    let row = in_level(&analysis, "b").next().unwrap();
    assert!((row.n - 30.0 * share).abs() < 1e-9);
    assert_eq!(row.r, Some(2.0));
}

//! The floor: the ordinary, non-private analysis of a table, by the regression that the release approximates.
//!
//! Where the workload measures effects, arms 0 and 1 are regressed on the effects' candidate scores; from
//! microdata all arms on the public scores of the covariates' codes. In a randomised design both are the
//! difference in means.

use ndarray::{Array1, Array2};

use crate::estimate::{
    ArmMoments, Estimand, Estimate, EstimateError, Estimator, Options, Rows, estimate,
    regression_from_moments,
};
use crate::measure::Plan;
use crate::schema::{Design, SCALE, SCORE_SCALE, Schema, Score, ScoreForm};
use crate::table::CodedTable;

/// Whether nothing has to be adjusted for.
pub(super) fn is_randomised(schema: &Schema) -> bool {
    matches!(schema.design, Design::Randomised { .. })
}

/// The effect of arm 1 against arm 0 over everyone, and its sampling variance.
pub(super) fn floor(plan: &Plan, table: &CodedTable) -> Result<Estimate, EstimateError> {
    let schema = &plan.schema;
    let ordinary = |estimator| {
        let (rows, options) = (Rows::All, Options::default());
        estimate(table, &rows, schema, estimator, Estimand::Ate, 1, &options)
    };
    match &plan.effects {
        _ if is_randomised(schema) => ordinary(Estimator::DifferenceInMeans),
        Some(effects) => {
            let moments = moments(schema, &effects.block.scores, table)?;
            regression_from_moments(&moments, 1, Estimand::Ate)
        }
        None => ordinary(Estimator::Regression),
    }
}

/// The moments of arms 0 and 1.
fn moments(
    schema: &Schema,
    scores: &[Score],
    table: &CodedTable,
) -> Result<Vec<ArmMoments>, EstimateError> {
    let treatment = schema.treatment().ok_or(EstimateError::NoTreatment)?;
    let malformed = || EstimateError::Malformed("the treatment is not coded".into());
    let arms = table.codes[treatment].as_ref().ok_or_else(malformed)?;
    let (lower, range) = schema.outcome_range();
    let width = 1 + scores.len();
    let mut sums = vec![
        ArmMoments {
            weight: 0.0,
            gram: Array2::zeros((width, width)),
            cross: Array1::zeros(width),
            second_moment: 0.0,
        };
        2
    ];
    let mut z = Array1::ones(width);
    for (row, &arm) in arms.iter().enumerate() {
        let Some(sum) = sums.get_mut(usize::from(arm)) else {
            continue;
        };
        for (slot, score) in z.iter_mut().skip(1).zip(scores) {
            *slot = value_of(schema, score, table, row);
        }
        let y = lower + range * f64::from(table.outcome[row]) / SCALE as f64;
        sum.weight += 1.0;
        sum.second_moment += y * y;
        sum.cross.scaled_add(y, &z);
        for (mut entries, &first) in sum.gram.rows_mut().into_iter().zip(&z) {
            entries.scaled_add(first, &z);
        }
    }
    for sum in &mut sums {
        let scale = 1.0 / sum.weight.max(1.0);
        sum.gram *= scale;
        sum.cross *= scale;
        sum.second_moment *= scale;
    }
    Ok(sums)
}

/// A score of a record, from -1 to 1, over the schema's whole range.
///
/// # Panics
/// If the table is not of the schema, or was read without the values of numeric covariates.
pub(super) fn value_of(schema: &Schema, score: &Score, table: &CodedTable, row: usize) -> f64 {
    let code = usize::from(table.codes[score.column].as_ref().expect("a coded column")[row]);
    match &score.form {
        ScoreForm::Codes(codes) => codes[code] as f64 / SCORE_SCALE as f64,
        _ if code >= schema.columns[score.column].declared_levels() => 0.0,
        form => {
            let values = table.values[score.column].as_ref();
            let position = values.expect("a column with values")[row];
            let value = f64::from(position) / f64::from(u16::MAX) * 2.0 - 1.0;
            match form {
                ScoreForm::Square => 1.5 * (value * value - 1.0 / 3.0),
                _ => value,
            }
        }
    }
}

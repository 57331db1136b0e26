//! Public scores of covariates: what the effects release multiplies and sums.
//!
//! A score is a function of a record that the schema alone fixes, with values in `[-1, 1]`, in whole units
//! of [`SCORE_SCALE`]. It is so scaled that a uniform law has a second moment of about 1/3:
//!
//! | column | scores |
//! |---|---|
//! | integer, real | the value, mapped linearly from the bounds to `[-1, 1]`; on request its square, `1.5 (s^2 - 1/3)` |
//! | boolean, two levels | `-+ sqrt(1/3)` |
//! | ordered, `L` levels | an even grid from -1 to 1, times `sqrt((L - 1) / (L + 1))` |
//! | unordered, `L` levels | per level but the first, `-+ sqrt(1/3)` for "another" and "this one" |
//! | any, per missing code | `-+ sqrt(1/3)`; the column's other scores are 0 there |

use super::{Column, Kind, Schema};
use serde::{Deserialize, Serialize};

/// The units of a score: 1 is `SCORE_SCALE` units. Coarse enough that sums of products of scores stay small
/// integers, fine enough (a thousandth of the range) to be no loss.
pub const SCORE_SCALE: i64 = 1 << 10;

/// How a score comes from a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreForm {
    /// The value of a numeric column.
    Value,
    /// The square of a numeric column's value.
    Square,
    /// By code, in units of `1 / SCORE_SCALE`.
    Codes(Vec<i64>),
}

/// One score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Score {
    /// Its name: `age`, `age^2`, `married=yes`, `age=NA`.
    pub name: String,
    /// Index into [`Schema::columns`].
    pub column: usize,
    /// How it comes from a record.
    pub form: ScoreForm,
}

impl Schema {
    /// The scores of these covariates, in their order, with squares of those that are in `squares` too.
    pub fn scores(&self, covariates: &[usize], squares: &[usize]) -> Vec<Score> {
        let mut scores = Vec::new();
        for &column in covariates {
            add_scores(
                &self.columns[column],
                column,
                squares.contains(&column),
                &mut scores,
            );
        }
        scores
    }
}

fn add_scores(column: &Column, index: usize, square: bool, scores: &mut Vec<Score>) {
    let mut add = |name: String, form| {
        scores.push(Score {
            name,
            column: index,
            form,
        });
    };
    let (declared, levels) = (column.declared_levels(), column.levels());
    match &column.kind {
        Kind::Integer { .. } | Kind::Real { .. } => {
            add(column.name.clone(), ScoreForm::Value);
            if square {
                add(format!("{}^2", column.name), ScoreForm::Square);
            }
        }
        Kind::Categorical {
            levels: grid,
            ordered: true,
            other,
        } if grid.len() > 2 => {
            let codes = ordered_grid(grid.len(), levels);
            add(column.name.clone(), ScoreForm::Codes(codes));
            if other.is_some() {
                add(
                    level_name(column, grid.len()),
                    indicator(grid.len(), levels),
                );
            }
        }
        Kind::Categorical { .. } | Kind::Boolean => {
            for code in 1..declared {
                add(level_name(column, code), indicator(code, levels));
            }
        }
    }
    for code in declared..levels {
        add(level_name(column, code), indicator(code, levels));
    }
}

fn level_name(column: &Column, code: usize) -> String {
    // Codes are below 65536: see the checks of the schema.
    format!("{}={}", column.name, column.level_name(code as u16))
}

/// An even grid of the first `grid` codes, 0 for the others.
fn ordered_grid(grid: usize, levels: usize) -> Vec<i64> {
    let steps = (grid - 1) as f64;
    let scale = (steps / (grid + 1) as f64).sqrt() * SCORE_SCALE as f64;
    let score = |code: usize| (scale * (2.0 * code as f64 / steps - 1.0)).round() as i64;
    (0..levels)
        .map(|code| if code < grid { score(code) } else { 0 })
        .collect()
}

fn indicator(of: usize, levels: usize) -> ScoreForm {
    let unit = (SCORE_SCALE as f64 / 3.0_f64.sqrt()).round() as i64;
    ScoreForm::Codes(
        (0..levels)
            .map(|code| if code == of { unit } else { -unit })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = "
format: dpcausal.schema/1
columns:
  - {name: t, role: treatment, type: boolean}
  - {name: age, type: integer, bounds: [17, 95], bins: 5, missing: [NA]}
  - {name: grade, type: categorical, levels: [low, middle, high], ordered: true, other: unknown}
  - {name: region, type: categorical, levels: [a, b, c]}
  - {name: y, role: outcome, type: boolean}
";

    #[test]
    fn scores_follow_the_type() {
        let schema = Schema::parse(SCHEMA, "s.yaml").unwrap().0;
        let scores = schema.scores(&[1, 2, 3], &[1]);
        let names: Vec<&str> = scores.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "age",
                "age^2",
                "age=NA",
                "grade",
                "grade=unknown",
                "region=b",
                "region=c"
            ]
        );
        // sqrt(2/4) of 1024, and 0 for the other level; sqrt(1/3) of 1024.
        assert_eq!(scores[3].form, ScoreForm::Codes(vec![-724, 0, 724, 0]));
        assert_eq!(scores[5].form, ScoreForm::Codes(vec![-591, 591, -591]));
        for score in &scores {
            if let ScoreForm::Codes(codes) = &score.form {
                assert!(codes.iter().all(|c| c.abs() <= SCORE_SCALE));
            }
        }
    }
}

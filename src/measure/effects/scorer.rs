//! From a coded row to its scores, in whole units, by public parameters alone.

use super::statistic::ScoreSource;
use crate::schema::{SCORE_SCALE, Schema, Score, ScoreForm};
use crate::table::CodedTable;
use serde::{Deserialize, Serialize};

/// The interval of a numeric score that is stretched to `[-1, 1]`; values outside are clamped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Its lower end, in `[-1, 1]`.
    pub lower: f64,
    /// Its upper end, above the lower one.
    pub upper: f64,
}

impl Range {
    /// The whole range of the schema.
    pub const WHOLE: Range = Range {
        lower: -1.0,
        upper: 1.0,
    };

    fn stretch(self, score: f64) -> f64 {
        let middle = f64::midpoint(self.lower, self.upper);
        ((score - middle) / ((self.upper - self.lower) / 2.0)).clamp(-1.0, 1.0)
    }
}

/// Computes scores; each stage of the release knows more parameters than the one before.
#[derive(Debug, Clone)]
pub struct Scorer {
    scores: Vec<Stretched>,
    /// The largest norm of a row's scores, in units of `1 / SCORE_SCALE`.
    radius: Option<i64>,
    /// What is subtracted before the norm is clipped.
    centre: Option<Vec<i64>>,
}

#[derive(Debug, Clone)]
struct Stretched {
    score: Score,
    range: Range,
    /// The codes from this one on are missing codes.
    declared: u16,
}

impl Scorer {
    /// Scores with ranges (one per score; those of scores by code are not looked at). Every entry of a row
    /// lies in `-SCORE_SCALE..=SCORE_SCALE`.
    pub fn new(schema: &Schema, scores: &[Score], ranges: &[Range]) -> Scorer {
        let stretched = |(score, &range): (&Score, &Range)| Stretched {
            score: score.clone(),
            range,
            declared: schema.columns[score.column].declared_levels() as u16,
        };
        Scorer {
            scores: scores.iter().zip(ranges).map(stretched).collect(),
            radius: None,
            centre: None,
        }
    }

    /// With rows shrunk, where need be, to this norm.
    #[must_use]
    pub fn clipped(mut self, radius: i64) -> Scorer {
        self.radius = Some(radius);
        self
    }

    /// With a public centre subtracted, before rows are shrunk.
    #[must_use]
    pub fn centred(mut self, centre: Vec<i64>) -> Scorer {
        self.centre = Some(centre);
        self
    }
}

impl ScoreSource for Scorer {
    fn len(&self) -> usize {
        self.scores.len()
    }

    /// # Panics
    /// If the table is not of the schema, or was read without the values of numeric covariates.
    fn fill(&self, table: &CodedTable, row: usize, out: &mut [i64]) {
        for (slot, score) in out.iter_mut().zip(&self.scores) {
            *slot = score.of(table, row);
        }
        if let Some(centre) = &self.centre {
            for (slot, centre) in out.iter_mut().zip(centre) {
                *slot -= centre;
            }
        }
        if let Some(radius) = self.radius {
            clip_norm(out, radius);
        }
    }
}

impl Stretched {
    fn of(&self, table: &CodedTable, row: usize) -> i64 {
        let column = self.score.column;
        let code = table.codes[column].as_ref().expect("a coded column")[row];
        let units = match &self.score.form {
            ScoreForm::Codes(codes) => return codes[usize::from(code)],
            _ if code >= self.declared => return 0,
            form => {
                let values = table.values[column].as_ref().expect("a column with values");
                let score = f64::from(values[row]) / f64::from(u16::MAX) * 2.0 - 1.0;
                let stretched = self.range.stretch(score);
                match form {
                    ScoreForm::Square => 1.5 * (stretched * stretched - 1.0 / 3.0),
                    _ => stretched,
                }
            }
        };
        // Towards zero; a square lies in [-1/2, 1].
        (units * SCORE_SCALE as f64) as i64
    }
}

/// Shrinks a vector so that its norm is at most `radius`, rounding towards zero.
///
/// The last check is exact, whatever the rounding of the factor: whole numbers, squared and summed.
pub(crate) fn clip_norm(scores: &mut [i64], radius: i64) {
    let squared = |scores: &[i64]| scores.iter().map(|s| s * s).sum::<i64>();
    let limit = radius * radius;
    let mut norm = squared(scores);
    while norm > limit {
        // Just below the exact factor, so that one turn is nearly always enough.
        let factor = radius as f64 / (norm as f64).sqrt() * (1.0 - 1e-12);
        for score in &mut *scores {
            *score = (*score as f64 * factor) as i64;
        }
        norm = squared(scores);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn clipping_keeps_to_the_radius_and_the_direction(
            mut scores in prop::collection::vec(-2048_i64..=2048, 1..12),
            radius in 1_i64..4000,
        ) {
            let before = scores.clone();
            clip_norm(&mut scores, radius);
            let norm: i64 = scores.iter().map(|s| s * s).sum();
            prop_assert!(norm <= radius * radius);
            let was: i64 = before.iter().map(|s| s * s).sum();
            if was <= radius * radius {
                prop_assert_eq!(&before, &scores);
            } else {
                // Truncation loses less than one unit per entry.
                let lost = (radius as f64 - (norm as f64).sqrt()).abs();
                prop_assert!(lost <= (scores.len() as f64).sqrt() + 1e-6);
            }
        }
    }
}

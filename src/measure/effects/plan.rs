//! What the effects release will spend on each stage, from public quantities only.

use super::outcome_statistics::{
    ArmTotals, ResidualSizes, ResidualSquares, ResidualTotals, Residuals,
};
use super::score_statistics::{Cross, Grams, Imbalance, ScoreMoments, ScoreTotals, WEIGHT_SCALE};
use super::selection::utility_sensitivity;
use super::statistic::Statistic;
use crate::measure::MeasureError;
use crate::privacy::{Adjacency, Cost};
use crate::schema::{SCALE, SCORE_SCALE, Schema};
use crate::workload::{EffectsBlock, Stage};

/// The least and the largest share of the arms' stage that small tables raise it to.
const LARGEST_ARMS_SHARE: f64 = 0.3;

/// The arms' noise that is aimed at: a relative error of this size, `sqrt(2) / (mu n sqrt(share))`, moves
/// what is centred by it too little to matter (chosen by simulation).
const ARMS_ERROR: f64 = 0.025;

/// The planned effects.
#[derive(Debug, Clone)]
pub struct EffectsPlan {
    /// The block.
    pub block: EffectsBlock,
    /// Each stage's charge: `mu^2`, of the selection `2 rho`.
    pub charges: Vec<(Stage, f64)>,
    /// What all of it costs.
    pub cost: Cost,
    /// A public guess of the number of records.
    rows: Option<f64>,
}

impl EffectsPlan {
    /// Divides `mu_squared` over the stages. `rows` is a public guess of the number of records, if any.
    ///
    /// # Errors
    /// Where a charge is out of range.
    pub fn new(
        block: EffectsBlock,
        mu_squared: f64,
        rows: Option<f64>,
    ) -> Result<EffectsPlan, MeasureError> {
        let listed = block.stages(None)[0].1;
        let arms = rows.map(|rows| {
            let wanted = (2.0_f64.sqrt() / (ARMS_ERROR * mu_squared.sqrt() * rows)).powi(2);
            wanted.clamp(listed, LARGEST_ARMS_SHARE.max(listed))
        });
        let charges: Vec<(Stage, f64)> = block
            .stages(arms)
            .into_iter()
            .map(|(stage, share)| (stage, share * mu_squared))
            .collect();
        let sum = |selection: bool| -> f64 {
            let of = charges
                .iter()
                .filter(|(s, _)| (*s == Stage::Selection) == selection);
            of.map(|(_, charge)| charge).sum()
        };
        let cost = Cost::gaussian(sum(false))?.plus(&Cost::other(sum(true) / 2.0)?);
        Ok(EffectsPlan {
            block,
            charges,
            cost,
            rows,
        })
    }

    /// The charge of a stage, if it has work.
    pub fn charge(&self, stage: Stage) -> Option<f64> {
        let found = self.charges.iter().find(|(s, _)| *s == stage);
        found.map(|(_, charge)| *charge)
    }

    /// The effects' whole budget, `sqrt(mu^2)`, selection included.
    pub fn mu(&self) -> f64 {
        self.charges.iter().map(|(_, c)| c).sum::<f64>().sqrt()
    }
}

/// What a stage will measure, as far as it is known before: residuals are taken to need the outcome's whole
/// half-range as their clip (`B = 1`), which the release lowers to a few residual scales, and the scores' norm is that of the
/// public guess of the number of records, or the least where there is none.
#[derive(Debug, Clone)]
pub struct StageLine {
    /// The stage.
    pub stage: Stage,
    /// The number of noisy values, or of rounds of the selection.
    pub cells: usize,
    /// The L2 sensitivity, in the statistic's natural units.
    pub sensitivity: f64,
    /// The standard deviation of the noise, in the same units; of the selection, the scale of its log-odds.
    pub sigma: f64,
    /// The charge: `mu^2`, of the selection `2 rho`.
    pub charge: f64,
}

impl EffectsPlan {
    /// The stages as they are planned.
    pub fn lines(&self, schema: &Schema, adjacency: Adjacency) -> Vec<StageLine> {
        let arms = schema.columns[self.block.treatment].levels();
        let scores = self.block.keep;
        let mu_n = self.rows.map_or(0.0, |rows| rows * self.mu());
        let (of_means, radius) = (means_radius(scores), radius(scores, mu_n));
        let residuals = || Residuals {
            centres: vec![0; arms],
            bound: SCALE,
        };
        let constant = gram_constant(radius);
        let weights = vec![WEIGHT_SCALE; arms];
        let line = |&(stage, charge): &(Stage, f64)| {
            let statistic: Box<dyn Statistic> = match stage {
                Stage::Arms => Box::new(ArmTotals { arms }),
                Stage::Ranges => Box::new(ScoreMoments {
                    scores: self.block.values().count(),
                }),
                Stage::Scale => Box::new(ResidualSizes {
                    centres: vec![0; arms],
                    edges: vec![SCALE; super::scale::edges().len()],
                }),
                Stage::Selection => return self.selection_line(adjacency, schema, charge),
                Stage::Spread => Box::new(ResidualSquares(residuals())),
                Stage::OutcomeMeans => Box::new(ResidualTotals(residuals())),
                Stage::ScoreMeans => Box::new(ScoreTotals {
                    scores,
                    radius: of_means,
                }),
                Stage::Imbalance => Box::new(Imbalance {
                    scores,
                    radius,
                    weights: weights.clone(),
                }),
                Stage::Cross => Box::new(Cross {
                    scores,
                    radius,
                    residuals: residuals(),
                }),
                Stage::Covariance => Box::new(Grams {
                    arms,
                    scores,
                    radius,
                    constant,
                }),
            };
            let reach = statistic.reach();
            let units = match adjacency {
                Adjacency::AddRemove => reach.norm,
                Adjacency::ReplaceOne => reach.diameter,
            };
            let rows = f64::from(schema.unit.max_rows());
            let sensitivity = units as f64 * rows / statistic.scale() as f64;
            StageLine {
                stage,
                cells: statistic.cells(),
                sensitivity,
                sigma: sensitivity / charge.sqrt(),
                charge,
            }
        };
        self.charges.iter().map(line).collect()
    }

    fn selection_line(&self, adjacency: Adjacency, schema: &Schema, charge: f64) -> StageLine {
        let units = utility_sensitivity(adjacency, schema.unit.max_rows());
        let sensitivity = units as f64 / SCORE_SCALE as f64;
        // rho = charge / 2 = keep epsilon^2 / 8.
        let epsilon = (4.0 * charge / self.block.keep as f64).sqrt();
        StageLine {
            stage: Stage::Selection,
            cells: self.block.keep,
            sensitivity,
            sigma: 2.0 * sensitivity / epsilon,
            charge,
        }
    }
}

/// The largest norm of `scores` scores about 0, in units of `1 / SCORE_SCALE`: uniform scores have `|s|^2` of mean
/// `K/3`, and the rest is room for its spread, so that their mean is nearly that of unclipped ones.
pub(super) fn means_radius(scores: usize) -> i64 {
    let k = scores as f64;
    ((k / 3.0 + 0.6 * k.sqrt()).sqrt() * SCORE_SCALE as f64).floor() as i64
}

/// The square of the largest norm of `K` scores about their centre, `constant + slope K`, at `mu n` of [`RADIUS_AT`] or less.
/// The constant is for few scores: of one, a clip below 1 leaves little but its sign, and of ten, no more than their length.
const LEAST_RADIUS_SQUARED: [f64; 2] = [1.0, 0.15];

/// The `mu n` from which on that norm grows.
const RADIUS_AT: f64 = 1000.0;

/// How fast it grows: the bias of clipping against the noise, which falls with `mu n`.
const RADIUS_GROWTH: f64 = 0.25;

/// The largest norm of `scores` scores about their centre, in units of `1 / SCORE_SCALE`, from `mu n`, the product of the
/// effects' budget and the number of records.
///
/// The clip takes a record whose scores lie farther out for one in the same direction, in all measurements alike. What it
/// bends leaves some confounding, and a longer norm brings more noise to imbalance and cross products (as `R`) and
/// covariances (as `R^2`). Chosen by simulation, on populations of the study harness that are in none of its claims: up to a
/// `mu n` of some 2000, `R^2 = 2.5` of ten scores has intervals about 15 % shorter than `K/3 + .6 sqrt K`, and errors 12 % smaller. At
/// 7500 and 17,000, where scores are nearly collinear, its bias is half of the standard error, and coverage falls by 3 points;
/// with 5 it does not.
pub(super) fn radius(scores: usize, mu_n: f64) -> i64 {
    let k = scores as f64;
    let [constant, slope] = LEAST_RADIUS_SQUARED;
    let growth = (mu_n / RADIUS_AT).powf(RADIUS_GROWTH).max(1.0);
    // Scores in `[-1, 1]` are at most 2 from their centre.
    let squared = ((constant + slope * k) * growth).min(4.0 * k);
    (squared.sqrt() * SCORE_SCALE as f64).floor() as i64
}

/// The constant before the scores of a Gram matrix: `R / sqrt(10)` makes the arm's mean scores about as
/// exact as their covariances, at a tenth more sensitivity.
pub(super) fn gram_constant(radius: i64) -> i64 {
    (radius as f64 / 10.0_f64.sqrt()).round() as i64
}

/// A public guess of the number of records: the schema's, or what a `delta` chosen as `1 / n^2` implies.
pub(in crate::measure) fn public_rows(schema: &Schema, delta: Option<f64>) -> Option<f64> {
    match schema.rows {
        Some(rows) => Some(rows as f64),
        None => delta.map(|delta| (1.0 / delta).sqrt()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, of ten scores: `1 + 1.5`; 16 times the `mu n`, twice the square; never beyond `4 K`.
    #[test]
    fn the_radius_grows_with_what_is_known() {
        let squared = |mu_n: f64| (radius(10, mu_n) as f64 / SCORE_SCALE as f64).powi(2);
        let expected = [(0.0, 2.5), (1e3, 2.5), (1.6e4, 5.0), (1e12, 40.0)];
        for (mu_n, expected) in expected {
            let found = squared(mu_n);
            assert!((found / expected - 1.0).abs() < 1e-3, "{mu_n}: {found}");
        }
        // The norm about 0 is the longer one as long as noise rules.
        assert!(means_radius(10) > radius(10, 1e4));
        assert_eq!(radius(0, 1e4), 0);
    }
}

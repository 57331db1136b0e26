//! What each part's regression explains, record by record, by earlier parts' released fits.

use crate::release::AdditiveModel;
use crate::schema::SCALE;
use crate::table::CodedTable;

/// The released propensity.
#[derive(Debug, Clone, PartialEq)]
pub enum Propensity {
    /// The same for everyone: the design's, or an estimated share within the overlap bound.
    Constant(f64),
    /// A fitted probability, clipped to the overlap bound.
    Fitted {
        /// The fit of `2 T - 1`.
        model: AdditiveModel,
        /// eta.
        overlap: f64,
    },
}

impl Propensity {
    /// The probability of treatment at a row.
    fn at(&self, table: &CodedTable, row: usize) -> f64 {
        match self {
            Propensity::Constant(share) => *share,
            Propensity::Fitted { model, overlap } => {
                let fitted = 0.5 + 0.5 * model.at(table, row, 0.0);
                fitted.clamp(*overlap, 1.0 - overlap)
            }
        }
    }
}

/// What a record's regression explains: `value` by `weight` times the basis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// What is explained, from -1 to 1: in multiples of [`Targets::bound`].
    pub value: f64,
    /// What the basis is multiplied with, at most [`Targets::weight_bound`] in size.
    pub weight: f64,
}

/// What a part explains. Outcomes are on `[-1, 1]`.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// `2 T - 1`.
    Treatment,
    /// `y`; with the arm as a covariate where so said.
    Outcome {
        /// Whether treatment is a covariate.
        with_treatment: bool,
    },
    /// The doubly robust pseudo-outcome.
    DoublyRobust {
        /// The propensity.
        propensity: Propensity,
        /// The outcome regression on treatment and covariates.
        outcome: AdditiveModel,
        /// The clip, in half-ranges of the outcome.
        clip: f64,
    },
    /// The outcome's residual, explained by the treatment's residual times the basis.
    Residual {
        /// The propensity.
        propensity: Propensity,
        /// The outcome regression on the covariates.
        outcome: AdditiveModel,
        /// The largest size of the treatment's residual.
        weight_bound: f64,
    },
}

impl Targets {
    /// What a value of 1 is, in half-ranges of the outcome (of the treatment: in halves).
    pub fn bound(&self) -> f64 {
        match self {
            Targets::DoublyRobust { clip, .. } => *clip,
            Targets::Treatment | Targets::Outcome { .. } | Targets::Residual { .. } => 1.0,
        }
    }

    /// The public bound on the size of weights, at most 1.
    pub fn weight_bound(&self) -> f64 {
        match self {
            Targets::Residual { weight_bound, .. } => *weight_bound,
            _ => 1.0,
        }
    }

    /// Whether treatment is a covariate.
    pub fn has_treatment(&self) -> bool {
        matches!(
            self,
            Targets::Outcome {
                with_treatment: true
            }
        )
    }

    /// Whether the sum of squares is measured: what intervals know the sampling error by.
    pub fn has_squares(&self) -> bool {
        matches!(self, Targets::DoublyRobust { .. })
    }

    /// Whether records have weights.
    pub fn has_weights(&self) -> bool {
        matches!(self, Targets::Residual { .. })
    }

    /// A row's target. Whatever the fits are, value and weight keep their bounds.
    ///
    /// # Panics
    /// If the table is not of the schema.
    pub fn of(&self, table: &CodedTable, row: usize, arm: u16) -> Target {
        let treated = f64::from(arm.min(1));
        let (value, weight) = match self {
            Targets::Treatment => (2.0 * treated - 1.0, 1.0),
            Targets::Outcome { .. } => (outcome_at(table, row), 1.0),
            Targets::DoublyRobust {
                propensity,
                outcome,
                clip,
            } => {
                let e = propensity.at(table, row);
                let [control, treatment] =
                    [-0.5, 0.5].map(|arm| outcome.at(table, row, arm).clamp(-1.0, 1.0));
                let y = outcome_at(table, row);
                let residual = match arm {
                    0 => -(y - control) / (1.0 - e),
                    _ => (y - treatment) / e,
                };
                ((treatment - control + residual) / clip, 1.0)
            }
            Targets::Residual {
                propensity,
                outcome,
                ..
            } => {
                let fitted = outcome.at(table, row, 0.0).clamp(-1.0, 1.0);
                let residual = outcome_at(table, row) - fitted;
                (residual, treated - propensity.at(table, row))
            }
        };
        let bound = self.weight_bound();
        Target {
            value: within(value, 1.0),
            weight: within(weight, bound),
        }
    }
}

/// The outcome on `[-1, 1]`.
fn outcome_at(table: &CodedTable, row: usize) -> f64 {
    f64::from(table.outcome[row]) / SCALE as f64 * 2.0 - 1.0
}

/// A number clipped to a bound; what is not a number is 0.
fn within(x: f64, bound: f64) -> f64 {
    if x.is_nan() {
        0.0
    } else {
        x.clamp(-bound, bound)
    }
}

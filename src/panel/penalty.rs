//! The ridge penalty chosen from a public grid, by the exponential mechanism.
//!
//! # What is good
//! A penalty `lambda_i` is worth its mean absolute error on the [held-out periods](super::holdout), `q_i`, to which the public
//! standard deviation of the noise that the method will add at this penalty is added (2 at most, the whole scale): a
//! small penalty predicts better and is the more expensive to hide.
//!
//! # The score
//! The errors' sensitivities `Delta_i` differ by orders of magnitude between penalties, and the largest would drown all
//! others. So each is compared with every other in units of what both can move (Raskhodnikova and Smith 2016):
//!
//! ```text
//! s_i = max over j of  ((q_i + t Delta_i) - (q_j + t Delta_j)) / (Delta_i + Delta_j),    t = 2 ln(10 k) / epsilon,
//! ```
//!
//! of `k` candidates. What `t` adds stands for what the choice itself may miss by: with probability .9 none is chosen whose
//! error exceeds another's by more than `t` times both sensitivities. Where the share can't tell them apart, the least
//! sensitive is chosen. **Adjacency.** One donor's whole row is replaced. **Sensitivity.** A numerator moves by at most `Delta_i +
//! Delta_j`, since what was added to the errors is public; so each quotient, and their maximum, moves by at most 1:
//! `2^20` lattice units, and two more for rounding. **Charge.** The share of the choice: pure `epsilon`, or `rho =
//! epsilon^2 / 8`, by the [exponential mechanism](ExponentialMechanism) with utility `-s_i`. The release names the
//! candidate chosen and the charge; of the scores nothing leaves.

use super::PanelError;
use super::channel::Share;
use super::holdout::{HoldOut, mean_absolute};
use super::linear::mean;
use super::method::Setting;
use super::ridge::Ridge;
use super::second_stage::unit_rows;
use crate::privacy::{Accountant, Confidential, Cost, ExponentialMechanism, NoiseSource};
use crate::release::PenaltyChoice;
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use crate::workload::DpscMethod;

/// Lattice units of a score of one.
const UNIT: f64 = (1u64 << 20) as f64;

/// Room for rounding two scores, by half a unit each, and for floating-point errors, which are far smaller.
const ROUNDING: u64 = 2;

/// Scores are held to this many lattice units; they stay far below.
const LARGEST_SCORE: f64 = 1e15;

/// The inverse of the probability that the choice misses by more than it allows for.
const CAUTION: f64 = 10.0;

/// The error of a prediction that knows nothing but the scale.
const WHOLE_SCALE: f64 = 2.0;

/// The choice for one target, before it is made.
pub struct PenaltySelection<'a> {
    schema: &'a PanelSchema,
    past: Vec<f64>,
    candidates: Vec<Candidate>,
    /// `t`.
    caution: f64,
    mechanism: ExponentialMechanism,
}

/// What is public of a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    lambda: f64,
    /// How far a donor can move its error.
    sensitivity: f64,
    /// The noise that the method will add.
    noise: f64,
}

impl<'a> PenaltySelection<'a> {
    /// The choice among `candidates` for a method, whose own share the setting names.
    ///
    /// # Errors
    /// Where a candidate is too small to be solved, or the share too small for a choice.
    pub fn new(
        setting: &Setting<'a>,
        method: DpscMethod,
        candidates: &[f64],
        share: Share,
    ) -> Result<PenaltySelection<'a>, PanelError> {
        let sensitivity = UNIT as u64 + ROUNDING;
        let mechanism = match share {
            Share::Pure(epsilon) => ExponentialMechanism::pure(sensitivity, epsilon)?,
            // The share is of zCDP: mu^2 = 2 rho.
            Share::Gaussian(mu_squared) => {
                ExponentialMechanism::new(sensitivity, mu_squared / 2.0)?
            }
        };
        let past = setting.unit_series()[..setting.frame.pre_periods].to_vec();
        let out = HoldOut::of(past.len());
        let candidate = |&lambda: &f64| {
            let fixed = Setting {
                penalty: Some(lambda),
                ..*setting
            };
            Ok(Candidate {
                lambda,
                sensitivity: out.ridge_sensitivity(&past, setting.donors(), lambda),
                noise: mean(&fixed.method(method)?.expected_deviation()).min(WHOLE_SCALE),
            })
        };
        let candidates: Vec<Candidate> = candidates
            .iter()
            .map(candidate)
            .collect::<Result<_, PanelError>>()?;
        let count = candidates.len() as f64;
        Ok(PenaltySelection {
            schema: setting.schema,
            candidates,
            caution: 2.0 * (CAUTION * count).ln() / mechanism.epsilon(),
            mechanism,
            past,
        })
    }

    /// What the choice costs.
    pub fn cost(&self) -> Cost {
        self.mechanism.cost()
    }

    /// Charges and chooses.
    ///
    /// # Errors
    /// Where the accountant refuses; nothing is drawn then.
    pub fn choose(
        &self,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<PenaltyChoice, PanelError> {
        let question = Question {
            schema: self.schema,
            past: &self.past,
            candidates: &self.candidates,
            caution: self.caution,
        };
        let utilities = donors.ask(&question, utilities);
        let chosen = self.mechanism.choose(utilities, 1, accountant, noise)?;
        // There are candidates, so one is chosen.
        let chosen = chosen.first().copied().unwrap_or(0);
        Ok(PenaltyChoice {
            lambda: self.candidates[chosen].lambda,
            epsilon: self.mechanism.epsilon(),
            cost: self.cost(),
        })
    }
}

/// The public question to the donors.
struct Question<'a> {
    schema: &'a PanelSchema,
    past: &'a [f64],
    candidates: &'a [Candidate],
    caution: f64,
}

fn utilities(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let rows = unit_rows(rows, question.schema);
    let out = HoldOut::of(question.past.len());
    let ridge = Ridge::new(&rows, out.fitted);
    let worth: Vec<f64> = question
        .candidates
        .iter()
        .map(|c| {
            let errors = out.ridge_errors(&ridge, &rows, question.past, c.lambda);
            mean_absolute(&errors) + c.noise + question.caution * c.sensitivity
        })
        .collect();
    let candidates = question.candidates;
    let score = |i: usize| {
        let quotient = |j: usize| {
            (worth[i] - worth[j]) / (candidates[i].sensitivity + candidates[j].sensitivity)
        };
        (0..candidates.len()).map(quotient).fold(0.0, f64::max)
    };
    let whole = |score: f64| -((score * UNIT).round().min(LARGEST_SCORE) as i64);
    (0..candidates.len()).map(|i| whole(score(i))).collect()
}

#[cfg(test)]
mod tests;

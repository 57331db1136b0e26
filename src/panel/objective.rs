//! `objective`: ridge weights of an objective with a random linear term, then a [second stage](super::second_stage).
//! Algorithm 3 of Rho, Cummings and Misra (2023), on a ball, pure.
//!
//! ```text
//! f = argmin over |f| <= |y| / sqrt(2 lambda) of  |y - X' f|^2 + ((lambda + slack) / 2) |f|^2 + b' f
//! ```
//!
//! Without `b` the minimum lies in the ball. Without the ball the proof has a gap: the gradient's sensitivity grows with
//! `|f|`, and `|f|` has no bound.
//!
//! **Adjacency.** One donor's whole row is replaced; the target is public. **Sensitivity.** Of the gradient on the ball,
//! `Delta`, and of the second derivative, `c`: both in [`sensitivity`]. The second derivative is at
//! least `lambda + slack`, and two of its eigenvalues move, by at most `c`: the logarithm of its determinant by at most
//! `2 ln(1 + c / (lambda + slack))`. **Charge.** The weights' share, `epsilon_1`: that logarithm, and `epsilon_0 = Delta /
//! scale of b`. Where the logarithm at `slack = 0` would leave nothing, the slack brings it down to `epsilon_1 / 2`.
//! `sensitivity: paper` takes the paper's bound on the gradient where that is larger. Then the second stage's share.

use super::PanelError;
use super::channel::{Channel, Share};
use super::control::Control;
use super::division::cost_of;
use super::fit::{FitMeasure, RidgeFit};
use super::linear::length;
use super::method::{Method, Setting};
use super::output::{WEIGHTS, control_of, expected, with_second_stage};
use super::ridge::Ridge;
use super::second_stage::unit_rows;
use super::sensitivity;
use crate::privacy::{
    Accountant, CELL_PART, Confidential, Cost, KNormMechanism, NoiseSource, PerturbationMechanism,
};
use crate::release::{NoiseLaw, PanelMeasurement};
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use crate::workload::WeightSensitivity;

/// Room for the minimiser's tolerance in the gradient's sensitivity, as a part of it.
const TOLERANCE: f64 = 1e-6;

/// What the weights' share implies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Added to the penalty.
    pub slack: f64,
    /// What of `epsilon_1` is left for the linear term.
    pub epsilon0: f64,
}

impl Calibration {
    /// Of a second derivative that moves by at most `curvature`.
    pub fn new(epsilon1: f64, lambda: f64, curvature: f64) -> Calibration {
        let left = epsilon1 - 2.0 * (curvature / lambda).ln_1p();
        if left > 0.0 {
            return Calibration {
                slack: 0.0,
                epsilon0: left,
            };
        }
        Calibration {
            slack: curvature / (epsilon1 / 4.0).exp_m1() - lambda,
            epsilon0: epsilon1 / 2.0,
        }
    }
}

/// The method for one target.
pub struct Objective<'a> {
    setting: Setting<'a>,
    past: Vec<f64>,
    lambda: f64,
    /// With the slack.
    penalty: f64,
    radius: f64,
    /// A unit of the linear term.
    unit: f64,
    mechanism: PerturbationMechanism,
    rest: Share,
}

impl<'a> Objective<'a> {
    /// # Errors
    /// Where the share is not pure, or too small.
    pub fn new(setting: &Setting<'a>) -> Result<Objective<'a>, PanelError> {
        let part = setting.workload.weights_share;
        let Share::Pure(epsilon1) = setting.share.part(part) else {
            return Err(PanelError::Configuration(
                "the method objective is offered with a pure guarantee only; leave --delta out"
                    .into(),
            ));
        };
        let (n, pre) = (setting.donors(), setting.frame.pre_periods);
        let past = setting.unit_series()[..pre].to_vec();
        let lambda = setting.lambda()?;
        let curvature = sensitivity::curvature(n, pre);
        let Calibration { slack, .. } = Calibration::new(epsilon1, lambda, curvature);
        let penalty = lambda + slack;
        // A target of zeros still has a ball.
        let radius = length(&past).max(1e-3) / (2.0 * lambda).sqrt();
        let on_ball = sensitivity::gradient(length(&past), n, pre, radius);
        let gradient = match setting.workload.sensitivity {
            WeightSensitivity::Exact => on_ball,
            WeightSensitivity::Paper => on_ball.max(gradient_of_paper(n, pre)),
        };
        let of_curvature = 2.0 * (curvature / penalty).ln_1p();
        let gradient = gradient * (1.0 + TOLERANCE);
        let units = KNormMechanism::lattice(n, gradient, epsilon1 - of_curvature);
        let mechanism = PerturbationMechanism::new(
            n,
            (gradient * units).ceil() as u64,
            of_curvature.next_up(),
            epsilon1,
        )?;
        Ok(Objective {
            setting: *setting,
            past,
            lambda,
            penalty,
            radius,
            unit: 1.0 / units,
            mechanism,
            rest: setting.share.part(1.0 - part),
        })
    }

    /// The bound on the weights' noise: the linear term's over the least second derivative.
    fn weight_scale(&self) -> f64 {
        self.mechanism.scale() as f64 * self.unit / self.penalty
    }

    /// The weights' lattice: a cell's half-width is at least [`CELL_PART`] of the linear term's scale there.
    fn lattice_bits(&self) -> i32 {
        -(2.0 * CELL_PART * self.weight_scale()).log2().ceil() as i32
    }
}

/// The paper's bound on the gradient's sensitivity.
pub fn gradient_of_paper(donors: usize, pre_periods: usize) -> f64 {
    let (n, t0) = (donors as f64, pre_periods as f64);
    let by_curvature = sensitivity::curvature(donors, pre_periods) * n.sqrt() + 4.0 * t0;
    (4.0 * t0 * (8.0 + n).sqrt()).min(by_curvature)
}

/// The public question to the donors.
struct Question<'a> {
    schema: &'a PanelSchema,
    past: &'a [f64],
    penalty: f64,
    radius: f64,
    unit: f64,
    lattice_bits: i32,
}

fn minimum(rows: &DonorRows, question: &Question<'_>, linear_term: &[i64]) -> Vec<i64> {
    let rows = unit_rows(rows, question.schema);
    let ridge = Ridge::new(&rows, question.past.len());
    let b: Vec<f64> = linear_term
        .iter()
        .map(|&b| b as f64 * question.unit)
        .collect();
    let weights = ridge.perturbed(question.past, question.penalty, &b, question.radius);
    let units = f64::from(question.lattice_bits).exp2();
    weights.iter().map(|f| (f * units).round() as i64).collect()
}

impl Method for Objective<'_> {
    fn channels(&self) -> Vec<(&'static str, usize, Channel)> {
        Vec::new()
    }

    fn cost(&self) -> Cost {
        self.mechanism.cost().plus(&cost_of(self.rest))
    }

    fn measure(
        &self,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<PanelMeasurement>, PanelError> {
        let lattice_bits = self.lattice_bits();
        let question = Question {
            schema: self.setting.schema,
            past: &self.past,
            penalty: self.penalty,
            radius: self.radius,
            unit: self.unit,
            lattice_bits,
        };
        let copy = donors.ask(&(), |rows, _| rows.clone());
        let values = self
            .mechanism
            .release(copy, &question, minimum, accountant, noise)?;
        let first = PanelMeasurement {
            name: WEIGHTS.into(),
            law: NoiseLaw::KNormL2,
            lattice_bits,
            scale: (self.weight_scale() * f64::from(lattice_bits).exp2()).ceil() as u64,
            // Of the linear term; the weights themselves have none of their own.
            sensitivity: 0,
            cost: self.mechanism.cost(),
            values,
        };
        with_second_stage(&self.setting, self.rest, first, donors, (accountant, noise))
    }

    fn control(&self, measurements: &[PanelMeasurement]) -> Result<Control, PanelError> {
        control_of(&self.setting, measurements, self.rest)
    }

    fn fit(&self) -> Option<Box<dyn FitMeasure + '_>> {
        Some(Box::new(RidgeFit::new(
            &self.setting,
            &self.past,
            self.lambda,
        )))
    }

    fn expected_deviation(&self) -> Vec<f64> {
        let n = self.setting.donors();
        let one = self.weight_scale() * (n as f64 + 1.0).sqrt();
        // The ball keeps the weights, and so what they can add up to.
        expected(
            &self.setting,
            one.min(self.radius / (n as f64).sqrt()),
            self.rest,
        )
    }

    fn is_worst_case(&self) -> bool {
        true
    }
}

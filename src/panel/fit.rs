//! The released measure of fit: how far target and counterfactual may lie apart, by what the donors say.
//!
//! Without it, the target's departure from its donors has the covariance that the target's own past gives: free, and wide,
//! since it holds all that the donors explain. A share of the budget (`fit_share`) buys one number that says how much of
//! it remains, as a factor `phi` of that covariance:
//!
//! | method | the number | `phi` |
//! |---|---|---|
//! | `index` | the [dispersion](super::index) of the donors about their mean | that, over what it would be by the target's past |
//! | ridge, baselines | the root mean square error on [held-out periods](super::holdout) | its square, over the same |
//!
//! **Adjacency.** One donor's whole row is replaced. **Sensitivity.** Stated where the number is. **Charge.** The fit's share,
//! of one number: Laplace noise where it is pure, else Gaussian. Its noise is a part of the model error's law: draws
//! of the departure are of a `phi` that is drawn, too, as the number less a draw of its noise.

use super::PanelError;
use super::channel::{Channel, Lattice, Rounding, Share};
use super::holdout::{HoldOut, root_mean_square};
use super::law;
use super::linear::{length, mean};
use super::method::Setting;
use super::ridge::Ridge;
use super::second_stage::unit_rows;
use crate::privacy::{Accountant, Confidential, NoiseSource, Norm};
use crate::release::{NoiseLaw, PanelMeasurement};
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use rand::Rng;

/// The measurement's name.
pub const FIT: &str = "fit";

/// `phi` is at least this: no donors follow a target exactly.
const LEAST_FACTOR: f64 = 0.01;

/// A measure of fit, of one number.
pub trait FitMeasure {
    /// How far a donor can move the number.
    fn sensitivity(&self) -> f64;

    /// How the number becomes an integer.
    fn rounding(&self) -> Rounding;

    /// The number, of the donors.
    fn ask(&self, donors: &Confidential<DonorRows>, lattice: Lattice) -> Confidential<Vec<i64>>;

    /// What the number says of `phi`; `measurements` are the method's own.
    ///
    /// # Errors
    /// [`PanelError::Release`] where the measurements are not the method's.
    fn factor(&self, measurements: &[PanelMeasurement]) -> Result<Factor, PanelError>;

    /// The channel of the number.
    ///
    /// # Errors
    /// Where the share is too small.
    fn channel(&self, share: Share) -> Result<Channel, PanelError> {
        Channel::new(share, Norm::L2, 1, self.sensitivity(), self.rounding())
    }

    /// Charges and draws.
    ///
    /// # Errors
    /// Where the accountant refuses, or the share is too small.
    fn measure(
        &self,
        share: Share,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<PanelMeasurement, PanelError> {
        let channel = self.channel(share)?;
        let exact = self.ask(donors, channel.lattice());
        channel.release(FIT, exact, accountant, noise)
    }

    /// What was released.
    ///
    /// # Errors
    /// [`PanelError::Release`] where the measurements are others.
    fn released(
        &self,
        fit: &PanelMeasurement,
        measurements: &[PanelMeasurement],
    ) -> Result<ReleasedFit, PanelError> {
        let numbers = fit.numbers();
        let [number] = numbers[..] else {
            return Err(PanelError::Release(format!("{FIT:?} is one number")));
        };
        Ok(ReleasedFit {
            number,
            law: fit.law,
            scale: fit.noise_scale(),
            factor: self.factor(measurements)?,
        })
    }
}

/// `phi` as a function of the number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Factor {
    /// `base + slope s`, at most `most`.
    Linear {
        /// At zero.
        base: f64,
        /// Per unit of the number.
        slope: f64,
        /// What it can't exceed.
        most: f64,
    },
    /// `slope s^2` for a number from 0 to 2, the unit scale's length.
    Square {
        /// Per unit of the square.
        slope: f64,
    },
}

impl Factor {
    fn of(self, number: f64) -> f64 {
        match self {
            Factor::Linear { base, slope, most } => {
                (base + slope * number).clamp(LEAST_FACTOR, most)
            }
            Factor::Square { slope } => (slope * number.clamp(0.0, 2.0).powi(2)).max(LEAST_FACTOR),
        }
    }
}

/// A number that was released, its noise, and what it says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReleasedFit {
    number: f64,
    law: NoiseLaw,
    scale: f64,
    factor: Factor,
}

impl ReleasedFit {
    /// `phi`, of the number as it was released.
    pub fn factor(&self) -> f64 {
        self.factor.of(self.number)
    }

    /// A `phi` that the number without noise may have given.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let noise = law::coordinates(self.law, self.scale, 1, rng);
        self.factor.of(self.number - noise[0])
    }

    /// The number itself where it is an error on the unit scale.
    pub fn held_out_error(&self) -> Option<f64> {
        match self.factor {
            Factor::Square { .. } => Some(self.number.clamp(0.0, 2.0)),
            Factor::Linear { .. } => None,
        }
    }
}

/// What an error on the held-out periods says of a method on the unit scale: its square, over the mean variance that the
/// target's own past gives for as many periods.
pub fn held_out_factor(setting: &Setting<'_>) -> Factor {
    let held = HoldOut::of(setting.frame.pre_periods).held;
    let covariance = setting.unit_forecast().covariance;
    let variances = (0..covariance.nrows().min(held)).map(|h| covariance[(h, h)]);
    Factor::Square {
        slope: 1.0 / mean(&variances.collect::<Vec<f64>>()),
    }
}

/// The error of ridge regression on the held-out periods.
pub struct RidgeFit<'a> {
    setting: Setting<'a>,
    past: Vec<f64>,
    lambda: f64,
}

impl<'a> RidgeFit<'a> {
    /// Of a setting, `past` and penalty.
    pub fn new(setting: &Setting<'a>, past: &[f64], lambda: f64) -> RidgeFit<'a> {
        RidgeFit {
            setting: *setting,
            past: past.to_vec(),
            lambda,
        }
    }
}

/// The public question to the donors.
struct Question<'a> {
    schema: &'a PanelSchema,
    past: &'a [f64],
    lambda: f64,
    lattice: Lattice,
}

fn ridge_error(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let rows = unit_rows(rows, question.schema);
    let out = HoldOut::of(question.past.len());
    let ridge = Ridge::new(&rows, out.fitted);
    let errors = out.ridge_errors(&ridge, &rows, question.past, question.lambda);
    question.lattice.nearest(&[root_mean_square(&errors)])
}

impl FitMeasure for RidgeFit<'_> {
    fn sensitivity(&self) -> f64 {
        let out = HoldOut::of(self.past.len());
        out.ridge_sensitivity(&self.past, self.setting.donors(), self.lambda)
    }

    fn rounding(&self) -> Rounding {
        Rounding::Nearest
    }

    fn ask(&self, donors: &Confidential<DonorRows>, lattice: Lattice) -> Confidential<Vec<i64>> {
        let question = Question {
            schema: self.setting.schema,
            past: &self.past,
            lambda: self.lambda,
            lattice,
        };
        donors.ask(&question, ridge_error)
    }

    fn factor(&self, _: &[PanelMeasurement]) -> Result<Factor, PanelError> {
        Ok(held_out_factor(&self.setting))
    }
}

/// The squared length of a released mean without what its noise adds on average, at least zero.
pub fn squared_length(mean: &[f64], noise_variance: f64) -> f64 {
    (length(mean).powi(2) - mean.len() as f64 * noise_variance).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impute::{Purpose, stream};

    #[test]
    fn factors_keep_to_their_range_and_are_drawn_about_what_was_released() {
        let linear = Factor::Linear {
            base: 0.5,
            slope: 0.1,
            most: 4.0,
        };
        assert_eq!(
            [linear.of(1.0), linear.of(-9.0), linear.of(99.0)],
            [0.6, 0.01, 4.0]
        );
        let square = Factor::Square { slope: 3.0 };
        assert_eq!(
            [square.of(0.5), square.of(-1.0), square.of(9.0)],
            [0.75, 0.01, 12.0]
        );
        let fit = ReleasedFit {
            number: 10.0,
            law: NoiseLaw::KNormL2,
            scale: 2.0,
            factor: linear,
        };
        assert_eq!(fit.factor(), 1.5);
        let mut rng = stream(3, Purpose::Posterior, 0);
        let mut draws: Vec<f64> = (0..20_001).map(|_| fit.draw(&mut rng)).collect();
        draws.sort_unstable_by(f64::total_cmp);
        // Laplace quartiles, .1 times 2 ln 2 from the centre; a quantile's standard error is below .004.
        assert!((draws[10_000] - 1.5).abs() < 0.02);
        assert!((draws[15_000] - 1.5 - 0.2 * 2f64.ln()).abs() < 0.02);
    }
}

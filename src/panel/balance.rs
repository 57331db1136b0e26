//! `balance`: the error of donors like the target, about the forecast rule of [`index`](super::index).
//!
//! # The estimator
//! A donor's past, as deviations `l - base` from the forecast's bases, has public features `a_i`: its coordinates in the
//! first eight eigenvectors of the covariance that the target's model gives such deviations, each divided by the fourth
//! root of its eigenvalue, all scaled to a typical length of one. Its error from the intervention on is
//! `b_i = Sigma^(-1/4) e_i / rho`, of typical length one too. The regression of the `b_i` on the `a_i`, at the target's own
//! `a_y`, is the mean of the `b_i` with weights `1 + (a_i - mean)' theta` that balance the past: those under which the
//! weighted mean of the `a_i` is `a_y`. So weights need not be released, nor rows be looked at again once they are chosen;
//! moments are enough.
//!
//! # Three Gaussian measurements, with .2, .4 and .4 of the squared parameter
//! | measured | per donor | sensitivity in Euclid's norm |
//! |---|---|---|
//! | `means` | `(a, b + c)`, together clipped to the length `C` | `2 C` |
//! | `moments`, twice | `(u u', v u', v / 2)` of `u = f (a - mean) / A` and `v = f r / B` | `sqrt(5.5)` |
//!
//! `C` is the largest up to 4 at which the noise of a coordinate's mean stays below .07, and 2 at least. `c` is the forecast's drift in the coordinates of `b`, so that a donor that does not move has a vector of zeros. `r` is
//! the residual of `b` from what the earlier measurements say of the regression, and `f = min(1, A / |a - mean|, B / |r|)`; `A =
//! .5`, and `B = .7` the first time and `.5` the second, when residuals are smaller. Matrices `u u'` are symmetric:
//! entries on the diagonal and `sqrt(2)` times those above it, whose length is the Frobenius norm.
//!
//! **Why one factor.** A donor that is clipped still has `v` and `u` in the relation that `r` and `a` have: the clip changes
//! how much a donor counts and not what it says. Clips of their own for `a` and `b` bend the regression, whatever the budget.
//!
//! All are sums over donors, divided by `n` afterwards. **Adjacency.** One donor's whole row is replaced; the target and
//! `n` are public. **Sensitivity.** A mean's contribution and its replacement are at most twice its length apart. Of moments
//! with `|u|, |v| <= 1` and a replacement's `u~`, `v~`, let `p = u'u~` and `q = v'v~`, both within `[-1, 1]`. Then
//!
//! ```text
//! |u u' - u~ u~'|^2 + |v u' - v~ u~'|^2 + |v - v~|^2 / 4  <=  (2 - 2 p^2) + (2 - 2 p q) + (2 - 2 q) / 4,
//! ```
//!
//! linear in `q`: at `q = -1` it is `5 + 2 p - 2 p^2`, at most 5.5 at `p = 1/2`; at `q = 1` it is `4 - 2 p - 2 p^2`, at most 4.5. So
//! 5.5 is the largest, attained by unit vectors at an angle of 60 degrees with opposite residuals. What later measurements
//! take from earlier ones is released by then. **Charge.** `mu^2` in the parts named.
//!
//! # After the noise
//! The regression's normal `posterior` under a prior from the target's own model: slopes whose noise is large stay near
//! zero, and the answer is then that of [`index`](super::index) with Gaussian noise. The privacy error is the posterior's: by
//! noise, and by what the prior holds back because of it.

mod features;
mod posterior;
mod questions;

use super::PanelError;
use super::channel::{Channel, Rounding, Share};
use super::control::{Control, NoiseTerm, PathScale};
use super::method::{Method, Setting};
use crate::privacy::{Accountant, Confidential, NoiseSource, Norm};
use crate::release::{NoiseLaw, PanelMeasurement};
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use faer::Mat;
use features::Features;
use posterior::{Moments, Posterior, Prediction};
use questions::{
    Clip, MOMENTS_SENSITIVITY_SQUARED, MeansQuestion, MomentsQuestion, cells_of_moments,
    sum_of_means, sum_of_moments,
};

/// The parts of the measurements.
const MEANS_PART: f64 = 0.2;
const MOMENTS_PART: f64 = 0.4;
/// The means' clip: the largest that keeps their noise below this, in typical lengths, between these.
const MEANS_NOISE: f64 = 0.07;
const MEANS_CLIPS: [f64; 2] = [2.0, 4.0];
/// The clips of the first moments and of the second.
const CLIPS: [Clip; 2] = [
    Clip {
        past: 0.5,
        residual: 0.7,
    },
    Clip {
        past: 0.5,
        residual: 0.5,
    },
];

const MEANS: &str = "means";
const MOMENTS: [&str; 2] = ["moments", "moments of residuals"];

/// The method for one target.
pub struct Balance<'a> {
    schema: &'a PanelSchema,
    features: Features,
    donors: usize,
    /// The means' clip.
    clip: f64,
    means: Channel,
    moments: Channel,
}

impl<'a> Balance<'a> {
    /// # Errors
    /// Where the share is pure: there is no delta.
    pub fn new(setting: &Setting<'a>) -> Result<Balance<'a>, PanelError> {
        let Share::Gaussian(mu_squared) = setting.share else {
            return Err(PanelError::Configuration(
                "the method balance is Gaussian and needs a delta; add --delta, well below one over the number of \
                 donors, or choose index"
                    .into(),
            ));
        };
        let features = Features::new(setting);
        let (order, periods) = (features.order(), features.periods());
        let clip = means_clip(MEANS_PART * mu_squared, setting.donors());
        let means = Channel::new(
            Share::Gaussian(MEANS_PART * mu_squared),
            Norm::L2,
            order + periods,
            2.0 * clip,
            Rounding::Sum,
        )?;
        let moments = Channel::new(
            Share::Gaussian(MOMENTS_PART * mu_squared),
            Norm::L2,
            cells_of_moments(order, periods),
            MOMENTS_SENSITIVITY_SQUARED.sqrt(),
            Rounding::Nearest,
        )?;
        Ok(Balance {
            schema: setting.schema,
            features,
            donors: setting.donors(),
            clip,
            means,
            moments,
        })
    }

    /// What the means say.
    fn first(&self, means: &PanelMeasurement) -> Posterior {
        let n = self.donors as f64;
        let numbers: Vec<f64> = means.numbers().iter().map(|sum| sum / n).collect();
        let (past, errors) = numbers.split_at(self.features.order());
        let drift = &self.features.drift;
        let errors: Vec<f64> = errors.iter().zip(drift).map(|(b, c)| b - c).collect();
        let noise = (means.noise_scale() / n).powi(2);
        Posterior::new(&self.features.variances, past.to_vec(), &errors, noise)
    }

    /// What the moments of one pass add.
    fn learn(&self, known: &mut Posterior, pass: usize, moments: &PanelMeasurement) {
        let (order, periods) = (self.features.order(), self.features.periods());
        let n = self.donors as f64;
        let noise = moments.noise_scale() / n;
        let moments = Moments::new(&moments.numbers(), n, order, periods);
        known.learn(&moments, CLIPS[pass], noise);
    }

    /// The question of one pass.
    fn question<'q>(&'q self, known: &'q Posterior, pass: usize) -> MomentsQuestion<'q> {
        MomentsQuestion {
            schema: self.schema,
            features: &self.features,
            known,
            clip: CLIPS[pass],
            lattice: self.moments.lattice(),
        }
    }

    fn means_question(&self) -> MeansQuestion<'_> {
        MeansQuestion {
            schema: self.schema,
            features: &self.features,
            clip: self.clip,
            lattice: self.means.lattice(),
        }
    }

    /// The variance of a prediction at a typical distance, where the clipped past has no main direction.
    fn expected(&self) -> Prediction {
        let (order, periods) = (self.features.order(), self.features.periods());
        let n = self.donors as f64;
        let means = (self.means.scale() / n).powi(2);
        let nothing = vec![0.0; periods];
        let centre = vec![0.0; order];
        let mut known = Posterior::new(&self.features.variances, centre, &nothing, means);
        let typical = Moments {
            past: Mat::from_fn(order, order, |i, j| {
                f64::from(u8::from(i == j)) / order as f64
            }),
            cross: vec![vec![0.0; order]; periods],
            mean: nothing,
        };
        for clip in CLIPS {
            known.learn(&typical, clip, self.moments.scale() / n);
        }
        // Two units of length one each, at right angles.
        known.predict(&vec![(2.0 / order as f64).sqrt(); order])
    }
}

/// The clip of the means, from public numbers.
fn means_clip(mu_squared: f64, donors: usize) -> f64 {
    let noise_of_one = 2.0 / (donors as f64 * mu_squared.sqrt());
    (MEANS_NOISE / noise_of_one).clamp(MEANS_CLIPS[0], MEANS_CLIPS[1])
}

impl Method for Balance<'_> {
    fn channels(&self) -> Vec<(&'static str, usize, Channel)> {
        let (order, periods) = (self.features.order(), self.features.periods());
        let cells = cells_of_moments(order, periods);
        vec![
            (MEANS, order + periods, self.means),
            (MOMENTS[0], cells, self.moments),
            (MOMENTS[1], cells, self.moments),
        ]
    }

    fn measure(
        &self,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<PanelMeasurement>, PanelError> {
        let exact = donors.ask(&self.means_question(), sum_of_means);
        let means = self.means.release(MEANS, exact, accountant, noise)?;
        let mut known = self.first(&means);
        let mut measured = vec![means];
        for (pass, name) in MOMENTS.into_iter().enumerate() {
            let exact = donors.ask(&self.question(&known, pass), sum_of_moments);
            let moments = self.moments.release(name, exact, accountant, noise)?;
            self.learn(&mut known, pass, &moments);
            measured.push(moments);
        }
        Ok(measured)
    }

    fn control(&self, measurements: &[PanelMeasurement]) -> Result<Control, PanelError> {
        let (order, periods) = (self.features.order(), self.features.periods());
        let cells = cells_of_moments(order, periods);
        let [means, first, second] = super::method::expect(
            measurements,
            [
                (MEANS, order + periods),
                (MOMENTS[0], cells),
                (MOMENTS[1], cells),
            ],
        )?;
        let mut known = self.first(means);
        self.learn(&mut known, 0, first);
        self.learn(&mut known, 1, second);
        let prediction = known.predict(&self.features.target);
        let to_path = self.features.to_path();
        let common = super::linear::times(&to_path, &prediction.mean);
        let forecast = &self.features.forecast;
        let noise = Mat::from_fn(periods, periods, |i, k| {
            to_path[(i, k)] * prediction.variance[k].sqrt()
        });
        Ok(Control {
            path: forecast
                .path
                .iter()
                .zip(common)
                .map(|(f, c)| f + c)
                .collect(),
            scale: PathScale::compared(self.schema),
            noise: vec![NoiseTerm {
                law: NoiseLaw::DiscreteGaussian,
                scale: 1.0,
                dimension: periods,
                loadings: noise,
            }],
            // The posterior's variance holds it.
            held_back: None,
            departure: Some(forecast.spectrum.clone()),
            fit: None,
            is_worst_case: false,
        })
    }

    fn expected_deviation(&self) -> Vec<f64> {
        let expected = self.expected();
        // Where noise drowns everything the answer is the forecast, which misses by no more than its own variance.
        let remains = expected.variance.iter().zip(&self.features.variances);
        let remains: Vec<f64> = remains.map(|(v, s)| v.min(*s)).collect();
        let remains = self.features.spectrum_of(&remains);
        self.features.forecast.spectrum.deviations(&remains.values)
    }
}

#[cfg(test)]
mod tests;

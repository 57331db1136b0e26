//! `balance`: the donors' mean error as in [`index`](super::index), with weights that balance the past.
//!
//! # The estimator
//! A donor's past, as deviations `l - base` from the forecast's bases, has public features `a_i`: its coordinates in the
//! first eight eigenvectors of the covariance that the target's model gives such deviations, each divided by the fourth
//! root of its eigenvalue, all scaled to a typical length of one. Its error from the intervention on is
//! `b_i = Sigma^(-1/4) e_i / rho`, of typical length one too. Weights `w_i = 1 + a_i' theta` with `theta` chosen such
//! that the weighted mean of the `a_i` is the target's own `a_y` give the mean error of donors like the target.
//!
//! # Three Gaussian measurements, with .30, .15 and .55 of the squared parameter
//! | measured | per donor | sensitivity in Euclid's norm |
//! |---|---|---|
//! | `means` | `a_i` and `b_i`, each clipped to 2.5 | `2 sqrt(2) 2.5` |
//! | `spread` | `a a'`, with `a = a_i - mean` clipped to .7 | `sqrt(2) .7^2`, Frobenius |
//! | `balanced mean` | `clip(1 + a' theta, -t, t)` times `b_i - mean` clipped to 1 | `2 t` |
//!
//! All are sums over donors, divided by `n` afterwards. **Adjacency.** One donor's whole row is replaced; the target and
//! `n` are public. **Sensitivity.** A contribution and its replacement are at most twice its length apart; two matrices
//! `a a'` and `c c'` have squared distance `|a|^4 + |c|^4 - 2 (a'c)^2 <= 2 .7^4`. What later measurements take from
//! earlier ones, the two means, `theta` and `t`, is released by then. **Charge.** `mu^2` in the parts named.
//!
//! The released mean of the past is shrunk towards the target's own `a_y` first, as far as its noise explains their distance:
//! weights that would balance noise stay equal, and the answer is then that of [`index`](super::index).
//!
//! `theta` solves the noisy, ridged equations in the directions of the spread that stand out of its noise; the ridge is
//! the least of a public sequence that keeps the root mean square `omega` of `a' theta` so small that a clip of `1 +
//! omega` leaves the last measurement's noise at .3 of the errors' own scale; where there is room, the clip is `t = 1 + 2 omega`.

mod features;
mod questions;

use super::PanelError;
use super::channel::{Channel, Rounding, Share};
use super::control::{Control, NoiseTerm, PathScale};
use super::linear::{Spectrum, dot, times};
use super::method::{Method, Setting};
use crate::privacy::{Accountant, Confidential, NoiseSource, Norm};
use crate::release::PanelMeasurement;
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use faer::Mat;
use features::{Features, PRIOR};
use questions::{
    ERROR_CLIP, MEANS_CLIP, PAST_CLIP, Question, sum_of_balanced, sum_of_means, sum_of_spreads,
};

/// The parts of the three measurements.
const PARTS: [f64; 3] = [0.30, 0.15, 0.55];
/// The last measurement's noise, as a part of the errors' scale, that weights may grow to.
const NOISE_PART: f64 = 0.3;
/// Weights that depart from one by more than so many root mean squares are clipped
/// where that noise leaves room for it; else by one.
const WEIGHT_CLIP: f64 = 2.0;
/// Root mean squares below this are not worth any weights.
const LEAST_OMEGA: f64 = 0.05;
/// The ridge's sequence.
const LEAST_RIDGE: f64 = 0.001;
const RIDGE_STEP: f64 = 1.3;
const RIDGE_STEPS: i32 = 50;

const MEANS: &str = "means";
const SPREAD: &str = "spread";
const BALANCED: &str = "balanced mean";

/// The method for one target.
pub struct Balance<'a> {
    schema: &'a PanelSchema,
    features: Features,
    donors: usize,
    means: Channel,
    spread: Channel,
    /// The last part of the squared parameter.
    last: f64,
}

/// What is known once the first two measurements are released.
struct Weights {
    past_mean: Vec<f64>,
    error_mean: Vec<f64>,
    theta: Vec<f64>,
    /// The weights' clip, `t`.
    clip: f64,
    channel: Channel,
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
        let cells = features.order() + features.periods();
        let means = Channel::new(
            Share::Gaussian(PARTS[0] * mu_squared),
            Norm::L2,
            cells,
            2.0 * std::f64::consts::SQRT_2 * MEANS_CLIP,
            Rounding::Sum,
        )?;
        let spread = Channel::symmetric(
            PARTS[1] * mu_squared,
            features.order(),
            std::f64::consts::SQRT_2 * PAST_CLIP * PAST_CLIP,
        )?;
        Ok(Balance {
            schema: setting.schema,
            features,
            donors: setting.donors(),
            means,
            spread,
            last: PARTS[2] * mu_squared,
        })
    }

    /// The last channel, for weights up to `clip`.
    fn last_channel(&self, clip: f64) -> Result<Channel, PanelError> {
        Channel::new(
            Share::Gaussian(self.last),
            Norm::L2,
            self.features.periods(),
            2.0 * clip * ERROR_CLIP,
            Rounding::Sum,
        )
    }

    /// Splits the means into those of the past and of the errors, shrunk.
    fn centres(&self, means: &PanelMeasurement) -> (Vec<f64>, Vec<f64>) {
        let n = self.donors as f64;
        let numbers: Vec<f64> = means.numbers().iter().map(|sum| sum / n).collect();
        let (past, errors) = numbers.split_at(self.features.order());
        let noise = (means.noise_scale() / n).powi(2);
        let gains = self.features.gains(noise);
        (
            shrunk_towards(&self.features.target, past, noise),
            gains.iter().zip(errors).map(|(g, e)| g * e).collect(),
        )
    }

    /// The weights' direction, from the released means and spread alone.
    fn weights(
        &self,
        means: &PanelMeasurement,
        spread: &PanelMeasurement,
    ) -> Result<Weights, PanelError> {
        let n = self.donors as f64;
        let order = self.features.order();
        let (past_mean, error_mean) = self.centres(means);
        let numbers = spread.numbers();
        let at = |i: usize, j: usize| {
            let (i, j) = (i.min(j), i.max(j));
            numbers[i * order - i * (i + 1) / 2 + j] / n
        };
        let matrix = Mat::from_fn(order, order, at);
        let spectrum = Spectrum::new(matrix.as_ref());
        let away: Vec<f64> = self
            .features
            .target
            .iter()
            .zip(&past_mean)
            .map(|(y, m)| y - m)
            .collect();
        let away = spectrum.coordinates(&away);
        let noise = spread.noise_scale() / n * (2.0 * order as f64).sqrt();
        let kept: Vec<usize> = (0..order).filter(|&k| spectrum.values[k] > noise).collect();
        let largest = self.largest_clip()?;
        let (theta, omega) = self.direction(&spectrum, &away, &kept, (noise, largest - 1.0));
        let clip = (1.0 + WEIGHT_CLIP * omega).min(largest);
        Ok(Weights {
            past_mean,
            error_mean,
            theta,
            clip,
            channel: self.last_channel(clip)?,
        })
    }

    /// The clip that leaves the last measurement's noise at its limit; one at least.
    fn largest_clip(&self) -> Result<f64, PanelError> {
        let unit = self.last_channel(1.0)?.scale() / self.donors as f64;
        let typical = 1.0 / (self.features.periods() as f64).sqrt();
        Ok((NOISE_PART * typical / unit).max(1.0))
    }

    /// `theta` and the root mean square of the weights' departures from one, which is at most `most`.
    fn direction(
        &self,
        spectrum: &Spectrum,
        away: &[f64],
        kept: &[usize],
        (noise, most): (f64, f64),
    ) -> (Vec<f64>, f64) {
        let order = self.features.order();
        if kept.is_empty() || most <= LEAST_OMEGA {
            return (vec![0.0; order], 0.0);
        }
        let mut step = 0;
        let (parts, omega) = loop {
            let ridge = noise.max(LEAST_RIDGE) * RIDGE_STEP.powi(step);
            let part = |&k: &usize| away[k] / (spectrum.values[k] + ridge);
            let parts: Vec<f64> = kept.iter().map(part).collect();
            let squares = parts
                .iter()
                .zip(kept)
                .map(|(p, &k)| p * p * spectrum.values[k]);
            let omega = squares.sum::<f64>().sqrt();
            step += 1;
            if omega <= most || step == RIDGE_STEPS {
                break (parts, omega);
            }
        };
        let theta = |i: usize| -> f64 {
            kept.iter()
                .zip(&parts)
                .map(|(&k, part)| spectrum.vectors[(i, k)] * part)
                .sum()
        };
        ((0..order).map(theta).collect(), omega)
    }
}

/// A released mean shrunk towards `centre` by James and Stein's positive-part factor for noise of this variance per
/// coordinate: what of the distance the noise explains asks for no weights.
fn shrunk_towards(centre: &[f64], mean: &[f64], noise_variance: f64) -> Vec<f64> {
    let away: Vec<f64> = mean.iter().zip(centre).map(|(m, c)| m - c).collect();
    let of_noise = mean.len() as f64 * noise_variance / dot(&away, &away);
    // No distance at all is none to shrink.
    let kept = if of_noise < 1.0 { 1.0 - of_noise } else { 0.0 };
    centre.iter().zip(away).map(|(c, a)| c + kept * a).collect()
}

impl Method for Balance<'_> {
    fn channels(&self) -> Vec<(&'static str, usize, Channel)> {
        let (order, periods) = (self.features.order(), self.features.periods());
        let mut channels = vec![
            (MEANS, order + periods, self.means),
            (SPREAD, order * (order + 1) / 2, self.spread),
        ];
        // Its charge does not depend on the weights, which scale noise and sensitivity alike.
        if let Ok(last) = self.last_channel(1.0) {
            channels.push((BALANCED, periods, last));
        }
        channels
    }

    fn cost(&self) -> crate::privacy::Cost {
        let first = self.means.cost().plus(&self.spread.cost());
        first.plus(&super::division::cost_of(Share::Gaussian(self.last)))
    }

    fn measure(
        &self,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<PanelMeasurement>, PanelError> {
        let question = |lattice| Question {
            schema: self.schema,
            features: &self.features,
            past_mean: &[],
            error_mean: &[],
            theta: &[],
            clip: 1.0,
            lattice,
        };
        let exact = donors.ask(&question(self.means.lattice()), sum_of_means);
        let means = self.means.release(MEANS, exact, 0, accountant, noise)?;
        let (past_mean, _) = self.centres(&means);
        let second = Question {
            past_mean: &past_mean,
            ..question(self.spread.lattice())
        };
        let exact = donors.ask(&second, sum_of_spreads);
        let order = self.features.order();
        let spread = self
            .spread
            .release(SPREAD, exact, order, accountant, noise)?;
        let weights = self.weights(&means, &spread)?;
        let third = Question {
            past_mean: &weights.past_mean,
            error_mean: &weights.error_mean,
            theta: &weights.theta,
            clip: weights.clip,
            ..question(weights.channel.lattice())
        };
        let exact = donors.ask(&third, sum_of_balanced);
        let balanced = weights
            .channel
            .release(BALANCED, exact, 0, accountant, noise)?;
        Ok(vec![means, spread, balanced])
    }

    fn control(&self, measurements: &[PanelMeasurement]) -> Result<Control, PanelError> {
        let (order, periods) = (self.features.order(), self.features.periods());
        let [means, spread, balanced] = super::method::expect(
            measurements,
            [
                (MEANS, order + periods),
                (SPREAD, order * (order + 1) / 2),
                (BALANCED, periods),
            ],
        )?;
        let weights = self.weights(means, spread)?;
        let n = self.donors as f64;
        let gains = self.features.gains((balanced.noise_scale() / n).powi(2));
        let spectrum = &self.features.forecast.spectrum;
        // From shrunk coordinates back to the path.
        let loadings = Mat::from_fn(periods, periods, |i, k| {
            let back = spectrum.vectors[(i, k)] * spectrum.values[k].powf(0.25) * self.features.rho;
            back * gains[k]
        });
        let total: Vec<f64> = weights
            .error_mean
            .iter()
            .zip(balanced.numbers())
            .map(|(mean, sum)| mean + sum / n)
            .collect();
        let common = times(&loadings, &total);
        let held_back = gains.iter().zip(&spectrum.values);
        let held_back = held_back.map(|(g, value)| (1.0 - g).powi(2) * PRIOR * value);
        Ok(Control {
            path: self
                .features
                .forecast
                .path
                .iter()
                .zip(common)
                .map(|(f, c)| f + c)
                .collect(),
            scale: PathScale::compared(self.schema),
            noise: vec![NoiseTerm::of(balanced, loadings * faer::Scale(1.0 / n))],
            held_back: Some(Spectrum {
                values: held_back.collect(),
                vectors: spectrum.vectors.clone(),
            }),
            departure: Some(spectrum.clone()),
            fit: None,
            is_worst_case: false,
        })
    }

    fn expected_deviation(&self) -> Vec<f64> {
        // Weights up to those that the noise's limit allows.
        let n = self.donors as f64;
        let unit = self
            .last_channel(1.0)
            .map_or(0.0, |channel| channel.scale() / n);
        let typical = 1.0 / (self.features.periods() as f64).sqrt();
        let noise = unit.max(NOISE_PART * typical).powi(2);
        let gains = self.features.gains(noise);
        let spectrum = &self.features.forecast.spectrum;
        let remains = spectrum.values.iter().zip(gains);
        let remains = remains.map(|(value, g)| PRIOR * value * (1.0 - g));
        spectrum.deviations(&remains.collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests;

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
//! `theta` solves the noisy, ridged equations in the directions of the spread that stand out of its noise; the ridge is
//! the least of a public sequence that keeps the root mean square `omega` of `a' theta` so small that `t = 1 + 2 omega`
//! leaves the last measurement's noise at .3 of the errors' own scale.

use super::PanelError;
use super::channel::{Channel, Lattice, Rounding, Share};
use super::control::{Control, NoiseTerm, PathScale};
use super::forecast::Forecast;
use super::linear::{Spectrum, clip_length, dot, times};
use super::method::{Method, Setting, transformed};
use crate::privacy::{Accountant, Confidential, NoiseSource, Norm};
use crate::release::PanelMeasurement;
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use faer::Mat;

/// The parts of the three measurements.
const PARTS: [f64; 3] = [0.30, 0.15, 0.55];
/// The most features of the past.
const FEATURES: usize = 8;
/// Directions of the past below this part of the largest variance are left out.
const NEGLIGIBLE: f64 = 1e-9;
/// The clips.
const MEANS_CLIP: f64 = 2.5;
const PAST_CLIP: f64 = 0.7;
const ERROR_CLIP: f64 = 1.0;
/// The last measurement's noise, as a part of the errors' scale, that weights may grow to.
const NOISE_PART: f64 = 0.3;
/// Weights beyond so many root mean squares are clipped.
const WEIGHT_CLIP: f64 = 2.0;
/// Root mean squares below this are not worth any weights.
const LEAST_OMEGA: f64 = 0.05;
/// The prior variance of what is shrunk, in the errors' own: errors of donors unlike the target are larger.
const PRIOR: f64 = 4.0;
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

/// The public map from a series to features of its past and its errors.
struct Features {
    forecast: Forecast,
    /// The features' rows: deviations to coordinates.
    past: Mat<f64>,
    /// The typical length of an error before scaling, `rho`.
    rho: f64,
    /// The target's own features.
    target: Vec<f64>,
}

impl Features {
    fn new(setting: &Setting<'_>) -> Features {
        let forecast = setting.forecast();
        let pre = setting.frame.pre_periods;
        let own = |s: usize, t: usize| {
            let same = if s == t {
                forecast.observation_variance
            } else {
                0.0
            };
            forecast.step_variance * (s.min(t) + 1) as f64 + same
        };
        // Deviations are linear in the series: D = I - F.
        let deviation = Mat::from_fn(pre, pre, |t, s| {
            let base = &forecast.bases[t];
            let part = if base.contains(&s) {
                1.0 / base.len() as f64
            } else {
                0.0
            };
            (if s == t { 1.0 } else { 0.0 }) - part
        });
        let covariance = &deviation * Mat::from_fn(pre, pre, own) * deviation.transpose();
        let spectrum = Spectrum::new(covariance.as_ref());
        let floor = NEGLIGIBLE * spectrum.values[0];
        let kept: Vec<usize> = (0..pre.min(FEATURES))
            .filter(|&k| spectrum.values[k] > floor)
            .collect();
        let typical: f64 = kept.iter().map(|&k| spectrum.values[k].sqrt()).sum();
        let past = Mat::from_fn(kept.len(), pre, |k, t| {
            let (value, vector) = (spectrum.values[kept[k]], spectrum.vectors[(t, kept[k])]);
            vector * value.powf(-0.25) / typical.sqrt()
        });
        let rho = forecast
            .spectrum
            .values
            .iter()
            .map(|v| v.sqrt())
            .sum::<f64>()
            .sqrt();
        // The target's deviations need no later periods: its errors come out as whatever they are, and are dropped.
        let mut series = setting.transformed_past();
        series.extend(&forecast.path);
        let (deviations, _) = forecast.deviations(&series);
        let target = times(&past, &deviations);
        Features {
            forecast,
            past,
            rho,
            target,
        }
    }

    fn order(&self) -> usize {
        self.past.nrows()
    }

    fn periods(&self) -> usize {
        self.forecast.path.len()
    }

    /// A donor's features: of its past, and of its errors in the eigenvectors of their covariance.
    fn of(&self, row: &[f64], schema: &PanelSchema) -> (Vec<f64>, Vec<f64>) {
        let series: Vec<f64> = row
            .iter()
            .map(|&value| transformed(schema, value))
            .collect();
        let (deviations, errors) = self.forecast.deviations(&series);
        let mut b = self.forecast.spectrum.coordinates(&errors);
        for (b, value) in b.iter_mut().zip(&self.forecast.spectrum.values) {
            *b *= value.powf(-0.25) / self.rho;
        }
        (times(&self.past, &deviations), b)
    }

    /// Values shrunk towards zero, whose noise has this variance: a prior of the forecast's own errors.
    fn gains(&self, noise: f64) -> Vec<f64> {
        let values = self.forecast.spectrum.values.iter();
        let prior = values.map(|value| PRIOR * value.sqrt() / (self.rho * self.rho));
        prior.map(|prior| prior / (prior + noise)).collect()
    }
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
            past.to_vec(),
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
        let (theta, omega) = self.direction(&spectrum, &away, &kept, noise)?;
        let clip = 1.0 + WEIGHT_CLIP * omega;
        Ok(Weights {
            past_mean,
            error_mean,
            theta,
            clip,
            channel: self.last_channel(clip)?,
        })
    }

    /// `theta` and the root mean square of the weights' departures from one.
    fn direction(
        &self,
        spectrum: &Spectrum,
        away: &[f64],
        kept: &[usize],
        noise: f64,
    ) -> Result<(Vec<f64>, f64), PanelError> {
        let order = self.features.order();
        let unit = self.last_channel(1.0)?.scale() / self.donors as f64;
        let typical = 1.0 / (self.features.periods() as f64).sqrt();
        let most = ((NOISE_PART * typical / unit - 1.0) / WEIGHT_CLIP).max(0.0);
        if kept.is_empty() || most <= LEAST_OMEGA {
            return Ok((vec![0.0; order], 0.0));
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
        Ok(((0..order).map(theta).collect(), omega))
    }
}

/// The public questions to the donors.
struct Question<'a> {
    schema: &'a PanelSchema,
    features: &'a Features,
    past_mean: &'a [f64],
    error_mean: &'a [f64],
    theta: &'a [f64],
    clip: f64,
    lattice: Lattice,
}

fn sum_of_means(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let features = question.features;
    let mut sum = vec![0; features.order() + features.periods()];
    for row in rows {
        let (mut a, mut b) = features.of(row, question.schema);
        clip_length(&mut a, MEANS_CLIP);
        clip_length(&mut b, MEANS_CLIP);
        a.append(&mut b);
        question.lattice.add(&mut sum, &a);
    }
    sum
}

/// A donor's past about the released mean, clipped.
fn centred(mut a: Vec<f64>, mean: &[f64]) -> Vec<f64> {
    a.iter_mut().zip(mean).for_each(|(a, m)| *a -= m);
    clip_length(&mut a, PAST_CLIP);
    a
}

fn sum_of_spreads(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let order = question.features.order();
    let mut sum = vec![0; order * (order + 1) / 2];
    for row in rows {
        let a = centred(
            question.features.of(row, question.schema).0,
            question.past_mean,
        );
        question
            .lattice
            .add_triangle(&mut sum, order, |i, j| a[i] * a[j]);
    }
    sum
}

fn sum_of_balanced(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let mut sum = vec![0; question.features.periods()];
    for row in rows {
        let (a, mut b) = question.features.of(row, question.schema);
        let weight = 1.0 + dot(&centred(a, question.past_mean), question.theta);
        let weight = weight.clamp(-question.clip, question.clip);
        b.iter_mut()
            .zip(question.error_mean)
            .for_each(|(b, m)| *b -= m);
        clip_length(&mut b, ERROR_CLIP);
        b.iter_mut().for_each(|b| *b *= weight);
        question.lattice.add(&mut sum, &b);
    }
    sum
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
        first.plus(&super::output::cost_of(Share::Gaussian(self.last)))
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
mod tests {
    use super::*;
    use crate::panel::effects::of_target;
    use crate::panel::tests::panels::{Panel, accountant};
    use crate::workload::DpscMethod;

    /// Given the first two measurements, intervals for privacy alone cover the estimate without the last one's noise. With
    /// 400 repetitions the standard error of a coverage of .95 is .011; the bounds are 3.2 of them away.
    #[test]
    fn intervals_for_noise_cover_the_estimate_without_it() {
        const REPETITIONS: u64 = 400;
        for mu_squared in [0.05, 0.8] {
            let (mut of_path, mut of_mean) = (0, 0);
            for repetition in 0..REPETITIONS {
                let panel = Panel::factor_model(60, 16, 20, repetition);
                let setting = panel.setting(Share::Gaussian(mu_squared));
                let balance = Balance::new(&setting).unwrap();
                let donors = Confidential::new(panel.rows.clone());
                let mut noise = NoiseSource::insecure_seed(repetition);
                let mut account = accountant(balance.cost());
                let measured = balance.measure(&donors, &mut account, &mut noise).unwrap();
                let weights = balance.weights(&measured[0], &measured[1]).unwrap();
                let question = Question {
                    schema: &panel.schema,
                    features: &balance.features,
                    past_mean: &weights.past_mean,
                    error_mean: &weights.error_mean,
                    theta: &weights.theta,
                    clip: weights.clip,
                    lattice: weights.channel.lattice(),
                };
                let mut exact = measured.clone();
                exact[2].values = sum_of_balanced(&panel.rows, &question);
                let of = |measured: &[PanelMeasurement], draws| {
                    let control = balance.control(measured).unwrap();
                    of_target(
                        &setting,
                        &control,
                        DpscMethod::Balance,
                        0.95,
                        (repetition, draws),
                    )
                };
                let (truth, ours) = (of(&exact, 2), of(&measured, 500));
                let holds = |[low, high]: [f64; 2], value: f64| low <= value && value <= high;
                for (ours, truth) in ours.periods.iter().zip(&truth.periods) {
                    let interval = ours.effect.privacy_interval;
                    of_path += u64::from(holds(interval, truth.effect.estimate));
                }
                of_mean += u64::from(holds(ours.att.privacy_interval, truth.att.estimate));
            }
            let path = of_path as f64 / (4 * REPETITIONS) as f64;
            let mean = of_mean as f64 / REPETITIONS as f64;
            assert!((0.915..=0.985).contains(&path), "{mu_squared}: path {path}");
            assert!((0.915..=0.985).contains(&mean), "{mu_squared}: mean {mean}");
        }
    }

    /// However extreme the donors and whatever the released means and weights, replacing a donor moves no sum of
    /// integers by more than its charge is for.
    #[test]
    fn the_sensitivities_hold() {
        let panel = Panel::factor_model(30, 12, 16, 3);
        let setting = panel.setting(Share::Gaussian(0.5));
        let balance = Balance::new(&setting).unwrap();
        let donors = Confidential::new(panel.rows.clone());
        let mut noise = NoiseSource::insecure_seed(5);
        let mut account = accountant(balance.cost());
        let measured = balance.measure(&donors, &mut account, &mut noise).unwrap();
        let weights = balance.weights(&measured[0], &measured[1]).unwrap();
        let question = |lattice| Question {
            schema: &panel.schema,
            features: &balance.features,
            past_mean: &weights.past_mean,
            error_mean: &weights.error_mean,
            theta: &weights.theta,
            clip: weights.clip,
            lattice,
        };
        let row = |seed: usize, size: f64| -> Vec<f64> {
            (0..16)
                .map(|t| (5.0 + size * ((seed + 3 * t) as f64).sin()).exp())
                .collect()
        };
        let order = balance.features.order();
        type Sum = fn(&DonorRows, &Question<'_>) -> Vec<i64>;
        let sums: [(Sum, Lattice, bool); 3] = [
            (sum_of_means, balance.means.lattice(), false),
            (sum_of_spreads, balance.spread.lattice(), true),
            (sum_of_balanced, weights.channel.lattice(), false),
        ];
        for ((sum, lattice, is_matrix), measured) in sums.into_iter().zip(&measured) {
            let question = question(lattice);
            let mut most: f64 = 0.0;
            for seed in 0..1500 {
                let size = 0.02 * (seed % 60) as f64;
                let a = sum(&vec![row(seed, size)], &question);
                let b = sum(&vec![row(seed + 1 + seed / 7, -size)], &question);
                let cells = (0..order).flat_map(|i| (i..order).map(move |j| i == j));
                let square = |(a, b): (&i64, &i64)| ((a - b) as f64).powi(2);
                let squares = a.iter().zip(&b).map(square);
                // Off the diagonal an entry stands for two.
                let apart: f64 = match is_matrix {
                    true => squares
                        .zip(cells)
                        .map(|(s, d)| if d { s } else { 2.0 * s })
                        .sum(),
                    false => squares.sum(),
                };
                most = most.max(apart.sqrt());
            }
            let found = most / measured.sensitivity as f64;
            assert!(found <= 1.0 && found > 0.6, "{}: {found}", measured.name);
        }
    }

    #[test]
    fn a_triangle_is_read_row_by_row() {
        let order = 4;
        let cells: Vec<(usize, usize)> = (0..order)
            .flat_map(|i| (i..order).map(move |j| (i, j)))
            .collect();
        for (at, (i, j)) in cells.iter().enumerate() {
            assert_eq!(i * order - i * (i + 1) / 2 + j, at);
        }
    }
}

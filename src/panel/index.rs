//! `index`: the donors' mean error about the forecast rule that the target's own past gives.
//!
//! # The estimator
//! The [forecast](super::forecast) says where a series goes that moves like the target's past. Donor `i` misses it by
//! `e_i`, one number per period from the intervention on; the mean of the `e_i` is what happened to everyone. In the
//! eigenvectors `v_k` of the forecast's error covariance, eigenvalues `lambda_k`, the error has coordinates
//!
//! ```text
//! u_ik = lambda_k^(-1/4) v_k' e_i,    k = 1 .. r,
//! ```
//!
//! which give small and large directions their due: the noise that follows costs the path the least in sum. A donor's
//! `u_i` is clipped to the length `kappa rho`, `rho^2 = sum_k lambda_k^(1/2)`, which is `kappa` times its typical length
//! for a series like the target. The mean of the clipped `u_i` is released.
//!
//! **Adjacency.** One donor's whole row is replaced; the target's series, the bounds and the number of donors `n` are
//! public, and so is everything derived from them: forecast, covariance, `r`, `rho`. **Sensitivity.** A donor's part of
//! the mean is a vector of length at most `kappa rho / n`, before and after: `2 kappa rho / n` in Euclid's norm,
//! attained by opposite vectors. **Charge.** Pure: the whole share's `epsilon`, of one
//! [K-norm mechanism](crate::privacy::KNormMechanism) in `r` dimensions.
//!
//! # After the noise
//! Coordinate `k` is shrunk by `lambda_k^(1/2) / (lambda_k^(1/2) + v)`, `v` the noise's variance per coordinate: the
//! posterior mean where the common error has the forecast's own covariance. The rank `r` minimises what then remains,
//! `sum_(k > r) lambda_k + sum_(k <= r) lambda_k v / (lambda_k^(1/2) + v)`, from public numbers.

mod dispersion;

use super::PanelError;
use super::channel::{Channel, Lattice, Rounding, Share};
use super::control::{Control, NoiseTerm, PathScale};
use super::fit::FitMeasure;
use super::forecast::Forecast;
use super::linear::{Spectrum, clip_length};
use super::method::{Method, Setting, expect, transformed};
use crate::privacy::{Accountant, Confidential, NoiseSource, Norm};
use crate::release::PanelMeasurement;
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use dispersion::Dispersion;
use faer::Mat;

/// The measurement's name.
const NAME: &str = "mean error";

/// The method for one target.
pub struct Index<'a> {
    schema: &'a PanelSchema,
    forecast: Forecast,
    donors: usize,
    rank: usize,
    /// `kappa`.
    clip: f64,
    /// The clip, `kappa rho`.
    radius: f64,
    channel: Channel,
}

impl<'a> Index<'a> {
    /// # Errors
    /// Where the share is not pure, or too small.
    pub fn new(setting: &Setting<'a>) -> Result<Index<'a>, PanelError> {
        let Share::Pure(epsilon) = setting.share else {
            return Err(PanelError::Configuration(
                "the method index is pure; it takes its share of epsilon".into(),
            ));
        };
        let forecast = setting.forecast();
        let (clip, n) = (setting.workload.clip, setting.donors());
        let values = &forecast.spectrum.values;
        // Ranks without a noise scale, of zero eigenvalues, are never better; rank 1 always has one.
        let best = (1..=values.len()).min_by(|&a, &b| {
            let remains = |rank| remaining_variance(values, rank, clip, n, epsilon);
            remains(a).total_cmp(&remains(b))
        });
        let rank = best.unwrap_or(1);
        let radius = clip * rho(values, rank);
        let channel = Channel::new(setting.share, Norm::L2, rank, 2.0 * radius, Rounding::Sum)?;
        Ok(Index {
            schema: setting.schema,
            forecast,
            donors: n,
            rank,
            clip,
            radius,
            channel,
        })
    }

    /// The public question to the donors.
    fn question(&self) -> Question<'_> {
        Question {
            schema: self.schema,
            forecast: &self.forecast,
            rank: self.rank,
            radius: self.radius,
            lattice: self.channel.lattice(),
        }
    }

    /// The number of directions that are released.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The factor of each coordinate after the noise.
    fn gains(&self) -> Vec<f64> {
        let noise = (self.channel.deviation(self.rank) / self.donors as f64).powi(2);
        let values = &self.forecast.spectrum.values[..self.rank];
        values
            .iter()
            .map(|l| l.sqrt() / (l.sqrt() + noise))
            .collect()
    }

    /// What a coordinate adds to the path.
    fn loadings(&self, factors: &[f64]) -> Mat<f64> {
        let spectrum = &self.forecast.spectrum;
        Mat::from_fn(spectrum.values.len(), self.rank, |i, k| {
            spectrum.vectors[(i, k)] * spectrum.values[k].powf(0.25) * factors[k]
        })
    }

    /// The covariance of what shrinkage holds back of the retained directions.
    fn held_back(&self) -> Spectrum {
        let spectrum = &self.forecast.spectrum;
        let gains = self.gains();
        let kept = gains
            .iter()
            .zip(&spectrum.values)
            .map(|(g, l)| (1.0 - g).powi(2) * l);
        let mut values: Vec<f64> = kept.collect();
        values.resize(spectrum.values.len(), 0.0);
        Spectrum {
            values,
            vectors: spectrum.vectors.clone(),
        }
    }
}

/// `sum_k lambda_k^(1/2)` over the first `rank`, its root.
fn rho(values: &[f64], rank: usize) -> f64 {
    values[..rank].iter().map(|l| l.sqrt()).sum::<f64>().sqrt()
}

/// The variance that remains of the path's, in sum over its periods.
pub fn remaining_variance(
    values: &[f64],
    rank: usize,
    clip: f64,
    donors: usize,
    epsilon: f64,
) -> f64 {
    let sensitivity = 2.0 * clip * rho(values, rank) / donors as f64;
    let noise = Share::Pure(epsilon).deviation(rank, sensitivity).powi(2);
    let kept = values[..rank]
        .iter()
        .map(|l| l * noise / (l.sqrt() + noise));
    let kept = kept.filter(|remains| remains.is_finite()).sum::<f64>();
    kept + values[rank..].iter().sum::<f64>()
}

/// The public question to the donors.
struct Question<'a> {
    schema: &'a PanelSchema,
    forecast: &'a Forecast,
    rank: usize,
    radius: f64,
    lattice: Lattice,
}

/// A donor's clipped coordinates.
fn coordinates(row: &[f64], question: &Question<'_>) -> Vec<f64> {
    let compared = |&value: &f64| transformed(question.schema, value);
    let series: Vec<f64> = row.iter().map(compared).collect();
    let (_, errors) = question.forecast.deviations(&series);
    let spectrum = &question.forecast.spectrum;
    let mut u = spectrum.coordinates(&errors);
    u.truncate(question.rank);
    for (u, value) in u.iter_mut().zip(&spectrum.values) {
        *u *= value.powf(-0.25);
    }
    clip_length(&mut u, question.radius);
    u
}

fn sum(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let mut sum = vec![0; question.rank];
    for row in rows {
        question.lattice.add(&mut sum, &coordinates(row, question));
    }
    sum
}

impl Method for Index<'_> {
    fn channels(&self) -> Vec<(&'static str, usize, Channel)> {
        vec![(NAME, self.rank, self.channel)]
    }

    fn measure(
        &self,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<PanelMeasurement>, PanelError> {
        let asked = (donors, &self.question());
        let measured = self.channel.answer(NAME, asked, sum, accountant, noise)?;
        Ok(vec![measured])
    }

    fn control(&self, measurements: &[PanelMeasurement]) -> Result<Control, PanelError> {
        let [measured] = expect(measurements, [(NAME, self.rank)])?;
        let n = self.donors as f64;
        let factors: Vec<f64> = self.gains().iter().map(|gain| gain / n).collect();
        let loadings = self.loadings(&factors);
        let common = super::linear::times(&loadings, &measured.numbers());
        Ok(Control {
            path: self
                .forecast
                .path
                .iter()
                .zip(common)
                .map(|(f, c)| f + c)
                .collect(),
            scale: PathScale::compared(self.schema),
            noise: vec![NoiseTerm::of(measured, loadings)],
            held_back: Some(self.held_back()),
            departure: Some(self.forecast.spectrum.clone()),
            fit: None,
            is_worst_case: false,
        })
    }

    fn fit(&self) -> Option<Box<dyn FitMeasure + '_>> {
        Some(Box::new(Dispersion(self)))
    }

    fn expected_deviation(&self) -> Vec<f64> {
        let spectrum = &self.forecast.spectrum;
        let gains = self.gains().into_iter().chain(std::iter::repeat(0.0));
        // Of a posterior variance, (1 - gain) of the prior's remains.
        let remains = spectrum
            .values
            .iter()
            .zip(gains)
            .map(|(value, g)| value * (1.0 - g));
        spectrum.deviations(&remains.collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests;

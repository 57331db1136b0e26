//! The public map from a series to features of its past and of its errors.

use crate::panel::forecast::Forecast;
use crate::panel::linear::{Spectrum, times};
use crate::panel::method::{Setting, transformed};
use crate::schema::PanelSchema;
use faer::Mat;

/// The most features of the past.
const FEATURES: usize = 8;
/// Directions of the past below this part of the largest variance are left out.
const NEGLIGIBLE: f64 = 1e-9;
/// The prior variance of what is shrunk, in the errors' own: errors of donors unlike the target are larger.
pub(super) const PRIOR: f64 = 4.0;

/// The public map from a series to features of its past and its errors.
pub(super) struct Features {
    pub forecast: Forecast,
    /// The features' rows: deviations to coordinates.
    past: Mat<f64>,
    /// The typical length of an error before scaling, `rho`.
    pub rho: f64,
    /// The target's own features.
    pub target: Vec<f64>,
}

impl Features {
    pub fn new(setting: &Setting<'_>) -> Features {
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

    pub fn order(&self) -> usize {
        self.past.nrows()
    }

    pub fn periods(&self) -> usize {
        self.forecast.path.len()
    }

    /// A donor's features: of its past, and of its errors in the eigenvectors of their covariance.
    pub fn of(&self, row: &[f64], schema: &PanelSchema) -> (Vec<f64>, Vec<f64>) {
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
    pub fn gains(&self, noise: f64) -> Vec<f64> {
        let values = self.forecast.spectrum.values.iter();
        let prior = values.map(|value| PRIOR * value.sqrt() / (self.rho * self.rho));
        prior.map(|prior| prior / (prior + noise)).collect()
    }
}

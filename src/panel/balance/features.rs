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

/// The public map from a series to features of its past and its errors.
pub(super) struct Features {
    pub forecast: Forecast,
    /// The features' rows: deviations to coordinates.
    past: Mat<f64>,
    /// The typical length of an error before scaling, `rho`.
    pub rho: f64,
    /// The variances that the target's model gives the errors' coordinates; they sum to one.
    pub variances: Vec<f64>,
    /// The drift's coordinates: an error plus these is a deviation from the bases alone.
    pub drift: Vec<f64>,
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
        let values = &forecast.spectrum.values;
        let rho = values.iter().map(|v| v.sqrt()).sum::<f64>().sqrt();
        let variances = values.iter().map(|v| v.sqrt() / (rho * rho)).collect();
        let drift = error_coordinates(&forecast, rho, &forecast.drift);
        // The target's deviations need no later periods: its errors come out as whatever they are, and are dropped.
        let mut series = setting.transformed_past();
        series.extend(&forecast.path);
        let (deviations, _) = forecast.deviations(&series);
        let target = times(&past, &deviations);
        Features {
            forecast,
            past,
            rho,
            variances,
            drift,
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
        let b = error_coordinates(&self.forecast, self.rho, &errors);
        (times(&self.past, &deviations), b)
    }

    /// From coordinates of errors to the path: one column per coordinate.
    pub fn to_path(&self) -> Mat<f64> {
        let spectrum = &self.forecast.spectrum;
        Mat::from_fn(self.periods(), self.periods(), |i, k| {
            spectrum.vectors[(i, k)] * spectrum.values[k].powf(0.25) * self.rho
        })
    }

    /// Variances of independent coordinates as the spectrum of the path's covariance.
    pub fn spectrum_of(&self, variances: &[f64]) -> Spectrum {
        let spectrum = &self.forecast.spectrum;
        let scales = spectrum.values.iter().map(|v| v.sqrt() * self.rho.powi(2));
        Spectrum {
            values: variances.iter().zip(scales).map(|(v, s)| v * s).collect(),
            vectors: spectrum.vectors.clone(),
        }
    }
}

/// `Sigma^(-1/4) e / rho` in the eigenvectors of `Sigma`.
fn error_coordinates(forecast: &Forecast, rho: f64, errors: &[f64]) -> Vec<f64> {
    let mut b = forecast.spectrum.coordinates(errors);
    for (b, value) in b.iter_mut().zip(&forecast.spectrum.values) {
        *b *= value.powf(-0.25) / rho;
    }
    b
}

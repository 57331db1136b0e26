//! The private counterfactual: its path, and the law of what separates it from the path without noise.

use super::fit::ReleasedFit;
use super::law;
use super::linear::Spectrum;
use super::method::Setting;
use crate::release::{NoiseLaw, PanelMeasurement};
use crate::schema::{PanelSchema, Transform};
use faer::Mat;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// The scale of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PathScale {
    /// That on which series are compared: logarithms or levels.
    Transformed(Transform),
    /// From -1 to 1 between the bounds.
    Unit([f64; 2]),
}

impl PathScale {
    /// The scale on which the schema's series are compared.
    pub fn compared(schema: &PanelSchema) -> PathScale {
        PathScale::Transformed(schema.transform())
    }

    /// The unit scale of the schema's bounds.
    pub fn unit(schema: &PanelSchema) -> PathScale {
        PathScale::Unit(schema.bounds)
    }

    /// A value of the path in the outcome's units.
    pub fn outcome(self, value: f64) -> f64 {
        match self {
            PathScale::Transformed(transform) => transform.invert(value),
            PathScale::Unit([lower, upper]) => lower + (value + 1.0) / 2.0 * (upper - lower),
        }
    }

    /// How much the outcome moves with the path there.
    pub fn slope(self, value: f64) -> f64 {
        match self {
            PathScale::Transformed(Transform::Level) => 1.0,
            PathScale::Transformed(Transform::Log) => value.exp(),
            PathScale::Unit([lower, upper]) => (upper - lower) / 2.0,
        }
    }
}

/// A part of the path's error that is a linear image of noise of a known law.
#[derive(Debug, Clone)]
pub struct NoiseTerm {
    /// The law.
    pub law: NoiseLaw,
    /// Its scale.
    pub scale: f64,
    /// The coordinates of the noise that was drawn; at least as many as `loadings` has columns, of which it is then
    /// the leading ones.
    pub dimension: usize,
    /// What one unit of each coordinate adds to the path: one row per value of the path.
    pub loadings: Mat<f64>,
}

impl NoiseTerm {
    /// The whole noise of a measurement with these loadings.
    pub fn of(measurement: &PanelMeasurement, loadings: Mat<f64>) -> NoiseTerm {
        NoiseTerm {
            law: measurement.law,
            scale: measurement.noise_scale(),
            dimension: measurement.values.len(),
            loadings,
        }
    }

    /// The noise of a measurement whose values each enter one value of the path, with this factor.
    pub fn each(measurement: &PanelMeasurement, factor: f64) -> NoiseTerm {
        let cells = measurement.values.len();
        let loadings = Mat::<f64>::identity(cells, cells) * faer::Scale(factor);
        NoiseTerm::of(measurement, loadings)
    }

    /// Adds a draw to a path.
    fn add<R: Rng + ?Sized>(&self, path: &mut [f64], rng: &mut R) {
        let count = self.loadings.ncols();
        let noise = match self.law {
            NoiseLaw::KNormL2 => law::leading_coordinates(self.scale, self.dimension, count, rng),
            law => law::coordinates(law, self.scale, count, rng),
        };
        for (i, value) in path.iter_mut().enumerate() {
            *value += (0..count)
                .map(|k| self.loadings[(i, k)] * noise[k])
                .sum::<f64>();
        }
    }
}

/// A private counterfactual.
#[derive(Debug, Clone)]
pub struct Control {
    /// One value per period from the intervention on, or a single one: their mean.
    pub path: Vec<f64>,
    /// The scale of the path.
    pub scale: PathScale,
    /// The noise in it.
    pub noise: Vec<NoiseTerm>,
    /// The covariance of what was held back because of the noise: a normal prior's, from public numbers.
    pub held_back: Option<Spectrum>,
    /// The covariance of the target's own departure from its donors, from public numbers.
    pub departure: Option<Spectrum>,
    /// What was released of how much of that covariance remains.
    pub fit: Option<ReleasedFit>,
    /// Whether the law of the noise is a bound that holds whatever the donors are.
    pub is_worst_case: bool,
}

impl Control {
    /// A path that the same estimate without noise may have had: the released one less a draw of the noise.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let mut error = vec![0.0; self.path.len()];
        for term in &self.noise {
            term.add(&mut error, rng);
        }
        self.path
            .iter()
            .zip(error)
            .map(|(path, e)| path - e)
            .collect()
    }

    /// Adds a draw of the target's departure, and of what was held back, to a path.
    pub fn add_departure<R: Rng + ?Sized>(&self, path: &mut [f64], rng: &mut R) {
        if let Some(held_back) = &self.held_back {
            add_normal(held_back, 1.0, path, rng);
        }
        if let Some(departure) = &self.departure {
            let factor = self.fit.as_ref().map_or(1.0, |fit| fit.draw(rng));
            add_normal(departure, factor.sqrt(), path, rng);
        }
    }

    /// A path on the unit scale, of one value per period or of their mean, with one noise and nothing held back.
    pub fn on_unit_scale(setting: &Setting<'_>, path: Vec<f64>, noise: NoiseTerm) -> Control {
        let is_mean = path.len() < setting.frame.post_periods();
        Control {
            departure: Some(Control::unit_departure(setting, is_mean)),
            path,
            scale: PathScale::unit(setting.schema),
            noise: vec![noise],
            held_back: None,
            fit: None,
            is_worst_case: false,
        }
    }

    /// The departure of a path on the unit scale: the public forecast's own error, of its mean where the path is one
    /// number.
    pub fn unit_departure(setting: &Setting<'_>, is_mean: bool) -> Spectrum {
        let forecast = setting.unit_forecast();
        if !is_mean {
            return forecast.spectrum;
        }
        let r = forecast.path.len();
        let sum: f64 = (0..r * r)
            .map(|at| forecast.covariance[(at / r, at % r)])
            .sum();
        Spectrum {
            values: vec![sum / (r * r) as f64],
            vectors: Mat::identity(1, 1),
        }
    }
}

fn add_normal<R: Rng + ?Sized>(spectrum: &Spectrum, factor: f64, path: &mut [f64], rng: &mut R) {
    for (k, variance) in spectrum.values.iter().enumerate() {
        let normal: f64 = StandardNormal.sample(rng);
        let size = factor * variance.sqrt() * normal;
        for (i, value) in path.iter_mut().enumerate() {
            *value += size * spectrum.vectors[(i, k)];
        }
    }
}

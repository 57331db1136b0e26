//! Posterior draws of the true moments, refits, and imputed tables.
//!
//! **Noise posterior** (`kappa = 1`; the NA+MI of Asiaee and Aryan 2026, after Raisa et al. 2023). Given
//! the released `q~ = q + N(0, sigma^2)` and a flat prior, the true statistics are distributed as
//! `q_k = q~ + N(0, sigma^2)`. Each draw is calibrated from the base fit as a warm start; the draws
//! carry the privacy noise only, so the sampling variance has to be added when they are combined (see
//! [`crate::estimate::combine`]).
//!
//! **Laplace posterior** (`kappa = 0`): see [`laplace`].
//!
//! All randomness here is post-processing: it is drawn from streams fixed by a public seed, and costs
//! nothing.

pub mod laplace;
mod rows;
mod stream;

mod kappa;
mod origin;
pub use kappa::Kappa;
pub use origin::{METADATA_KEY, TableKind, TableOrigin};
pub use rows::{impute_tables, sample_rows};
pub use stream::{Purpose, derived_seed, stream};

use crate::model::{
    Calibration, Calibrator, Diagnostics, Model, ModelError, Released, Settings, Targets,
};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// The base fit of a release, from which draws are refitted.
pub struct BaseFit {
    /// The problem and the meaning of its variables.
    pub released: Released,
    calibrator: Calibrator,
    calibration: Calibration,
}

impl BaseFit {
    /// Calibrates a model to the released values. `progress` hears the iteration and the relative gap.
    ///
    /// # Errors
    /// Where the model would be too large or the reference measure rules out everything.
    pub fn new(
        released: Released,
        progress: &mut dyn FnMut(u64, f64),
    ) -> Result<BaseFit, ModelError> {
        let calibrator = Calibrator::new(released.problem.clone())?;
        let calibration =
            calibrator.calibrate(&calibrator.targets(), &Settings::default(), progress)?;
        Ok(BaseFit {
            released,
            calibrator,
            calibration,
        })
    }

    /// The model at the released values.
    pub fn model(&self) -> &Model {
        &self.calibration.model
    }

    /// How well it fits.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.calibration.diagnostics
    }

    /// `m` draws of the noise posterior, refitted in parallel; draw `k` depends on the seed and `k` only.
    /// `done` is called after each refit.
    ///
    /// # Errors
    /// Those of the calibration.
    pub fn noise_posterior(
        &self,
        m: usize,
        seed: u64,
        done: &(dyn Fn() + Sync),
    ) -> Result<Vec<Calibration>, ModelError> {
        let warm = self.calibrator.warm_start(&self.calibration);
        (0..m)
            .into_par_iter()
            .map(|k| {
                let values = self.draw_values(seed, k as u64);
                let targets = Targets {
                    values: &values,
                    warm: Some(&warm),
                    ..self.calibrator.targets()
                };
                let fit = self
                    .calibrator
                    .calibrate(&targets, &Settings::default(), &mut |_, _| ());
                done();
                fit
            })
            .collect()
    }

    /// `q~ + N(0, sigma^2)`, all measurements in order.
    fn draw_values(&self, seed: u64, k: u64) -> Vec<f64> {
        let mut random = stream(seed, Purpose::Posterior, k);
        let targets = self.calibrator.targets();
        let noisy = |(value, sigma): (&f64, f64)| {
            let z: f64 = StandardNormal.sample(&mut random);
            value + sigma * z
        };
        targets
            .values
            .iter()
            .zip(self.calibrator.sigma())
            .map(noisy)
            .collect()
    }
}

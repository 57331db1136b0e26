//! Procedures: what turns a table into estimates with intervals, private or not.
//!
//! A new one is a type with [`Procedure`] and a line in [`named`].

mod effects;
pub mod floor;
mod measuring;
mod noisy_difference;
mod star;

use super::coding::CodedRows;
use anyhow::{Result, bail, ensure};
use dpcausal::estimate::Estimand;
use dpcausal::schema::{Schema, SchemaFile};

/// What a procedure is given.
pub struct Input<'a> {
    /// The dataset's schema.
    pub schema: &'a Schema,
    /// The same as a document, for releases.
    pub document: &'a SchemaFile,
    /// Numeric covariates whose square is a score too.
    pub squares: &'a [String],
    /// The table.
    pub rows: &'a CodedRows,
    /// The effect to estimate.
    pub estimand: Estimand,
    /// What may be spent; nothing for procedures that are not private.
    pub budget: Option<Budget>,
    /// Fixes all randomness.
    pub seed: u64,
}

/// An (epsilon, delta) guarantee, by add-remove adjacency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    pub epsilon: f64,
    pub delta: f64,
}

/// One estimate with its interval of nominal 95 %, in the outcome's units.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimated {
    /// The estimator's name.
    pub estimator: String,
    /// The estimate.
    pub estimate: f64,
    /// The interval's ends.
    pub interval: [f64; 2],
}

/// The settings that procedures share.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Posterior draws, for procedures that draw.
    pub draws: usize,
    /// The only estimators that are wanted; empty for all.
    pub estimators: Vec<String>,
}

impl Settings {
    fn wants(&self, estimator: &str) -> bool {
        self.estimators.is_empty() || self.estimators.iter().any(|name| name == estimator)
    }
}

/// A way from a table to estimates.
pub trait Procedure: Sync {
    /// Whether it spends a budget. One that does not runs once per repetition, not once per epsilon.
    fn is_private(&self) -> bool {
        true
    }

    /// The estimates, at least one, in a fixed order.
    ///
    /// # Errors
    /// Where there is no estimate. The study counts it as a failure and goes on.
    fn run(&self, input: &Input, settings: &Settings) -> Result<Vec<Estimated>>;
}

/// The procedure of a name: `effects+prior_scale=0.1` is `effects` with that constant of its fit.
///
/// # Errors
/// Where there is none.
pub fn named(name: &str) -> Result<Box<dyn Procedure>> {
    let mut parts = name.split('+');
    let base = parts.next().unwrap_or_default();
    let settings: Vec<&str> = parts.collect();
    ensure!(
        settings.is_empty() || base == "effects",
        "{base} has no constants; only effects does"
    );
    Ok(match base {
        "floor" => Box::new(floor::Floor),
        "star" => Box::new(star::Star),
        "effects" => Box::new(effects::Effects::with(&settings)?),
        "noisy-difference" => Box::new(noisy_difference::NoisyDifference),
        _ => bail!(
            "there is no mechanism {name:?}; there are floor, effects, star and noisy-difference"
        ),
    })
}

/// The quantile of a two-sided normal interval of 95 %.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;

/// An estimate with a normal interval.
fn normal(estimator: &str, estimate: f64, variance: f64) -> Estimated {
    let half = NORMAL_95 * variance.sqrt();
    Estimated {
        estimator: estimator.into(),
        estimate,
        interval: [estimate - half, estimate + half],
    }
}

//! Procedures: what turns a table into estimates with intervals, private or not.
//!
//! A new one is a type with [`Procedure`] and a line in [`named`].

mod effects;
pub mod floor;
mod measuring;
mod microdata;
mod noisy_difference;
mod star;
mod workload;

use super::coding::CodedRows;
use super::fidelity::Fidelity;
use super::population::Question;
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
    /// All that is asked, of which the effect to estimate is one. Procedures that know no further questions answer
    /// that one.
    pub questions: &'a [Question],
    /// What may be spent; nothing for procedures that are not private.
    pub budget: Option<Budget>,
    /// Fixes all randomness.
    pub seed: u64,
}

impl Input<'_> {
    /// The effect to estimate, on everyone.
    fn main_question(&self) -> Question {
        Question::of_everyone(self.estimand)
    }
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
    /// What it answers.
    pub question: Question,
    /// The estimate; NaN where there is none.
    pub estimate: f64,
    /// The interval's ends.
    pub interval: [f64; 2],
    /// Why there is no estimate; empty where there is one.
    pub failure: String,
}

impl Estimated {
    /// An estimate with its interval, or the reason why there is none.
    fn of(
        estimator: &str,
        question: Question,
        found: Result<(f64, [f64; 2]), String>,
    ) -> Estimated {
        let (estimate, interval, failure) = match found {
            Ok((estimate, interval)) if estimate.is_finite() => (estimate, interval, String::new()),
            Ok(_) => (f64::NAN, [f64::NAN; 2], "not finite".into()),
            Err(reason) => (f64::NAN, [f64::NAN; 2], reason),
        };
        Estimated {
            estimator: estimator.into(),
            question,
            estimate,
            interval,
            failure,
        }
    }
}

/// What a procedure finds on one table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    /// The estimates, in a fixed order.
    pub estimates: Vec<Estimated>,
    /// How faithful the synthetic microdata are, where there are any.
    pub fidelity: Option<Fidelity>,
}

impl From<Vec<Estimated>> for Findings {
    fn from(estimates: Vec<Estimated>) -> Findings {
        Findings {
            estimates,
            fidelity: None,
        }
    }
}

/// The settings that procedures share.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Posterior draws, for procedures that draw.
    pub draws: usize,
    /// The only estimators that are wanted; empty for all.
    pub estimators: Vec<String>,
    /// On panels, the repetitions whose intervals are computed.
    pub interval_repetitions: usize,
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

    /// The estimates, at least one.
    ///
    /// # Errors
    /// Where there is no estimate. The study counts it as a failure and goes on.
    fn run(&self, input: &Input, settings: &Settings) -> Result<Findings>;
}

/// The procedure of a name: `effects+prior_scale=0.1` is `effects` with that constant of its fit; the name of a
/// workload file, such as `mst` or `aim+rounds=50`, is its [microdata](microdata).
///
/// # Errors
/// Where there is none.
pub fn named(name: &str) -> Result<Box<dyn Procedure>> {
    let mut parts = name.split('+');
    let base = parts.next().unwrap_or_default();
    let settings: Vec<&str> = parts.collect();
    let has_settings = !["floor", "star", "noisy-difference"].contains(&base);
    ensure!(
        settings.is_empty() || has_settings,
        "{base} has nothing to set"
    );
    Ok(match base {
        "floor" => Box::new(floor::Floor),
        "star" => Box::new(star::Star),
        "effects" => Box::new(effects::Effects::with(&settings)?),
        "noisy-difference" => Box::new(noisy_difference::NoisyDifference),
        _ => match workload::Variant::named(base, &settings)? {
            Some(variant) => Box::new(microdata::Microdata::new(variant)),
            None => bail!(
                "there is no mechanism {name:?}; there are floor, effects, star, noisy-difference and the names of \
                 the workload files"
            ),
        },
    })
}

/// The quantile of a two-sided normal interval of 95 %.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;

/// An estimate with a normal interval.
fn normal(estimator: &str, question: Question, estimate: f64, variance: f64) -> Estimated {
    let half = NORMAL_95 * variance.sqrt();
    let found = (estimate, [estimate - half, estimate + half]);
    Estimated::of(estimator, question, Ok(found))
}

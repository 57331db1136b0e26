//! Intervals for the projection of the effect onto the basis, of `dr` with second moments in a trial.
//!
//! # What they are for
//! Where the design states the propensity, the pseudo-outcome `psi` has the mean `tau(x)` given the covariates, whatever the
//! outcome regression is worth (before its clip). So `theta* = (E phi phi')^-1 E phi tau` is the projection of the effect onto the
//! basis: what the best sum of such functions would be. It is *not* the effect where that is no such sum. Its average over
//! the covariates is the average effect exactly, as the basis has a constant.
//!
//! # The error
//! Released are `G = sum phi phi' + E`, `c = sum phi z + e` with `z = psi / B`, all cells with noise of standard deviation `s`.
//! The estimate `theta = G^-1 c` (no ridge) has `G (theta - theta*) = u`,
//!
//! ```text
//! u = sum phi (z - phi' theta*) + e - E theta*
//! Var u = v G + s^2 (1 + |theta|^2) I + s^2 (theta theta' - diag(theta_i^2))
//! ```
//!
//! where `v` is the variance of `z - phi' theta*`, from the noisy `sum z^2` (which is measured for it). The last two terms are
//! the variance of `e` and of `E theta`, whose entries share a cell of the symmetric `E`. A linear functional `a' theta` has
//! the standard error `sqrt(a' G^-1 Var(u) G^-1 a)`. What noise in `G^-1` does beyond that is of second order: intervals are
//! printed only where the least eigenvalue of `G` is several times the spectral norm of `E`, about `2 s sqrt(p)`.
//! The average needs no inverse: `c_0 / G_00`, with the variance `(v0 n + s^2 (1 + mean^2)) / n^2`, `v0` that of `z`.
//!
//! The simulation that they rest on is in `benchmarks/cate` (`--coverage`).

use super::effect::moment_fit;
use super::second_moment::MomentFit;
use super::second_moment::basis::{Block, BlockForm, MomentBasis};
use super::sequence::effect_bound;
use crate::cate::{CateError, half_range};
use crate::panel::linear::{Spectrum, dot, times};
use crate::release::CheckedCateRelease;
use crate::workload::{CateLearner, MomentBasisKind, SplitPart};
use faer::Mat;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

/// The least eigenvalue of the Gram matrix, in spectral norms of its noise, that intervals by covariate need.
const LEAST_EIGENVALUE: f64 = 2.0;

/// The least noisy number of records, in standard deviations of its noise, that the average's interval needs.
const LEAST_RECORDS: f64 = 5.0;

/// The projection of the effect onto the basis, with intervals.
#[derive(Debug, Clone, Serialize)]
pub struct Projection {
    /// The intervals' level.
    pub level: f64,
    /// The average effect.
    pub average: ProjectedEffect,
    /// What covariates add to the average, as the best sum of such functions says it; none where the noise leaves too little.
    pub points: Vec<ProjectedEffect>,
    /// Why there are no points, where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_points: Option<String>,
}

/// An estimate with an interval, in the outcome's units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProjectedEffect {
    /// The covariate; none of the average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Where: a value or a level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The interval's lower end.
    pub lower: f64,
    /// Its upper end.
    pub upper: f64,
}

/// Why a release has no intervals, or the intervals that it has.
///
/// # Errors
/// Where the release's parts do not fit each other.
pub fn projection(
    release: &CheckedCateRelease,
    level: f64,
) -> Result<Option<Projection>, CateError> {
    if !(level > 0.0 && level < 1.0) {
        return Err(CateError::Configuration(format!(
            "the level of intervals lies between 0 and 1, and it is {level}; give --level .95"
        )));
    }
    let Some(settings) = &release.workload.split else {
        return Ok(None);
    };
    let supported = release.workload.learner == CateLearner::Dr
        && settings.known_propensity.is_some()
        && !settings.boosts(SplitPart::Effect)
        && settings.basis != MomentBasisKind::Hat;
    if !supported {
        return Ok(None);
    }
    let (basis, fit) = moment_fit(release, settings, SplitPart::Effect)?;
    let unit = half_range(release) * effect_bound(&release.workload, settings);
    let Some(squares) = fit.squares else {
        return Ok(None);
    };
    let quantile = Normal::standard().inverse_cdf(f64::midpoint(level, 1.0));
    let records = fit.gram[(0, 0)];
    if records < LEAST_RECORDS * fit.noise {
        return Ok(None);
    }
    let printed = |column: Option<String>, label, estimate: f64, error: f64| ProjectedEffect {
        column,
        label,
        estimate: estimate * unit,
        standard_error: error * unit,
        lower: (estimate - quantile * error) * unit,
        upper: (estimate + quantile * error) * unit,
    };
    let mean = fit.cross[0] / records;
    let variance = (squares / records - mean * mean).clamp(0.0, 1.0);
    let own = variance * records + fit.noise * fit.noise * (1.0 + mean * mean);
    let average = printed(None, None, mean, own.sqrt() / records);
    let Some(system) = System::new(&basis, &fit, squares) else {
        return Ok(Some(Projection {
            level,
            average,
            points: Vec::new(),
            without_points: Some(
                "the noise leaves too little of the covariates' second moments: intervals by covariate were not simulated to hold here; a larger budget, more records or fewer covariates would".into(),
            ),
        }));
    };
    let mut points = Vec::new();
    for block in &basis.blocks {
        let column = &release.schema.columns[block.column];
        for (label, functions) in block.places(column) {
            let (estimate, error) = system.difference(block, &functions);
            points.push(printed(
                Some(column.name.clone()),
                Some(label),
                estimate,
                error,
            ));
        }
    }
    Ok(Some(Projection {
        level,
        average,
        points,
        without_points: None,
    }))
}

/// The unpenalised solution, without the functions that others say already.
struct System {
    /// The functions that are kept, ascending.
    kept: Vec<usize>,
    /// By kept function, the coefficient.
    theta: Vec<f64>,
    /// The variance matrix of the coefficients.
    variance: Mat<f64>,
    /// By function of the basis, its mean over the records.
    means: Vec<f64>,
    /// The noise's standard deviation over the number of records: that of the means.
    mean_noise: f64,
    records: f64,
}

impl System {
    /// Solves, where the noise leaves enough of the Gram matrix.
    fn new(basis: &MomentBasis, fit: &MomentFit, squares: f64) -> Option<System> {
        // Indicators of all codes of a covariate sum to the constant: the first says nothing new.
        let spare: Vec<usize> = basis
            .blocks
            .iter()
            .filter(|block| block.form == BlockForm::Codes)
            .map(|block| block.first)
            .collect();
        let kept: Vec<usize> = (0..basis.size).filter(|k| !spare.contains(k)).collect();
        let p = kept.len();
        let gram = Mat::from_fn(p, p, |i, j| fit.gram[(kept[i], kept[j])]);
        let cross: Vec<f64> = kept.iter().map(|&k| fit.cross[k]).collect();
        let spectrum = Spectrum::new(gram.as_ref());
        let norm = 2.0 * fit.noise * (p as f64).sqrt();
        if spectrum
            .values
            .last()
            .is_none_or(|least| *least < LEAST_EIGENVALUE * norm)
        {
            return None;
        }
        let inverse = spectrum.map(|value| 1.0 / value);
        let theta = times(&inverse, &cross);
        let records = fit.gram[(0, 0)];
        let explained = dot(&theta, &cross);
        let residual = ((squares - explained) / records).clamp(0.0, 1.0);
        let noise = fit.noise * fit.noise;
        let length = dot(&theta, &theta);
        let of_sums = Mat::from_fn(p, p, |i, j| {
            let shared = if i == j {
                1.0 + length
            } else {
                theta[i] * theta[j]
            };
            residual * gram[(i, j)] + noise * shared
        });
        Some(System {
            variance: &inverse * of_sums * &inverse,
            theta,
            kept,
            means: fit.mean_basis(basis.size),
            mean_noise: fit.noise / records,
            records,
        })
    }

    /// What a covariate's functions of these values add to its average, and the standard error, that of its mean included.
    fn difference(&self, block: &Block, functions: &[f64]) -> (f64, f64) {
        let mut direction = vec![0.0; self.kept.len()];
        let mut of_means = 0.0;
        for (place, &k) in self.kept.iter().enumerate() {
            if (block.first..block.first + block.size()).contains(&k) {
                let mean = self.means[k];
                direction[place] = functions[k - block.first] - mean;
                // Of a function within -1 and 1, the sampling variance is at most (1 - mean^2) / n.
                let sampling = (1.0 - mean * mean).max(0.0) / self.records;
                of_means += self.theta[place].powi(2) * (self.mean_noise.powi(2) + sampling);
            }
        }
        let estimate = dot(&direction, &self.theta);
        let variance = dot(&direction, &times(&self.variance, &direction));
        (estimate, (variance + of_means).max(0.0).sqrt())
    }
}

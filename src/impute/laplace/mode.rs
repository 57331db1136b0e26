//! The posterior's mode and curvature, with the prior's variances fitted on the way.
//!
//! Damped Gauss-Newton: with `C = n Sigma + sigma^2 I` and the derivative `J` at the current parameters,
//!
//! ```text
//! Lambda = J' C^-1 J + diag(1 / v)            step = Lambda^-1 (J' C^-1 (s~ - n mu) - theta / v)
//! ```
//!
//! Between steps the four variances of the leaves' contrasts are set to the mean of `theta^2 + (Lambda^-1)_ii`
//! over the contrasts that share them: the M step of EM with the E step by Laplace's method (empirical
//! Bayes). After [`EM_STEPS`] of them the variances stand, and Newton's steps go on to their end.

use super::LaplaceError;
use super::law::{self, Law};
use super::star::{Effect, Point, Star};
use super::sums::Sums;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::solvers::{Llt, Solve};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, Par, Side};

/// Prior variance of the hub's logits: an sd of 3 is wider than any table of use.
const HUB_VARIANCE: f64 = 9.0;
/// Where the variances start: main, treatment, outcome, both. EM leaves them, so that any small values do.
const START_VARIANCES: [f64; 4] = [0.25, 0.05, 0.1, 0.02];
/// What no variance falls below: contrasts of .03 and .01, odds that differ by a few per cent. EM would
/// take many steps to the 0 at which a contrast is switched off altogether.
const LEAST_VARIANCES: [f64; 4] = [1e-3, 1e-4, 1e-4, 1e-4];
/// Newton steps before the variances move: the first steps are far from the mode.
const STEPS_BEFORE_EM: usize = 2;
/// The most EM steps.
const EM_STEPS: usize = 40;
/// The relative change of every variance that counts as none.
const EM_TOLERANCE: f64 = 0.01;
/// The largest entry of one step: beyond it the linearisation of a softmax says little.
const LONGEST_STEP: f64 = 0.7;
/// The length of the last step in posterior standard deviations: the draws' spread hides it.
const TOLERANCE: f64 = 1e-3;
/// A step that is longer than this share of the one before it counts as no progress: `C` moves with the
/// parameters, and where it throws them back and forth, steps are halved.
const PROGRESS: f64 = 0.9;
/// The shortest share of a step that is taken.
const SHORTEST: f64 = 1.0 / 64.0;
/// Steps in all.
const MOST_STEPS: usize = 300;

/// The mode with what surrounds it.
#[derive(Debug, Clone)]
pub(super) struct Mode {
    /// `theta^`.
    pub(super) parameters: Vec<f64>,
    /// The lower Cholesky factor of `Lambda`.
    pub(super) factor: Mat<f64>,
    /// The prior variances: main, treatment, outcome, both.
    pub(super) variances: [f64; 4],
    /// Newton's steps.
    pub(super) steps: usize,
}

/// The quadratic approximation at some parameters.
struct Expansion {
    /// Of `C`.
    covariance: Llt<f64>,
    /// Of `Lambda`.
    factor: Llt<f64>,
    /// `1 / v`, parameter by parameter.
    precision: Vec<f64>,
    step: Vec<f64>,
    /// The step's length in posterior standard deviations, `sqrt(step' Lambda step)`.
    length: f64,
}

/// Finds the mode.
///
/// # Errors
/// Where the sums are such that a matrix loses its definiteness, or the steps do not end.
pub(super) fn find(star: &Star, sums: &Sums) -> Result<Mode, LaplaceError> {
    let mut parameters = star.start(&sums.arm_shares(star));
    let mut variances = START_VARIANCES;
    let mut em_left = EM_STEPS;
    let (mut damping, mut before) = (1.0, f64::INFINITY);
    for steps in 1..=MOST_STEPS {
        let expansion = expand(star, &star.at(&parameters), sums, &parameters, &variances)?;
        let length = expansion.length;
        if !length.is_finite() {
            break;
        }
        if length < TOLERANCE && em_left == 0 {
            return Ok(Mode {
                parameters,
                factor: expansion.factor.L().to_owned(),
                variances,
                steps,
            });
        }
        if em_left == 0 && length > PROGRESS * before {
            damping = f64::max(damping / 2.0, SHORTEST);
        }
        before = length;
        parameters = descend(star, sums, &parameters, &expansion, damping);
        if steps > STEPS_BEFORE_EM && em_left > 0 {
            let updated = maximise(star, &parameters, &expansion.factor);
            let settled = |e: usize| (updated[e] / variances[e] - 1.0).abs() < EM_TOLERANCE;
            em_left = if (0..4).all(settled) { 0 } else { em_left - 1 };
            variances = updated;
        }
    }
    Err(LaplaceError::Diverged {
        steps: MOST_STEPS,
        length: before,
    })
}

/// A share of the step along which the misfit, with `C` as it stands, falls.
fn descend(
    star: &Star,
    sums: &Sums,
    parameters: &[f64],
    expansion: &Expansion,
    damping: f64,
) -> Vec<f64> {
    let misfit = |at: &[f64]| {
        let mean = law::mean(star, &star.at(at));
        let mut residual = Mat::from_fn(mean.len(), 1, |i, _| sums.values[i] - mean[i]);
        solve_lower_triangular_in_place(expansion.covariance.L(), residual.as_mut(), Par::Seq);
        let prior = at.iter().zip(&expansion.precision).map(|(t, p)| t * t * p);
        residual.squared_norm_l2() + prior.sum::<f64>()
    };
    let moved = |share: f64| -> Vec<f64> {
        let along = parameters.iter().zip(&expansion.step);
        along.map(|(theta, step)| theta + share * step).collect()
    };
    let longest = expansion.step.iter().fold(0.0, |l: f64, s| l.max(s.abs()));
    let mut share = damping * (LONGEST_STEP / longest).min(1.0);
    let start = misfit(parameters);
    // A step within the tolerance is rounding as far as the misfit can tell.
    while expansion.length > TOLERANCE && share > SHORTEST && misfit(&moved(share)) > start {
        share /= 2.0;
    }
    moved(share)
}

fn expand(
    star: &Star,
    point: &Point,
    sums: &Sums,
    parameters: &[f64],
    variances: &[f64; 4],
) -> Result<Expansion, LaplaceError> {
    let law = Law::new(star, point);
    let mut covariance = law.covariance;
    for (i, noise) in sums.noise.iter().enumerate() {
        covariance[(i, i)] += noise;
    }
    let covariance =
        Llt::new(covariance.as_ref(), Side::Lower).map_err(|_| LaplaceError::Indefinite)?;
    // One more column than parameters: the residual is whitened along with the derivative.
    let width = star.parameters();
    let mut whitened = Mat::from_fn(sums.values.len(), width + 1, |i, j| {
        if j < width {
            law.jacobian[(i, j)]
        } else {
            sums.values[i] - law.mean[i]
        }
    });
    solve_lower_triangular_in_place(covariance.L(), whitened.as_mut(), Par::Seq);
    let mut products = Mat::zeros(width + 1, width + 1);
    triangular_matmul(
        products.as_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        whitened.transpose(),
        BlockStructure::Rectangular,
        whitened.as_ref(),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
    let precision_of = |k: usize| match star.effects[k] {
        // The number of records has a flat prior: the sums alone speak of it.
        Effect::Hub if k < star.hub_parameter() => 0.0,
        Effect::Hub => HUB_VARIANCE.recip(),
        Effect::Leaf(effect) => variances[effect].recip(),
    };
    let precision: Vec<f64> = (0..width).map(precision_of).collect();
    let gradient = Mat::from_fn(width, 1, |k, _| {
        products[(width, k)] - parameters[k] * precision[k]
    });
    let mut information = products.submatrix(0, 0, width, width).to_owned();
    for k in 0..width {
        information[(k, k)] += precision[k];
    }
    let factor =
        Llt::new(information.as_ref(), Side::Lower).map_err(|_| LaplaceError::Indefinite)?;
    let step = factor.solve(&gradient);
    // step' Lambda step = step' gradient.
    let squared: f64 = (0..width).map(|k| step[(k, 0)] * gradient[(k, 0)]).sum();
    Ok(Expansion {
        covariance,
        factor,
        precision,
        step: (0..width).map(|k| step[(k, 0)]).collect(),
        length: squared.sqrt(),
    })
}

/// The M step.
fn maximise(star: &Star, parameters: &[f64], factor: &Llt<f64>) -> [f64; 4] {
    // With Lambda = L L', (Lambda^-1)_kk is the squared length of column k of L^-1.
    let mut inverse = Mat::identity(parameters.len(), parameters.len());
    solve_lower_triangular_in_place(factor.L(), inverse.as_mut(), Par::Seq);
    let (mut sums, mut counts) = ([0.0; 4], [0.0; 4]);
    for (k, (theta, effect)) in parameters.iter().zip(&star.effects).enumerate() {
        if let Effect::Leaf(effect) = *effect {
            let variance: f64 = inverse.col(k).iter().map(|x| x * x).sum();
            sums[effect] += theta * theta + variance;
            counts[effect] += 1.0;
        }
    }
    std::array::from_fn(|e| {
        if counts[e] > 0.0 {
            f64::max(sums[e] / counts[e], LEAST_VARIANCES[e])
        } else {
            START_VARIANCES[e]
        }
    })
}

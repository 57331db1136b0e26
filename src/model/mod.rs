//! Discrete graphical models: domain, factors, junction tree, belief propagation, calibration, sampling.
//!
//! This room knows nothing of treatments and outcomes. It takes noisy linear statistics of a table of
//! discrete variables and finds the distribution that explains them and claims nothing else; it then
//! answers questions about that distribution, or samples from it.
//!
//! # The problem
//! Let `n` be the number of records, `q~` the measured values with standard deviations `sigma_i`, and
//! `Q` the linear map from a distribution `p` to the statistics per record. Given a reference measure
//! `r` (uniform, with zeros where combinations are impossible), [`Calibrator::calibrate`] finds the
//! distribution that minimises
//!
//! ```text
//! P(p) = g n KL(p || r) + 1/2 sum_i ((q~_i - n (Q p)_i) / sigma_i)^2 .
//! ```
//!
//! The weight `g` ([`Problem::entropy_weight`]) says how hard the solution is pulled towards the reference: a
//! fitted value misses its measurement by `g sigma_i^2` times its log potential. Dividing by `g` shows that
//! it is the problem with `g = 1` and `sqrt(g) sigma_i` in the place of `sigma_i`, so below `g = 1`, and the
//! dual and the gap of [`Diagnostics`] are in units of `g`; its residuals are divided by `sigma_i` itself.
//!
//! The second term is minus the log-likelihood of the measurements, the first that of a multinomial
//! sample's shape (Sanov): with `g = 1` the solution is a maximum-a-posteriori table. Noisy values are usually
//! infeasible (negative counts, margins that disagree); the problem has a solution all the same, and
//! only one.
//!
//! # The dual
//! For parameters `lambda`, one per measured value, let `p_lambda` be proportional to
//! `r exp(Q' lambda)` with normalising constant `Z(lambda)`, and
//!
//! ```text
//! D(lambda) = sum_i lambda_i q~_i - n log (Z(lambda) / Z(0)) - 1/2 sum_i sigma_i^2 lambda_i^2 .
//! ```
//!
//! *`D(lambda) <= P(p)` for all `lambda` and `p`.* By Gibbs' inequality
//! `n KL(p || r) >= n lambda' Q p - n log (Z(lambda) / Z(0))`, and with `R = q~ - n Q p`,
//! `1/2 (R_i / sigma_i)^2 + 1/2 (sigma_i lambda_i)^2 >= lambda_i R_i`. Add these up.
//!
//! *The gap is known.* At `p = p_lambda` the first inequality is an equality, and what the second one
//! loses is a square: with `R = q~ - n Q p_lambda`,
//!
//! ```text
//! P(p_lambda) - D(lambda) = 1/2 sum_i (R_i / sigma_i - sigma_i lambda_i)^2 .
//! ```
//!
//! `D` is smooth and strictly concave, its gradient is `R_i - sigma_i^2 lambda_i`, so the gap is half
//! the squared length of the gradient in units of `sigma`, and vanishes exactly at the optimum. It is
//! computed, not estimated, and printed with every calibration ([`Diagnostics`]): `P` is above its
//! optimum by no more than the gap. In particular `lambda_i = R_i / sigma_i^2` at the optimum.
//!
//! # The computation
//! `Q' lambda` is a sum of tables over the variables of one measurement each, so `p_lambda` is a
//! graphical model, and one belief propagation on a [`JunctionTree`] yields `log Z` and all the
//! marginals that `Q p_lambda` needs: cost and gradient of `D` in time linear in the cells of the
//! cliques.
//!
//! The optimiser is L-BFGS. Its metric is the diagonal `sigma_i^2 + n E[a_i^2]`, `a_i` the statistic, kept
//! up to date; the second derivative of `-D` is `diag(sigma^2) + n Cov(a)`. If that has not converged
//! after as many evaluations as the full second derivative costs, this takes the diagonal's place, at the current point: as
//! a matrix where there are few values, or as messages on the junction tree where its separators are small. That at one
//! optimum also serves the calibrations that start from it ([`Calibrator::warm_start`]): a few evaluations each.
//!
//! # The way through
//! [`Problem`] (a [`Domain`], [`ReferenceFactor`]s and [`Measurement`]s) becomes a [`Calibrator`], which
//! plans the tree and its index maps once; each call of [`Calibrator::calibrate`] gives a
//! [`Calibration`] with a [`Model`]. A model has [marginals](Model::marginal) of any set of variables,
//! [answers](Model::answer) to measurements, [samples](Model::sample), and, by [`FullConditional`], the
//! law of some variables given all others.
//!
//! Results do not depend on the number of threads: one calibration runs on one thread, calibrations can
//! run side by side, and each group of sampled rows has a random stream of its own.

mod calibration;
mod conditional;
mod conditioning;
mod curvature;
mod degrees;
mod dense;
mod diagnostics;
mod domain;
mod dual;
mod error;
mod factor;
mod fitted;
mod growth;
mod junction_tree;
mod kronecker;
mod many_marginals;
mod marginals;
mod measurement;
mod merged;
mod misfit;
mod problem;
mod projection;
mod propagation;
mod released;
mod sampling;
mod solver;
mod statistics;
#[cfg(test)]
mod testing;
mod tree_factor;
mod tree_system;

pub use calibration::{Calibration, Calibrator, Settings, Targets, WarmStart};
pub use conditional::FullConditional;
pub use diagnostics::Diagnostics;
pub use domain::Domain;
pub use error::ModelError;
pub use factor::Factor;
pub use fitted::Model;
pub use growth::{GrowingTree, Room};
pub use junction_tree::JunctionTree;
pub use marginals::Marginals;
pub use measurement::{AxisMap, MeasuredAxis, Measurement};
pub use misfit::LeastMisfit;
pub use problem::{Problem, ReferenceFactor};
pub use released::{Evidence, Released, Variables, entropy_weight};

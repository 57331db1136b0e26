//! The learners that split the sample: multiple sample splitting with any private regression.
//!
//! # The meta-algorithm
//! Records are divided at random (see [`crate::privacy::Part`]) into a part for the propensity `e`, one for the outcome
//! regression, and one for the effect. Each part is asked once, by a private regression with the whole budget, and later
//! parts look at earlier ones' released fits only:
//!
//! | learner | outcome regression | regressed on the covariates in the last part |
//! |---|---|---|
//! | `dr` | `m(t, x)` of `y` on treatment and covariates | `psi = m(1,x) - m(0,x) + (T - e) / (e (1 - e)) (y - m(T,x))`, clipped |
//! | `r` | `m(x)` of `y` on the covariates | `(y - m) / (T - e)` with weight `(T - e)^2`, so `(T - e)(y - m)` on `(T - e)` times the basis |
//! | `s` | none; nothing is divided | `y` on treatment and covariates; the treatment's term is the effect |
//!
//! Where the design states `e`, nothing is spent on it and there are two parts; where it says "randomised" and no more, the part
//! for the propensity estimates one number. With regressions that add up functions of single covariates the effect of
//! `s` is the same for everyone: it is an average effect and is reported as such.
//!
//! # The bases
//! [`second_moment`]: ridge regression on noisy second moments. [`ebm`]: step functions, boosted. Both fit an
//! [`AdditiveModel`](crate::release::AdditiveModel).
//!
//! # Privacy
//! **Adjacency.** Add-remove or replace-one of a record; a unit of several records is refused, as it could lie in several
//! parts. **Sensitivity.** That of each regression, in its own file. **Charge.** Every part has the whole budget and
//! the release costs what the costliest part does: parallel composition in `f`-differential privacy, proved where records
//! are divided. **Public bounds.** The outcome by its range, so on `[-1, 1]` and centred; the propensity by the overlap bound
//! `eta`; the pseudo-outcome of `dr` by `clip / eta` half-ranges, as weighting can make `1 / eta` of a residual of one. The clip
//! decides between bias and noise, so it is in the workload file.
//!
//! # What the published code does otherwise
//! [`published`] repeats it, marked NOT PRIVATE: data-dependent ranges, a stratified split, residuals that can exceed the range
//! that the noise is computed with, unclipped pseudo-outcomes, a budget divided between histograms and boosting by
//! epsilon instead of `mu^2`.
//!
//! Source: Niu, Nori, Quistorff, Caruana, Ngwe and Kannan (2022).

pub mod ebm;
mod effect;
mod plan;
mod projection;
pub mod published;
mod regression;
pub mod second_moment;
mod sequence;
mod target;
#[cfg(test)]
mod tests;

pub use effect::SplitEffect;
pub(super) use plan::lines;
pub use projection::{ProjectedEffect, Projection, projection};
pub(super) use sequence::run;
pub use target::{Propensity, Target, Targets};

//! The effects release: a short sequence of Gaussian measurements, each centred and clipped by the noisy
//! answers to those before it.
//!
//! An effect of a confounded treatment is `(ybar_1 - ybar_0) - a' beta`: the raw difference minus the
//! imbalance `a` of the scores times the slope `beta` of the outcome. Both are needed with little noise, and
//! noise is proportional to how far a record can reach. So the release first learns where the data lie, then
//! measures deviations from there:
//!
//! | stage | statistic of a record | L2 norm | with parameters from |
//! |---|---|---|---|
//! | arms | `(1, y)` by arm | `sqrt 2` | the schema |
//! | ranges | `(s, s^2)` of the `q` numeric scores | `sqrt(2 q)` | the schema |
//! | scale | one-hot of the size of `y - ybar_t` | 1 | arms |
//! | selection | utility of each score | `Delta = 1` | arms, ranges, scale |
//! | spread | `(r / B)^2` by arm | 1 | arms, scale |
//! | outcome-means | `r` by arm | `B` | arms, scale |
//! | score-means | `s`, `\|s\| <= R_m` | `R_m` | ranges, selection |
//! | imbalance | `w_t s`, `\|s\| <= R` | `R max w` | arms, score-means |
//! | cross | `s r` by arm | `R B` | arms, scale, score-means |
//! | covariance | `z z'`, `z = (kappa, s)`, by arm | `R^2 + kappa^2` | score-means |
//!
//! Of an outcome with two levels, scale and spread say nothing new and are left out. `y` is the outcome on `[-1, 1]`, `r = clip(y - ybar_t, +-B)`, and `R_m^2 = K/3 + .6 sqrt K` for `K` scores.
//! From `imbalance` on the scores have the noisy mean subtracted before they are clipped, to `R^2 = 1 + .15 K` or, with `mu n` above 1000, longer;
//! `kappa^2 = R^2 / 10`.
//!
//! **Adjacency.** Add-remove or replace-one of a privacy unit. **Sensitivity.** That of each statistic,
//! with its argument, is in the statistic's own documentation, and is tested by brute force. All sums are of
//! whole numbers: clipped values are rounded towards zero, which can't lengthen them, before they are
//! multiplied and added. **Charge.** Each stage is one Gaussian mechanism with its share of the effects'
//! `mu^2`, or of the selection, one exponential mechanism per round with `rho = epsilon^2 / 8`. Later stages
//! depend on the data through earlier *noisy* answers only, so this is adaptive composition: squared
//! parameters add under GDP where nothing is selected, else `rho` adds under zCDP.
//!
//! Source: the improved form of adjustment by centred moments (simulated on American Community Survey
//! data); the product of imbalance and slope is the omitted-variable formula of regression.

mod outcome_statistics;
mod parameters;
mod plan;
mod scale;
mod score_statistics;
mod scorer;
mod selection;
mod sequence;
mod statistic;
#[cfg(test)]
pub(crate) mod tests;

pub(super) use plan::public_rows;
pub use plan::{EffectsPlan, StageLine};
pub(crate) use scorer::clip_norm;
pub use sequence::{LEAST_SHARE, run};
pub(crate) use statistic::{Questions, Reach, Record, ScoreSource, Statistic, totals};

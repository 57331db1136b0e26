//! Step functions of single covariates, boosted with noise: DP-EBM with its faults mended.
//!
//! # The algorithm
//! 1. **Bins.** A numeric covariate's public range is divided into [`COARSE`] bins of equal width; other covariates have their
//!    public levels, and every missing code is a bin of its own. One Gaussian mechanism counts all covariates' bins.
//!    Negative counts become 0. A sweep from the left closes a numeric bin when it holds 1/31 of the noisy mass.
//! 2. **Rounds.** In each of 300 rounds, every feature has its turn, in an order that is shuffled once. Two random
//!    cuts make three leaves (fewer where there are fewer bins). With `r_i` the record's residual, clipped to
//!    `[-1, 1]`, the turn adds `rate (sum of r_i in the leaf + noise) / (the leaf's noisy count)` to the leaf's bins.
//! 3. **Centring.** Every step function is centred by its noisy counts; the means go to the intercept.
//!
//! Targets are on `[-1, 1]`: the outcome's range is mapped there, so they are centred at its public midpoint, and the clip is
//! half the range. With weights (learner `r`) the residual is `z_i - w_i f_i`, the leaf's sum that of `w_i clip(residual)`, and
//! counts are sums of `w_i^2`.
//!
//! # Privacy
//! **Bins.** A record adds `w^2 <= W^2` to one bin of each of `d` features: norm `sqrt(d) W^2`, no inner product of two is
//! negative. **Turns.** A record is in one leaf of a turn and adds at most `W` to its sum: norm `W`, diameter `2 W`. The clip makes
//! it so whatever the fit has become; without it, residuals exceed the range that the noise is computed with (a test shows
//! an attack that finds more than the stated epsilon then). Cuts and order are public coins, and counts under the sums are the noisy
//! ones of step 1: a turn depends on the data through its three sums and what was released before. **Charge.** `mu^2` is
//! divided between the counts and the turns, equally over the turns: Gaussian mechanisms, composed adaptively.
//!
//! The release holds the counts and the step functions, which are functions of the noisy sums; no exact count, weight or
//! range.
//!
//! Source: Nori, Caruana, Bu, Shen and Kulkarni (2021), as changed above.

pub mod bins;
pub mod boost;
mod train;

pub use bins::{COARSE, Feature, FeatureBins};
pub use boost::{BoostQuestion, BoostTable, RESIDUAL_SCALE, Turn, Update, WEIGHT_SCALE};
pub use train::{
    Boosted, Mechanisms, Observer, Task, bins_name, centred, length, term_means, train,
    train_observed,
};

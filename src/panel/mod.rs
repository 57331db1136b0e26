//! Differentially private synthetic control: what would have happened to a treated unit, from donors whose rows are
//! confidential.
//!
//! # The setting
//! A panel of a treated unit and `n` donors over `T` periods, `T0` of them before the intervention. The treated unit's
//! series is public, and so are names, periods, bounds and `n`; neighbouring tables differ in one donor's whole row.
//! Everything computed from the treated unit alone costs nothing, and most of what follows lives on that.
//!
//! # The methods
//! | method | what is released | noise |
//! |---|---|---|
//! | [`index`] | mean of the donors' errors about a public forecast rule | pure, K-norm |
//! | [`balance`] | that of donors weighted to balance the past, by moments in three steps | Gaussian |
//! | [`output`] | ridge weights with noise, then a [second stage](second_stage) | pure or Gaussian |
//! | [`objective`] | ridge weights of a perturbed objective, then the same | pure |
//! | [`direct`] | the ridge counterfactual with noise | pure or Gaussian |
//! | [`means`] | difference in differences, uniform weights | pure or Gaussian |
//!
//! Each file states adjacency, sensitivity with its argument, and charge; the bounds of ridge regression are in
//! [`sensitivity`]. With a few dozen donors only `index` is of use: no private method can single out the few donors that
//! resemble the treated unit. For if `D_i` makes donor `i` good among bad ones, the average over `i` of the probability
//! that donor `i` has more than half the weight is at most `e^epsilon / n + delta`: .19 at `n = 38`, `epsilon = 2`.
//!
//! # Around the methods
//! Periods can be taken in [`blocks`] first; a ridge [`penalty`] can be chosen from a public grid by a charged mechanism; and
//! a share of the budget can buy a measure of [`fit`], which says how much of the model's error the donors explain. [`division`]
//! says who has what of the budget.
//!
//! # The order of things
//! A [`PanelPlan`] is made of public quantities; [`run`] measures; [`effects()`], [`synthetic_series`] and
//! [`imputed_series`] read the release and nothing else. A release holds the law of its noise, so standard errors
//! are computed from that law, never from further looks at the donors.

pub mod balance;
pub mod blocks;
pub mod channel;
mod control;
pub mod direct;
pub mod division;
mod effects;
mod error;
mod expectation;
pub mod fit;
pub mod forecast;
pub mod holdout;
pub mod index;
mod law;
pub(crate) mod linear;
pub mod means;
mod measure;
mod method;
pub mod objective;
pub mod output;
pub mod penalty;
mod plan;
mod released;
pub mod ridge;
pub mod second_stage;
pub mod sensitivity;
mod series;
#[cfg(test)]
mod tests;

pub use channel::Share;
pub use effects::{
    EffectEstimate, FitEstimate, ForecastEffect, PeriodEffect, TargetEffects, effects,
    forecast_effect,
};
pub use error::PanelError;
pub use expectation::{Expectation, MethodExpectation, TargetExpectation, expectation};
pub use measure::{PanelDocuments, run};
pub use method::{Method, Setting};
pub use plan::PanelPlan;
pub use series::{SeriesRow, imputed_series, synthetic_series};

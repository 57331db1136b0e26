//! Conditional average treatment effects: how much treatment changes the outcome for people of given covariates.
//!
//! # The learner
//! `adaptive` is a doubly robust learner on second moments. It needs no sample splitting: no record is ever looked at by
//! a model that was fitted to it without noise, and no record decides what becomes of another. Every stage is a noisy sum whose parameters come from the noisy sums
//! before it:
//!
//! | stage | sum over records | length of a contribution | what is taken from it |
//! |---|---|---|---|
//! | hub | arm, outcome, covariates and their squares | `sqrt(3.25 a^2 + 2 R^2)` | centres and scales, the [`basis`] |
//! | gram | `w phi phi'` by arm | `S^2` | [second moments](moments), [`propensity`] |
//! | cross | `w phi r` by arm, `r` the clipped outcome | `S B_y` | [outcome regressions](outcome) |
//! | spread | size of the [pseudo-outcome](pseudo) | 1 | its clip |
//! | effect | `w phi clip(psi)` | `S B_psi` | the [effect] |
//!
//! **Adjacency.** Add-remove or replace-one of a privacy unit. **Sensitivity.** That of each sum, with its argument, is in
//! [`statistics`]; tests look for a longer one by brute force. **Charge.** Each stage is a Gaussian mechanism with its
//! share of `mu^2`; parameters depend on the data through noisy sums only, so squared parameters add adaptively. Where
//! the schema's `design` states the propensity, it is used; nothing is spent on it in any case.
//!
//! # Other learners
//! `dr`, `r` and `s` are those of the paper, with sample splitting and any private regression: see [`split`].
//!
//! # What is chosen by public inputs
//! The curves' weight in the basis grows with the (noisy or public) number of records times the budget; products of
//! features are left out where there are more than [`MOST_FEATURES_WITH_PRODUCTS`]. Everything else is chosen by noisy
//! sums, within the charge.
//!
//! # Afterwards
//! [`Effect`] reads a release of any learner and nothing else: the effect at rows, its average, shapes. `adaptive` has no
//! intervals (the reason is in [`effect`]); `dr` with second moments has some in a trial whose design states the
//! propensity (see [`projection`]).
//!
//! Source: the meta-algorithm is that of Niu, Nori, Quistorff, Caruana, Ngwe and Kannan (2022); the learner is another
//! one, chosen by simulation on their setups (`benchmarks/study/effects.yaml`).

pub mod basis;
mod document;
pub mod effect;
mod error;
mod features;
pub mod hub;
pub mod moments;
pub mod outcome;
mod plan;
pub mod prior;
pub mod propensity;
pub mod pseudo;
mod sequence;
mod shape;
pub mod split;
pub mod statistics;
mod summary;
#[cfg(test)]
mod tests;

pub use effect::ConditionalEffect;
use effect::half_range;
pub use error::CateError;
pub use features::{Feature, Features, MOST_FEATURES_WITH_PRODUCTS, Term};
pub use plan::{CateLine, CatePlan};
pub use sequence::{CateDocuments, run};
pub use shape::{Interaction, Shape, ShapePoint, interactions};
pub use split::{ProjectedEffect, Projection, projection};
pub use summary::{Effect, EffectSummary, GroupEffect, RowEffects, covariates_only, summarise};

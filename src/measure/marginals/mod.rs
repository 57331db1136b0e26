//! Marginals chosen in rounds: MST, AIM and MWEM+PGM, on one loop.
//!
//! A round looks at how far the model of all noisy answers so far is from the data, marginal by marginal,
//! chooses one by the exponential mechanism, measures it by the Gaussian mechanism, and fits the model again.
//! What differs is which marginals are candidates, how the gap is scored, and how the budget goes over the rounds:
//!
//! | | MST | AIM | MWEM+PGM |
//! |---|---|---|---|
//! | before | all one-way | all one-way, at the first round's noise | the number of records |
//! | candidates | pairs that close no cycle | workload and all subsets, within the size limit so far | workload, within the size limit so far |
//! | score | `\|\|x - x^\|\|_1` to the independent model | `w (\|\|x - x^\|\|_1 - sqrt(2/pi) sigma cells)` | `\|\|x - x^\|\|_1 - cells` |
//! | rounds | one per edge, measured at the end | until the budget is spent, adaptive noise | fixed |
//!
//! `x` are the counts of a marginal, `x^` the model's. **Adjacency.** Add-remove or replace-one of a privacy unit.
//! **Sensitivity.** Of the choice, the score's: see `gap::gap_sensitivity`, which is a statement about L1 distances
//! of counts, exact on whole numbers. Of the measurement: one record is one cell's count, an L2 norm of 1; see
//! [`Sensitivity`](crate::privacy::Sensitivity) for units of several rows and for replacement. **Charge.** `rho =
//! epsilon^2 / 8` per choice, `mu^2 = 2 rho` per measurement. Candidates, penalties, noise scales, the stopping rule
//! and the merging of rare levels depend on the data through earlier noisy answers only, so charges add up by
//! adaptive composition under zCDP, and the [`Accountant`] holds their sum to what was
//! authorised before each is drawn.
//!
//! **Memory.** Bounded by numbers that are known before the data are touched: the candidates' counts take 4 bytes per
//! cell and a plan with more than 2^26 cells is refused, naming the largest marginal; the models of rounds have at most the
//! workload's `max_cells`, at 24 bytes; what a model expects is scored some 2^18 cells at a time, and the tables that its
//! marginals share take 32 MiB ([`Marginals`](crate::model::Marginals)). A model that would be larger is never fitted: a
//! marginal without room is no candidate, and where none has room, or the first model has none, the error names the columns.
//!
//! **What differs from the published mechanisms.** Noise is discrete Gaussian, and scores are whole numbers (`gap`), so AIM's
//! weights are rounded up to 1/1024 of the heaviest. The fit has a slight entropy term, which pulls a value by a tenth of its
//! noise ([`entropy_weight`](crate::model::entropy_weight)), and goes to a duality gap, not for so many iterations. The
//! size of a model with one more marginal is that of a tree that grows ([`GrowingTree`](crate::model::GrowingTree)), which may be
//! slightly above or below a plan from scratch. What a model expects of a round's candidates takes a bounded number of
//! multiplications ([`Marginals::for_each`](crate::model::Marginals::for_each)): beyond it, which takes tens of thousands of
//! candidates and a model of many thousand cells, the most expensive ones are no candidates of the round. AIM's size limit counts cells, not bytes; `together` sets join its first
//! measurements. MWEM+PGM measures the number of records, for a hundredth of the budget, where that is not public, and
//! where no marginal is within a round's share of the size limit, all of the limit counts. A single rare level is
//! not merged by MST: merging one changes nothing.
//!
//! Exact marginals are counted once and stay [`Confidential`]; the release says
//! what was chosen, and nothing about the scores of others. A release's model is fitted by
//! [`crate::model`] from the measurements like any other; models between rounds are only used to choose, and
//! are fitted less strictly (`fit::BETWEEN_ROUNDS`).
//!
//! Sources: MST: McKenna, Miklau, Sheldon 2021 (Journal of Privacy and Confidentiality 11(3)). AIM: McKenna, Mullins,
//! Sheldon, Miklau 2022 (VLDB 15(11)). MWEM+PGM: McKenna, Sheldon, Miklau 2019 (ICML), after Hardt, Ligett,
//! McSherry 2012.

mod aim;
mod candidates;
pub(super) mod counts;
pub(super) mod fit;
pub(super) mod gap;
mod mst;
mod mwem;
pub(super) mod plan;
pub(super) mod rounds;
mod scoring;
#[cfg(test)]
mod tests;

pub use plan::{MarginalsPlan, RoundLine};

use super::{MeasureError, Plan};
use crate::privacy::{Accountant, Confidential, NoiseSource};
use crate::release::{MarginalSelection, Measurement};
use crate::table::CodedTable;
use crate::workload::Method;
use rounds::Rounds;

/// Chooses and measures; the measurements so far, those of the plan, grow by what the rounds measure.
///
/// # Errors
/// Where the accountant, a mechanism or the model refuses; nothing is released then.
pub(super) fn run(
    plan: &Plan,
    marginals: &MarginalsPlan,
    table: &Confidential<CodedTable>,
    measurements: &mut Vec<Measurement>,
    accountant: &mut Accountant,
    noise: &mut NoiseSource,
) -> Result<MarginalSelection, MeasureError> {
    let mut rounds = Rounds::new(
        plan,
        &marginals.block.columns,
        table,
        measurements,
        accountant,
        noise,
    );
    match &marginals.block.method {
        // Its plan asks for no rounds.
        Method::Independent => {}
        Method::Mst(rule) => mst::run(rule, marginals, &mut rounds)?,
        Method::Aim(rule) => aim::run(rule, marginals, &mut rounds)?,
        Method::Mwem(rule) => mwem::run(rule, marginals, &mut rounds)?,
    }
    Ok(rounds.finish())
}

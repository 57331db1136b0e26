//! CAUSAL-AIM: the leaves of the causal workload, chosen privately, the most confounding covariate first.
//!
//! An omitted covariate biases an effect by a *product*: its association with the treatment times its association
//! with the outcome. Where it is independent of both under the model, the effect's derivative in the covariate's
//! moments is zero, so no score that is linear in a gap of moments can tell a confounder from a covariate that goes
//! with the treatment alone, or with the outcome alone. This mechanism ranks by the smaller of the two.
//!
//! # A round
//! Under the model of all noisy answers so far (whose use is post-processing) a record has the propensities `e_t(x)` and
//! the outcome regressions `m_t(x)`. Of a candidate covariate `j`, and of every arm `t` against the reference arm, with
//! `e = e_t(x_i) / (e_0(x_i) + e_t(x_i))`,
//!
//! ```text
//! a_jt = sum over l of |sum over i: T_i in {0, t}, X_ij = l of  (1{T_i = t} - e) / max(e, 1 - e)|
//! b_jt = sum over l of |sum over the same i of  clip((Y_i - m_{T_i}(x_i)) / B, +-1)|
//! u_j  = max over t of min(a_jt - pen_at, b_jt - pen_bt)
//! ```
//!
//! `B` is `max(m, 1 - m)` for an outcome with two levels, else three standard deviations of the outcome within arms under the hub's
//! model. Dividing by how far a residual can be from 0 leaves its mean at 0 where the model is right, and uses the whole of
//! `-1..=1`, which is what the noise of the choice is scaled to: where arms are of one size, associations stand out twice
//! as far. The penalties (`product`) are what noise and sampling alone would make of the sums. Pairs of covariates
//! that have a leaf are candidates too (`pairs`). The exponential mechanism chooses, the Gaussian mechanism measures the chosen leaf (treatment x outcome split
//! x levels) or pair, and the model is fitted again.
//!
//! Where a leaf's own noisy answer shows no association beyond its noise (`evidence`), the noise of the
//! next round is halved and its `epsilon` doubled, four times the charge (as in AIM), and measuring nothing more becomes a
//! candidate of that round, with a public score: as likely as all others together if those were at their penalties. It is one
//! in the later half of the rounds too, where a round more often costs the leaves that matter than it finds another. (In
//! every round, in simulated tables of 1000 records, where no choice is sure, a third fewer confounders were found.)
//! The last round spends what remains; after a stop, what showed something is measured again
//! with it (without that, what was chosen; without choices, the hub). So the whole budget is spent whenever the rounds end.
//!
//! # Privacy
//! **Adjacency.** Add-remove or replace-one of a privacy unit. **Sensitivity.** Of the choice: `product`, `pairs` and
//! `lipschitz`, each with its argument, tested by brute force over neighbouring tables. Of a measurement: a
//! record is one non-negative vector of L2 norm at most 1, see [`crate::schema::Query::record_norm`]. **Charge.** `rho = epsilon^2 / 8`
//! per choice, a stop included, and `mu^2 = 2 rho` per measurement. Models, penalties, `B`, weights, the stop's score, the
//! budgets of rounds and what is measured again depend on the data through released answers only, so
//! charges add up by adaptive composition under zCDP, and the accountant holds their sum to what was authorised.
//!
//! # One choice for effects and microdata
//! Where the workload measures effects too and these select scores, the leaves are those of the selected scores' columns,
//! and no rounds are held: the choice is paid for once. It goes this way round because the effects' stages are planned
//! by the *number* of scores, which their own selection fixes beforehand: radius, noise and charges of all later
//! stages follow from it. Rounds choose columns, of which an unordered one is several scores, and may stop early, so the effects could
//! not be planned from them; a leaf, on the other hand, needs nothing but the name of its column. Both
//! selections judge by the same product (`effects::selection`).
//!
//! Source: Asiaee and Aryan (2026) for the rounds and the published score; the product follows from the omitted-variable
//! formula.

mod answers;
mod candidates;
mod evidence;
mod hub;
mod lipschitz;
mod pairs;
mod plan;
mod product;
mod residuals;
mod search;
#[cfg(test)]
mod tests;

pub use plan::CausalAimPlan;

use super::marginals::rounds::Rounds;
use super::{MeasureError, Plan};
use crate::privacy::{Accountant, Confidential, NoiseSource};
use crate::release::{EffectsRelease, MarginalSelection, Measurement};
use crate::table::CodedTable;
use search::Search;

/// Chooses and measures; the measurements so far, those of the plan, grow by leaves and pairs.
///
/// # Errors
/// Where the accountant, a mechanism or the model refuses; nothing is released then.
pub(super) fn run(
    plan: &Plan,
    causal_aim: &CausalAimPlan,
    effects: Option<&EffectsRelease>,
    table: &Confidential<CodedTable>,
    measurements: &mut Vec<Measurement>,
    accountant: &mut Accountant,
    noise: &mut NoiseSource,
) -> Result<MarginalSelection, MeasureError> {
    let rounds = Rounds::new(plan, &[], table, measurements, accountant, noise);
    let mut search = Search::new(causal_aim, rounds)?;
    match effects.filter(|_| causal_aim.block.uses_effects_selection()) {
        Some(effects) => search.measure_leaves(&plan.selected_columns(effects))?,
        None => search.hold_rounds()?,
    }
    Ok(search.finish())
}

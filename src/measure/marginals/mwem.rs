//! MWEM+PGM: a fixed number of rounds of equal budget, from a model that knows the number of records alone.
//!
//! Each chooses by `u = ||x - x^||_1 - cells` among the workload's marginals with which the model stays within
//! `t / T` of its size limit in round `t` of `T`, and measures the chosen one. The number of records is public, or has
//! a small share of the budget: it is never taken from the data as it is.

use super::aim::no_room;
use super::candidates::{Candidate, as_listed};
use super::counts::table_of;
use super::fit::{Fit, round_work};
use super::gap::GAP_SCALE;
use super::plan::{MarginalsPlan, RoundCharge};
use super::rounds::Rounds;
use super::scoring::score;
use crate::measure::MeasureError;
use crate::workload::{Block, MwemRule};

/// Runs the rounds.
pub fn run(
    rule: &MwemRule,
    marginals: &MarginalsPlan,
    rounds: &mut Rounds,
) -> Result<(), MeasureError> {
    let together = marginals.block.together.len();
    let candidates = as_listed(&rule.marginals);
    let counts = rounds.count(&candidates);
    let each = marginals.rho / (rule.rounds - together).max(1) as f64;
    let charge = RoundCharge::of(each, rule.selection_share);
    let mut fit = rounds.fit(None)?;
    for number in together + 1..=rule.rounds {
        let share = number as f64 / rule.rounds as f64;
        let eligible = eligible(&candidates, &fit, rounds, share)?;
        let mut expected = fit.expected(&rounds.plan.schema, &[]);
        let penalty = |_, cells: usize| (cells as i64 * GAP_SCALE, 1);
        let scored = score(
            &mut expected,
            &candidates,
            &eligible,
            &counts,
            penalty,
            round_work(eligible.len()),
        )?;
        let plan = rounds.plan;
        let listed = scored.listed.clone();
        let name = |at: usize| candidates[listed[at]].names(&plan.schema);
        let choice = rounds.choose_scored(scored, &name, charge.choice)?;
        let chosen = listed[choice.position];
        let mut query = candidates[chosen].query(&rounds.plan.schema);
        query.name = format!("round-{number}:{}", query.name);
        let mechanism = rounds.gaussian(&query, charge.measurement)?;
        let exact = table_of(&counts, chosen);
        rounds.measure(Block::Selected, query, Some(choice), mechanism, exact)?;
        if number < rule.rounds {
            fit = rounds.fit(Some(&fit))?;
        }
    }
    Ok(())
}

/// The candidates within the size limit of a round or, where there are none, within the workload's.
fn eligible(
    candidates: &[Candidate],
    fit: &Fit,
    rounds: &Rounds,
    share: f64,
) -> Result<Vec<usize>, MeasureError> {
    let most = rounds.plan.workload.max_cells;
    for limit in [(most as f64 * share) as u64, most] {
        let mut eligible = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            if fit.has_room(&candidate.columns, limit)? {
                eligible.push(at);
            }
        }
        if !eligible.is_empty() {
            return Ok(eligible);
        }
    }
    Err(no_room(rounds, most))
}

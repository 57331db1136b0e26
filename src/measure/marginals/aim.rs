//! AIM: rounds that choose what the model misses most for what it would cost in noise, with noise that adapts.
//!
//! The budget is that of `T` rounds of the first noise scale. Every round, its size limit being the share of the budget
//! spent (this round included) times the workload's,
//!
//! 1. keeps the candidates with which the model stays within the limit,
//! 2. chooses by `u = w (||x - x^||_1 - sqrt(2/pi) sigma cells)`: the misfit beyond what the noise of the coming
//!    measurement would leave,
//! 3. measures with noise `sigma` and fits the model again,
//! 4. and if the chosen marginal's model moved by no more than noise does, `||x^_new - x^_old||_1 <= sqrt(2/pi) sigma
//!    cells`, halves `sigma` and doubles `epsilon`: four times the charge.
//!
//! When less than two rounds' charge is left, one round spends all of it.

use super::candidates::{Candidate, downward_closure};
use super::counts::{MarginalCounts, table_of};
use super::fit::{Fit, round_work};
use super::gap::{in_gap_units, noise_norm, whole_weights};
use super::plan::{MarginalsPlan, RoundCharge};
use super::rounds::Rounds;
use super::scoring::score;
use crate::measure::MeasureError;
use crate::model::{ModelError, Room};
use crate::privacy::Confidential;
use crate::workload::{AimRule, Block};

/// The share of the budget below which what is left after rounding is nothing.
const NOTHING: f64 = 1e-9;

/// Runs the rounds.
pub fn run(
    rule: &AimRule,
    marginals: &MarginalsPlan,
    rounds: &mut Rounds,
) -> Result<(), MeasureError> {
    let candidates = downward_closure(&rule.marginals);
    let counts = rounds.count(&candidates);
    let weights: Vec<f64> = candidates.iter().map(|c| c.weight).collect();
    let mut pool = Pool {
        rooms: vec![Room::default(); candidates.len()],
        weights: whole_weights(&weights),
        candidates,
        counts,
    };
    let total = marginals.total_rho;
    let mut charge = RoundCharge::of(total / rule.rounds as f64, rule.selection_share);
    let mut fit = rounds.fit(None)?;
    for number in 1.. {
        let remaining = rounds.remaining_rho();
        if remaining <= NOTHING * total {
            break;
        }
        let is_last = remaining < 2.0 * charge.sum();
        if is_last {
            charge = RoundCharge::of(remaining, rule.selection_share);
        }
        let spent = (total - remaining + charge.sum()) / total;
        let eligible = pool.eligible(&fit, rounds, spent)?;
        let round = pool.round(rounds, &fit, &eligible, charge, number)?;
        if is_last {
            break;
        }
        fit = rounds.fit(Some(&fit))?;
        let columns = &pool.candidates[round.chosen].columns;
        let after = fit.expected(&rounds.plan.schema, &[]).of(columns)?;
        let moved = after.iter().zip(&round.before).map(|(a, b)| (a - b).abs());
        if moved.sum::<f64>() <= round.noise {
            charge = charge.times(4.0);
        }
    }
    Ok(())
}

/// The candidates of all rounds.
struct Pool {
    candidates: Vec<Candidate>,
    weights: Vec<i64>,
    /// What is known of the room that each takes.
    rooms: Vec<Room>,
    counts: Confidential<MarginalCounts>,
}

/// What a round did.
struct Round {
    /// The candidate.
    chosen: usize,
    /// What the model expected of it.
    before: Vec<f64>,
    /// The mean L1 norm of the measurement's noise, in records.
    noise: f64,
}

impl Pool {
    /// The candidates within the size limit at a share of the budget.
    fn eligible(
        &mut self,
        fit: &Fit,
        rounds: &Rounds,
        share: f64,
    ) -> Result<Vec<usize>, MeasureError> {
        let limit = (rounds.plan.workload.max_cells as f64 * share.min(1.0)) as u64;
        let mut eligible = Vec::new();
        let candidates = self.candidates.iter().zip(&mut self.rooms);
        for (at, (candidate, room)) in candidates.enumerate() {
            if fit.has_room_knowing(&candidate.columns, limit, room)? {
                eligible.push(at);
            }
        }
        if eligible.is_empty() {
            return Err(no_room(rounds, limit));
        }
        Ok(eligible)
    }

    /// Chooses and measures.
    fn round(
        &self,
        rounds: &mut Rounds,
        fit: &Fit,
        eligible: &[usize],
        charge: RoundCharge,
        number: usize,
    ) -> Result<Round, MeasureError> {
        let schema = &rounds.plan.schema;
        let any = self.candidates[eligible[0]].query(schema);
        let sigma = rounds
            .gaussian(&any, charge.measurement)?
            .standard_deviation_records();
        let mut expected = fit.expected(schema, &[]);
        let rule = |at: usize, cells: usize| (penalty(sigma, cells), self.weights[at]);
        let scored = score(
            &mut expected,
            &self.candidates,
            eligible,
            &self.counts,
            rule,
            round_work(eligible.len()),
        )?;
        let listed = scored.listed.clone();
        let name = |at: usize| self.candidates[listed[at]].names(schema);
        let choice = rounds.choose_scored(scored, &name, charge.choice)?;
        let chosen = listed[choice.position];
        let before = expected.of(&self.candidates[chosen].columns)?;
        let mut query = self.candidates[chosen].query(schema);
        query.name = format!("round-{number}:{}", query.name);
        let mechanism = rounds.gaussian(&query, charge.measurement)?;
        let exact = table_of(&self.counts, chosen);
        rounds.measure(Block::Selected, query, Some(choice), mechanism, exact)?;
        Ok(Round {
            chosen,
            noise: sigma * noise_norm(before.len()),
            before,
        })
    }
}

/// No candidate fits the size limit.
pub fn no_room(rounds: &Rounds, limit: u64) -> MeasureError {
    let columns = &rounds.plan.schema.columns;
    let names = rounds.modelled.iter().map(|&c| columns[c].name.clone());
    MeasureError::Model(ModelError::TooLarge {
        context: "a model with any of the candidates".into(),
        clique: names.collect(),
        cells: u128::from(limit) + 1,
        limit: u128::from(limit),
    })
}

/// What is taken off a candidate's distance, in units of gaps: the mean L1 norm of the noise that measuring so many cells
/// with a standard deviation of `sigma` records would bring.
fn penalty(sigma: f64, cells: usize) -> i64 {
    in_gap_units(&[sigma * noise_norm(cells)])[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::marginals::gap::GAP_SCALE;

    /// A normal number of standard deviation 2 is `2 sqrt(2 / pi)` from 0 in the mean.
    #[test]
    fn the_penalty_is_the_noise_that_a_measurement_brings() {
        let mean_size = 2.0 * (2.0 / std::f64::consts::PI).sqrt();
        let expected = 10.0 * mean_size * GAP_SCALE as f64;
        assert!((penalty(2.0, 10) as f64 - expected).abs() <= 0.5);
    }
}

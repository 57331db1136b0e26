//! The rounds: what is chosen, what it is measured with, and when they end.

use super::CausalAimPlan;
use super::answers::{Answers, Asked, answer_of, answers};
use super::candidates::{Candidates, Chosen};
use super::evidence::shows_both;
use super::hub::{Hub, cells};
use super::lipschitz::{self, Expected};
use super::pairs::{Bearing, PairCandidate};
use super::product::{self, LeafCandidate, Question, penalties};
use super::residuals::Residuals;
use crate::measure::MeasureError;
use crate::measure::marginals::fit::Fit;
use crate::measure::marginals::gap::noise_norm;
use crate::measure::marginals::plan::RoundCharge;
use crate::measure::marginals::rounds::{Choice, Rounds};
use crate::privacy::Confidential;
use crate::release::MarginalSelection;
use crate::schema::{Query, SCALE};
use crate::workload::{Block, SelectionScore, hub_query, leaf_query, pair_query};

/// The share of the rounds' budget below which what is left is nothing: what rounding noise up to whole units leaves.
const NOTHING: f64 = 1e-4;

/// The state of the rounds.
pub struct Search<'a> {
    aim: &'a CausalAimPlan,
    rounds: Rounds<'a>,
    /// The leaves of all candidates, in the order of the block's columns, and their exact answers.
    leaves: Vec<Query>,
    counts: Confidential<Answers>,
    measured: Vec<Measured>,
    is_numeric: bool,
}

/// A block that was chosen and measured.
struct Measured {
    block: Block,
    query: Query,
    /// Of a leaf, its position among the candidates.
    leaf: Option<usize>,
    /// Whether it showed more than noise.
    shows: bool,
}

impl<'a> Search<'a> {
    /// Counts the leaves of all candidates.
    pub fn new(aim: &'a CausalAimPlan, rounds: Rounds<'a>) -> Result<Search<'a>, MeasureError> {
        let (schema, block) = (&rounds.plan.schema, &aim.block);
        let leaf = |&c: &usize| leaf_query(schema, block.treatment(), block.outcome(), c);
        let leaves: Vec<Query> = block.columns.iter().map(leaf).collect();
        let is_numeric = schema.columns[block.outcome()].bins().is_some();
        Ok(Search {
            counts: ask(&rounds, &leaves),
            aim,
            rounds,
            leaves,
            measured: Vec::new(),
            is_numeric,
        })
    }

    /// The record of all choices.
    pub fn finish(self) -> MarginalSelection {
        self.rounds.finish()
    }

    /// Measures the leaves of columns that were chosen elsewhere, in equal parts.
    pub fn measure_leaves(&mut self, columns: &[usize]) -> Result<(), MeasureError> {
        let at = |column: &usize| self.aim.block.columns.iter().position(|c| c == column);
        let mut chosen: Vec<usize> = columns.iter().filter_map(at).collect();
        let fit = self.rounds.fit(None)?;
        let hub = fit.tree().tree().cells();
        let mut cells = hub;
        chosen.retain(|&leaf| {
            let more = hub * self.levels(leaf) as u128;
            let fits = cells + more <= u128::from(self.rounds.plan.workload.max_cells);
            cells += if fits { more } else { 0 };
            fits
        });
        let rho = self.aim.rho / chosen.len().max(1) as f64;
        for leaf in chosen {
            self.measure(&Chosen::Leaf(leaf), None, rho)?;
        }
        self.spend_the_rest()
    }

    /// Holds rounds until the budget is spent.
    pub fn hold_rounds(&mut self) -> Result<(), MeasureError> {
        let mut charge = self.aim.first_round();
        let mut fit = self.rounds.fit(None)?;
        let bound = Hub::of(&fit)?.residual_bound(self.is_numeric);
        let mut had_nothing = false;
        for number in 1.. {
            let remaining = self.rounds.remaining_rho();
            // Rounding leaves a little more than was planned, never less than a float's last digits.
            let is_last = remaining < 2.0 * charge.sum() * (1.0 - NOTHING);
            if is_last {
                charge = self.aim.round(remaining);
            }
            let sigma = self.sigma(charge)?;
            let mut candidates = self.candidates(&fit, bound, sigma)?;
            let is_late = 2 * number > self.aim.block.rounds + 1;
            candidates.stops = had_nothing || is_late;
            if remaining <= NOTHING * self.aim.rho || candidates.is_empty() {
                break;
            }
            let (chosen, choice) = match self.aim.block.score {
                SelectionScore::Product => {
                    self.choose_by_product(&fit, bound, charge, &candidates)?
                }
                SelectionScore::Lipschitz => self.choose_by_distance(&fit, charge, &candidates)?,
            };
            if matches!(chosen, Chosen::Nothing) {
                self.rounds.record(choice);
                break;
            }
            self.measure(&chosen, Some(choice), charge.measurement)?;
            if is_last {
                break;
            }
            let before = fit;
            fit = self.rounds.fit(Some(&before))?;
            let shows = self.shows(&chosen, &before, &fit, sigma)?;
            if let Some(last) = self.measured.last_mut() {
                last.shows = shows;
            }
            had_nothing = !shows;
            if had_nothing {
                charge = charge.times(4.0);
            }
        }
        self.spend_the_rest()
    }

    fn levels(&self, leaf: usize) -> usize {
        self.rounds.plan.schema.columns[self.aim.block.columns[leaf]].levels()
    }

    /// The noise of a cell of what a round measures, in records.
    fn sigma(&self, charge: RoundCharge) -> Result<f64, MeasureError> {
        let mechanism = self.rounds.gaussian(&self.leaves[0], charge.measurement)?;
        Ok(mechanism.standard_deviation_records())
    }

    /// The leaves without a measurement and the pairs of columns with one, within the model's size limit.
    fn candidates(
        &self,
        fit: &Fit,
        bound: Option<f64>,
        sigma: f64,
    ) -> Result<Candidates, MeasureError> {
        let limit = self.rounds.plan.workload.max_cells;
        let hub = cells(fit)?;
        let has_room = |leaf: &usize| {
            let more = hub as u128 * self.levels(*leaf) as u128;
            fit.tree().tree().cells() + more <= u128::from(limit)
        };
        let is_new = |leaf: &usize| self.measured.iter().all(|m| m.leaf != Some(*leaf));
        let leaves = (0..self.leaves.len()).filter(|leaf| is_new(leaf) && has_room(leaf));
        let by_product = self.aim.block.score == SelectionScore::Product;
        let mut candidates = Candidates {
            leaves: leaves.collect(),
            pairs: Vec::new(),
            stops: false,
        };
        if self.aim.block.pairs && by_product {
            candidates.pairs = self.pairs(fit, bound, sigma, limit)?;
        }
        Ok(candidates)
    }

    fn pairs(
        &self,
        fit: &Fit,
        bound: Option<f64>,
        sigma: f64,
        limit: u64,
    ) -> Result<Vec<PairCandidate>, MeasureError> {
        let hub = Hub::of(fit)?;
        let columns = self.measured.iter().filter_map(|m| m.leaf);
        let mut columns: Vec<usize> = columns.map(|leaf| self.aim.block.columns[leaf]).collect();
        columns.sort_unstable();
        let bearings = columns
            .into_iter()
            .map(|column| Bearing::of(fit, &hub, column, bound.unwrap_or(1.0)))
            .collect::<Result<Vec<_>, _>>()?;
        let bearings: Vec<Bearing> = bearings.into_iter().flatten().collect();
        let mut pairs = Vec::new();
        for (at, one) in bearings.iter().enumerate() {
            for other in &bearings[at + 1..] {
                let columns = [one.column, other.column];
                let query = pair_query(&self.rounds.plan.schema, columns[0], columns[1]);
                let is_new = self.measured.iter().all(|m| m.query.name != query.name);
                if is_new && fit.has_room(&columns, limit)? {
                    pairs.extend(PairCandidate::of(fit, one, other, sigma)?);
                }
            }
        }
        Ok(pairs)
    }

    fn choose_by_product(
        &mut self,
        fit: &Fit,
        bound: Option<f64>,
        charge: RoundCharge,
        candidates: &Candidates,
    ) -> Result<(Chosen, Choice), MeasureError> {
        let hub = Hub::of(fit)?;
        let sigma = self.sigma(charge)?;
        let leaf = |&leaf: &usize| LeafCandidate {
            column: self.aim.block.columns[leaf],
            levels: self.levels(leaf),
            penalties: penalties(&hub, self.levels(leaf), sigma, bound),
        };
        let leaves: Vec<LeafCandidate> = candidates.leaves.iter().map(leaf).collect();
        let count = candidates.leaves.len() + candidates.pairs.len();
        let stop = self.stop_score(charge, count)?;
        let residuals = Residuals::new(fit, bound)?;
        let question = Question {
            residuals: &residuals,
            leaves: &leaves,
            pairs: &candidates.pairs,
            stop: candidates.stops.then_some(stop),
        };
        let scores = self.rounds.ask(&question, product::scores);
        self.choose(scores, charge, candidates)
    }

    /// The score of measuring nothing more, in units: `ln m` times the scale of the choice's log-odds for `m` other
    /// candidates. It is then as likely as all of `m` candidates of score 0 together, where signal and noise are even.
    fn stop_score(&self, charge: RoundCharge, candidates: usize) -> Result<i64, MeasureError> {
        let (sensitivity, _) = self.sensitivity()?;
        let scale = 2.0 * sensitivity as f64 / (8.0 * charge.choice).sqrt();
        Ok(((candidates as f64).ln() * scale).round() as i64)
    }

    fn choose_by_distance(
        &mut self,
        fit: &Fit,
        charge: RoundCharge,
        candidates: &Candidates,
    ) -> Result<(Chosen, Choice), MeasureError> {
        let block = &self.aim.block;
        let hub = hub_query(block.treatment(), block.outcome());
        let hub = fit.expected(&self.rounds.plan.schema, &[]).of_query(&hub)?;
        let expected = |&leaf: &usize| {
            let levels = self.levels(leaf);
            let even = |count: &f64| (count / levels as f64 * SCALE as f64).round() as i64;
            let counts = hub.iter().flat_map(|count| vec![even(count); levels]);
            Expected {
                leaf,
                counts: counts.collect(),
            }
        };
        let question: Vec<Expected> = candidates.leaves.iter().map(expected).collect();
        let scores = self.counts.ask(question.as_slice(), lipschitz::scores);
        self.choose(scores, charge, candidates)
    }

    fn sensitivity(&self) -> Result<(u64, i64), MeasureError> {
        let plan = self.rounds.plan;
        self.aim
            .sensitivity(plan.workload.adjacency, plan.schema.unit.max_rows())
    }

    fn choose(
        &mut self,
        scores: Confidential<Vec<i64>>,
        charge: RoundCharge,
        candidates: &Candidates,
    ) -> Result<(Chosen, Choice), MeasureError> {
        let columns = &self.rounds.plan.schema.columns;
        let block = &self.aim.block;
        let name = |at: usize| -> Vec<String> {
            let chosen = match candidates.at(at) {
                Chosen::Leaf(leaf) => vec![block.columns[leaf]],
                Chosen::Pair(pair) => pair.to_vec(),
                Chosen::Nothing => Vec::new(),
            };
            chosen
                .into_iter()
                .map(|c| columns[c].name.clone())
                .collect()
        };
        let (sensitivity, _) = self.sensitivity()?;
        let choice =
            self.rounds
                .choose(candidates.len(), &name, scores, sensitivity, charge.choice)?;
        Ok((candidates.at(choice.position), choice))
    }

    fn measure(
        &mut self,
        chosen: &Chosen,
        choice: Option<Choice>,
        rho: f64,
    ) -> Result<(), MeasureError> {
        let (block, leaf, query, exact) = match *chosen {
            Chosen::Leaf(leaf) => {
                let exact = answer_of(&self.counts, leaf);
                (Block::Leaves, Some(leaf), self.leaves[leaf].clone(), exact)
            }
            Chosen::Pair([a, b]) => {
                let query = pair_query(&self.rounds.plan.schema, a, b);
                let exact = self.count(&query);
                (Block::Pairs, None, query, exact)
            }
            Chosen::Nothing => return Ok(()),
        };
        let mechanism = self.rounds.gaussian(&query, rho)?;
        self.rounds
            .measure(block, query.clone(), choice, mechanism, exact)?;
        self.measured.push(Measured {
            block,
            query,
            leaf,
            shows: true,
        });
        Ok(())
    }

    fn count(&self, query: &Query) -> Confidential<Vec<i64>> {
        answer_of(&ask(&self.rounds, std::slice::from_ref(query)), 0)
    }

    /// Whether what was measured last shows more than its noise: a leaf, by itself; a pair, and any leaf of the published
    /// score, in that the model moved by more than noise would move it.
    fn shows(
        &self,
        chosen: &Chosen,
        before: &Fit,
        after: &Fit,
        sigma: f64,
    ) -> Result<bool, MeasureError> {
        let leaf = self.rounds.measurements().last();
        match (chosen, leaf, self.aim.block.score) {
            (Chosen::Leaf(_), Some(leaf), SelectionScore::Product) => {
                Ok(shows_both(leaf, &Hub::of(before)?))
            }
            (Chosen::Pair([a, b]), ..) => {
                let schema = &self.rounds.plan.schema;
                let query = pair_query(schema, *a, *b);
                let was = before.expected(schema, &[]).of_query(&query)?;
                let is = after.expected(schema, &[]).of_query(&query)?;
                let moved: f64 = is.iter().zip(&was).map(|(a, b)| (a - b).abs()).sum();
                Ok(moved > sigma * noise_norm(was.len()))
            }
            // The model expected even levels of a covariate that it did not know.
            _ => Ok(true),
        }
    }

    /// Spends what is left on what showed something, or else on what was chosen, or else on the hub.
    fn spend_the_rest(&mut self) -> Result<(), MeasureError> {
        let remaining = self.rounds.remaining_rho();
        if remaining <= NOTHING * self.aim.rho {
            return Ok(());
        }
        let any_shows = self.measured.iter().any(|m| m.shows);
        let again = self.measured.iter().filter(|m| m.shows || !any_shows);
        let mut again: Vec<(Block, Query)> = again.map(|m| (m.block, m.query.clone())).collect();
        if again.is_empty() {
            let block = &self.aim.block;
            again.push((Block::Hub, hub_query(block.treatment(), block.outcome())));
        }
        let rho = remaining / again.len() as f64;
        for (block, mut query) in again {
            let exact = self.count(&query);
            query.name = format!("again:{}", query.name);
            let mechanism = self.rounds.gaussian(&query, rho)?;
            self.rounds.measure(block, query, None, mechanism, exact)?;
        }
        Ok(())
    }
}

/// The exact answers to queries, which stay confidential.
fn ask(rounds: &Rounds, queries: &[Query]) -> Confidential<Answers> {
    let schema = &rounds.plan.schema;
    rounds.ask(&Asked { schema, queries }, answers)
}

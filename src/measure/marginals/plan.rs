//! What rounds of choices will spend, from public quantities only.

use super::candidates::{Candidate, as_listed, downward_closure, pairs};
use super::gap::{GAP_SCALE, gap_sensitivity};
use crate::measure::{MeasureError, PlannedMeasurement};
use crate::model::{GrowingTree, Variables};
use crate::privacy::{Adjacency, Cost, Sensitivity};
use crate::schema::{Query, SCALE, Schema};
use crate::workload::{Block, MarginalsBlock, Method, Workload};

/// The most cells of all candidates together: their counts, 4 bytes each, are kept in memory (256 MiB).
const MOST_COUNTS: u64 = 1 << 26;

/// The planned rounds.
#[derive(Debug, Clone)]
pub struct MarginalsPlan {
    /// The workload's block.
    pub block: MarginalsBlock,
    /// The variables of the models.
    pub variables: Variables,
    /// The `rho` of the whole release.
    pub total_rho: f64,
    /// What the measurements before the rounds leave of it.
    pub rho: f64,
    /// What the rounds cost.
    pub cost: Cost,
}

/// The `rho` of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundCharge {
    /// Of the choice.
    pub choice: f64,
    /// Of the measurement.
    pub measurement: f64,
}

impl RoundCharge {
    /// A round's `rho`, divided.
    pub fn of(rho: f64, choice_share: f64) -> RoundCharge {
        RoundCharge {
            choice: rho * choice_share,
            measurement: rho * (1.0 - choice_share),
        }
    }

    /// Both together.
    pub fn sum(&self) -> f64 {
        self.choice + self.measurement
    }

    /// A multiple of both.
    pub fn times(&self, factor: f64) -> RoundCharge {
        RoundCharge {
            choice: self.choice * factor,
            measurement: self.measurement * factor,
        }
    }
}

impl MarginalsPlan {
    /// The rounds of a workload that chooses, after the measurements that it makes whatever the data say; `None`
    /// of other workloads.
    ///
    /// # Errors
    /// Where the model is too large before the first round, or the candidates have too many cells.
    pub fn new(
        schema: &Schema,
        workload: &Workload,
        measurements: &[PlannedMeasurement],
        total: Cost,
    ) -> Result<Option<MarginalsPlan>, MeasureError> {
        let Some(block) = workload.marginals().filter(|block| block.selects()) else {
            return Ok(None);
        };
        let queries: Vec<Query> = measurements.iter().map(|m| m.query.clone()).collect();
        let variables = Variables::new(schema, &queries, &block.columns)?;
        let sets = variables.sets(schema, &queries, workload.max_cells)?;
        let growing = GrowingTree::new(&variables.domain, &sets)?;
        growing
            .tree()
            .check_size(&variables.domain, workload.max_cells)?;
        let before: f64 = measurements.iter().map(|m| m.mechanism.cost().rho()).sum();
        let total_rho = total.rho();
        // The last digits may be off by the rounding of the sum; the accountant's slack is far wider.
        let rho = match has_rounds(block) {
            true => (total_rho - before).max(0.0),
            false => 0.0,
        };
        let plan = MarginalsPlan {
            block: block.clone(),
            variables,
            total_rho,
            rho,
            cost: Cost::other(rho)?,
        };
        plan.check_counts(schema)?;
        Ok(Some(plan))
    }

    fn candidates(&self) -> Vec<Candidate> {
        match &self.block.method {
            Method::Independent => Vec::new(),
            Method::Mst(_) => pairs(&self.block.columns),
            Method::Aim(rule) => downward_closure(&rule.marginals),
            Method::Mwem(rule) => as_listed(&rule.marginals),
        }
    }

    fn check_counts(&self, schema: &Schema) -> Result<(), MeasureError> {
        let candidates = self.candidates();
        let cells = candidates.iter().map(|c| c.cells(schema));
        let cells = cells.fold(0u64, u64::saturating_add);
        if cells <= MOST_COUNTS {
            return Ok(());
        }
        let largest = candidates.iter().max_by_key(|c| c.cells(schema));
        let largest = largest.map_or(String::new(), |largest| {
            let names = largest.names(schema).join(", ");
            format!(" (the largest, {names}, has {})", largest.cells(schema))
        });
        Err(MeasureError::Configuration(format!(
            "the {} marginals to choose from have {cells} cells together{largest}, more than the {MOST_COUNTS} that are \
             kept in memory; use coarser bins, or a lower degree or `max_cells` under `marginals`",
            candidates.len()
        )))
    }

    /// MST's charge per choice. The number of choices is known: one per pair that the workload does not name.
    pub fn choice_rho(&self) -> f64 {
        match &self.block.method {
            Method::Mst(rule) => self.total_rho * rule.selection / self.choices().max(1) as f64,
            _ => 0.0,
        }
    }

    /// MST's charge per pair of a tree with so many.
    pub fn two_way_rho(&self, edges: usize) -> f64 {
        match &self.block.method {
            Method::Mst(rule) => self.total_rho * rule.two_way / edges.max(1) as f64,
            _ => 0.0,
        }
    }

    fn choices(&self) -> usize {
        self.block.columns.len() - 1 - self.block.together.len()
    }
}

/// Whether anything is left to do after the measurements that are made whatever the data say.
fn has_rounds(block: &MarginalsBlock) -> bool {
    match &block.method {
        Method::Independent => false,
        Method::Mst(_) => block.columns.len() > 1,
        Method::Aim(_) => true,
        Method::Mwem(rule) => rule.rounds > block.together.len(),
    }
}

/// What rounds will do, as far as it is known before.
#[derive(Debug, Clone)]
pub struct RoundLine {
    /// The block: `selection`, or that of the measurements.
    pub block: String,
    /// What happens.
    pub measurement: String,
    /// Of a choice, the number of candidates; of a measurement, the most cells that it can have.
    pub cells: usize,
    /// The sensitivity, in records.
    pub sensitivity: f64,
    /// The standard deviation of the noise of a measurement; of a choice, the scale of its log-odds; in records.
    pub sigma: f64,
    /// The charge of all such rounds: `mu^2`, of choices `2 rho`.
    pub charge: f64,
}

/// The rounds of a mechanism, as they are known before.
struct Foreseen {
    /// What is chosen, and how often at most.
    choices: String,
    choice_count: usize,
    /// What is measured.
    measurements: String,
    block: Block,
    /// The first round's charge.
    charge: RoundCharge,
    /// The share of the choices in what the rounds spend.
    choice_share: f64,
}

impl MarginalsPlan {
    fn foreseen(&self) -> Option<Foreseen> {
        let in_rounds = |most: &str, count: usize, charge, choice_share| Foreseen {
            choices: format!("choice of a marginal,{most} {count} times"),
            choice_count: count,
            measurements: format!("chosen marginals,{most} {count}"),
            block: Block::Selected,
            charge,
            choice_share,
        };
        match &self.block.method {
            Method::Mst(rule) if self.rho > 0.0 => {
                let edges = self.block.columns.len() - 1;
                Some(Foreseen {
                    choices: format!("choice of a pair, {} times", self.choices()),
                    choice_count: self.choices(),
                    measurements: format!("pairs of the tree, {edges}"),
                    block: Block::TwoWay,
                    charge: RoundCharge {
                        choice: self.choice_rho(),
                        measurement: self.two_way_rho(edges),
                    },
                    choice_share: rule.selection / (rule.selection + rule.two_way),
                })
            }
            Method::Aim(rule) => {
                let rho = self.total_rho / rule.rounds as f64;
                let share = rule.selection_share;
                let most = (self.rho / rho).floor() as usize;
                Some(in_rounds(
                    " at most",
                    most,
                    RoundCharge::of(rho, share),
                    share,
                ))
            }
            Method::Mwem(rule) if self.rho > 0.0 => {
                let count = rule.rounds - self.block.together.len();
                let share = rule.selection_share;
                let charge = RoundCharge::of(self.rho / count as f64, share);
                Some(in_rounds("", count, charge, share))
            }
            _ => None,
        }
    }

    /// The rounds as they are planned: choices, then measurements. Where the noise adapts, it is the first round's.
    ///
    /// # Errors
    /// Where the sensitivity is out of range.
    pub fn lines(
        &self,
        schema: &Schema,
        adjacency: Adjacency,
    ) -> Result<Vec<RoundLine>, MeasureError> {
        let Some(foreseen) = self.foreseen() else {
            return Ok(Vec::new());
        };
        let max_rows = schema.unit.max_rows();
        let l1 = gap_sensitivity(adjacency, max_rows, 1) as f64 / GAP_SCALE as f64;
        let l2 = Sensitivity::of_non_negative_sum(SCALE, adjacency, max_rows)?;
        let l2 = l2.squared_records().sqrt();
        let candidates = self.candidates();
        let largest = candidates.iter().map(|c| c.cells(schema)).max();
        let measurements = RoundLine {
            block: foreseen.block.to_string(),
            measurement: foreseen.measurements,
            cells: largest.unwrap_or(0) as usize,
            sensitivity: l2,
            sigma: l2 / (2.0 * foreseen.charge.measurement).sqrt(),
            charge: 2.0 * self.rho * (1.0 - foreseen.choice_share),
        };
        if foreseen.choice_count == 0 {
            return Ok(vec![measurements]);
        }
        let choices = RoundLine {
            block: "selection".into(),
            measurement: foreseen.choices,
            cells: candidates.len(),
            sensitivity: l1,
            // rho = epsilon^2 / 8.
            sigma: 2.0 * l1 / (8.0 * foreseen.charge.choice).sqrt(),
            charge: 2.0 * self.rho * foreseen.choice_share,
        };
        Ok(vec![choices, measurements])
    }
}

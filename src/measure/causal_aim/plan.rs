//! What the rounds will spend, from public quantities only.

use super::lipschitz;
use super::product;
use super::residuals::UNIT;
use crate::measure::marginals::RoundLine;
use crate::measure::marginals::plan::RoundCharge;
use crate::measure::{MeasureError, Plan};
use crate::model::{ModelError, Variables};
use crate::privacy::{Adjacency, Cost, Sensitivity};
use crate::release::EffectsRelease;
use crate::schema::{SCALE, Schema};
use crate::workload::{CausalAimBlock, EffectsBlock, SelectionScore, Workload};

/// The planned rounds.
#[derive(Debug, Clone)]
pub struct CausalAimPlan {
    /// The workload's block.
    pub block: CausalAimBlock,
    /// The `rho` of all rounds.
    pub rho: f64,
    /// What the rounds cost.
    pub cost: Cost,
    /// The most leaves that the effects' selection can ask for, where it is used.
    most_shared: Option<usize>,
}

impl CausalAimPlan {
    /// The rounds of a workload that chooses leaves; `rho` is what hub and effects leave. `None` of other workloads.
    ///
    /// # Errors
    /// Where no candidate fits the model's size limit.
    pub fn new(
        schema: &Schema,
        workload: &Workload,
        rho: f64,
    ) -> Result<Option<CausalAimPlan>, MeasureError> {
        let Some(block) = workload.causal_aim() else {
            return Ok(None);
        };
        check_size(schema, workload, block)?;
        let most_shared = workload
            .effects()
            .filter(|_| block.uses_effects_selection());
        Ok(Some(CausalAimPlan {
            block: block.clone(),
            rho,
            cost: Cost::other(rho)?,
            most_shared: most_shared.map(most_columns),
        }))
    }

    /// The charge of the first round.
    pub fn first_round(&self) -> RoundCharge {
        self.round(self.rho / self.block.rounds as f64)
    }

    /// A round's `rho`, divided.
    pub fn round(&self, rho: f64) -> RoundCharge {
        let block = &self.block;
        RoundCharge::of(rho, block.selection / (block.selection + block.leaves))
    }

    /// The sensitivity of the scores and how many of their units are one record.
    ///
    /// # Errors
    /// Where it is out of range.
    pub fn sensitivity(
        &self,
        adjacency: Adjacency,
        max_rows: u32,
    ) -> Result<(u64, i64), MeasureError> {
        Ok(match self.block.score {
            SelectionScore::Product => (product::sensitivity(adjacency, max_rows), UNIT),
            SelectionScore::Lipschitz => (lipschitz::sensitivity(adjacency, max_rows)?, SCALE),
        })
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
        let max_rows = schema.unit.max_rows();
        let l2 = Sensitivity::of_non_negative_sum(SCALE, adjacency, max_rows)?;
        let l2 = l2.squared_records().sqrt();
        let charge = match self.most_shared {
            None => self.first_round(),
            Some(most) => RoundCharge::of(self.rho / most as f64, 0.0),
        };
        let levels = self
            .block
            .columns
            .iter()
            .map(|&c| schema.columns[c].levels());
        let arms = schema.columns[self.block.treatment()].levels();
        let share = charge.choice / charge.sum();
        let leaves = RoundLine {
            block: "leaves".into(),
            measurement: match self.most_shared {
                None => format!("chosen leaves and pairs, at most {}", self.block.rounds),
                Some(most) => format!("leaves of the effects' scores, at most {most}"),
            },
            cells: 2 * arms * levels.max().unwrap_or(0),
            sensitivity: l2,
            sigma: l2 / (2.0 * charge.measurement).sqrt(),
            charge: 2.0 * self.rho * (1.0 - share),
        };
        if self.most_shared.is_some() {
            return Ok(vec![leaves]);
        }
        let (sensitivity, unit) = self.sensitivity(adjacency, max_rows)?;
        let sensitivity = sensitivity as f64 / unit as f64;
        let choices = RoundLine {
            block: "selection".into(),
            measurement: format!(
                "choice of a leaf or a pair, at most {} times",
                self.block.rounds
            ),
            cells: self.block.columns.len(),
            sensitivity,
            // rho = epsilon^2 / 8.
            sigma: 2.0 * sensitivity / (8.0 * charge.choice).sqrt(),
            charge: 2.0 * self.rho * share,
        };
        Ok(vec![choices, leaves])
    }
}

impl Plan {
    /// The candidates among the columns of the scores that the effects kept, ascending.
    pub(super) fn selected_columns(&self, effects: &EffectsRelease) -> Vec<usize> {
        let kept = |column: &usize| {
            let name = &self.schema.columns[*column].name;
            let kept = effects.parameters.kept.iter();
            kept.map(|&j| &effects.scores[j].column).any(|c| c == name)
        };
        let candidates = self.causal_aim.iter().flat_map(|c| &c.block.columns);
        candidates.copied().filter(kept).collect()
    }
}

/// The most different columns among the scores that effects keep.
fn most_columns(effects: &EffectsBlock) -> usize {
    let mut columns: Vec<usize> = effects.scores.iter().map(|s| s.column).collect();
    columns.dedup();
    effects.keep.min(columns.len())
}

/// Refuses a limit that not even the smallest leaf fits.
fn check_size(
    schema: &Schema,
    workload: &Workload,
    block: &CausalAimBlock,
) -> Result<(), MeasureError> {
    let queries = workload.queries(schema);
    let queries: Vec<_> = queries.into_iter().map(|q| q.query).collect();
    let variables = Variables::new(schema, &queries, &[])?;
    let hub: usize = variables.domain.sizes().iter().product();
    let levels = |column: &usize| schema.columns[*column].levels();
    let smallest = block.columns.iter().copied().min_by_key(levels);
    // A block has a candidate.
    let Some(smallest) = smallest else {
        return Ok(());
    };
    let cells = hub as u128 * levels(&smallest) as u128;
    if cells <= u128::from(workload.max_cells) {
        return Ok(());
    }
    let columns = [block.treatment(), block.outcome(), smallest];
    Err(MeasureError::Model(ModelError::TooLarge {
        context: "the smallest leaf".into(),
        clique: columns.map(|c| schema.columns[c].name.clone()).to_vec(),
        cells,
        limit: u128::from(workload.max_cells),
    }))
}

//! The checked block of `causal-aim`: a fixed hub, and leaves that are chosen privately.

use super::causal::{BlockQuery, CausalBlocks};
use super::causal_aim_file::{CausalAimBlocksFile, CausalAimFile, SelectionScore};
use super::check::{causal_roles, check_common, check_leaves, effective_shares};
use super::effects::{self, EffectsBlock};
use super::file::PairWord;
use super::{Mechanism, Workload};
use crate::privacy::AccountantKind;
use crate::schema::Schema;
use crate::schema::fault::{Fault, Path};

/// The default number of rounds, as published.
const ROUNDS: usize = 5;

/// The share of a numeric outcome's spread in the hub's: of the default 15 % it makes the 3 % that the fixed
/// workload gives it.
const SPREAD_OF_HUB: f64 = 0.2;

/// The checked block. Shares are of what the effects leave of the budget; they sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct CausalAimBlock {
    /// Treatment and outcome: what is measured whatever the data say.
    pub hub: CausalBlocks,
    /// Share of the choices; 0 where the effects' selection is used.
    pub selection: f64,
    /// Share of the measurements of what was chosen.
    pub leaves: f64,
    /// The candidates (indices in [`Schema::columns`]), ascending.
    pub columns: Vec<usize>,
    /// The largest number of rounds.
    pub rounds: usize,
    /// What a candidate is judged by.
    pub score: SelectionScore,
    /// Whether pairs of chosen covariates are candidates too.
    pub pairs: bool,
}

impl CausalAimBlock {
    /// The treatment (index in [`Schema::columns`]).
    pub fn treatment(&self) -> usize {
        self.hub.treatment
    }

    /// The outcome (index in [`Schema::columns`]).
    pub fn outcome(&self) -> usize {
        self.hub.outcome
    }

    /// Whether the leaves are those of the scores that the effects select.
    pub fn uses_effects_selection(&self) -> bool {
        self.selection == 0.0
    }

    /// The queries that are asked whatever the data say, each with its share.
    pub(super) fn queries(&self, schema: &Schema) -> Vec<BlockQuery> {
        self.hub.queries(schema)
    }
}

pub(super) fn check(file: &CausalAimFile, schema: &Schema) -> Result<Workload, Fault> {
    let top = Path::default();
    check_common(file.adjacency, file.model, schema, &top)?;
    let effects = file
        .effects
        .as_ref()
        .map(|effects| effects::check(effects, true, schema, &top))
        .transpose()?;
    let microdata = check_blocks(&file.blocks, effects.as_ref(), schema, &top)?;
    Ok(Workload {
        mechanism: Mechanism::CausalAim { effects, microdata },
        adjacency: file.adjacency,
        accountant: AccountantKind::Zcdp,
        max_cells: file.model.max_cells,
    })
}

fn check_blocks(
    file: &CausalAimBlocksFile,
    effects: Option<&EffectsBlock>,
    schema: &Schema,
    top: &Path,
) -> Result<CausalAimBlock, Fault> {
    let (treatment, outcome) = causal_roles(schema, top)?;
    let at = top.to("blocks");
    let at_columns = at.to("leaves").to("columns");
    let columns = check_leaves(&file.leaves.columns, schema, &at_columns)?;
    if columns.is_empty() {
        return Err(at_columns.fault(
            "there is nothing to choose from; name covariates, or use `mechanism: causal` for a hub without leaves",
        ));
    }
    if file.selection.rounds == Some(0) {
        return Err(at
            .to("selection")
            .to("rounds")
            .fault("without a round nothing is chosen; give at least 1"));
    }
    let chooses = !effects.is_some_and(EffectsBlock::selects);
    let [hub, selection, leaves] = effective_shares(
        [
            ("hub", Some(file.hub.share), true),
            ("selection", Some(file.selection.share), chooses),
            ("leaves", Some(file.leaves.share), true),
        ],
        &at,
    )?;
    let spread = match schema.columns[outcome].bins() {
        Some(_) => SPREAD_OF_HUB * hub,
        None => 0.0,
    };
    Ok(CausalAimBlock {
        hub: CausalBlocks {
            treatment,
            outcome,
            hub: hub - spread,
            leaves: 0.0,
            leaf_columns: Vec::new(),
            pairs: 0.0,
            pair_columns: Vec::new(),
            spread,
        },
        selection,
        leaves,
        rounds: file.selection.rounds.unwrap_or(ROUNDS.min(columns.len())),
        columns,
        score: file.selection.score,
        pairs: file.selection.pairs == PairWord::All,
    })
}

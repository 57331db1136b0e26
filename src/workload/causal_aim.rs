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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Block, WorkloadFile};

    const SHIPPED: &str = include_str!("../../workloads/causal-aim.yaml");

    fn schema(outcome: &str) -> Schema {
        let covariates: String = (0..6)
            .map(|j| format!("  - {{name: x{j}, type: boolean}}\n"))
            .collect();
        let text = format!(
            "format: dpcausal.schema/1\ncolumns:\n  - {{name: t, role: treatment, type: boolean}}\n{covariates}  - {{name: y, role: outcome, {outcome}}}\n"
        );
        Schema::parse(&text, "s.yaml").unwrap().0
    }

    fn parse(text: &str, schema: &Schema) -> Result<Workload, String> {
        let parsed = Workload::parse(text, "w.yaml", schema);
        parsed
            .map(|(workload, _)| workload)
            .map_err(|e| e.to_string())
    }

    fn shares(workload: &Workload, schema: &Schema) -> Vec<(Block, f64)> {
        let queries = workload.queries(schema).into_iter();
        queries
            .map(|q| (q.block, (q.share * 1e9).round() / 1e9))
            .collect()
    }

    #[test]
    fn the_hub_has_its_share_whatever_the_outcome() {
        let binary = schema("type: boolean");
        let workload = parse(SHIPPED, &binary).unwrap();
        assert_eq!(shares(&workload, &binary), [(Block::Hub, 0.15)]);
        let block = workload.causal_aim().unwrap();
        assert_eq!((block.selection, block.leaves), (0.15, 0.7));
        assert_eq!(
            (block.rounds, block.columns.len(), block.pairs),
            (5, 6, true)
        );
        let numeric = schema("type: real, bounds: [0, 9], bins: 3");
        let workload = parse(SHIPPED, &numeric).unwrap();
        let expected = [
            (Block::Hub, 0.06),
            (Block::Hub, 0.06),
            (Block::Spread, 0.03),
        ];
        assert_eq!(shares(&workload, &numeric), expected);
    }

    #[test]
    fn effects_that_select_take_the_selection_over() {
        let schema = schema("type: boolean");
        let with = |keep: &str| {
            let text = format!("{SHIPPED}\neffects: {{share: 0.4, keep: {keep}}}");
            parse(&text, &schema).unwrap()
        };
        let selecting = with("2");
        let block = selecting.causal_aim().unwrap();
        assert!(block.uses_effects_selection());
        assert!((block.leaves - 0.7 / 0.85).abs() < 1e-12);
        let hub = 0.6 * 0.15 / 0.85;
        assert!((selecting.queries(&schema)[0].share - hub).abs() < 1e-12);
        // Without a selection of the effects' own there is nothing to share.
        let block = with("all").causal_aim().unwrap().clone();
        assert!(!block.uses_effects_selection() && block.selection == 0.15);
    }

    #[test]
    fn errors_have_places_and_remedies() {
        let schema = schema("type: boolean");
        for (from, to, message) in [
            ("share: 0.70", "share: 0.60", "the shares sum to 0.9, not 1"),
            ("score: product", "score: products", "w.yaml:"),
            ("pairs: all", "pairs: all, rounds: 0", "give at least 1"),
            (
                "columns: all}\n\n# The most",
                "columns: []}\n\n# The most",
                "nothing to choose from",
            ),
            ("max_cells: 1000000", "max_cells: 0", "at least one cell"),
        ] {
            assert!(SHIPPED.contains(from), "{from}");
            let error = parse(&SHIPPED.replace(from, to), &schema).unwrap_err();
            assert!(
                error.contains(message) && error.starts_with("w.yaml:"),
                "{error}"
            );
        }
    }

    #[test]
    fn documents_survive_yaml_and_json() {
        let schema = schema("type: boolean");
        let (workload, file) = Workload::parse(SHIPPED, "w.yaml", &schema).unwrap();
        assert_eq!(workload.mechanism_name(), "causal-aim");
        let yaml = serde_yaml::to_string(&file).unwrap();
        assert_eq!(parse(&yaml, &schema).unwrap(), workload);
        let json = serde_json::to_string(&file).unwrap();
        let embedded: WorkloadFile = serde_json::from_str(&json).unwrap();
        assert_eq!(Workload::from_file(&embedded, &schema).unwrap(), workload);
    }
}

//! Marginals of columns without regard to their roles: what the mechanisms `independent`, `mst`, `aim` and
//! `mwem` measure whatever the data say, and the rules by which they choose the rest.

use super::causal::{Block, BlockQuery};
use crate::schema::{Axis, Feature, Query, Schema};

/// A marginal of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedMarginal {
    /// Its columns (indices in [`Schema::columns`]), ascending.
    pub columns: Vec<usize>,
    /// How much it matters; positive.
    pub weight: f64,
}

/// The columns of a release without roles, and how marginals of several of them are chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct MarginalsBlock {
    /// The columns, ascending.
    pub columns: Vec<usize>,
    /// Sets of columns that are measured together whatever the data say, each ascending.
    pub together: Vec<Vec<usize>>,
    /// The mechanism.
    pub method: Method,
}

/// How marginals of several columns are chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// Not at all.
    Independent,
    /// A tree of pairs.
    Mst(MstRule),
    /// Rounds, each of which chooses the marginal that the model misses most.
    Aim(AimRule),
    /// A fixed number of such rounds.
    Mwem(MwemRule),
}

/// Rules of MST. The shares are of the whole budget; they sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct MstRule {
    /// Share of the one-way marginals.
    pub one_way: f64,
    /// Share of the choice of the tree; 0 where there is none.
    pub selection: f64,
    /// Share of the tree's pairs; 0 where there are none.
    pub two_way: f64,
    /// Levels with fewer noisy records than this many standard deviations are merged.
    pub compression: f64,
}

/// Rules of AIM.
#[derive(Debug, Clone, PartialEq)]
pub struct AimRule {
    /// The workload.
    pub marginals: Vec<WeightedMarginal>,
    /// `T`: the budget is that of so many rounds of the first noise scale.
    pub rounds: usize,
    /// The share of a round for its choice.
    pub selection_share: f64,
}

/// Rules of MWEM+PGM.
#[derive(Debug, Clone, PartialEq)]
pub struct MwemRule {
    /// The candidates.
    pub marginals: Vec<WeightedMarginal>,
    /// The number of rounds.
    pub rounds: usize,
    /// The share of a round for its choice.
    pub selection_share: f64,
    /// The share of the whole budget for the number of records; 0 where it is public.
    pub total_share: f64,
}

impl Method {
    /// The mechanism's name, as workload files write it.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Independent => "independent",
            Method::Mst(_) => "mst",
            Method::Aim(_) => "aim",
            Method::Mwem(_) => "mwem",
        }
    }
}

impl MarginalsBlock {
    /// Whether marginals are chosen in the light of the data, which takes the coded rows, and charges that
    /// are not Gaussian.
    pub fn selects(&self) -> bool {
        self.method != Method::Independent
    }

    /// The queries that are asked whatever the data say, each with its share of the whole budget.
    pub(super) fn queries(&self, schema: &Schema) -> Vec<BlockQuery> {
        let count = self.columns.len() as f64;
        let singles = |share: f64| {
            let columns = self.columns.iter();
            columns.map(move |&c| marginal_query(schema, Block::OneWay, &[c], share))
        };
        let together = |share: f64| {
            let sets = self.together.iter();
            sets.map(move |set| marginal_query(schema, Block::Together, set, share))
        };
        match &self.method {
            Method::Independent => singles(1.0 / count).collect(),
            Method::Mst(rule) => singles(rule.one_way / count).collect(),
            Method::Aim(rule) => {
                let share = (1.0 - rule.selection_share) / rule.rounds as f64;
                singles(share).chain(together(share)).collect()
            }
            Method::Mwem(rule) => {
                let share = (1.0 - rule.total_share) / rule.rounds as f64;
                let total = (rule.total_share > 0.0)
                    .then(|| marginal_query(schema, Block::Total, &[], rule.total_share));
                total.into_iter().chain(together(share)).collect()
            }
        }
    }
}

/// The query of the marginal of some columns, named by its block and them.
fn marginal_query(schema: &Schema, block: Block, columns: &[usize], share: f64) -> BlockQuery {
    let names = columns.iter().map(|&c| schema.columns[c].name.as_str());
    let names: Vec<&str> = names.collect();
    let name = match block {
        Block::Total => block.to_string(),
        _ => format!("{block}:{}", names.join("*")),
    };
    BlockQuery {
        block,
        query: Query {
            name,
            axes: level_axes(columns),
        },
        share,
    }
}

/// The axes of the marginal of some columns.
pub(crate) fn level_axes(columns: &[usize]) -> Vec<Axis> {
    let axis = |&column: &usize| Axis {
        column,
        feature: Feature::Levels,
    };
    columns.iter().map(axis).collect()
}

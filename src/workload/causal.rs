//! The blocks of the causal workload and the queries that they ask.
//!
//! | block | queries |
//! |---|---|
//! | hub | `hub:histogram`: treatment x outcome levels (numeric outcomes); `hub:moments`: treatment x outcome split |
//! | leaves | `leaf:NAME`: treatment x outcome split x covariate levels, one per covariate |
//! | pairs | `pair:A*B`: levels of two covariates |
//! | spread | `spread`: treatment x outcome spread (numeric outcomes) |
//!
//! Of a two-level outcome the split is the full table, so the moments alone take the hub's share.

use crate::schema::{Axis, Feature, Query, Schema};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A block of the workload: what a measurement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Block {
    /// Treatment and outcome.
    Hub,
    /// Treatment, outcome moments and one covariate.
    Leaves,
    /// Two covariates.
    Pairs,
    /// Treatment and the outcome's spread.
    Spread,
    /// The number of records.
    Total,
    /// One column.
    OneWay,
    /// Columns that the workload keeps together.
    Together,
    /// Two columns, chosen privately.
    TwoWay,
    /// Columns that a round chose privately.
    Selected,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Block::Hub => "hub",
            Block::Leaves => "leaves",
            Block::Pairs => "pairs",
            Block::Spread => "spread",
            Block::Total => "total",
            Block::OneWay => "one-way",
            Block::Together => "together",
            Block::TwoWay => "two-way",
            Block::Selected => "selected",
        })
    }
}

/// A query and what it may spend.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockQuery {
    /// The block that asks.
    pub block: Block,
    /// The question.
    pub query: Query,
    /// Its share of the whole budget's `mu^2`.
    pub share: f64,
}

/// What each block measures, and its effective share: that of the document, plus its proportion of what
/// blocks without work leave. The shares sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct CausalBlocks {
    /// Index of the treatment in [`Schema::columns`].
    pub treatment: usize,
    /// Index of the outcome in [`Schema::columns`].
    pub outcome: usize,
    /// Share of the hub.
    pub hub: f64,
    /// Share of the leaves.
    pub leaves: f64,
    /// The leaves' covariates (indices), in the order of the schema.
    pub leaf_columns: Vec<usize>,
    /// Share of the pairs.
    pub pairs: f64,
    /// The pairs (indices, the smaller first).
    pub pair_columns: Vec<(usize, usize)>,
    /// Share of the spread; 0 where it is not measured.
    pub spread: f64,
}

impl CausalBlocks {
    /// The queries in the order hub, leaves, pairs, spread.
    pub(super) fn queries(&self, schema: &Schema) -> Vec<BlockQuery> {
        let mut queries = Vec::new();
        let mut ask = |block, share, query| {
            queries.push(BlockQuery {
                block,
                query,
                share,
            });
        };
        let (t, y) = (self.treatment, self.outcome);
        let is_numeric = schema.columns[y].bins().is_some();
        let hub = if is_numeric { self.hub / 2.0 } else { self.hub };
        if is_numeric {
            ask(
                Block::Hub,
                hub,
                query(
                    "hub:histogram".into(),
                    &[(t, Feature::Levels), (y, Feature::Levels)],
                ),
            );
        }
        ask(Block::Hub, hub, hub_query(t, y));
        for &column in &self.leaf_columns {
            let share = self.leaves / self.leaf_columns.len() as f64;
            ask(Block::Leaves, share, leaf_query(schema, t, y, column));
        }
        for &(a, b) in &self.pair_columns {
            let share = self.pairs / self.pair_columns.len() as f64;
            ask(Block::Pairs, share, pair_query(schema, a, b));
        }
        if self.spread > 0.0 {
            let axes = [(t, Feature::Levels), (y, Feature::Spread)];
            ask(Block::Spread, self.spread, query("spread".into(), &axes));
        }
        queries
    }
}

fn query(name: String, axes: &[(usize, Feature)]) -> Query {
    let axes = axes.iter();
    let axes = axes.map(|&(column, feature)| Axis { column, feature });
    Query {
        name,
        axes: axes.collect(),
    }
}

/// The moments of the hub: treatment x outcome split.
pub(crate) fn hub_query(treatment: usize, outcome: usize) -> Query {
    let axes = [(treatment, Feature::Levels), (outcome, Feature::Split)];
    query("hub:moments".into(), &axes)
}

/// The leaf of a covariate: treatment x outcome split x levels.
pub(crate) fn leaf_query(
    schema: &Schema,
    treatment: usize,
    outcome: usize,
    column: usize,
) -> Query {
    let name = format!("leaf:{}", schema.columns[column].name);
    let axes = [
        (treatment, Feature::Levels),
        (outcome, Feature::Split),
        (column, Feature::Levels),
    ];
    query(name, &axes)
}

/// The levels of two covariates.
pub(crate) fn pair_query(schema: &Schema, a: usize, b: usize) -> Query {
    let name = format!("pair:{}*{}", schema.columns[a].name, schema.columns[b].name);
    query(name, &[(a, Feature::Levels), (b, Feature::Levels)])
}

//! Workload files: the mechanism, its blocks and their shares of the budget, adjacency and accountant.
//!
//! [`WorkloadFile`] is the document as users write it, [`Workload`] what it means for a schema. Shares
//! are of the budget's `mu^2` (Gaussian differential privacy) or equally of its `rho` (zero-concentrated):
//! both add up over Gaussian measurements.

mod causal;
mod check;
mod effects;
mod file;
#[cfg(test)]
mod tests;

pub use causal::{Block, BlockQuery, CausalBlocks};
pub use check::WorkloadError;
pub use effects::{EffectsBlock, Stage};
pub use file::{
    BlockFile, BlocksFile, CausalFile, CausalMechanism, EffectsFile, KeepFile, LeafColumnsFile,
    LeavesFile, ModelFile, PairColumnsFile, PairsFile, SquaresFile, StageSharesFile,
    WORKLOAD_FORMAT, WorkloadFile, WorkloadFormat,
};

use crate::privacy::{AccountantKind, Adjacency};
use crate::schema::Schema;

/// A checked workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// The mechanism and what it measures.
    pub mechanism: Mechanism,
    /// What neighbouring tables are.
    pub adjacency: Adjacency,
    /// How charges are added up.
    pub accountant: AccountantKind,
    /// The most cells of a model's junction tree.
    pub max_cells: u64,
}

/// A mechanism and what it measures.
#[derive(Debug, Clone, PartialEq)]
pub enum Mechanism {
    /// The fixed causal workload: adjusted effects, microdata, or both.
    Causal {
        /// Adjusted effects.
        effects: Option<EffectsBlock>,
        /// Microdata: hub, leaves, pairs, spread.
        microdata: Option<CausalBlocks>,
    },
}

impl Workload {
    /// The mechanism's name, as workload files write it.
    pub fn mechanism_name(&self) -> &'static str {
        match self.mechanism {
            Mechanism::Causal { .. } => "causal",
        }
    }

    /// The counting queries that the workload asks, each with its share of the whole budget; the shares sum
    /// to what the effects leave. The schema must be the one that the workload was checked against.
    pub fn queries(&self, schema: &Schema) -> Vec<BlockQuery> {
        match &self.mechanism {
            Mechanism::Causal { microdata, effects } => {
                let rest = 1.0 - effects.as_ref().map_or(0.0, |block| block.share);
                let mut queries = microdata.as_ref().map_or(Vec::new(), |b| b.queries(schema));
                for query in &mut queries {
                    query.share *= rest;
                }
                queries
            }
        }
    }

    /// The adjusted effects, where the workload measures them.
    pub fn effects(&self) -> Option<&EffectsBlock> {
        match &self.mechanism {
            Mechanism::Causal { effects, .. } => effects.as_ref(),
        }
    }
}

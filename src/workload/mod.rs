//! Workload files: the mechanism, its blocks and their shares of the budget, adjacency and accountant.
//!
//! [`WorkloadFile`] is the document as users write it, [`Workload`] what it means for a schema. Shares
//! are of the budget's `mu^2` (Gaussian differential privacy) or equally of its `rho` (zero-concentrated):
//! both add up over Gaussian measurements.

mod causal;
mod check;
mod file;
#[cfg(test)]
mod tests;

pub use causal::{Block, BlockQuery, CausalBlocks};
pub use check::WorkloadError;
pub use file::{
    BlockFile, BlocksFile, CausalFile, CausalMechanism, LeafColumnsFile, LeavesFile, ModelFile,
    PairColumnsFile, PairsFile, WORKLOAD_FORMAT, WorkloadFile, WorkloadFormat,
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
    /// The fixed causal workload: hub, leaves, pairs, spread.
    Causal(CausalBlocks),
}

impl Workload {
    /// The mechanism's name, as workload files write it.
    pub fn mechanism_name(&self) -> &'static str {
        match self.mechanism {
            Mechanism::Causal(_) => "causal",
        }
    }

    /// The questions that the workload asks, each with its share of the whole budget; the shares sum
    /// to 1. The schema must be the one that the workload was checked against.
    pub fn queries(&self, schema: &Schema) -> Vec<BlockQuery> {
        match &self.mechanism {
            Mechanism::Causal(blocks) => blocks.queries(schema),
        }
    }
}

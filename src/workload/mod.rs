//! Workload files: the mechanism, its blocks and their shares of the budget, adjacency and accountant.
//!
//! [`WorkloadFile`] is the document as users write it, [`Workload`] what it means for a schema. Shares
//! are of the budget's `mu^2` (Gaussian differential privacy) or equally of its `rho` (zero-concentrated):
//! both add up over Gaussian measurements.

mod cate;
mod cate_file;
mod cate_split;
mod causal;
mod causal_aim;
mod causal_aim_file;
mod check;
mod dpsc;
mod dpsc_file;
mod effects;
mod file;
mod marginals;
mod marginals_check;
mod marginals_file;
#[cfg(test)]
mod marginals_tests;
#[cfg(test)]
mod tests;
mod workload_file;

pub use cate::{CateStage, CateWorkload};
pub use cate_file::{
    BoostingFile, CateBase, CateCompat, CateFile, CateLearner, CateMechanism, CateSharesFile,
    MomentBasisKind, ProductsFile, SplitSharesFile,
};
pub use cate_split::{MOST_CODES, SplitPart, SplitSettings};
pub use causal::{Block, BlockQuery, CausalBlocks};
pub(crate) use causal::{hub_query, leaf_query, pair_query};
pub use causal_aim::CausalAimBlock;
pub use causal_aim_file::{CausalAimBlocksFile, CausalAimFile, SelectionFile, SelectionScore};
pub use check::WorkloadError;
pub use dpsc::{DpscWorkload, PenaltyGrid};
pub use dpsc_file::{
    DpscFile, DpscMechanism, DpscMethod, LambdaFile, LambdaGridFile, SecondStage, WeightSensitivity,
};
pub use effects::{EffectsBlock, Stage};
pub use file::{
    BlockFile, BlocksFile, CausalFile, CausalMechanism, EffectsFile, KeepFile, LeafColumnsFile,
    LeavesFile, ModelFile, PairColumnsFile, PairsFile, SquaresFile, StageSharesFile,
    WORKLOAD_FORMAT, WorkloadFormat,
};

pub(crate) use marginals::level_axes;
pub use marginals::{AimRule, MarginalsBlock, Method, MstRule, MwemRule, WeightedMarginal};
pub use marginals_file::{
    AimFile, ColumnsFile, DegreeFile, IndependentFile, MarginalFile, MarginalsFile, MstFile,
    MstSharesFile, MwemFile,
};
pub use workload_file::WorkloadFile;

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
    /// Microdata whose leaves are chosen privately, and adjusted effects if wanted.
    CausalAim {
        /// Adjusted effects.
        effects: Option<EffectsBlock>,
        /// Hub, and the leaves to choose.
        microdata: CausalAimBlock,
    },
    /// Marginals of columns without regard to their roles.
    Marginals(MarginalsBlock),
}

impl Workload {
    /// The mechanism's name, as workload files write it.
    pub fn mechanism_name(&self) -> &'static str {
        match &self.mechanism {
            Mechanism::Causal { .. } => "causal",
            Mechanism::CausalAim { .. } => "causal-aim",
            Mechanism::Marginals(block) => block.method.name(),
        }
    }

    /// The counting queries that the workload asks whatever the data say, each with its share of the whole
    /// budget; the shares sum to what the effects, or the rounds of a selection, leave. The schema must be
    /// the one that the workload was checked against.
    pub fn queries(&self, schema: &Schema) -> Vec<BlockQuery> {
        let mut queries = match &self.mechanism {
            Mechanism::Causal { microdata, .. } => {
                microdata.as_ref().map_or(Vec::new(), |b| b.queries(schema))
            }
            Mechanism::CausalAim { microdata, .. } => microdata.queries(schema),
            Mechanism::Marginals(block) => block.queries(schema),
        };
        let rest = 1.0 - self.effects().map_or(0.0, |block| block.share);
        for query in &mut queries {
            query.share *= rest;
        }
        queries
    }

    /// The marginals' block, where the workload measures marginals without regard to roles.
    pub fn marginals(&self) -> Option<&MarginalsBlock> {
        match &self.mechanism {
            Mechanism::Causal { .. } | Mechanism::CausalAim { .. } => None,
            Mechanism::Marginals(block) => Some(block),
        }
    }

    /// The block of leaves that are chosen privately, where the workload has one.
    pub fn causal_aim(&self) -> Option<&CausalAimBlock> {
        match &self.mechanism {
            Mechanism::CausalAim { microdata, .. } => Some(microdata),
            Mechanism::Causal { .. } | Mechanism::Marginals(_) => None,
        }
    }

    /// The columns that a model of the release has whether or not a measurement names them.
    pub fn modelled_columns(&self) -> &[usize] {
        self.marginals().map_or(&[], |block| &block.columns)
    }

    /// The adjusted effects, where the workload measures them.
    pub fn effects(&self) -> Option<&EffectsBlock> {
        match &self.mechanism {
            Mechanism::Causal { effects, .. } | Mechanism::CausalAim { effects, .. } => {
                effects.as_ref()
            }
            Mechanism::Marginals(_) => None,
        }
    }
}

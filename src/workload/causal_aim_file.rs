//! The document of `causal-aim`: leaves of the causal workload, chosen privately.

use super::file::{
    BlockFile, EffectsFile, LeavesFile, ModelFile, PairWord, WorkloadFormat, add_remove,
};
use super::marginals_file::selected_model;
use crate::privacy::Adjacency;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CAUSAL-AIM: rounds that choose the covariate that confounds most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CausalAimFile {
    /// The format and its version.
    pub format: WorkloadFormat,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The mechanism.
    pub mechanism: CausalAimMechanism,
    /// What neighbouring tables are; `replace-one` needs the schema's public `rows`.
    #[serde(default = "add_remove")]
    pub adjacency: Adjacency,
    /// Adjusted effects: what they measure, and their share of the whole budget. Where they select scores, the
    /// leaves are those of the scores' columns, and nothing is chosen a second time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectsFile>,
    /// Microdata: shares of what the effects leave of the budget.
    pub blocks: CausalAimBlocksFile,
    /// The model's limits.
    #[serde(default = "selected_model")]
    pub model: ModelFile,
}

/// The word `causal-aim`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CausalAimMechanism {
    /// `causal-aim`.
    CausalAim,
}

/// The blocks; their shares sum to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CausalAimBlocksFile {
    /// Treatment by outcome: histogram, moments and spread.
    pub hub: BlockFile,
    /// The private choices.
    pub selection: SelectionFile,
    /// The measurements of what was chosen.
    pub leaves: LeavesFile,
}

/// How leaves are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectionFile {
    /// The share of the choices.
    pub share: f64,
    /// What a candidate is judged by.
    #[serde(default)]
    pub score: SelectionScore,
    /// The largest number of rounds (default 5, or one per covariate where there are fewer).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// Whether pairs of covariates that have a leaf are candidates too: `all` or `none`.
    #[serde(default = "all_pairs")]
    pub pairs: PairWord,
}

/// What a candidate is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SelectionScore {
    /// The smaller of its associations with the treatment and with the outcome, given the model so far.
    #[default]
    Product,
    /// The L2 distance of its moments from the model's, as published.
    Lipschitz,
}

fn all_pairs() -> PairWord {
    PairWord::All
}

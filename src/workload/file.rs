//! The causal workload's document, and what all mechanisms' documents share.

use crate::privacy::{AccountantKind, Adjacency};
use crate::schema::shape::{Shape, read_by_shape};
use schemars::JsonSchema;
use serde::de::SeqAccess;
use serde::de::value::SeqAccessDeserializer;
use serde::{Deserialize, Serialize};

/// The format's name, which the document states.
pub const WORKLOAD_FORMAT: &str = "dpcausal.workload/1";

/// The default limit of a model's size. At eight bytes a cell and a few tables of that size in flight, a
/// model stays well below a gigabyte.
const DEFAULT_MAX_CELLS: u64 = 10_000_000;

/// The workload formats that this version reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WorkloadFormat {
    /// Version 1.
    #[serde(rename = "dpcausal.workload/1")]
    V1,
}

/// The fixed causal workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CausalFile {
    /// The format and its version.
    pub format: WorkloadFormat,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The mechanism.
    pub mechanism: CausalMechanism,
    /// What neighbouring tables are; `replace-one` needs the schema's public `rows`.
    #[serde(default = "add_remove")]
    pub adjacency: Adjacency,
    /// How charges are added up.
    #[serde(default = "gdp")]
    pub accountant: AccountantKind,
    /// Adjusted effects: what they measure, and their share of the whole budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectsFile>,
    /// Microdata: what is measured, and with which share of what the effects leave of the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlocksFile>,
    /// The model's limits.
    #[serde(default)]
    pub model: ModelFile,
}

/// The word `causal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CausalMechanism {
    /// `causal`.
    Causal,
}

/// Adjusted effects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectsFile {
    /// Their share of the whole budget; the blocks have the rest.
    pub share: f64,
    /// The covariates to adjust for: `all` or a list.
    #[serde(default)]
    pub columns: LeafColumnsFile,
    /// The numeric covariates whose squares are scores too: `none`, `all` or a list.
    #[serde(default)]
    pub squares: SquaresFile,
    /// How many scores to keep, chosen privately: `auto` (8 where there are more than 10), `all` or a number.
    #[serde(default)]
    pub keep: KeepFile,
    /// How the effects' budget is divided over their stages; what a stage without work has is shared out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageSharesFile>,
}

/// `none`, `all` or a list of numeric covariates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SquaresFile {
    /// `none` or `all`.
    Word(PairWord),
    /// These.
    List(Vec<String>),
}

impl Default for SquaresFile {
    fn default() -> Self {
        SquaresFile::Word(PairWord::None)
    }
}

/// How many scores to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum KeepFile {
    /// `auto` or `all`.
    Word(KeepWord),
    /// So many.
    Count(usize),
}

impl Default for KeepFile {
    fn default() -> Self {
        KeepFile::Word(KeepWord::Auto)
    }
}

/// The words that may stand for the number of scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeepWord {
    /// 8 where there are more than 10, else all.
    Auto,
    /// All of them.
    All,
}

/// Shares of the stages of the effects' release; only their proportions count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StageSharesFile {
    /// Arm sizes and rough arm means.
    pub arms: f64,
    /// Mean and spread of numeric covariates, which narrow their ranges.
    pub ranges: f64,
    /// Histogram of the size of outcome residuals, which sets their clip.
    pub scale: f64,
    /// Choice of scores.
    pub selection: f64,
    /// Mean scores.
    pub score_means: f64,
    /// Spread of outcome residuals.
    pub spread: f64,
    /// Arm means of outcome residuals.
    pub outcome_means: f64,
    /// Imbalance of the scores between arms.
    pub imbalance: f64,
    /// Covariance of scores and outcome, by arm.
    pub cross: f64,
    /// Covariance of the scores, by arm.
    pub covariance: f64,
}

impl StageSharesFile {
    /// For randomised designs, which need arm means alone.
    pub const RANDOMISED: StageSharesFile = StageSharesFile {
        arms: 0.12,
        scale: 0.06,
        spread: 0.06,
        outcome_means: 0.76,
        ..StageSharesFile::OBSERVATIONAL
    };

    /// For observational designs. Chosen by simulation, on populations of the study harness that are in none of its claims
    /// (`benchmarks/study/tuning.yaml` says how).
    pub const OBSERVATIONAL: StageSharesFile = StageSharesFile {
        arms: 0.05,
        ranges: 0.03,
        scale: 0.03,
        selection: 0.11,
        score_means: 0.03,
        spread: 0.03,
        outcome_means: 0.15,
        imbalance: 0.09,
        cross: 0.26,
        covariance: 0.22,
    };
}

impl Default for StageSharesFile {
    fn default() -> Self {
        StageSharesFile::OBSERVATIONAL
    }
}

/// The blocks; their shares sum to 1, and a block that is left out has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlocksFile {
    /// Treatment by outcome: the histogram and the moments.
    pub hub: BlockFile,
    /// Treatment by outcome moments by each covariate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves: Option<LeavesFile>,
    /// Pairs of covariates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PairsFile>,
    /// The outcome's spread by treatment; of a two-level outcome there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<BlockFile>,
}

/// A block without choices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockFile {
    /// The block's share of the budget.
    pub share: f64,
}

/// The leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeavesFile {
    /// The block's share of the budget, divided equally.
    pub share: f64,
    /// The covariates: `all` or a list.
    #[serde(default)]
    pub columns: LeafColumnsFile,
}

/// `all` or a list of covariates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LeafColumnsFile {
    /// `all`.
    Word(AllWord),
    /// These.
    List(Vec<String>),
}

impl Default for LeafColumnsFile {
    fn default() -> Self {
        LeafColumnsFile::Word(AllWord::All)
    }
}

/// The pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairsFile {
    /// The block's share of the budget, divided equally.
    pub share: f64,
    /// The pairs of covariates: a list, `all` or `none`.
    pub columns: PairColumnsFile,
}

/// A list of pairs, `all` or `none`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PairColumnsFile {
    /// `all` or `none`.
    Word(PairWord),
    /// These.
    List(Vec<[String; 2]>),
}

/// The word `all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllWord {
    /// `all`.
    All,
}

/// The words that may stand for the pairs or the squares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PairWord {
    /// Every one.
    All,
    /// None.
    None,
}

/// The model's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// The most cells of the junction tree; a larger model is refused before anything is measured.
    #[serde(default = "default_max_cells")]
    pub max_cells: u64,
}

impl Default for ModelFile {
    fn default() -> Self {
        ModelFile {
            max_cells: DEFAULT_MAX_CELLS,
        }
    }
}

pub(super) fn add_remove() -> Adjacency {
    Adjacency::AddRemove
}

pub(super) fn gdp() -> AccountantKind {
    AccountantKind::Gdp
}

fn default_max_cells() -> u64 {
    DEFAULT_MAX_CELLS
}

impl<'de> Shape<'de> for LeafColumnsFile {
    const EXPECTED: &'static str = "`all` or a list of covariates";

    fn from_text(text: &str) -> Option<Self> {
        (text == "all").then_some(LeafColumnsFile::Word(AllWord::All))
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(LeafColumnsFile::List)
    }
}

impl<'de> Shape<'de> for SquaresFile {
    const EXPECTED: &'static str = "`none`, `all` or a list of numeric covariates";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "all" => Some(SquaresFile::Word(PairWord::All)),
            "none" => Some(SquaresFile::Word(PairWord::None)),
            _ => None,
        }
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(SquaresFile::List)
    }
}

impl<'de> Shape<'de> for KeepFile {
    const EXPECTED: &'static str = "`auto`, `all` or a number of scores";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(KeepFile::Word(KeepWord::Auto)),
            "all" => Some(KeepFile::Word(KeepWord::All)),
            _ => text.parse().ok().map(KeepFile::Count),
        }
    }
}

impl<'de> Shape<'de> for PairColumnsFile {
    const EXPECTED: &'static str = "`all`, `none` or a list of pairs such as `[[age, married]]`";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "all" => Some(PairColumnsFile::Word(PairWord::All)),
            "none" => Some(PairColumnsFile::Word(PairWord::None)),
            _ => None,
        }
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(PairColumnsFile::List)
    }
}

read_by_shape!(LeafColumnsFile, PairColumnsFile, SquaresFile, KeepFile);

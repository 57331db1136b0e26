//! The document of the effect workload: conditional average treatment effects.

use super::file::{LeafColumnsFile, SquaresFile, WorkloadFormat, add_remove, gdp};
use crate::privacy::{AccountantKind, Adjacency};
use crate::schema::file::Number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Conditional average treatment effects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CateFile {
    /// The format and its version.
    pub format: WorkloadFormat,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The mechanism.
    pub mechanism: CateMechanism,
    /// What neighbouring tables are; `replace-one` needs the schema's public `rows`.
    #[serde(default = "add_remove")]
    pub adjacency: Adjacency,
    /// How charges are added up.
    #[serde(default = "gdp")]
    pub accountant: AccountantKind,
    /// How the effects are learnt.
    #[serde(default)]
    pub learner: CateLearner,
    /// The covariates that effects may depend on: `all` or a list.
    #[serde(default)]
    pub columns: LeafColumnsFile,
    /// The numeric covariates whose square and cube join the basis: `all`, `none` or a list. Default `all`.
    #[serde(default = "all_curves")]
    pub curves: SquaresFile,
    /// Whether products of two features join the basis.
    #[serde(default)]
    pub products: ProductsFile,
    /// The overlap bound eta: propensities are clipped to lie between eta and 1 - eta. Default 0.08.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Number>,
    /// The clip of the pseudo-outcome, in multiples of its released spread; never beyond 2 / eta half-ranges of the
    /// outcome. Default 2.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<Number>,
    /// How the budget is divided over the stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<CateSharesFile>,
}

/// The word `cate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CateMechanism {
    /// `cate`.
    Cate,
}

/// How effects are learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CateLearner {
    /// Doubly robust residuals of centred second moments, on all records.
    #[default]
    Adaptive,
    /// The doubly robust learner with sample splitting; not in this version.
    Dr,
    /// The residual-on-residual learner with sample splitting; not in this version.
    R,
    /// One model of outcome on treatment and covariates; not in this version.
    S,
}

impl CateLearner {
    /// Its name, as workload files write it.
    pub fn name(self) -> &'static str {
        match self {
            CateLearner::Adaptive => "adaptive",
            CateLearner::Dr => "dr",
            CateLearner::R => "r",
            CateLearner::S => "s",
        }
    }
}

/// Which products of two features join the basis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProductsFile {
    /// All, where there are at most 9 features; else none.
    #[default]
    Auto,
    /// All.
    All,
    /// None.
    None,
}

/// Shares of the stages; only their proportions count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CateSharesFile {
    /// Means and spreads of covariates, arms and outcome.
    pub hub: f64,
    /// Second moments of the basis, by arm.
    pub gram: f64,
    /// Products of basis and outcome, by arm.
    pub cross: f64,
    /// The spread of the pseudo-outcome.
    pub spread: f64,
    /// Products of basis and pseudo-outcome.
    pub effect: f64,
}

impl Default for CateSharesFile {
    /// Chosen by simulation, on the five setups of the benchmark.
    fn default() -> Self {
        CateSharesFile {
            hub: 0.10,
            gram: 0.27,
            cross: 0.13,
            spread: 0.03,
            effect: 0.47,
        }
    }
}

fn all_curves() -> SquaresFile {
    SquaresFile::Word(super::file::PairWord::All)
}

//! The document of the panel workload: differentially private synthetic control.

use super::file::WorkloadFormat;
use crate::schema::file::Number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Synthetic control of a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DpscFile {
    /// The format and its version.
    pub format: WorkloadFormat,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The mechanism.
    pub mechanism: DpscMechanism,
    /// How the counterfactual is estimated and released.
    #[serde(default)]
    pub method: DpscMethod,
    /// The sensitivity of the ridge weights: `exact`, or the larger one of the paper.
    #[serde(default)]
    pub sensitivity: WeightSensitivity,
    /// The ridge penalty of `output`, `objective` and `direct`; default four times the number of donors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<Number>,
    /// The share of the budget that `output` and `objective` spend on the weights; the second stage has the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights_share: Option<Number>,
    /// What `output` and `objective` release after the weights.
    #[serde(default)]
    pub stage2: SecondStage,
    /// How far a donor may lie from the public forecast before it is clipped, in the forecast's own standard
    /// deviations; of `index`. Default 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<Number>,
}

/// The word `dpsc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DpscMechanism {
    /// `dpsc`.
    Dpsc,
}

/// How the counterfactual is estimated and released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DpscMethod {
    /// `balance` where a delta is given and donors times epsilon is at least 300, else `index`.
    #[default]
    Auto,
    /// The mean of the donors' errors about a public forecast; pure.
    Index,
    /// The same with weights that balance the past; Gaussian.
    Balance,
    /// Ridge weights with noise added, then a second stage (Algorithm 2 of the paper).
    Output,
    /// Ridge weights from a perturbed objective, then a second stage (Algorithm 3 of the paper).
    Objective,
    /// The ridge counterfactual with noise added.
    Direct,
    /// Difference in differences with equal weights: a baseline.
    DifferenceInDifferences,
    /// The donors' mean: a baseline.
    Uniform,
}

/// The sensitivity of the ridge weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WeightSensitivity {
    /// The exact one.
    #[default]
    Exact,
    /// The paper's upper bound.
    Paper,
}

/// What is released after the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SecondStage {
    /// The donors' whole outcomes from the intervention on.
    Matrix,
    /// Their weighted sum, per period.
    #[default]
    Projected,
    /// The mean of that sum over the periods.
    Att,
}

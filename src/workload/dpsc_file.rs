//! The document of the panel workload: differentially private synthetic control.

use super::file::WorkloadFormat;
use crate::schema::file::Number;
use crate::schema::shape::{Shape, read_by_shape};
use schemars::JsonSchema;
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
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
    /// The ridge penalty of `output`, `objective` and `direct`, or a public grid from which the exponential mechanism
    /// chooses one; default four times the number of donors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<LambdaFile>,
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
    /// How many periods are averaged before anything else is done, counted from the intervention in both directions.
    /// Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// The share of the budget that is spent on how well the counterfactual follows the past. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit_share: Option<Number>,
}

/// A ridge penalty, or a public grid of them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LambdaFile {
    /// This one.
    Fixed(Number),
    /// One of these.
    Grid(LambdaGridFile),
}

/// A public grid of ridge penalties.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LambdaGridFile {
    /// The candidates.
    pub grid: Vec<Number>,
    /// The share of the budget that the choice costs. Default 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Number>,
}

impl<'de> Shape<'de> for LambdaFile {
    const EXPECTED: &'static str =
        "a positive number or a grid such as `{grid: [40, 160, 640], share: 0.1}`";

    fn from_text(text: &str) -> Option<Self> {
        text.parse()
            .ok()
            .map(|value| LambdaFile::Fixed(Number(value)))
    }

    fn from_mapping<A: MapAccess<'de>>(mapping: A) -> Result<Self, A::Error> {
        LambdaGridFile::deserialize(MapAccessDeserializer::new(mapping)).map(LambdaFile::Grid)
    }
}

read_by_shape!(LambdaFile);

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
    /// `balance` where a delta is given and donors times epsilon is large enough for the number of periods, else `index`.
    #[default]
    Auto,
    /// The mean of the donors' errors about a public forecast; pure.
    Index,
    /// The same, regressed on the donors' past by noisy moments; Gaussian.
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

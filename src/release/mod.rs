//! The release: the one document that leaves the confidential side.
//!
//! A release is JSON, `"format": "dpcausal.release/1"`. It holds noisy integers, the law of their noise,
//! the accounting, and the public documents (schema, workload) that give them meaning. It holds no
//! exact count, no hash of the data, no path and no time. Everything downstream (`reconstruct`,
//! `impute`, `analyze`) reads nothing else.

mod additive;
mod card;
mod cate;
mod cate_split;
mod check;
mod effects;
mod panel;
mod panel_card;
mod selection;

pub use additive::{AdditiveModel, AdditiveTerm, Curve};
pub use card::DeploymentCard;
pub use cate::{CateParameters, CateRelease, CheckedCateRelease, ReleasedPropensity};
pub use cate_split::{BoostedModel, NOT_PRIVATE, ReleasedPart, SplitRelease};
pub use effects::{
    EffectMeasurement, EffectsParameters, EffectsRelease, ReleasedScore, SelectionRound,
};
pub use panel::{
    CheckedPanelRelease, NoiseLaw, PanelMeasurement, PanelRelease, PenaltyChoice, ReleasedControl,
};
pub use selection::{MarginalRound, MarginalSelection, MergedLevels};

use crate::privacy::{AccountantKind, Adjacency, Budget, Cost, ReleaseId};
use crate::schema::{Feature, Query, Role, Schema, SchemaFile};
use crate::workload::{Block, CateWorkload, DpscWorkload, Workload, WorkloadFile};
use serde::{Deserialize, Serialize};

/// The format that this version writes.
pub const FORMAT: &str = "dpcausal.release/1";

/// What is wrong with a release document.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// It is no JSON, or a field is missing, unknown or of the wrong type.
    #[error("{file}:{line}:{column}: this is not a release document: {message}")]
    Syntax {
        /// The file's name.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// The format is not one that this version reads.
    #[error(
        "{file}: the format is {found:?}; this version ({version}) reads {FORMAT:?}; use the version of dpcausal that wrote the release"
    )]
    Format {
        /// The file's name.
        file: String,
        /// The format found.
        found: String,
        /// This version.
        version: &'static str,
    },
    /// It is of a panel, where one of a table is needed.
    #[error(
        "{file}: this is the release of a panel, which has no records; give the release of a table"
    )]
    Panel {
        /// The file's name.
        file: String,
    },
    /// It is of the effect workload, where microdata are needed.
    #[error(
        "{file}: this release holds conditional effects and no microdata; read it with `dpcausal analyze`, or measure with a workload of microdata (`mechanism: causal`)"
    )]
    Cate {
        /// The file's name.
        file: String,
    },
    /// It contradicts itself.
    #[error(
        "{file}: {message}; the file was changed after it was written: ask its publisher for a fresh copy"
    )]
    Inconsistent {
        /// The file's name.
        file: String,
        /// What does not fit.
        message: String,
    },
}

/// How the budget was accounted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accounting {
    /// The accountant.
    pub accountant: AccountantKind,
    /// The adjacency that the guarantee is about.
    pub adjacency: Adjacency,
    /// The largest number of rows of one privacy unit.
    pub max_rows_per_unit: u32,
    /// The budget as it was asked for.
    pub budget: Budget,
    /// What was spent, all measurements together.
    pub spent: Cost,
    /// The delta at which `epsilon` is stated, where one was given.
    pub delta: Option<f64>,
    /// The epsilon that the spent cost implies at `delta`.
    pub epsilon: Option<f64>,
}

/// One axis of a measured array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredAxis {
    /// The column's name.
    pub column: String,
    /// What was taken of it.
    pub feature: Feature,
    /// Whether its rare levels were merged: see [`MarginalSelection::merged`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
}

/// One noisy answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// The block of the workload that it belongs to.
    pub block: Block,
    /// The query's name.
    pub name: String,
    /// The axes of the array, slowest first.
    pub axes: Vec<MeasuredAxis>,
    /// The number of cells along each axis.
    pub shape: Vec<usize>,
    /// The mechanism: `discrete-gaussian`.
    pub mechanism: String,
    /// How many units of `values` one record is.
    pub scale: i64,
    /// The exact scale parameter of the noise, in the units of `values`: its variance proxy is `sigma^2`.
    pub sigma: u64,
    /// `sigma^2`, exact, in decimal (it may exceed what a JSON reader keeps as a number).
    pub sigma_squared: String,
    /// The squared L2 sensitivity, exact, in squared units of `values`, in decimal.
    pub sensitivity_squared: String,
    /// What the measurement cost.
    pub cost: Cost,
    /// The noisy sums, row-major.
    pub values: Vec<i64>,
}

impl Measurement {
    /// The noisy sums in records.
    pub fn records(&self) -> Vec<f64> {
        self.values
            .iter()
            .map(|&v| v as f64 / self.scale as f64)
            .collect()
    }

    /// The standard deviation of each sum's noise, in records.
    pub fn sigma_records(&self) -> f64 {
        self.sigma as f64 / self.scale as f64
    }
}

/// Where a release comes from: the program and its version, nothing of the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The program's name.
    pub program: String,
    /// Its version.
    pub version: String,
    /// Whether the noise was drawn from a seed that someone knows: such a release is not private.
    pub insecure_seed: bool,
}

/// A release document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// [`FORMAT`].
    pub format: String,
    /// A random identifier, not derived from the data; the ledger's entry carries the same.
    pub id: ReleaseId,
    /// The workload's mechanism.
    pub mechanism: String,
    /// Program and version.
    pub provenance: Provenance,
    /// The guarantee.
    pub accounting: Accounting,
    /// The deployment card.
    pub deployment_card: DeploymentCard,
    /// The noisy answers to counting queries: the microdata part.
    pub measurements: Vec<Measurement>,
    /// The effects part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectsRelease>,
    /// The private choices of marginals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<MarginalSelection>,
    /// The schema document.
    pub schema: SchemaFile,
    /// The workload document.
    pub workload: WorkloadFile,
}

/// A release whose documents were read and checked.
#[derive(Debug, Clone)]
pub struct CheckedRelease {
    /// The document.
    pub document: Release,
    /// The schema that it embeds.
    pub schema: Schema,
    /// The workload that it embeds.
    pub workload: Workload,
    /// The query behind each measurement, in order.
    pub queries: Vec<Query>,
}

/// A release of any kind: the mechanism decides.
#[derive(Debug, Clone)]
pub enum AnyRelease {
    /// Of a table of records.
    Table(Box<CheckedRelease>),
    /// Of a panel.
    Panel(Box<CheckedPanelRelease>),
    /// Of conditional effects.
    Cate(Box<CheckedCateRelease>),
}

impl AnyRelease {
    /// Reads a release document; `file` names it in errors.
    ///
    /// # Errors
    /// Where the text is no release of a format that this version reads, or contradicts itself.
    pub fn parse(text: &str, file: &str) -> Result<AnyRelease, ReleaseError> {
        #[derive(Deserialize)]
        struct Head {
            format: Option<String>,
            mechanism: Option<String>,
        }
        let syntax = |e: serde_json::Error| ReleaseError::Syntax {
            file: file.into(),
            line: e.line(),
            column: e.column(),
            message: without_position(&e),
        };
        let head: Head = serde_json::from_str(text).map_err(syntax)?;
        match head.format.as_deref() {
            Some(FORMAT) => {}
            found => {
                return Err(ReleaseError::Format {
                    file: file.into(),
                    found: found.unwrap_or("missing").into(),
                    version: env!("CARGO_PKG_VERSION"),
                });
            }
        }
        if head.mechanism.as_deref() == Some(DpscWorkload::MECHANISM) {
            let document: PanelRelease = serde_json::from_str(text).map_err(syntax)?;
            return Ok(AnyRelease::Panel(Box::new(document.check(file)?)));
        }
        if head.mechanism.as_deref() == Some(CateWorkload::MECHANISM) {
            let document: CateRelease = serde_json::from_str(text).map_err(syntax)?;
            return Ok(AnyRelease::Cate(Box::new(document.check(file)?)));
        }
        let document: Release = serde_json::from_str(text).map_err(syntax)?;
        Ok(AnyRelease::Table(Box::new(document.check(file)?)))
    }
}

impl CheckedRelease {
    /// Reads the release of a table of records; `file` names it in errors.
    ///
    /// # Errors
    /// As [`AnyRelease::parse`], and where the release is a panel's.
    pub fn parse(text: &str, file: &str) -> Result<CheckedRelease, ReleaseError> {
        match AnyRelease::parse(text, file)? {
            AnyRelease::Table(release) => Ok(*release),
            AnyRelease::Panel(_) => Err(ReleaseError::Panel { file: file.into() }),
            AnyRelease::Cate(_) => Err(ReleaseError::Cate { file: file.into() }),
        }
    }

    /// The seed that post-processing uses unless another is given: public, fixed by the release.
    pub fn default_seed(&self) -> u64 {
        let counts = self.document.measurements.iter().flat_map(|m| &m.values);
        let effects = self.document.effects.iter().flat_map(|e| &e.measurements);
        fixed_seed(counts.chain(effects.flat_map(|m| &m.values)))
    }

    /// The covariates whose leaf was measured (arm by outcome by level), in order.
    pub fn leaves(&self) -> Vec<String> {
        let leaves = (self.queries.iter().zip(&self.document.measurements))
            .filter(|(_, measurement)| measurement.block == Block::Leaves);
        let columns = leaves.flat_map(|(query, _)| query.axes.iter().map(|axis| axis.column));
        let covariates = columns.filter(|&c| self.schema.columns[c].role == Role::Covariate);
        let mut leaves: Vec<String> = Vec::new();
        for name in covariates.map(|c| &self.schema.columns[c].name) {
            // A leaf may be measured more than once.
            if !leaves.contains(name) {
                leaves.push(name.clone());
            }
        }
        leaves
    }

    /// The number of records: public where the schema says so, else the inverse-variance mean of the
    /// totals of all measurements that partition the records; at least 1.
    pub fn estimated_rows(&self) -> f64 {
        let measurements = &self.document.measurements;
        if let Some(rows) = rows_from_measurements(&self.schema, &self.queries, measurements) {
            return rows;
        }
        // Without a microdata part, the arms of the effects part.
        let effects = self.document.effects.as_ref();
        effects.map_or(1.0, |e| e.parameters.counts.iter().sum())
    }
}

/// FNV-1a over noisy values: any fixed function of what is public will do for a seed.
fn fixed_seed<'a>(values: impl Iterator<Item = &'a i64>) -> u64 {
    values
        .flat_map(|v| v.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
}

/// Pretty JSON with a final newline.
fn pretty(document: &impl Serialize) -> String {
    // Serialising plain data with string keys into memory can't fail.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

/// The number of records: public where the schema says so, else the inverse-variance mean of the totals of
/// all measurements that partition the records, at least 1; `None` where there are none.
pub fn rows_from_measurements(
    schema: &Schema,
    queries: &[Query],
    measurements: &[Measurement],
) -> Option<f64> {
    if let Some(rows) = schema.rows {
        return Some(rows as f64);
    }
    let (mut total, mut precision) = (0.0, 0.0);
    for (query, measurement) in queries.iter().zip(measurements) {
        if query.partitions_records() {
            let sum: f64 = measurement.records().iter().sum();
            let weight =
                1.0 / (measurement.values.len() as f64 * measurement.sigma_records().powi(2));
            total += weight * sum;
            precision += weight;
        }
    }
    (precision > 0.0).then(|| (total / precision).max(1.0))
}

/// The parser's message without the position, which the error states itself.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ")
        .map_or(text.clone(), |at| text[..at].to_string())
}

impl Release {
    /// The document as pretty JSON with a final newline.
    pub fn to_json(&self) -> String {
        pretty(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever stands in a file, reading it is a result, never a panic.
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}") {
            let _ = CheckedRelease::parse(&text, "release.json");
            let _ = CheckedRelease::parse(&format!("{{\"format\": \"{FORMAT}\", {text}}}"), "release.json");
        }
    }

    #[test]
    fn another_format_names_the_version() {
        let error =
            CheckedRelease::parse("{\"format\": \"dpcausal.release/9\"}", "r.json").unwrap_err();
        assert!(error.to_string().contains("dpcausal.release/9"), "{error}");
    }
}

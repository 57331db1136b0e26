//! The release of a panel: the public part of the table, and the noisy integers of every target's control.

use super::{Accounting, DeploymentCard, FORMAT, Provenance, ReleaseError};
use crate::privacy::{Cost, ReleaseId};
use crate::schema::{PanelFile, PanelFrame, PanelSchema};
use crate::workload::{DpscFile, DpscMethod, DpscWorkload};
use serde::{Deserialize, Serialize};

/// The release of a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelRelease {
    /// [`FORMAT`].
    pub format: String,
    /// A random identifier, not derived from the data; the ledger's entry carries the same.
    pub id: ReleaseId,
    /// `dpsc`.
    pub mechanism: String,
    /// Program and version.
    pub provenance: Provenance,
    /// The guarantee.
    pub accounting: Accounting,
    /// The deployment card.
    pub deployment_card: DeploymentCard,
    /// The public part of the table.
    pub frame: PanelFrame,
    /// What was measured for each target, in the order of the frame's targets.
    pub controls: Vec<ReleasedControl>,
    /// The schema document.
    pub schema: PanelFile,
    /// The workload document.
    pub workload: DpscFile,
}

/// What was measured for one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleasedControl {
    /// The target's unit.
    pub target: String,
    /// The method, never `auto`.
    pub method: DpscMethod,
    /// The ridge penalty, where it was chosen from the workload's grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub penalty: Option<PenaltyChoice>,
    /// The noisy answers, in the order in which they were drawn.
    pub measurements: Vec<PanelMeasurement>,
    /// The noisy measure of fit, where a share of the budget was for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<PanelMeasurement>,
}

/// A ridge penalty that the exponential mechanism chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PenaltyChoice {
    /// The candidate chosen.
    pub lambda: f64,
    /// The exponential mechanism's `epsilon`.
    pub epsilon: f64,
    /// What it cost.
    pub cost: Cost,
}

/// The law of a measurement's noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseLaw {
    /// `P(k)` proportional to `exp(-ceil(|k|_2) / scale)`.
    KNormL2,
    /// `P(k)` proportional to `exp(-ceil(max |k_i|) / scale)`.
    KNormLInfinity,
    /// Independent coordinates, `P(k)` proportional to `exp(-k^2 / (2 scale^2))`.
    DiscreteGaussian,
    /// The upper triangle of a symmetric matrix, row by row from the diagonal on: discrete Gaussian of this
    /// scale on the diagonal and of `scale / sqrt(2)`, rounded up a little, above it.
    SymmetricDiscreteGaussian,
}

/// One noisy answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelMeasurement {
    /// What was measured.
    pub name: String,
    /// The law of the noise.
    pub law: NoiseLaw,
    /// The values are in units of `2^-lattice_bits`.
    pub lattice_bits: i32,
    /// The noise's scale, in those units.
    pub scale: u64,
    /// How far neighbouring answers can lie apart in the law's norm (of Gaussian noise: Euclid's), in those units,
    /// rounding included.
    pub sensitivity: u64,
    /// What it cost.
    pub cost: Cost,
    /// The noisy values.
    pub values: Vec<i64>,
}

impl PanelMeasurement {
    /// The size of a unit of `values`.
    pub fn unit(&self) -> f64 {
        f64::from(-self.lattice_bits).exp2()
    }

    /// The noisy values as numbers.
    pub fn numbers(&self) -> Vec<f64> {
        let unit = self.unit();
        self.values
            .iter()
            .map(|&value| value as f64 * unit)
            .collect()
    }

    /// The noise's scale as a number.
    pub fn noise_scale(&self) -> f64 {
        self.scale as f64 * self.unit()
    }
}

/// A panel's release whose documents were read and checked.
#[derive(Debug, Clone)]
pub struct CheckedPanelRelease {
    /// The document.
    pub document: PanelRelease,
    /// The schema that it embeds.
    pub schema: PanelSchema,
    /// The workload that it embeds.
    pub workload: DpscWorkload,
}

impl CheckedPanelRelease {
    /// The seed that post-processing uses unless another is given: public, fixed by the release.
    pub fn default_seed(&self) -> u64 {
        let measurements = self.document.measurements();
        super::fixed_seed(measurements.flat_map(|m| &m.values))
    }
}

impl PanelRelease {
    /// Checks that the document's parts fit each other.
    ///
    /// # Errors
    /// [`ReleaseError::Inconsistent`] where they do not; `file` names the document.
    pub fn check(self, file: &str) -> Result<CheckedPanelRelease, ReleaseError> {
        let inconsistent = |message: String| ReleaseError::Inconsistent {
            file: file.into(),
            message,
        };
        let schema = PanelSchema::from_file(&self.schema)
            .map_err(|e| inconsistent(format!("its schema does not hold: {e}")))?;
        let workload = DpscWorkload::from_file(&self.workload)
            .map_err(|e| inconsistent(format!("its workload does not hold: {e}")))?;
        self.frame.check().map_err(inconsistent)?;
        let units = self.frame.targets.iter().map(|target| &target.unit);
        let same = |control: &ReleasedControl, unit: &String| control.target == *unit;
        let paired = self.controls.len() == self.frame.targets.len()
            && self
                .controls
                .iter()
                .zip(units.clone())
                .all(|(c, unit)| same(c, unit))
            && units.eq(schema.targets());
        if !paired {
            return Err(inconsistent(
                "its controls are not those of its targets".into(),
            ));
        }
        if self
            .controls
            .iter()
            .any(|c| c.fit.is_some() != (workload.fit_share > 0.0))
        {
            return Err(inconsistent(
                "its workload and its controls differ about a measure of fit".into(),
            ));
        }
        for measurement in self.measurements() {
            if measurement.scale == 0 || !(-1000..=1000).contains(&measurement.lattice_bits) {
                return Err(inconsistent(format!(
                    "measurement {:?} has no noise, or a lattice out of range",
                    measurement.name
                )));
            }
        }
        Ok(CheckedPanelRelease {
            document: self,
            schema,
            workload,
        })
    }

    /// Every noisy answer, in the order in which they were drawn.
    fn measurements(&self) -> impl Iterator<Item = &PanelMeasurement> {
        let controls = self.controls.iter();
        controls.flat_map(|control| control.measurements.iter().chain(&control.fit))
    }

    /// The document as pretty JSON with a final newline.
    pub fn to_json(&self) -> String {
        debug_assert_eq!(self.format, FORMAT);
        super::pretty(self)
    }
}

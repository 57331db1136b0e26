//! What a release of privately chosen marginals says of the choices: the chosen, never the scores of others.

use super::DeploymentCard;
use crate::privacy::Cost;
use crate::schema::Schema;
use serde::{Deserialize, Serialize};

/// The choices behind the measurements.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarginalSelection {
    /// The columns whose rare levels were merged before marginals of several columns were counted: a
    /// function of the noisy one-way marginals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedLevels>,
    /// The private choices, in order.
    pub rounds: Vec<MarginalRound>,
}

/// A column whose rare levels were merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergedLevels {
    /// The column's name.
    pub column: String,
    /// The cell of each level: those that were kept come first, in order; the last cell is of all others.
    pub cells: Vec<u16>,
}

/// One private choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarginalRound {
    /// The columns of the marginal that was chosen; none where the choice was to measure no further one.
    pub chosen: Vec<String>,
    /// Among how many candidates.
    pub candidates: usize,
    /// The exponential mechanism's epsilon.
    pub epsilon: f64,
    /// What the choice cost; what the measurement cost, and its noise, stand in the measurement.
    pub cost: Cost,
    /// The name of the measurement of the chosen marginal; empty where none was chosen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub measurement: String,
}

impl MergedLevels {
    /// The number of cells.
    pub fn count(&self) -> usize {
        self.cells
            .iter()
            .max()
            .map_or(0, |&last| usize::from(last) + 1)
    }
}

impl MarginalSelection {
    /// The merging of a column, if its levels were merged.
    pub fn merging(&self, column: &str) -> Option<&MergedLevels> {
        self.merged.iter().find(|merged| merged.column == column)
    }

    /// Checks that the parts fit the schema and the names of the measurements.
    ///
    /// # Errors
    /// What does not fit.
    pub(super) fn check(&self, schema: &Schema, measurements: &[&str]) -> Result<(), String> {
        for merged in &self.merged {
            let levels = schema
                .column(&merged.column)
                .map(|c| schema.columns[c].levels());
            let mut used = vec![false; merged.count()];
            merged
                .cells
                .iter()
                .for_each(|&cell| used[usize::from(cell)] = true);
            if levels != Some(merged.cells.len()) || used.contains(&false) {
                return Err(format!(
                    "the merged levels of {:?} do not fit the schema",
                    merged.column
                ));
            }
        }
        // A choice of nothing has no measurement.
        for round in self.rounds.iter().filter(|r| !r.chosen.is_empty()) {
            if !measurements.contains(&round.measurement.as_str()) {
                return Err(format!(
                    "a round names a measurement {:?} that is not there",
                    round.measurement
                ));
            }
        }
        Ok(())
    }
}

impl DeploymentCard {
    /// Adds what was chosen.
    pub fn add_selection(&mut self, selection: &MarginalSelection) {
        if !selection.merged.is_empty() {
            self.preprocessing.push(
                "levels with few noisy records are merged before marginals of several columns are counted".into(),
            );
        }
        if !selection.rounds.is_empty() {
            self.mechanisms.push(format!(
                "{} choices of what to measure next by the exponential mechanism, drawn exactly; scores are not released",
                selection.rounds.len()
            ));
        }
    }
}

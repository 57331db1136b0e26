//! The schema document of a panel: units observed over periods, in long format.

use super::file::{Number, scalar_schema, scalars_schema};
use super::shape::{Shape, read_by_shape};
use schemars::JsonSchema;
use serde::de::SeqAccess;
use serde::de::value::SeqAccessDeserializer;
use serde::{Deserialize, Serialize};

/// The format's name, which the document states.
pub const PANEL_FORMAT: &str = "dpcausal.panel/1";

/// The public description of a panel, written before anyone looks at the donors' values. The table has one
/// row per unit and period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PanelFile {
    /// The format and its version.
    pub format: PanelFormat,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The column that names the unit. The names are public.
    pub unit: String,
    /// The column that names the period: whole numbers, decimal numbers, or dates such as `2021-03` and
    /// `2021-03-15`.
    pub time: String,
    /// The outcome.
    pub outcome: PanelOutcomeFile,
    /// The treated unit or units, whose series are public.
    pub treated: UnitsFile,
    /// The first period with the intervention.
    #[schemars(schema_with = "scalar_schema")]
    pub intervention: String,
    /// The donors: `all` units that are neither treated nor placebos, or a list.
    #[serde(default)]
    pub donors: DonorsFile,
    /// Untreated units whose series are public, too: each is analysed as if it had been treated.
    #[serde(default, skip_serializing_if = "UnitsFile::is_empty")]
    pub placebos: UnitsFile,
    /// The number of periods of a season, where the series has seasons (7 for daily data).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub season: Option<usize>,
    /// Columns that are not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// The panel formats that this version reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PanelFormat {
    /// Version 1.
    #[serde(rename = "dpcausal.panel/1")]
    V1,
}

/// The outcome of a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PanelOutcomeFile {
    /// Its column.
    pub column: String,
    /// What it is, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The smallest and the largest value, from public knowledge; values beyond are clipped. Where both are
    /// positive, series are compared by their logarithms.
    pub bounds: [Number; 2],
}

/// A unit or a list of units.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct UnitsFile(#[schemars(schema_with = "scalars_schema")] pub Vec<String>);

impl UnitsFile {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `all` or a list of units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DonorsFile {
    /// `all`.
    All(AllDonors),
    /// These.
    List(#[schemars(schema_with = "scalars_schema")] Vec<String>),
}

/// The word `all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllDonors {
    /// `all`.
    All,
}

impl Default for DonorsFile {
    fn default() -> Self {
        DonorsFile::All(AllDonors::All)
    }
}

impl PanelFile {
    /// The JSON Schema of the document, for editors.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(PanelFile).to_value()
    }
}

impl<'de> Shape<'de> for UnitsFile {
    const EXPECTED: &'static str = "a unit's name or a list of names";

    fn from_text(text: &str) -> Option<Self> {
        Some(UnitsFile(vec![text.into()]))
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(UnitsFile)
    }
}

impl<'de> Shape<'de> for DonorsFile {
    const EXPECTED: &'static str = "`all` or a list of units";

    fn from_text(text: &str) -> Option<Self> {
        (text == "all").then_some(DonorsFile::All(AllDonors::All))
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(DonorsFile::List)
    }
}

read_by_shape!(UnitsFile, DonorsFile);

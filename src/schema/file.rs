//! The schema document as users write it, in YAML or JSON.
//!
//! [`SchemaFile`] says only how a document is written; what it means, and whether it holds together, is
//! decided by [`Schema::from_file`](super::Schema::from_file).

use super::shape::{self, Shape};
use schemars::{JsonSchema, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// The format's name, which the document states.
pub const SCHEMA_FORMAT: &str = "dpcausal.schema/1";

/// The public description of a table, written before anyone looks at the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemaFile {
    /// The format and its version.
    pub format: SchemaFormat,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The number of rows, only where it is public knowledge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// The privacy unit: `row`, or a column whose text names the unit.
    #[serde(default)]
    pub unit: UnitFile,
    /// How the treatment came about.
    #[serde(default, skip_serializing_if = "DesignFile::is_default")]
    pub design: DesignFile,
    /// The columns, in the order of the output.
    pub columns: Vec<ColumnFile>,
    /// Combinations of levels that public knowledge rules out: per column a level, levels or a range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub structural_zeros: Vec<BTreeMap<String, CodesFile>>,
}

/// The schema formats that this version reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SchemaFormat {
    /// Version 1.
    #[serde(rename = "dpcausal.schema/1")]
    V1,
}

/// The privacy unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum UnitFile {
    /// One row.
    Row(RowUnit),
    /// All rows with the same text in a column.
    Column(UnitColumnFile),
}

impl Default for UnitFile {
    fn default() -> Self {
        UnitFile::Row(RowUnit::Row)
    }
}

/// The word `row`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowUnit {
    /// `row`.
    Row,
}

/// A privacy unit of several rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitColumnFile {
    /// The column whose text names the unit.
    pub column: String,
    /// The most rows of one unit that count; further ones are dropped.
    pub max_rows: u32,
}

/// How the treatment came about.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DesignFile {
    /// `observational` or `randomised`.
    Word(DesignWord),
    /// Randomised, with known probabilities.
    Known(PropensityFile),
}

impl DesignFile {
    fn is_default(&self) -> bool {
        *self == DesignFile::default()
    }
}

impl Default for DesignFile {
    fn default() -> Self {
        DesignFile::Word(DesignWord::Observational)
    }
}

/// The words for a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DesignWord {
    /// Covariates may bear on who is treated.
    Observational,
    /// Chance alone decided, with the same probabilities for everyone.
    Randomised,
}

/// A randomised design's known probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PropensityFile {
    /// The probability of each arm, in the order of the treatment's levels.
    pub propensity: Vec<Number>,
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoleFile {
    /// The treatment; its first level is the reference arm.
    Treatment,
    /// The outcome.
    Outcome,
    /// A covariate.
    #[default]
    Covariate,
    /// An identifier, never released.
    Id,
    /// Not read.
    Ignored,
}

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TypeFile {
    /// Whole numbers.
    Integer,
    /// Real numbers.
    Real,
    /// Text levels.
    Categorical,
    /// `false` and `true`.
    Boolean,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnFile {
    /// Its name in the table's header.
    pub name: String,
    /// What it is, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub role: RoleFile,
    /// The type of its values; identifiers and ignored columns need none.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<TypeFile>,
    /// The levels of a categorical column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<LevelFile>>,
    /// The level of a categorical column that stands for every text that is not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<LevelFile>,
    /// Whether the order of a categorical column's levels carries meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered: Option<bool>,
    /// Texts that mean "missing"; each is a level of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "scalars_schema")]
    pub missing: Vec<String>,
    /// The smallest and largest value of a numeric column, from public knowledge; values beyond are
    /// clamped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<[Number; 2]>,
    /// The bins of a numeric column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<BinsFile>,
}

/// A level: its text in the table, or the text and what it means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LevelFile {
    /// The text that stands in the table.
    Code(#[schemars(schema_with = "scalar_schema")] String),
    /// The text and its meaning.
    Labelled(LabelledLevelFile),
}

/// A level with its meaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelledLevelFile {
    /// The text that stands in the table.
    #[schemars(schema_with = "scalar_schema")]
    pub code: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The bins of a numeric column.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BinsFile {
    /// So many bins, of equal widths; of integers, of as equal widths as can be.
    Count(u32),
    /// The edges, from the lower to the upper bound. Integer edges `[16, 20, 24, 60]` mean 16..19, 20..23
    /// and 24..60; real bins hold their lower edge, the last its upper one too; a real edge given twice
    /// is a bin of that one value.
    Edges(Vec<Number>),
}

/// Some codes of a column.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CodesFile {
    /// A level, a missing code, or a number that has a bin of its own.
    One(#[schemars(schema_with = "scalar_schema")] String),
    /// Several of these.
    List(#[schemars(schema_with = "scalars_schema")] Vec<String>),
    /// The bins of a numeric column between two edges; both ends count.
    Range(RangeFile),
}

/// A range of a numeric column that begins and ends with a bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RangeFile {
    /// The smallest value.
    pub from: Number,
    /// The largest value (of real columns: the upper edge).
    pub to: Number,
}

/// A number that is written without `.0` where it is whole.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Below 2^53 every whole f64 is an exact i64.
        if self.0.fract() == 0.0 && self.0.abs() < super::check::INTEGER_LIMIT {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl SchemaFile {
    /// The JSON Schema of the document, for editors.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(SchemaFile).to_value()
    }
}

/// A scalar whose text counts, quoted or not.
pub(crate) fn scalar_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({"type": ["string", "number", "boolean"]})
}

pub(crate) fn scalars_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({"type": "array", "items": {"type": ["string", "number", "boolean"]}})
}

impl<'de> Shape<'de> for UnitFile {
    const EXPECTED: &'static str = "`row` or `{column: NAME, max_rows: N}`";

    fn from_text(text: &str) -> Option<Self> {
        (text == "row").then_some(UnitFile::Row(RowUnit::Row))
    }

    fn from_mapping<A: MapAccess<'de>>(mapping: A) -> Result<Self, A::Error> {
        UnitColumnFile::deserialize(MapAccessDeserializer::new(mapping)).map(UnitFile::Column)
    }
}

impl<'de> Shape<'de> for DesignFile {
    const EXPECTED: &'static str =
        "`observational`, `randomised` or, for known probabilities, `{propensity: [P0, P1]}`";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "observational" => Some(DesignFile::Word(DesignWord::Observational)),
            "randomised" | "randomized" => Some(DesignFile::Word(DesignWord::Randomised)),
            _ => None,
        }
    }

    fn from_mapping<A: MapAccess<'de>>(mapping: A) -> Result<Self, A::Error> {
        PropensityFile::deserialize(MapAccessDeserializer::new(mapping)).map(DesignFile::Known)
    }
}

impl<'de> Shape<'de> for LevelFile {
    const EXPECTED: &'static str = "a level's text or `{code: TEXT, label: MEANING}`";

    fn from_text(text: &str) -> Option<Self> {
        Some(LevelFile::Code(text.into()))
    }

    fn from_mapping<A: MapAccess<'de>>(mapping: A) -> Result<Self, A::Error> {
        LabelledLevelFile::deserialize(MapAccessDeserializer::new(mapping)).map(LevelFile::Labelled)
    }
}

impl<'de> Shape<'de> for BinsFile {
    const EXPECTED: &'static str = "a number of bins or a list of edges";

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok().map(BinsFile::Count)
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(BinsFile::Edges)
    }
}

impl<'de> Shape<'de> for CodesFile {
    const EXPECTED: &'static str = "a level, a list of levels or `{from: A, to: B}`";

    fn from_text(text: &str) -> Option<Self> {
        Some(CodesFile::One(text.into()))
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(CodesFile::List)
    }

    fn from_mapping<A: MapAccess<'de>>(mapping: A) -> Result<Self, A::Error> {
        RangeFile::deserialize(MapAccessDeserializer::new(mapping)).map(CodesFile::Range)
    }
}

shape::read_by_shape!(UnitFile, DesignFile, LevelFile, BinsFile, CodesFile);

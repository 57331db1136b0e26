//! The workload documents of the mechanisms that measure marginals without regard to roles: `independent`,
//! `mst`, `aim` and `mwem`.

use super::file::{AllWord, ModelFile, WorkloadFormat, add_remove, gdp};
use crate::privacy::{AccountantKind, Adjacency};
use crate::schema::shape::{Shape, read_by_shape};
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess};
use serde::{Deserialize, Serialize};

/// The default limit of the models that AIM and MWEM+PGM grow: they use what they are given, and every
/// round fits a model of up to this size.
const SELECTED_MAX_CELLS: u64 = 1_000_000;

/// The default number of columns of AIM's marginals.
const AIM_DEGREE: usize = 3;

/// The default largest number of cells of a marginal of the workload.
const MARGINAL_MAX_CELLS: u64 = 10_000;

/// The default share of a round for its choice, as AIM and MWEM+PGM are published.
const SELECTION_SHARE: f64 = 0.1;

/// The default share for the number of records, where it is not public.
const TOTAL_SHARE: f64 = 0.01;

/// MST's threshold for rare levels, in standard deviations of the noise.
const COMPRESSION: f64 = 3.0;

/// Defines the word that a document's `mechanism` key holds.
macro_rules! mechanism_words {
    ($($(#[$doc:meta])* $type:ident :: $variant:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum $type {
            $(#[$doc])*
            $variant,
        }
    )+};
}

mechanism_words!(
    /// The word `independent`.
    IndependentMechanism::Independent,
    /// The word `mst`.
    MstMechanism::Mst,
    /// The word `aim`.
    AimMechanism::Aim,
    /// The word `mwem`.
    MwemMechanism::Mwem,
);

/// One-way marginals only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndependentFile {
    /// The format and its version.
    pub format: WorkloadFormat,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The mechanism.
    pub mechanism: IndependentMechanism,
    /// What neighbouring tables are; `replace-one` needs the schema's public `rows`.
    #[serde(default = "add_remove")]
    pub adjacency: Adjacency,
    /// How charges are added up.
    #[serde(default = "gdp")]
    pub accountant: AccountantKind,
    /// The columns to release: `all` or a list.
    #[serde(default)]
    pub columns: ColumnsFile,
    /// The model's limits.
    #[serde(default)]
    pub model: ModelFile,
}

/// MST: one-way marginals and those of a tree of pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MstFile {
    /// The format and its version.
    pub format: WorkloadFormat,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The mechanism.
    pub mechanism: MstMechanism,
    /// What neighbouring tables are; `replace-one` needs the schema's public `rows`.
    #[serde(default = "add_remove")]
    pub adjacency: Adjacency,
    /// The columns to release: `all` or a list.
    #[serde(default)]
    pub columns: ColumnsFile,
    /// Pairs that are in the tree whatever the data say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<[String; 2]>,
    /// How the budget is divided.
    #[serde(default)]
    pub shares: MstSharesFile,
    /// Levels with fewer noisy records than this many standard deviations of their noise are merged.
    #[serde(default = "compression")]
    pub compression: f64,
    /// The model's limits.
    #[serde(default)]
    pub model: ModelFile,
}

/// The shares of MST's three stages; only their proportions count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MstSharesFile {
    /// One-way marginals.
    pub one_way: f64,
    /// The choice of the tree.
    pub selection: f64,
    /// The pairs of the tree.
    pub two_way: f64,
}

impl Default for MstSharesFile {
    /// A third each, as published.
    fn default() -> Self {
        MstSharesFile {
            one_way: 1.0,
            selection: 1.0,
            two_way: 1.0,
        }
    }
}

/// AIM: rounds that choose the marginal of a workload that the model misses most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AimFile {
    /// The format and its version.
    pub format: WorkloadFormat,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The mechanism.
    pub mechanism: AimMechanism,
    /// What neighbouring tables are; `replace-one` needs the schema's public `rows`.
    #[serde(default = "add_remove")]
    pub adjacency: Adjacency,
    /// The columns to release: `all` or a list.
    #[serde(default)]
    pub columns: ColumnsFile,
    /// The marginals that are to be accurate: all of a degree, or a list with weights.
    #[serde(default = "aim_marginals")]
    pub marginals: MarginalsFile,
    /// Sets of columns that are measured together at the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<Vec<String>>,
    /// The largest number of rounds, as measurements of the first noise scale (default 16 per column).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// The share of a round for its choice.
    #[serde(default = "selection_share")]
    pub selection_share: f64,
    /// The model's limits.
    #[serde(default = "selected_model")]
    pub model: ModelFile,
}

/// MWEM+PGM: a fixed number of rounds that choose among the marginals of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MwemFile {
    /// The format and its version.
    pub format: WorkloadFormat,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The mechanism.
    pub mechanism: MwemMechanism,
    /// What neighbouring tables are; `replace-one` needs the schema's public `rows`.
    #[serde(default = "add_remove")]
    pub adjacency: Adjacency,
    /// The columns to release: `all` or a list.
    #[serde(default)]
    pub columns: ColumnsFile,
    /// The marginals to choose from: all of a degree, or a list.
    #[serde(default = "mwem_marginals")]
    pub marginals: MarginalsFile,
    /// Sets of columns that are measured together in the first rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<Vec<String>>,
    /// The number of rounds (default one per column).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// The share of a round for its choice.
    #[serde(default = "selection_share")]
    pub selection_share: f64,
    /// The share of the budget for the number of records, where the schema does not give it.
    #[serde(default = "total_share")]
    pub total_share: f64,
    /// The model's limits.
    #[serde(default = "selected_model")]
    pub model: ModelFile,
}

/// `all` or a list of columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ColumnsFile {
    /// `all`.
    Word(AllWord),
    /// These.
    List(Vec<String>),
}

impl Default for ColumnsFile {
    fn default() -> Self {
        ColumnsFile::Word(AllWord::All)
    }
}

/// The marginals of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MarginalsFile {
    /// All of a degree.
    Degree(DegreeFile),
    /// These.
    List(Vec<MarginalFile>),
}

/// All marginals of so many columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DegreeFile {
    /// The number of columns.
    pub degree: usize,
    /// Marginals with more cells are left out.
    #[serde(default = "marginal_max_cells")]
    pub max_cells: u64,
}

/// One marginal of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarginalFile {
    /// Its columns.
    pub columns: Vec<String>,
    /// How much it matters.
    #[serde(default = "one")]
    pub weight: f64,
}

fn compression() -> f64 {
    COMPRESSION
}

fn selection_share() -> f64 {
    SELECTION_SHARE
}

fn total_share() -> f64 {
    TOTAL_SHARE
}

fn marginal_max_cells() -> u64 {
    MARGINAL_MAX_CELLS
}

fn one() -> f64 {
    1.0
}

pub(super) fn selected_model() -> ModelFile {
    ModelFile {
        max_cells: SELECTED_MAX_CELLS,
    }
}

fn aim_marginals() -> MarginalsFile {
    MarginalsFile::Degree(DegreeFile {
        degree: AIM_DEGREE,
        max_cells: MARGINAL_MAX_CELLS,
    })
}

fn mwem_marginals() -> MarginalsFile {
    MarginalsFile::Degree(DegreeFile {
        degree: 2,
        max_cells: MARGINAL_MAX_CELLS,
    })
}

impl<'de> Shape<'de> for ColumnsFile {
    const EXPECTED: &'static str = "`all` or a list of columns";

    fn from_text(text: &str) -> Option<Self> {
        (text == "all").then_some(ColumnsFile::default())
    }

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(ColumnsFile::List)
    }
}

impl<'de> Shape<'de> for MarginalsFile {
    const EXPECTED: &'static str =
        "`{degree: K}` or a list of marginals such as `[{columns: [age, sex], weight: 2}]`";

    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(MarginalsFile::List)
    }

    fn from_mapping<A: MapAccess<'de>>(mapping: A) -> Result<Self, A::Error> {
        DegreeFile::deserialize(MapAccessDeserializer::new(mapping)).map(MarginalsFile::Degree)
    }
}

read_by_shape!(ColumnsFile, MarginalsFile);

//! The public description of a table: columns, types, levels, bounds, bins, missing codes, roles, the
//! privacy unit and structural zeros.
//!
//! Everything here is public: it is written down before anyone looks at the data. A table is *coded*
//! by it: every column that is neither an identifier nor ignored becomes an integer code in
//! `0..column.levels()`. Codes stand in this order: the declared levels or bins, then `other` (if
//! declared), then the missing codes.
//!
//! A panel (units observed over periods) has a schema of its own kind, [`PanelSchema`].
//!
//! [`SchemaFile`] is the document as users write it, [`Schema`] what it means once checked. A release
//! embeds the document.

mod bins;
mod check;
mod column;
mod deserialize;
pub(crate) mod document;
pub(crate) mod fault;
pub mod file;
mod kinds;
mod outcome;
mod panel;
mod panel_file;
mod panel_frame;
mod query;
mod scores;
pub(crate) mod shape;
mod structural_zeros;
#[cfg(test)]
mod tests;

pub(crate) use check::find_column;

pub use check::SchemaError;
pub use column::{Bin, Column, Kind, Level, Role};
pub use fault::{DocumentError, Place};
pub use file::{SCHEMA_FORMAT, SchemaFile};
pub use outcome::{GridCell, OutcomeGrid};
pub use panel::{Donors, PanelSchema, Transform};
pub use panel_file::{
    DonorsFile, PANEL_FORMAT, PanelFile, PanelFormat, PanelOutcomeFile, UnitsFile,
};
pub use panel_frame::{PanelFrame, TargetSeries, ordered_periods};
pub use query::{Axis, Feature, Query, SCALE};
pub use scores::{SCORE_SCALE, Score, ScoreForm};

/// The privacy unit: what one neighbouring table may differ in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivacyUnit {
    /// One row of the table.
    Row,
    /// All rows that share a value of the column; rows of a unit beyond the first `max_rows` (in file
    /// order) are dropped.
    Column {
        /// Index of the column in [`Schema::columns`].
        column: usize,
        /// The largest number of rows of one unit that count.
        max_rows: u32,
    },
}

impl PrivacyUnit {
    /// The largest number of rows that one unit contributes.
    pub fn max_rows(&self) -> u32 {
        match self {
            PrivacyUnit::Row => 1,
            PrivacyUnit::Column { max_rows, .. } => *max_rows,
        }
    }
}

/// How the treatment came about.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Design {
    /// Covariates may bear on who is treated: effects are adjusted for them.
    #[default]
    Observational,
    /// Chance alone decided, with the same probabilities for everyone: arm means are all that is needed.
    Randomised {
        /// The probability of each arm, where it is known.
        propensity: Option<Vec<f64>>,
    },
}

/// A combination of codes that public knowledge rules out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructuralZero {
    /// For each column involved: its index in [`Schema::columns`] and the codes that, all holding at
    /// once, can't occur. At least two columns.
    pub conditions: Vec<(usize, Vec<u16>)>,
}

/// A checked schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// A title for people.
    pub title: Option<String>,
    /// The privacy unit.
    pub unit: PrivacyUnit,
    /// The number of rows where it is public knowledge (replace-one adjacency needs it).
    pub rows: Option<u64>,
    /// How the treatment came about.
    pub design: Design,
    /// The columns, in the order of the schema file; output keeps this order.
    pub columns: Vec<Column>,
    /// Combinations that can't occur.
    pub structural_zeros: Vec<StructuralZero>,
}

impl Schema {
    /// The index of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// The index of the treatment column, if a column has that role.
    pub fn treatment(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.role == Role::Treatment)
    }

    /// The index of the outcome column, if a column has that role.
    pub fn outcome(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.role == Role::Outcome)
    }

    /// The indices of the covariates, in column order.
    pub fn covariates(&self) -> Vec<usize> {
        (0..self.columns.len())
            .filter(|&i| self.columns[i].role == Role::Covariate)
            .collect()
    }

    /// The indices of the columns that are coded (all but identifiers and ignored ones), in order.
    pub fn coded(&self) -> Vec<usize> {
        (0..self.columns.len())
            .filter(|&i| self.columns[i].is_coded())
            .collect()
    }
}

//! Reading a panel in long format: one row per unit and period.
//!
//! Names of units and periods are public, and so are the series of treated units and placebos; what the
//! donors' cells hold is confidential. So errors name unit and period, and never a value.

use super::cell::number;
use super::layout::{Layout, Purpose};
use super::read::{Input, Raw};
use super::series::texts;
use super::source::{Format, Source};
use super::{CellProblem, Row, TableError, csv, split};
use crate::privacy::Confidential;
use crate::schema::fault::did_you_mean;
use crate::schema::{
    Bin, Column, Donors, Kind, PanelFrame, PanelSchema, PrivacyUnit, Role, Schema, TargetSeries,
    ordered_periods,
};
use polars::prelude::{DataFrame, StringChunked};
use std::collections::{BTreeMap, HashMap};

/// Donors' outcomes as they stand in the table: one row per donor, in the order of [`PanelFrame::donors`],
/// one value per period.
pub type DonorRows = Vec<Vec<f64>>;

/// What can be wrong with a panel.
#[derive(Debug, thiserror::Error)]
pub enum PanelError {
    /// With the file or its header.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A column that the schema does not name.
    #[error(
        "{file}: the schema has no column `{column}`{nearest}; add it to the schema's `ignored` if it is not to be read"
    )]
    UnknownColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The nearest name, as a question.
        nearest: String,
    },
    /// A row without a unit or a period.
    #[error("{file}, {row}: the {what} is empty; every row belongs to a unit and a period")]
    NoName {
        /// The file.
        file: String,
        /// The row.
        row: Row,
        /// `unit` or `period`.
        what: &'static str,
    },
    /// Two rows for one unit and period.
    #[error(
        "{file}, {row}: unit {unit:?} has a second row for period {period:?}; keep one row per unit and period"
    )]
    Duplicate {
        /// The file.
        file: String,
        /// The second row.
        row: Row,
        /// The unit.
        unit: String,
        /// The period.
        period: String,
    },
    /// A unit that lacks a period which others have.
    #[error(
        "{file}: unit {unit:?} has no row for period {period:?}: the panel is not balanced; complete the unit, leave \
         the period out for all, or list the `donors` without the unit"
    )]
    Unbalanced {
        /// The file.
        file: String,
        /// The unit.
        unit: String,
        /// The period.
        period: String,
    },
    /// An outcome that is no number.
    #[error("{file}, {row}: the outcome of unit {unit:?} in period {period:?}: {problem}")]
    Value {
        /// The file.
        file: String,
        /// The row.
        row: Row,
        /// The unit.
        unit: String,
        /// The period.
        period: String,
        /// What is wrong.
        problem: CellProblem,
    },
    /// A unit of the schema that the table lacks.
    #[error(
        "{file}: no row is about {what} unit {unit:?}{nearest}; correct the schema or the table"
    )]
    NoSuchUnit {
        /// The file.
        file: String,
        /// `the treated`, `the placebo` or `the donor`.
        what: &'static str,
        /// The unit.
        unit: String,
        /// The nearest name, as a question.
        nearest: String,
    },
    /// Periods without an order.
    #[error(
        "{file}: period {period:?}{of} can't be put in order with the others; write periods as numbers, or all alike as \
         dates that start with the year, such as 2021-03-15"
    )]
    Periods {
        /// The file.
        file: String,
        /// The period.
        period: String,
        /// A unit that has it.
        of: String,
    },
    /// Too few periods before or from the intervention on.
    #[error(
        "{file}: {before} periods lie before the intervention ({intervention}) and {after} from it on; {needed}"
    )]
    Intervention {
        /// The file.
        file: String,
        /// The schema's intervention.
        intervention: String,
        /// The number before.
        before: usize,
        /// The number after.
        after: usize,
        /// What is needed.
        needed: &'static str,
    },
    /// No donors.
    #[error(
        "{file}: every unit is treated or a placebo, so there are no donors; add untreated units"
    )]
    NoDonors {
        /// The file.
        file: String,
    },
}

/// Reads a panel: its public part, and the donors' rows.
///
/// # Errors
/// [`PanelError`] for a file that can't be read or a panel that does not fit its schema.
pub fn read_panel(
    source: &Source,
    format: Option<Format>,
    schema: &PanelSchema,
) -> Result<(PanelFrame, Confidential<DonorRows>), PanelError> {
    let cells = Cells::read(source, format, schema, true)?;
    let (frame, rows) = cells.arrange(schema)?;
    Ok((frame, Confidential::new(rows)))
}

/// Reads a panel's public part alone: of donors the names and periods, no outcome.
///
/// # Errors
/// As [`read_panel`].
pub fn read_panel_frame(
    source: &Source,
    format: Option<Format>,
    schema: &PanelSchema,
) -> Result<PanelFrame, PanelError> {
    Ok(Cells::read(source, format, schema, false)?
        .arrange(schema)?
        .0)
}

/// The rows of the units that take part, by unit and period.
struct Cells {
    file: String,
    units: BTreeMap<String, HashMap<String, f64>>,
}

impl Cells {
    fn read(
        source: &Source,
        format: Option<Format>,
        schema: &PanelSchema,
        with_donors: bool,
    ) -> Result<Cells, PanelError> {
        let mut input = Input::open(source, format, split::PIECE)?;
        let file = source.name();
        let layout = layout(&file, &input.header, schema)?;
        input.select(&layout)?;
        let mut cells = Cells {
            file,
            units: BTreeMap::new(),
        };
        while let Some(raw) = input.next()? {
            match raw {
                Raw::Csv(piece) => {
                    let read = csv::read(&piece, &layout, &cells.file)?;
                    let row = |index| csv::row(&piece, index);
                    cells.add(&read.frame, &layout, schema, with_donors, row)?;
                    if let Some(fault) = read.fault {
                        return Err(fault.into());
                    }
                }
                Raw::Parquet(frame, first) => {
                    let row = |index| Row::Number(first + index as u64);
                    cells.add(&frame, &layout, schema, with_donors, row)?;
                }
            }
        }
        Ok(cells)
    }

    fn add(
        &mut self,
        frame: &DataFrame,
        layout: &Layout,
        schema: &PanelSchema,
        with_donors: bool,
        row: impl Fn(usize) -> Row,
    ) -> Result<(), PanelError> {
        let column = |index: usize, name: &str| -> Result<StringChunked, PanelError> {
            // The layout has a place for each of the three columns.
            let position = layout.coded[index].unwrap_or_default();
            let series = frame.columns()[position].as_materialized_series();
            texts(series).ok_or_else(|| {
                PanelError::Table(TableError::ColumnType {
                    file: self.file.clone(),
                    column: name.into(),
                })
            })
        };
        let units = column(0, &schema.unit)?;
        let times = column(1, &schema.time)?;
        let values = column(2, &schema.outcome)?;
        let cells = units.iter().zip(times.iter()).zip(values.iter());
        for (index, ((unit, time), value)) in cells.enumerate() {
            let (unit, time) = (unit.unwrap_or("").trim(), time.unwrap_or("").trim());
            for (name, what) in [(unit, "unit"), (time, "period")] {
                if name.is_empty() {
                    let (file, row) = (self.file.clone(), row(index));
                    return Err(PanelError::NoName { file, row, what });
                }
            }
            let is_target = schema.targets().any(|target| target == unit);
            let takes_part = match &schema.donors {
                Donors::All => true,
                Donors::Listed(names) => is_target || names.iter().any(|name| name == unit),
            };
            if !takes_part {
                continue;
            }
            let value = match is_target || with_donors {
                true => finite(value.unwrap_or("")),
                false => Ok(0.0),
            };
            let value = value.map_err(|problem| PanelError::Value {
                file: self.file.clone(),
                row: row(index),
                unit: unit.into(),
                period: time.into(),
                problem,
            })?;
            let series = self.units.entry(unit.into()).or_default();
            if series.insert(time.into(), value).is_some() {
                return Err(PanelError::Duplicate {
                    file: self.file.clone(),
                    row: row(index),
                    unit: unit.into(),
                    period: time.into(),
                });
            }
        }
        Ok(())
    }

    /// The panel in order: targets apart, donors by name, periods in time.
    fn arrange(self, schema: &PanelSchema) -> Result<(PanelFrame, DonorRows), PanelError> {
        self.check_units(schema)?;
        let (periods, pre_periods) = self.periods(schema)?;
        let mut targets = Vec::new();
        for (units, placebo) in [(&schema.treated, false), (&schema.placebos, true)] {
            for unit in units {
                targets.push(TargetSeries {
                    unit: unit.clone(),
                    placebo,
                    values: self.series(unit, &periods)?,
                });
            }
        }
        let (mut donors, mut rows) = (Vec::new(), Vec::new());
        for unit in self.units.keys() {
            if !schema.targets().any(|target| target == unit) {
                rows.push(self.series(unit, &periods)?);
                donors.push(unit.clone());
            }
        }
        if donors.is_empty() {
            return Err(PanelError::NoDonors { file: self.file });
        }
        let frame = PanelFrame {
            periods,
            pre_periods,
            donors,
            targets,
        };
        Ok((frame, rows))
    }

    fn check_units(&self, schema: &PanelSchema) -> Result<(), PanelError> {
        let listed: &[String] = match &schema.donors {
            Donors::All => &[],
            Donors::Listed(names) => names,
        };
        let groups = [
            ("the treated", schema.treated.as_slice()),
            ("the placebo", &schema.placebos),
            ("the donor", listed),
        ];
        for (what, names) in groups {
            if let Some(unit) = names.iter().find(|name| !self.units.contains_key(*name)) {
                return Err(PanelError::NoSuchUnit {
                    file: self.file.clone(),
                    what,
                    unit: unit.clone(),
                    nearest: did_you_mean(unit, self.units.keys().map(String::as_str)),
                });
            }
        }
        Ok(())
    }

    /// The periods in order, and how many of them lie before the intervention.
    fn periods(&self, schema: &PanelSchema) -> Result<(Vec<String>, usize), PanelError> {
        let labels = || {
            self.units
                .values()
                .flat_map(|series| series.keys().map(String::as_str))
        };
        let unordered = |period: &str| {
            let has = |(_, series): &(&String, &HashMap<String, f64>)| series.contains_key(period);
            let of = self.units.iter().find(has);
            PanelError::Periods {
                file: self.file.clone(),
                period: period.into(),
                of: of.map_or(String::new(), |(unit, _)| format!(" of unit {unit:?}")),
            }
        };
        let ordered = ordered_periods(labels()).map_err(unordered)?;
        let start = schema.intervention.trim();
        let with_start = ordered_periods(labels().chain([start])).map_err(unordered)?;
        let before = with_start
            .iter()
            .position(|label| *label == start)
            .unwrap_or(0);
        let after = ordered.len() - before;
        let needed = if before < 2 {
            "at least two before are needed to tell a trend from noise; correct `intervention` or add periods"
        } else if after == 0 {
            "without one there is no effect to estimate; correct `intervention` or add periods"
        } else {
            return Ok((ordered.into_iter().map(String::from).collect(), before));
        };
        Err(PanelError::Intervention {
            file: self.file.clone(),
            intervention: schema.intervention.clone(),
            before,
            after,
            needed,
        })
    }

    fn series(&self, unit: &str, periods: &[String]) -> Result<Vec<f64>, PanelError> {
        let series = &self.units[unit];
        let value = |period: &String| {
            series
                .get(period)
                .copied()
                .ok_or_else(|| PanelError::Unbalanced {
                    file: self.file.clone(),
                    unit: unit.into(),
                    period: period.clone(),
                })
        };
        periods.iter().map(value).collect()
    }
}

fn finite(text: &str) -> Result<f64, CellProblem> {
    let value = number(text)?;
    match value.is_finite() {
        true => Ok(value),
        false => Err(CellProblem::NotFinite),
    }
}

/// Where unit, period and outcome stand: positions 0, 1 and 2 of [`Layout::coded`].
fn layout(file: &str, header: &[String], schema: &PanelSchema) -> Result<Layout, PanelError> {
    let column = |name: &String, role: Role| Column {
        name: name.clone(),
        label: None,
        role,
        kind: Kind::Real {
            lower: 0.0,
            upper: 1.0,
            bins: vec![Bin {
                lower: 0.0,
                upper: 1.0,
            }],
        },
        missing: Vec::new(),
    };
    let read = [&schema.unit, &schema.time, &schema.outcome];
    let columns = read.into_iter().map(|name| column(name, Role::Covariate));
    let ignored = schema
        .ignored
        .iter()
        .map(|name| column(name, Role::Ignored));
    let as_table = Schema {
        title: None,
        unit: PrivacyUnit::Row,
        rows: None,
        design: Default::default(),
        columns: columns.chain(ignored).collect(),
        structural_zeros: Vec::new(),
    };
    Layout::new(file, header, &as_table, Purpose::Counting).map_err(|error| match error {
        TableError::UnknownColumn { file, column, .. } => PanelError::UnknownColumn {
            nearest: did_you_mean(&column, read.into_iter().map(String::as_str)),
            file,
            column,
        },
        other => PanelError::Table(other),
    })
}

#[cfg(test)]
mod tests;

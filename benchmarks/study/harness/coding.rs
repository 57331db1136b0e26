//! From values to a coded table: the one place where the studies do what the table room does to a file.

use anyhow::{Context, Result, ensure};
use dpcausal::schema::{Bin, Column, Kind, SCALE, Schema};
use dpcausal::table::CodedTable;
use std::collections::BTreeMap;

/// The values of one column: numbers of a numeric column, codes of any other.
pub enum Cells {
    /// Numbers, in the column's own units.
    Numbers(Vec<f64>),
    /// Codes: the positions of levels; 0 and 1 of a boolean column.
    Codes(Vec<u16>),
}

/// A coded table with the values of its numeric covariates, as measuring reads it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CodedRows {
    /// The table.
    pub table: CodedTable,
}

/// The largest mapped value.
const LARGEST: f64 = u16::MAX as f64;

impl CodedRows {
    /// Codes the covariates of some units. Treatment and outcome stay empty until rows are
    /// [gathered](CodedRows::gather).
    ///
    /// # Errors
    /// Where a covariate has no cells, cells of the wrong kind, or a different number of them.
    pub fn of_units(schema: &Schema, cells: &BTreeMap<String, Cells>) -> Result<CodedRows> {
        let mut units = CodedRows::default();
        units.table.codes = vec![None; schema.columns.len()];
        units.table.values = vec![None; schema.columns.len()];
        let mut rows = None;
        for index in schema.covariates() {
            let column = &schema.columns[index];
            let context = || format!("column {:?}", column.name);
            let cells = cells
                .get(&column.name)
                .context("no values")
                .with_context(context)?;
            let codes = match (cells, column.bins(), column.bounds()) {
                (Cells::Numbers(numbers), Some(bins), Some(bounds)) => {
                    let mapped = numbers.iter().map(|&value| mapped(value, bounds));
                    units.table.values[index] = Some(mapped.collect());
                    let whole = matches!(column.kind, Kind::Integer { .. });
                    let code = |&value: &f64| bin(bins, whole, value.clamp(bounds.0, bounds.1));
                    numbers.iter().map(code).collect()
                }
                (Cells::Codes(codes), None, _) => {
                    let valid = codes
                        .iter()
                        .all(|&code| usize::from(code) < column.levels());
                    ensure!(
                        valid,
                        "column {:?}: a code that the schema lacks",
                        column.name
                    );
                    codes.clone()
                }
                _ => return Err(anyhow::anyhow!("values of the wrong kind")).with_context(context),
            };
            let length = *rows.get_or_insert(codes.len());
            ensure!(length == codes.len(), "columns of unequal lengths");
            units.table.codes[index] = Some(codes);
        }
        units.table.rows = rows.context("a schema without covariates")?;
        Ok(units)
    }

    /// The table of some units, which may repeat, with their arms and outcomes (in the outcome's units;
    /// 0 and 1 of a two-level outcome).
    ///
    /// # Panics
    /// If the schema lacks treatment or outcome, or the lengths differ.
    pub fn gather(
        &self,
        schema: &Schema,
        units: &[usize],
        arms: Vec<u16>,
        outcomes: &[f64],
    ) -> CodedRows {
        assert!(units.len() == arms.len() && units.len() == outcomes.len());
        let pick = |column: &Option<Vec<u16>>| {
            let column = column.as_ref()?;
            Some(units.iter().map(|&unit| column[unit]).collect())
        };
        let mut rows = CodedRows {
            table: CodedTable {
                rows: units.len(),
                codes: self.table.codes.iter().map(pick).collect(),
                values: self.table.values.iter().map(pick).collect(),
                ..CodedTable::default()
            },
        };
        let treatment = schema
            .treatment()
            .expect("a study's schema has a treatment");
        let outcome = schema.outcome().expect("a study's schema has an outcome");
        rows.table.codes[treatment] = Some(arms);
        let column = &schema.columns[outcome];
        rows.table.codes[outcome] =
            Some(outcomes.iter().map(|&y| outcome_code(column, y)).collect());
        rows.table.outcome = outcomes
            .iter()
            .map(|&y| Schema::scaled_outcome(&column.kind, y) as u32)
            .collect();
        rows
    }
}

impl CodedRows {
    /// Some of the rows.
    pub fn select(&self, rows: &[usize]) -> CodedRows {
        let pick = |column: &Option<Vec<u16>>| {
            let column = column.as_ref()?;
            Some(rows.iter().map(|&row| column[row]).collect())
        };
        CodedRows {
            table: CodedTable {
                rows: rows.len(),
                codes: self.table.codes.iter().map(pick).collect(),
                values: self.table.values.iter().map(pick).collect(),
                outcome: rows.iter().map(|&row| self.table.outcome[row]).collect(),
                ..CodedTable::default()
            },
        }
    }

    /// The same rows with the outcome in the bins of another schema.
    ///
    /// # Panics
    /// If the schema lacks an outcome.
    pub fn with_outcome_of(&self, schema: &Schema) -> CodedRows {
        let outcome = schema.outcome().expect("a study's schema has an outcome");
        let (lower, width) = schema.outcome_range();
        let value = |&y: &u32| lower + width * f64::from(y) / SCALE as f64;
        let code = |y| outcome_code(&schema.columns[outcome], value(y));
        let mut rows = self.clone();
        rows.table.codes[outcome] = Some(self.table.outcome.iter().map(code).collect());
        rows
    }
}

fn mapped(value: f64, (lower, upper): (f64, f64)) -> u16 {
    ((value.clamp(lower, upper) - lower) / (upper - lower) * LARGEST).round() as u16
}

fn outcome_code(column: &Column, value: f64) -> u16 {
    match (column.bins(), column.bounds()) {
        (Some(bins), Some((lower, upper))) => {
            let whole = matches!(column.kind, Kind::Integer { .. });
            bin(bins, whole, value.clamp(lower, upper))
        }
        _ => u16::from(value >= 1.0),
    }
}

/// The bin of a value within the bounds, by the rules of [`Bin`].
fn bin(bins: &[Bin], whole: bool, value: f64) -> u16 {
    let holds = |bin: &Bin| value <= bin.upper && (whole || bin.is_point() || value < bin.upper);
    let found = bins.iter().position(holds);
    found.unwrap_or(bins.len() - 1) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpcausal::table::{Source, read_unprotected};
    use std::io::Write;

    const SCHEMA: &str = "
format: dpcausal.schema/1
columns:
  - {name: t, role: treatment, type: boolean}
  - {name: age, type: integer, bounds: [17, 95], bins: [17, 25, 35, 95]}
  - {name: pay, type: real, bounds: [0, 100], bins: [0, 0, 10, 100]}
  - {name: level, type: categorical, ordered: true, levels: [low, high]}
  - {name: y, role: outcome, type: real, bounds: [-1, 3], bins: 4}
";

    /// The coding is that of the table room: the same values by way of a file give the same codes.
    #[test]
    fn codes_are_those_of_the_table_room() {
        let (schema, _) = Schema::parse(SCHEMA, "schema").unwrap();
        let ages = [17.0, 24.0, 25.0, 94.0, 95.0, 120.0];
        let pays = [0.0, 0.5, 10.0, 99.0, 100.0, -3.0];
        let levels = [0, 1, 1, 0, 0, 1];
        let arms = [0, 1, 0, 1, 1, 0];
        let outcomes = [-1.0, 0.0, 0.4, 1.0, 3.0, 7.0];
        let mut file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
        writeln!(file, "t,age,pay,level,y").unwrap();
        for i in 0..6 {
            let level = ["low", "high"][levels[i]];
            let (t, age, pay, y) = (arms[i], ages[i], pays[i], outcomes[i]);
            writeln!(file, "{t},{age},{pay},{level},{y}").unwrap();
        }
        let source = Source::Path(file.path().into());
        let expected = read_unprotected(&source, None, &schema, &|_| ())
            .unwrap()
            .table;
        let cells = BTreeMap::from([
            ("age".into(), Cells::Numbers(ages.into())),
            ("pay".into(), Cells::Numbers(pays.into())),
            (
                "level".into(),
                Cells::Codes(levels.map(|l| l as u16).into()),
            ),
        ]);
        let units = CodedRows::of_units(&schema, &cells).unwrap();
        let rows = units.gather(&schema, &[0, 1, 2, 3, 4, 5], arms.into(), &outcomes);
        let values = &rows.table.values;
        assert_eq!(rows.table.codes, expected.codes);
        assert_eq!(rows.table.outcome, expected.outcome);
        assert_eq!(
            values[1].as_ref().unwrap()[..],
            [0, 5881, 6722, 64695, 65535, 65535]
        );
        assert_eq!(values[2].as_ref().unwrap()[5], 0);
        assert!(values[0].is_none() && values[3].is_none() && values[4].is_none());
    }

    #[test]
    fn gathering_repeats_units() {
        let (schema, _) = Schema::parse(SCHEMA, "schema").unwrap();
        let cells = BTreeMap::from([
            ("age".into(), Cells::Numbers(vec![20.0, 30.0])),
            ("pay".into(), Cells::Numbers(vec![0.0, 50.0])),
            ("level".into(), Cells::Codes(vec![0, 1])),
        ]);
        let units = CodedRows::of_units(&schema, &cells).unwrap();
        let rows = units.gather(&schema, &[1, 1, 0], vec![1, 0, 1], &[0.0; 3]);
        assert_eq!(rows.table.codes[1], Some(vec![1, 1, 0]));
        assert_eq!(rows.table.codes[0], Some(vec![1, 0, 1]));
    }

    /// Another schema's bins give the codes that gathering by that schema gives; some of the rows keep their values.
    #[test]
    fn rows_are_selected_and_binned_anew() {
        let (schema, _) = Schema::parse(SCHEMA, "schema").unwrap();
        let (finer, _) = Schema::parse(&SCHEMA.replace("bins: 4}", "bins: 9}"), "schema").unwrap();
        let cells = BTreeMap::from([
            ("age".into(), Cells::Numbers(vec![20.0, 30.0, 90.0])),
            ("pay".into(), Cells::Numbers(vec![0.0, 50.0, 7.0])),
            ("level".into(), Cells::Codes(vec![0, 1, 1])),
        ]);
        let units = CodedRows::of_units(&schema, &cells).unwrap();
        let outcomes = [-0.9, 1.3, 2.9];
        let gather = |schema| units.gather(schema, &[0, 1, 2], vec![0, 1, 1], &outcomes);
        let rows = gather(&schema);
        assert_ne!(rows, gather(&finer));
        assert_eq!(rows.with_outcome_of(&finer), gather(&finer));
        let some = units.gather(&schema, &[2, 0], vec![1, 0], &[2.9, -0.9]);
        assert_eq!(rows.select(&[2, 0]), some);
    }
}

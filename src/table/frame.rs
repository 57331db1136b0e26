//! From a frame of raw cells to codes.

use super::cell::CellCoder;
use super::layout::{IMPUTATION, Layout, Purpose};
use super::series::{code_series, texts};
use super::{CellProblem, CodedTable, Row, TableError};
use crate::schema::{Column, PrivacyUnit, Role, Schema};
use polars::prelude::{DataFrame, Series, StringChunked};

/// Codes frames whose columns are those of a [`Layout`].
pub(super) struct FrameCoder<'s> {
    schema: &'s Schema,
    file: String,
    layout: Layout,
    cells: Vec<Option<CellCoder>>,
    /// Of each column, whether its values are kept beside the codes.
    valued: Vec<bool>,
    /// For each structural zero and each column involved: whether a code meets the condition.
    zeros: Vec<Vec<(usize, Vec<bool>)>>,
}

/// A coded frame.
pub(super) struct CodedFrame {
    pub table: CodedTable,
    /// The privacy unit of each row, where the schema has units and the layout reads them.
    pub units: Option<StringChunked>,
}

/// What is wrong with a row.
enum Flaw {
    Cell(usize, CellProblem),
    NoUnit,
    Imputation,
    Zero(usize),
}

impl<'s> FrameCoder<'s> {
    pub(super) fn new(
        schema: &'s Schema,
        file: String,
        layout: Layout,
        purpose: Purpose,
    ) -> Result<FrameCoder<'s>, TableError> {
        let coder = |column: &Column| {
            let coded = column.is_coded();
            coded.then(|| CellCoder::new(column)).transpose()
        };
        let cells = schema.columns.iter().map(coder).collect::<Result<_, _>>()?;
        let valued = |column: &Column| {
            matches!(purpose, Purpose::Measuring | Purpose::Simulating)
                && column.role == Role::Covariate
                && column.bounds().is_some()
        };
        let valued = schema.columns.iter().map(valued).collect();
        let condition = |&(column, ref codes): &(usize, Vec<u16>)| {
            let levels = schema.columns[column].levels() as u16;
            let met = (0..levels).map(|code| codes.contains(&code)).collect();
            (column, met)
        };
        let zeros = schema
            .structural_zeros
            .iter()
            .map(|zero| zero.conditions.iter().map(condition).collect())
            .collect();
        Ok(FrameCoder {
            schema,
            file,
            layout,
            cells,
            valued,
            zeros,
        })
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Codes a frame. Of several flaws the one that stands first in the file is reported, whatever the
    /// pieces in which it is read; `row` gives the place of a row of the frame.
    pub(super) fn code(
        &self,
        frame: &DataFrame,
        row: impl Fn(usize) -> Row,
    ) -> Result<CodedFrame, TableError> {
        let series = |position: usize| frame.columns()[position].as_materialized_series();
        let mut first = First(None);
        let mut table = CodedTable {
            rows: frame.height(),
            codes: vec![None; self.schema.columns.len()],
            values: match self.valued.contains(&true) {
                true => vec![None; self.schema.columns.len()],
                false => Vec::new(),
            },
            ..CodedTable::default()
        };
        for (column, coder) in self.cells.iter().enumerate() {
            if let (Some(coder), Some(position)) = (coder, self.layout.coded[column]) {
                self.code_column(column, coder, series(position), &mut table, &mut first)?;
            }
        }
        if let Some(position) = self.layout.imputation {
            table.imputation = Some(self.imputation(series(position), &mut first)?);
        }
        let units = self
            .layout
            .unit
            .map(|position| self.units(series(position), &mut first));
        let units = units.transpose()?;
        let complete = first.0.as_ref().map_or(table.rows, |(at, _)| *at);
        if let Some((at, zero)) = self.first_zero(&table, complete) {
            first.keep(at, Flaw::Zero(zero));
        }
        match first.0 {
            None => Ok(CodedFrame { table, units }),
            Some((at, flaw)) => Err(self.error(row(at), flaw)),
        }
    }

    fn code_column(
        &self,
        column: usize,
        coder: &CellCoder,
        series: &Series,
        table: &mut CodedTable,
        first: &mut First,
    ) -> Result<(), TableError> {
        let is_outcome = self.schema.outcome() == Some(column);
        let mut codes = Vec::with_capacity(series.len());
        let mut outcome = Vec::with_capacity(if is_outcome { series.len() } else { 0 });
        let is_valued = self.valued[column];
        let mut values = Vec::with_capacity(if is_valued { series.len() } else { 0 });
        let coded = code_series(series, coder, |coded| {
            codes.push(coded.code);
            if is_valued {
                values.push(coded.position);
            }
            if is_outcome {
                outcome.push(coded.outcome);
            }
        });
        match coded {
            Ok(()) => {}
            Err(Some(problem)) => first.keep(codes.len(), Flaw::Cell(column, problem)),
            Err(None) => return Err(self.untyped(&self.schema.columns[column].name)),
        }
        table.codes[column] = Some(codes);
        if is_outcome {
            table.outcome = outcome;
        }
        if is_valued {
            table.values[column] = Some(values);
        }
        Ok(())
    }

    fn units(&self, series: &Series, first: &mut First) -> Result<StringChunked, TableError> {
        let units = texts(series).ok_or_else(|| self.untyped(self.unit_name()))?;
        let is_empty = |unit: Option<&str>| unit.is_none_or(str::is_empty);
        if let Some(at) = units.iter().position(is_empty) {
            first.keep(at, Flaw::NoUnit);
        }
        Ok(units)
    }

    fn imputation(&self, series: &Series, first: &mut First) -> Result<Vec<u32>, TableError> {
        let texts = texts(series).ok_or_else(|| self.untyped(IMPUTATION))?;
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
        let numbers: Vec<u32> = texts
            .iter()
            .map_while(|text| number(text).filter(|&number| number > 0))
            .collect();
        if numbers.len() < texts.len() {
            first.keep(numbers.len(), Flaw::Imputation);
        }
        Ok(numbers)
    }

    /// The first row, among those before `rows`, that meets all conditions of a structural zero.
    fn first_zero(&self, table: &CodedTable, rows: usize) -> Option<(usize, usize)> {
        let first = |(index, zero): (usize, &Vec<(usize, Vec<bool>)>)| {
            let conditions: Option<Vec<(&[u16], &[bool])>> = zero
                .iter()
                .map(|(column, met)| Some((table.codes[*column].as_deref()?, met.as_slice())))
                .collect();
            let conditions = conditions.filter(|all| !all.is_empty())?;
            (0..rows)
                .find(|&row| {
                    conditions
                        .iter()
                        .all(|(codes, met)| met[usize::from(codes[row])])
                })
                .map(|row| (row, index))
        };
        self.zeros.iter().enumerate().filter_map(first).min()
    }

    fn unit_name(&self) -> &str {
        match self.schema.unit {
            PrivacyUnit::Column { column, .. } => &self.schema.columns[column].name,
            PrivacyUnit::Row => "",
        }
    }

    fn untyped(&self, column: &str) -> TableError {
        TableError::ColumnType {
            file: self.file.clone(),
            column: column.to_owned(),
        }
    }

    fn error(&self, row: Row, flaw: Flaw) -> TableError {
        let file = self.file.clone();
        let name = |column: usize| self.schema.columns[column].name.clone();
        match flaw {
            Flaw::Cell(column, problem) => TableError::Cell {
                file,
                row,
                column: name(column),
                problem,
            },
            Flaw::NoUnit => TableError::NoUnit {
                file,
                row,
                column: self.unit_name().to_owned(),
            },
            Flaw::Imputation => TableError::Cell {
                file,
                row,
                column: IMPUTATION.into(),
                problem: CellProblem::NotImputation,
            },
            Flaw::Zero(zero) => {
                let names: Vec<String> = self.zeros[zero]
                    .iter()
                    .map(|(column, _)| format!("`{}`", name(*column)))
                    .collect();
                TableError::StructuralZero {
                    file,
                    row,
                    columns: names.join(" and "),
                }
            }
        }
    }
}

/// The flaw of the earliest row; of several in one row the first that was found.
struct First(Option<(usize, Flaw)>);

impl First {
    fn keep(&mut self, at: usize, flaw: Flaw) {
        if self.0.as_ref().is_none_or(|(other, _)| at < *other) {
            self.0 = Some((at, flaw));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::layout::Purpose;
    use crate::table::testing::schema;
    use polars::prelude::{Categories, DataType, NamedFrom, df};

    fn code(frame: DataFrame) -> Result<CodedTable, String> {
        let schema = schema();
        let header: Vec<String> = frame
            .get_column_names_owned()
            .iter()
            .map(|n| n.to_string())
            .collect();
        let layout = Layout::new("t.parquet", &header, &schema, Purpose::Keeping).unwrap();
        let coder = FrameCoder::new(&schema, "t.parquet".into(), layout, Purpose::Keeping).unwrap();
        let coded = coder.code(&frame, |row| Row::Number(row as u64 + 1));
        coded
            .map(|coded| coded.table)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn typed_columns_count_as_their_text() {
        let categories = DataType::from_categories(Categories::global());
        let sex = Series::new("sex".into(), ["male", "female", "NA"])
            .cast(&categories)
            .unwrap();
        let frame = df!(
            "treated" => [true, false, true],
            "age" => [Some(-9i64), None, Some(16)],
            "region" => [1.0f64, 1.5, -3.0],
            "sex" => sex,
            "score" => [-1i32, 0, 7],
            "wage" => [0.0f32, 250.0, 1000.0],
        );
        let table = code(frame.unwrap()).unwrap();
        let codes = |column: usize| table.codes[column].clone().unwrap();
        assert_eq!(codes(1), [1, 0, 1]);
        assert_eq!(
            codes(2),
            [3, 4, 0],
            "missing codes match the text of an integer and of null"
        );
        assert_eq!(codes(3), [2, 2, 2]);
        assert_eq!(codes(4), [0, 1, 2]);
        assert_eq!(codes(5), [0, 1, 3]);
        assert_eq!(codes(7), [0, 1, 2]);
        assert_eq!(table.outcome, [0, 1 << 18, 1 << 20]);
    }

    #[test]
    fn numbers_match_boolean_and_categorical_levels_without_their_decimals() {
        let mut schema = schema();
        schema.unit = PrivacyUnit::Row;
        let coder = CellCoder::new(&schema.columns[1]).unwrap();
        let mut codes = Vec::new();
        let series = Series::new("treated".into(), [1.0f64, 0.0]);
        assert!(code_series(&series, &coder, |coded| codes.push(coded.code)).is_ok());
        assert_eq!(codes, [1, 0]);
    }

    #[test]
    fn nulls_and_infinities_are_errors_with_their_row() {
        let frame = |scores: [Option<f64>; 2]| {
            df!("treated" => [1i64, 0], "age" => [20i64, 20], "region" => ["01", "01"],
                "sex" => ["male", "male"], "score" => scores, "wage" => [1i64, 2])
            .unwrap()
        };
        assert!(code(frame([Some(0.0), Some(1.0)])).is_ok());
        let null = code(frame([Some(0.0), None])).unwrap_err();
        assert!(
            null.starts_with("t.parquet, row 2, column `score`: the cell is empty"),
            "{null}"
        );
        let infinite = code(frame([Some(f64::INFINITY), None])).unwrap_err();
        assert!(infinite.starts_with("t.parquet, row 1, column `score`: the cell is NaN"));
    }
}

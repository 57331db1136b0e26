//! Counting: the answers to queries, exactly. Pure, and apart from any noise.
//!
//! A counter is a sum over rows of integers, so it can be split over pieces, threads and machines in any
//! way and merged in any order, to the same result.

use super::{CodedTable, TableError};
use crate::privacy::Confidential;
use crate::schema::{Feature, Query, SCALE, Schema};
use rayon::prelude::*;

/// The rows whose cell indices are worked out at once: few enough that they stay in the first-level cache.
const BLOCK: usize = 2048;

/// The largest answer, in cells: 2 GiB of sums. `plan` refuses long before.
const MOST_CELLS: usize = 1 << 28;

/// Sums up the answers to queries over tables that come in pieces.
///
/// It deliberately has no `Debug`: the sums are confidential where the rows are.
pub struct Counter {
    queries: Vec<Sum>,
}

/// One query: how a row's cell is found, and the sums so far.
struct Sum {
    /// Columns that enter by their level, and the number of cells that one level is worth.
    levels: Vec<(usize, u32)>,
    /// The feature of the outcome, if one enters, and the number of cells that one step is worth.
    outcome: Option<(Feature, usize)>,
    sums: Vec<i64>,
}

impl Counter {
    /// A counter for these queries, at zero.
    ///
    /// # Errors
    /// [`TableError::Query`] if a query names a column that is not coded, takes the outcome's value of
    /// another column or twice, or has more cells than an answer can have.
    pub fn new(schema: &Schema, queries: &[Query]) -> Result<Counter, TableError> {
        let queries = queries.iter().map(|query| Sum::new(schema, query));
        Ok(Counter {
            queries: queries.collect::<Result<_, _>>()?,
        })
    }

    /// Adds the rows of a table of the same schema.
    ///
    /// # Panics
    /// If a column of the table is absent, short, or holds a code that the schema does not have.
    pub fn add(&mut self, table: &CodedTable) {
        self.queries
            .par_iter_mut()
            .for_each(|query| query.add(table));
    }

    /// Adds the sums of another counter for the same queries.
    ///
    /// # Panics
    /// If the queries differ in number.
    pub fn merge(&mut self, other: Counter) {
        assert_eq!(self.queries.len(), other.queries.len(), "other queries");
        for (mine, theirs) in self.queries.iter_mut().zip(other.queries) {
            for (sum, more) in mine.sums.iter_mut().zip(theirs.sums) {
                *sum += more;
            }
        }
    }

    /// The answers, one per query, in units of `1 / SCALE` of a record.
    pub fn answers(self) -> Confidential<Vec<Vec<i64>>> {
        Confidential::new(self.sums())
    }

    pub(super) fn sums(self) -> Vec<Vec<i64>> {
        self.queries.into_iter().map(|query| query.sums).collect()
    }
}

/// The answers to queries of a table that is not confidential, in units of `1 / SCALE` of a record.
///
/// # Errors
/// As [`Counter::new`].
///
/// # Panics
/// As [`Counter::add`].
pub fn tabulate(
    table: &CodedTable,
    schema: &Schema,
    queries: &[Query],
) -> Result<Vec<Vec<i64>>, TableError> {
    let mut counter = Counter::new(schema, queries)?;
    counter.add(table);
    Ok(counter.sums())
}

impl Sum {
    fn new(schema: &Schema, query: &Query) -> Result<Sum, TableError> {
        let invalid = |reason| TableError::Query {
            query: query.name.clone(),
            reason,
        };
        let (mut levels, mut outcome) = (Vec::new(), None);
        let mut stride = 1usize;
        for axis in query.axes.iter().rev() {
            let coded = schema
                .columns
                .get(axis.column)
                .is_some_and(|c| c.is_coded());
            if !coded {
                return Err(invalid("it asks for a column that is not coded"));
            }
            match axis.feature {
                Feature::Levels => levels.push((axis.column, stride as u32)),
                _ if schema.outcome() != Some(axis.column) => {
                    return Err(invalid("only the outcome has a split or a spread"));
                }
                _ if outcome.is_some() => {
                    return Err(invalid("it takes the outcome's value twice"));
                }
                feature => outcome = Some((feature, stride)),
            }
            stride = stride
                .checked_mul(axis.cells(schema))
                .filter(|&cells| cells <= MOST_CELLS)
                .ok_or_else(|| invalid("it has too many cells; leave out columns or merge bins"))?;
        }
        Ok(Sum {
            levels,
            outcome,
            sums: vec![0; stride],
        })
    }

    fn add(&mut self, table: &CodedTable) {
        let columns: Vec<(&[u16], u32)> = self
            .levels
            .iter()
            .map(|&(column, stride)| {
                let codes = table.codes[column].as_deref();
                (codes.expect("the table is of the counter's schema"), stride)
            })
            .collect();
        let mut cells = [0u32; BLOCK];
        for start in (0..table.rows).step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(table.rows);
            let cells = &mut cells[..rows.len()];
            cells.fill(0);
            for (codes, stride) in &columns {
                for (cell, &code) in cells.iter_mut().zip(&codes[rows.clone()]) {
                    *cell += u32::from(code) * stride;
                }
            }
            self.add_block(cells, table, rows);
        }
    }

    fn add_block(&mut self, cells: &[u32], table: &CodedTable, rows: std::ops::Range<usize>) {
        let sums = &mut self.sums;
        match self.outcome {
            None => {
                for &cell in cells {
                    sums[cell as usize] += SCALE;
                }
            }
            Some((Feature::Spread, _)) => {
                for (&cell, &y) in cells.iter().zip(&table.outcome[rows]) {
                    let y = i64::from(y);
                    sums[cell as usize] += y * (SCALE - y) / SCALE;
                }
            }
            Some((_, stride)) => {
                for (&cell, &y) in cells.iter().zip(&table.outcome[rows]) {
                    let y = i64::from(y);
                    sums[cell as usize] += SCALE - y;
                    sums[cell as usize + stride] += y;
                }
            }
        }
    }
}

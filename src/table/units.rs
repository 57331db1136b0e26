//! The privacy unit: at most `max_rows` rows of each unit count.
//!
//! The first `max_rows` rows of a unit, in file order, are kept. Whether a row is kept depends on the rows
//! of its own unit alone, so adding or removing a unit changes the kept rows by that unit's rows and no
//! others, `max_rows` at most: the sensitivity of a sum over kept rows is `max_rows` times that of a row.

use super::CodedTable;
use super::frame::CodedFrame;
use polars::prelude::PlHashMap;

/// How many rows of each unit have been kept so far. This is the one part of reading whose memory grows
/// with the table: with its number of units. The keys are the texts themselves, not hashes of them, since
/// a collision would let one unit displace another.
pub(super) struct Units {
    max_rows: u32,
    kept: PlHashMap<Box<str>, u32>,
}

impl Units {
    pub(super) fn new(max_rows: u32) -> Units {
        Units {
            max_rows,
            kept: PlHashMap::default(),
        }
    }

    /// The rows of a frame that count. Frames must come in file order.
    pub(super) fn admit(&mut self, frame: CodedFrame) -> CodedTable {
        let CodedFrame { mut table, units } = frame;
        let Some(units) = units else { return table };
        let mut admitted = Vec::with_capacity(table.rows);
        for unit in units.iter() {
            // The coder refuses rows without a unit.
            let unit = unit.unwrap_or("");
            let rows = match self.kept.get_mut(unit) {
                Some(rows) => rows,
                None => self.kept.entry(unit.into()).or_insert(0),
            };
            admitted.push(*rows < self.max_rows);
            *rows = rows.saturating_add(1);
        }
        let rows = admitted.iter().filter(|&&kept| kept).count();
        if rows == table.rows {
            return table;
        }
        table.rows = rows;
        for codes in table.codes.iter_mut().flatten() {
            keep(codes, &admitted);
        }
        for values in table.values.iter_mut().flatten() {
            keep(values, &admitted);
        }
        if !table.outcome.is_empty() {
            keep(&mut table.outcome, &admitted);
        }
        if let Some(imputation) = &mut table.imputation {
            keep(imputation, &admitted);
        }
        table
    }
}

fn keep<T>(values: &mut Vec<T>, admitted: &[bool]) {
    let mut admitted = admitted.iter();
    values.retain(|_| admitted.next().copied().unwrap_or(false));
}

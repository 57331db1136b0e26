//! The exact marginals of all candidates, counted once and kept confidential.

use crate::privacy::Confidential;
use crate::release::MergedLevels;
use crate::schema::{Query, Schema};
use crate::table::{CodedTable, tabulate};

/// The counts of marginals, each row-major, in units of `1 / SCALE` of a record.
pub struct MarginalCounts(pub Vec<Vec<i64>>);

/// Which marginals to count: of levels, the rare ones of some columns merged.
pub struct CountQuestion<'a> {
    /// The schema.
    pub schema: &'a Schema,
    /// The marginals.
    pub queries: &'a [Query],
    /// The columns whose levels are merged.
    pub merged: &'a [MergedLevels],
}

/// Counts in one pass.
pub fn count(table: &CodedTable, question: &CountQuestion) -> MarginalCounts {
    let counts = tabulate(table, question.schema, question.queries)
        .expect("a plan refuses marginals that can't be counted");
    let merged = |(query, counts): (&Query, Vec<i64>)| question.merge(query, counts);
    MarginalCounts(question.queries.iter().zip(counts).map(merged).collect())
}

/// One of the marginals, to be measured.
pub fn table_of(counts: &Confidential<MarginalCounts>, index: usize) -> Confidential<Vec<i64>> {
    counts.ask(&index, |counts: &MarginalCounts, &index: &usize| {
        counts.0[index].clone()
    })
}

impl CountQuestion<'_> {
    fn merging(&self, column: usize) -> Option<&MergedLevels> {
        let name = &self.schema.columns[column].name;
        self.merged.iter().find(|merged| merged.column == *name)
    }

    /// Adds up the counts of merged levels: a record stays one count in one cell.
    fn merge(&self, query: &Query, mut counts: Vec<i64>) -> Vec<i64> {
        let mut shape = query.shape(self.schema);
        for (axis, position) in query.axes.iter().zip(0..) {
            if let Some(merged) = self.merging(axis.column) {
                counts = merge_axis(&counts, &shape, position, &merged.cells, merged.count());
                shape[position] = merged.count();
            }
        }
        counts
    }
}

fn merge_axis(
    counts: &[i64],
    shape: &[usize],
    axis: usize,
    cells: &[u16],
    merged: usize,
) -> Vec<i64> {
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let mut result = vec![0; outer * merged * inner];
    for (row, counts) in counts.chunks_exact(inner).enumerate() {
        let (block, level) = (row / cells.len(), row % cells.len());
        let at = (block * merged + usize::from(cells[level])) * inner;
        for (sum, count) in result[at..at + inner].iter_mut().zip(counts) {
            *sum += count;
        }
    }
    result
}

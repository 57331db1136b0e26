//! The main effects of all columns of two tables, one below the other: an indicator per level, as sums over
//! codes. The design matrix is never written out: two bytes a cell.
//!
//! Sums over rows run in row order within each column or pair of columns, and only these are shared out among
//! threads: results do not depend on their number.

use crate::table::CodedTable;
use faer::Mat;
use rayon::prelude::*;

/// A pivot below this part of its own diagonal is rounding: the indicator is a sum of others. Diagonals are
/// counts of rows, so a genuine pivot is one row in a billion at least.
const DEPENDENT: f64 = 1e-9;

/// Rows per task.
const BLOCK: usize = 1 << 14;

/// A design of an intercept and indicators.
pub(super) struct OneHot {
    rows: usize,
    columns: Vec<Levels>,
}

/// One column: codes below `indicators` have an indicator, that one has none.
struct Levels {
    codes: Vec<u16>,
    indicators: usize,
}

impl OneHot {
    /// The rows of both tables with an indicator for every level that occurs, but the most frequent one of
    /// each column.
    pub(super) fn of(first: &CodedTable, second: &CodedTable) -> OneHot {
        let pairs: Vec<_> = first.codes.iter().zip(&second.codes).collect();
        let columns = pairs
            .into_par_iter()
            .filter_map(|(first, second)| Some([first.as_deref()?, second.as_deref()?].concat()))
            .map(|codes| {
                let levels = codes.iter().max().map_or(0, |&most| usize::from(most) + 1);
                let mut counts = vec![0u64; levels];
                for &code in &codes {
                    counts[usize::from(code)] += 1;
                }
                let most_frequent = (0..levels).max_by_key(|&level| counts[level]);
                let keep = (0..levels).map(|l| counts[l] > 0 && Some(l) != most_frequent);
                let column = Levels {
                    codes,
                    indicators: levels,
                };
                column.keeping(&keep.collect::<Vec<_>>())
            })
            .collect();
        OneHot {
            rows: first.rows + second.rows,
            columns,
        }
    }

    /// The number of parameters: the intercept, then the indicators column by column.
    pub(super) fn parameters(&self) -> usize {
        1 + self.columns.iter().map(|c| c.indicators).sum::<usize>()
    }

    /// The same design without the indicators that are sums of those before them.
    pub(super) fn independent(self) -> OneHot {
        let mut keep = independent(&self.gram(&vec![1.0; self.rows])).into_iter();
        // The intercept.
        keep.next();
        let columns = self.columns.into_iter().map(|column| {
            let keep: Vec<bool> = keep.by_ref().take(column.indicators).collect();
            column.keeping(&keep)
        });
        OneHot {
            rows: self.rows,
            columns: columns.collect(),
        }
    }

    /// `X b`.
    pub(super) fn times(&self, b: &[f64]) -> Vec<f64> {
        let mut product = vec![b[0]; self.rows];
        let values = self.values(b);
        product
            .par_chunks_mut(BLOCK)
            .enumerate()
            .for_each(|(block, product)| {
                for (column, values) in self.columns.iter().zip(&values) {
                    let codes = &column.codes[block * BLOCK..];
                    for (sum, &code) in product.iter_mut().zip(codes) {
                        *sum += values[usize::from(code)];
                    }
                }
            });
        product
    }

    /// The parameters of each column by code; 0 for the code without an indicator.
    fn values(&self, b: &[f64]) -> Vec<Vec<f64>> {
        let mut rest = &b[1..];
        let column = |column: &Levels| {
            let (mine, others) = rest.split_at(column.indicators);
            rest = others;
            [mine, &[0.0]].concat()
        };
        self.columns.iter().map(column).collect()
    }

    /// `X' v`.
    pub(super) fn transposed_times(&self, v: &[f64]) -> Vec<f64> {
        let columns: Vec<Vec<f64>> = (self.columns.par_iter())
            .map(|column| {
                let mut sums = vec![0.0; column.indicators + 1];
                for (&code, v) in column.codes.iter().zip(v) {
                    sums[usize::from(code)] += v;
                }
                sums.truncate(column.indicators);
                sums
            })
            .collect();
        [vec![v.iter().sum()], columns.concat()].concat()
    }

    /// `X' W X` with `W = diag(w)`.
    pub(super) fn gram(&self, w: &[f64]) -> Mat<f64> {
        let parameters = self.parameters();
        let mut gram = Mat::zeros(parameters, parameters);
        let totals = self.transposed_times(w);
        for (i, total) in totals.iter().enumerate() {
            gram[(i, i)] = *total;
            gram[(i, 0)] = *total;
            gram[(0, i)] = *total;
        }
        let mut starts = vec![1];
        for column in &self.columns {
            starts.push(starts[starts.len() - 1] + column.indicators);
        }
        let count = self.columns.len();
        let pairs: Vec<(usize, usize)> = (0..count)
            .flat_map(|a| (a + 1..count).map(move |b| (a, b)))
            .collect();
        let tables: Vec<Vec<f64>> = (pairs.par_iter())
            .map(|&(a, b)| self.columns[a].cross(&self.columns[b], w))
            .collect();
        for (&(a, b), table) in pairs.iter().zip(&tables) {
            let width = self.columns[b].indicators + 1;
            for i in 0..self.columns[a].indicators {
                for j in 0..self.columns[b].indicators {
                    let sum = table[i * width + j];
                    gram[(starts[a] + i, starts[b] + j)] = sum;
                    gram[(starts[b] + j, starts[a] + i)] = sum;
                }
            }
        }
        gram
    }
}

impl Levels {
    /// The column with the indicators that are kept, renumbered.
    fn keeping(mut self, keep: &[bool]) -> Levels {
        let kept = keep.iter().filter(|keep| **keep).count();
        let mut renumbered = vec![kept as u16; keep.len() + 1];
        let levels = (0..keep.len()).filter(|&level| keep[level]);
        for (next, level) in (0..).zip(levels) {
            renumbered[level] = next;
        }
        for code in &mut self.codes {
            *code = renumbered[usize::from(*code)];
        }
        self.indicators = kept;
        self
    }

    /// The sums of `w` by the codes of two columns.
    fn cross(&self, other: &Levels, w: &[f64]) -> Vec<f64> {
        let width = other.indicators + 1;
        let mut table = vec![0.0; (self.indicators + 1) * width];
        for ((&a, &b), w) in self.codes.iter().zip(&other.codes).zip(w) {
            table[usize::from(a) * width + usize::from(b)] += w;
        }
        table
    }
}

/// Which columns of a design with this Gram matrix do not depend on those before them: Cholesky's factor
/// row by row, rows without a pivot left out.
fn independent(gram: &Mat<f64>) -> Vec<bool> {
    let mut kept: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut keep = Vec::with_capacity(gram.nrows());
    for p in 0..gram.nrows() {
        let mut row: Vec<f64> = Vec::with_capacity(kept.len() + 1);
        for (q, factor) in &kept {
            let sum: f64 = row.iter().zip(factor).map(|(a, b)| a * b).sum();
            row.push((gram[(p, *q)] - sum) / factor[factor.len() - 1]);
        }
        let pivot = gram[(p, p)] - row.iter().map(|a| a * a).sum::<f64>();
        let is_new = pivot > DEPENDENT * gram[(p, p)];
        if is_new {
            row.push(pivot.sqrt());
            kept.push((p, row));
        }
        keep.push(is_new);
    }
    keep
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &[&[u16]]) -> CodedTable {
        CodedTable {
            rows: columns[0].len(),
            codes: columns.iter().map(|codes| Some(codes.to_vec())).collect(),
            ..CodedTable::default()
        }
    }

    /// Columns of 3 and 2 levels; the third is the first one's level 2, so it adds nothing.
    fn design() -> OneHot {
        let first = table(&[&[0, 1, 2, 0], &[0, 1, 1, 0], &[0, 0, 1, 0]]);
        let second = table(&[&[0, 2], &[1, 0], &[0, 1]]);
        OneHot::of(&first, &second)
    }

    #[test]
    fn what_other_indicators_say_already_is_dropped() {
        let design = design();
        // Level 0 of every column but the second is the most frequent; of the second a tie.
        assert_eq!(design.parameters(), 1 + 2 + 1 + 1);
        assert_eq!(design.independent().parameters(), 1 + 2 + 1);
    }

    #[test]
    fn products_are_those_of_the_written_matrix() {
        let design = design().independent();
        let unit = |i: usize| {
            let mut b = vec![0.0; design.parameters()];
            b[i] = 1.0;
            design.times(&b)
        };
        let x: Vec<Vec<f64>> = (0..design.parameters()).map(unit).collect();
        assert_eq!(x[0], [1.0; 6]);
        assert_eq!(x[1], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(x[2], [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        let w = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
        let gram = design.gram(&w);
        for (i, a) in x.iter().enumerate() {
            let total: f64 = a.iter().zip(w).map(|(a, w)| a * w).sum();
            assert_eq!(design.transposed_times(&w)[i], total);
            for (j, b) in x.iter().enumerate() {
                let sum: f64 = (0..6).map(|row| a[row] * b[row] * w[row]).sum();
                assert_eq!(gram[(i, j)], sum);
            }
        }
    }
}

//! The exact marginals of all candidates, counted once and kept confidential.
//!
//! A hundred columns have 161,700 triples, so the rows are not run through for each. Columns of few levels are put into
//! groups with at most [`GROUP_LEVELS`] combinations; all marginals of columns in the same groups are summed out of one table
//! over those groups, where that takes less time than counting them one by one. The counts are the same either way.

use super::candidates::Candidate;
use crate::privacy::Confidential;
use crate::release::MergedLevels;
use crate::schema::{SCALE, Schema};
use crate::table::CodedTable;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The most combinations of levels of a group: the tables of three groups, 16 KiB, stay in the first-level cache.
const GROUP_LEVELS: usize = 16;
/// The rows whose cells are worked out at once.
const BLOCK: usize = 2048;
/// Tables counted before their marginals are stored: few enough that they take no memory to speak of.
const AT_ONCE: usize = 64;

/// The numbers of records of the candidates' cells, 4 bytes each, row-major.
pub struct MarginalCounts {
    counts: Vec<u32>,
    /// Where each candidate's cells begin, and where the last one's end.
    starts: Vec<usize>,
}

impl MarginalCounts {
    /// The numbers of records of a candidate's cells.
    pub fn of(&self, candidate: usize) -> &[u32] {
        &self.counts[self.starts[candidate]..self.starts[candidate + 1]]
    }
}

/// Which marginals to count: of levels, the rare ones of some columns merged.
pub struct CountQuestion<'a> {
    /// The schema.
    pub schema: &'a Schema,
    /// The marginals.
    pub candidates: &'a [Candidate],
    /// The columns whose levels are merged.
    pub merged: &'a [MergedLevels],
}

/// One of the marginals, to be measured, in units of `1 / SCALE` of a record.
pub fn table_of(counts: &Confidential<MarginalCounts>, index: usize) -> Confidential<Vec<i64>> {
    counts.ask(&index, |counts: &MarginalCounts, &index: &usize| {
        let records = counts.of(index).iter();
        records.map(|&count| i64::from(count) * SCALE).collect()
    })
}

/// Counts. Merged levels count as one: a record stays one count in one cell.
///
/// # Panics
/// If there are `2^32` rows or more, or a column is not in the table: a table of the plan's schema has its columns.
pub fn count(table: &CodedTable, question: &CountQuestion) -> MarginalCounts {
    assert!(u32::try_from(table.rows).is_ok(), "counts have 32 bits");
    let columns = Columns::new(table, question);
    let sizes = question.candidates.iter();
    let mut starts = vec![0];
    starts.extend(sizes.scan(0, |end, candidate| {
        *end += columns.cells(&candidate.columns);
        Some(*end)
    }));
    let mut counts = vec![0; starts.last().copied().unwrap_or(0)];
    let tables: Vec<(Vec<usize>, Vec<usize>)> =
        columns.by_groups(question.candidates).into_iter().collect();
    for some in tables.chunks(AT_ONCE) {
        let answers: Vec<Vec<(usize, Vec<u32>)>> = some
            .par_iter()
            .map(|(groups, of_groups)| columns.answer(groups, of_groups, question.candidates))
            .collect();
        for (candidate, answer) in answers.into_iter().flatten() {
            counts[starts[candidate]..starts[candidate + 1]].copy_from_slice(&answer);
        }
    }
    MarginalCounts { counts, starts }
}

/// A column as it is counted.
struct Codes<'a> {
    codes: Cow<'a, [u16]>,
    levels: usize,
}

/// The columns, and the groups that they are in.
struct Columns<'a> {
    rows: usize,
    columns: Vec<Option<Codes<'a>>>,
    /// The group of each column.
    group_of: Vec<usize>,
    /// The columns of each group, the last one's code running fastest.
    groups: Vec<Vec<usize>>,
    /// The codes of each group's combinations.
    combined: Vec<Codes<'a>>,
}

impl<'a> Columns<'a> {
    fn new(table: &'a CodedTable, question: &CountQuestion) -> Columns<'a> {
        let mut columns: Vec<Option<Codes<'a>>> =
            question.schema.columns.iter().map(|_| None).collect();
        for &column in question.candidates.iter().flat_map(|c| &c.columns) {
            if columns[column].is_none() {
                columns[column] = Some(Codes::of_column(table, question, column));
            }
        }
        let mut result = Columns {
            rows: table.rows,
            group_of: vec![0; columns.len()],
            columns,
            groups: Vec::new(),
            combined: Vec::new(),
        };
        result.make_groups();
        result
    }

    fn levels(&self, column: usize) -> usize {
        self.columns[column]
            .as_ref()
            .map_or(1, |codes| codes.levels)
    }

    fn cells(&self, columns: &[usize]) -> usize {
        columns.iter().map(|&column| self.levels(column)).product()
    }

    /// Puts each column, those of most levels first, into the first group that has room.
    fn make_groups(&mut self) {
        let mut order: Vec<usize> = (0..self.columns.len())
            .filter(|&c| self.columns[c].is_some())
            .collect();
        order.sort_by_key(|&column| std::cmp::Reverse(self.levels(column)));
        for column in order {
            let has_room =
                |group: &Vec<usize>| self.cells(group) * self.levels(column) <= GROUP_LEVELS;
            let group = self
                .groups
                .iter()
                .position(has_room)
                .unwrap_or(self.groups.len());
            if group == self.groups.len() {
                self.groups.push(Vec::new());
            }
            self.groups[group].push(column);
            self.group_of[column] = group;
        }
        self.combined = self
            .groups
            .iter()
            .map(|group| self.combine(group))
            .collect();
    }

    fn combine(&self, group: &[usize]) -> Codes<'a> {
        let mut codes = vec![0u16; self.rows];
        for column in group.iter().filter_map(|&c| self.columns[c].as_ref()) {
            // A single column's codes have 16 bits, those of several are below `GROUP_LEVELS`.
            let levels = column.levels as u16;
            for (code, &level) in codes.iter_mut().zip(column.codes.iter()) {
                *code = code.wrapping_mul(levels) + level;
            }
        }
        Codes {
            codes: Cow::Owned(codes),
            levels: self.cells(group),
        }
    }

    /// The candidates by the groups that their columns are in.
    fn by_groups(&self, candidates: &[Candidate]) -> BTreeMap<Vec<usize>, Vec<usize>> {
        let mut by_groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for (at, candidate) in candidates.iter().enumerate() {
            let mut groups: Vec<usize> = candidate
                .columns
                .iter()
                .map(|&c| self.group_of[c])
                .collect();
            groups.sort_unstable();
            groups.dedup();
            by_groups.entry(groups).or_default().push(at);
        }
        by_groups
    }

    /// The counts of candidates whose columns are in the same groups.
    fn answer(
        &self,
        groups: &[usize],
        listed: &[usize],
        candidates: &[Candidate],
    ) -> Vec<(usize, Vec<u32>)> {
        let cells = groups.iter().map(|&g| self.combined[g].levels);
        let cells = cells.fold(1usize, usize::saturating_mul);
        // A row counted and a cell summed out take about as long.
        let together = self.rows.saturating_add(cells.saturating_mul(listed.len()));
        if together >= self.rows.saturating_mul(listed.len()) {
            let one = |&at: &usize| {
                let columns = candidates[at].columns.iter();
                (
                    at,
                    histogram(self.rows, columns.filter_map(|&c| self.columns[c].as_ref())),
                )
            };
            return listed.iter().map(one).collect();
        }
        let table = histogram(self.rows, groups.iter().map(|&g| &self.combined[g]));
        let sum_out = |&at: &usize| (at, self.sum_out(groups, &table, &candidates[at].columns));
        listed.iter().map(sum_out).collect()
    }

    /// A marginal of the table over some groups.
    fn sum_out(&self, groups: &[usize], table: &[u32], columns: &[usize]) -> Vec<u32> {
        let mut places = vec![0usize];
        for column in groups.iter().flat_map(|&group| &self.groups[group]) {
            let position = columns.iter().position(|c| c == column);
            // A column that is summed out moves no place.
            let stride = position.map_or(0, |p| self.cells(&columns[p + 1..]));
            let levels = 0..self.levels(*column);
            let spread = |place: &usize| {
                let place = *place;
                levels.clone().map(move |level| place + level * stride)
            };
            places = places.iter().flat_map(spread).collect();
        }
        let mut result = vec![0; self.cells(columns)];
        for (&place, &count) in places.iter().zip(table) {
            result[place] += count;
        }
        result
    }
}

impl<'a> Codes<'a> {
    fn of_column(table: &'a CodedTable, question: &CountQuestion, column: usize) -> Codes<'a> {
        let codes = table.codes[column].as_deref();
        let codes = codes.expect("the table is of the plan's schema");
        let name = &question.schema.columns[column].name;
        match question.merged.iter().find(|merged| merged.column == *name) {
            Some(merged) => Codes {
                codes: codes
                    .iter()
                    .map(|&code| merged.cells[usize::from(code)])
                    .collect(),
                levels: merged.count(),
            },
            None => Codes {
                codes: Cow::Borrowed(codes),
                levels: question.schema.columns[column].levels(),
            },
        }
    }
}

/// The numbers of rows of all combinations of codes. Rows take turns at four histograms, because neighbours often fall into the same
/// cell, and adding to it twice in a row takes as long as a dozen other rows.
fn histogram<'c, 'd: 'c>(rows: usize, columns: impl Iterator<Item = &'c Codes<'d>>) -> Vec<u32> {
    let columns: Vec<&Codes> = columns.collect();
    let cells: usize = columns.iter().map(|codes| codes.levels).product();
    let lanes = if cells <= 1 << 12 { 4 } else { 1 };
    let mut counts = vec![0u32; cells * lanes];
    let mut block = [0u32; BLOCK];
    for start in (0..rows).step_by(BLOCK) {
        let end = (start + BLOCK).min(rows);
        let block = &mut block[..end - start];
        block.fill(0);
        for column in &columns {
            let levels = column.levels as u32;
            for (cell, &code) in block.iter_mut().zip(&column.codes[start..end]) {
                *cell = *cell * levels + u32::from(code);
            }
        }
        if lanes == 1 {
            block.iter().for_each(|&cell| counts[cell as usize] += 1);
            continue;
        }
        let (first, rest) = counts.split_at_mut(cells);
        let (second, rest) = rest.split_at_mut(cells);
        let (third, fourth) = rest.split_at_mut(cells);
        let quads = block.chunks_exact(4);
        quads
            .remainder()
            .iter()
            .for_each(|&cell| first[cell as usize] += 1);
        for quad in quads {
            first[quad[0] as usize] += 1;
            second[quad[1] as usize] += 1;
            third[quad[2] as usize] += 1;
            fourth[quad[3] as usize] += 1;
        }
    }
    for cell in 0..cells {
        counts[cell] = (0..lanes).map(|lane| counts[lane * cells + cell]).sum();
    }
    counts.truncate(cells);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every set of up to three of eight columns, with and without merged levels, against counting row by row; with rows enough that
    /// tables are shared, and so few that they are not.
    #[test]
    fn counts_are_those_of_the_rows() {
        let sizes = [2u32, 3, 5, 2, 40, 3, 4, 2];
        let mut schema = String::from("format: dpcausal.schema/1\ncolumns:\n");
        for (column, size) in sizes.iter().enumerate() {
            let levels: Vec<String> = (0..*size).map(|l| format!("l{l}")).collect();
            schema += &format!(
                "  - {{name: c{column}, role: covariate, type: categorical, levels: [{}]}}\n",
                levels.join(", ")
            );
        }
        let schema = Schema::parse(&schema, "s.yaml").unwrap().0;
        let candidates: Vec<Candidate> = (1..256usize)
            .filter(|mask| mask.count_ones() <= 3)
            .map(|mask| Candidate {
                columns: (0..8).filter(|c| mask >> c & 1 == 1).collect(),
                weight: 1.0,
            })
            .collect();
        let merging = MergedLevels {
            column: "c2".into(),
            cells: vec![0, 2, 1, 2, 2],
        };
        for (rows, merged) in [(7, vec![]), (5001, vec![]), (5001, vec![merging])] {
            let code = |row: usize, size: u32, column: usize| {
                ((row * row * (column + 3) / 7 + row) % size as usize) as u16
            };
            let codes = sizes.iter().enumerate();
            let codes = codes.map(|(column, &size)| {
                Some((0..rows).map(|row| code(row, size, column)).collect())
            });
            let table = CodedTable {
                rows,
                codes: codes.collect(),
                ..CodedTable::default()
            };
            let counts = count(
                &table,
                &CountQuestion {
                    schema: &schema,
                    candidates: &candidates,
                    merged: &merged,
                },
            );
            for (at, candidate) in candidates.iter().enumerate() {
                let mut expected = vec![0u32; counts.of(at).len()];
                for row in 0..rows {
                    let cell = candidate.columns.iter().fold(0, |cell, &column| {
                        let code = table.codes[column].as_ref().unwrap()[row];
                        match (column, merged.as_slice()) {
                            (2, [merging]) => {
                                cell * 3 + usize::from(merging.cells[usize::from(code)])
                            }
                            _ => cell * sizes[column] as usize + usize::from(code),
                        }
                    });
                    expected[cell] += 1;
                }
                assert_eq!(counts.of(at), expected, "{rows} {:?}", candidate.columns);
            }
        }
    }
}

//! Sensitivities of scores, by brute force over neighbouring tables.

use super::super::candidates::Candidate;
use super::super::counts::{CountQuestion, MarginalCounts, count};
use super::super::gap::{GAP_SCALE, GapCandidate, gap_sensitivity, gaps, whole_weights};
use crate::privacy::Adjacency;
use crate::release::MergedLevels;
use crate::schema::Schema;
use crate::table::CodedTable;

const SCHEMA: &str = "\
format: dpcausal.schema/1
columns:
  - {name: a, role: covariate, type: categorical, levels: [x, y, z]}
  - {name: b, role: covariate, type: boolean}
";

/// A table of these cells of `a x b`.
fn table(cells: &[u16]) -> CodedTable {
    CodedTable {
        rows: cells.len(),
        codes: vec![
            Some(cells.iter().map(|c| c / 2).collect()),
            Some(cells.iter().map(|c| c % 2).collect()),
        ],
        ..CodedTable::default()
    }
}

/// Every table of `rows` records, up to their order.
fn tables(rows: usize) -> Vec<Vec<u16>> {
    let mut tables: Vec<Vec<u16>> = vec![Vec::new()];
    for _ in 0..rows {
        tables = tables
            .into_iter()
            .flat_map(|table| {
                let least = table.last().copied().unwrap_or(0);
                (least..6).map(move |cell| [table.as_slice(), &[cell]].concat())
            })
            .collect();
    }
    tables
}

fn scores(
    schema: &Schema,
    merged: &[MergedLevels],
    cells: &[u16],
    weights: &[i64],
    expected: i64,
) -> Vec<i64> {
    let sets: [&[usize]; 3] = [&[0], &[1], &[0, 1]];
    let candidates = sets.map(|set| Candidate {
        columns: set.to_vec(),
        weight: 1.0,
    });
    let question = CountQuestion {
        schema,
        candidates: &candidates,
        merged,
    };
    let counts: MarginalCounts = count(&table(cells), &question);
    let candidates: Vec<GapCandidate> = (0..3)
        .map(|marginal| GapCandidate {
            marginal,
            // Between whole records, on them, and uneven over the cells.
            expected: (0..counts.of(marginal).len() as i64)
                .map(|cell| expected + 700 * cell)
                .collect(),
            penalty: 3 * GAP_SCALE,
            weight: weights[marginal],
        })
        .collect();
    gaps(&counts, &candidates)
}

fn largest_change(
    schema: &Schema,
    merged: &[MergedLevels],
    neighbours: &[(Vec<u16>, Vec<u16>)],
    weights: &[i64],
) -> u64 {
    let mut largest = 0;
    for expected in [-900, 0, 333, GAP_SCALE, 5 * GAP_SCALE] {
        for (one, other) in neighbours {
            let one = scores(schema, merged, one, weights, expected);
            let other = scores(schema, merged, other, weights, expected);
            let change = one.iter().zip(&other).map(|(a, b)| a.abs_diff(*b)).max();
            largest = largest.max(change.unwrap());
        }
    }
    largest
}

#[test]
fn scores_move_as_far_as_stated_and_no_further() {
    let schema = Schema::parse(SCHEMA, "s.yaml").unwrap().0;
    let added: Vec<_> = (0..3)
        .flat_map(tables)
        .flat_map(|table| {
            (0..6).map(move |cell| (table.clone(), [table.as_slice(), &[cell]].concat()))
        })
        .collect();
    let replaced: Vec<_> = (0..3)
        .flat_map(tables)
        .flat_map(|table| {
            (0..36).map(move |cells| {
                let with = |cell: u16| [table.as_slice(), &[cell]].concat();
                (with(cells / 6), with(cells % 6))
            })
        })
        .collect();
    let merged = MergedLevels {
        column: "a".into(),
        cells: vec![1, 0, 1],
    };
    for merged in [vec![], vec![merged]] {
        for weights in [[1, 1, 1], [1, 700, 1024], [1024, 1, 5]] {
            let most = weights.into_iter().max().unwrap();
            for (adjacency, neighbours) in [
                (Adjacency::AddRemove, &added),
                (Adjacency::ReplaceOne, &replaced),
            ] {
                let stated = gap_sensitivity(adjacency, 1, most);
                let found = largest_change(&schema, &merged, neighbours, &weights);
                assert_eq!(found, stated, "{adjacency} {weights:?}");
            }
        }
    }
}

#[test]
fn units_of_several_rows_move_so_many_times_as_much() {
    let one = gap_sensitivity(Adjacency::AddRemove, 1, 7);
    assert_eq!(gap_sensitivity(Adjacency::AddRemove, 5, 7), 5 * one);
    assert_eq!(gap_sensitivity(Adjacency::ReplaceOne, 5, 7), 10 * one);
}

#[test]
fn weights_are_whole_and_none_vanishes() {
    assert_eq!(whole_weights(&[2.0, 1.0, 1e-9]), [1024, 512, 1]);
}

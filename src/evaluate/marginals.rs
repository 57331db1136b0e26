//! Total variation of the marginals of sets of columns.

use super::subsets::{binomial, evenly_spaced, subset};
use super::{Question, count, marginal};
use crate::schema::{Query, SCALE, Schema};
use crate::table::CodedTable;
use rayon::prelude::*;
use serde::Serialize;

/// The most cells of a marginal: 32 MiB of counts per table and thread.
pub(super) const MOST_CELLS: usize = 1 << 22;

/// How many of the worst sets are listed.
const WORST: usize = 10;

/// The sets of so many columns that are compared.
pub(super) struct Sets {
    degree: usize,
    possible: u64,
    too_large: usize,
    sets: Vec<Vec<usize>>,
}

/// The marginals of so many columns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Degree {
    /// The number of columns.
    pub degree: usize,
    /// How many sets of so many columns there are.
    pub possible: u64,
    /// How many were compared.
    pub compared: usize,
    /// How many were left out for having too many cells.
    pub too_large: usize,
    /// The mean total variation.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// The sets of the largest ones, the worst first.
    pub worst: Vec<Variation>,
}

/// The total variation of a marginal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variation {
    /// Its columns.
    pub columns: Vec<String>,
    /// Half the L1 distance of the shares, from 0 to 1.
    pub total_variation: f64,
}

/// One column's shares.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnComparison {
    /// Its name.
    pub name: String,
    /// Total variation.
    pub total_variation: f64,
    /// The levels or bins.
    pub levels: Vec<String>,
    /// Their shares in the confidential table.
    pub confidential: Vec<f64>,
    /// Their shares in the synthetic table.
    pub synthetic: Vec<f64>,
}

impl Sets {
    pub(super) fn new(schema: &Schema, columns: &[usize], degree: usize, limit: usize) -> Sets {
        let possible = binomial(columns.len(), degree);
        let chosen = evenly_spaced(possible, limit).into_iter().map(|place| {
            let members = subset(columns.len(), degree, place);
            members.into_iter().map(|member| columns[member]).collect()
        });
        let fits = |set: &Vec<usize>| can_be_counted(&marginal(set), schema);
        let (sets, large): (Vec<Vec<usize>>, Vec<_>) = chosen.partition(fits);
        Sets {
            degree,
            possible,
            too_large: large.len(),
            sets,
        }
    }
}

/// Whether a query's answer is small enough.
pub(super) fn can_be_counted(query: &Query, schema: &Schema) -> bool {
    query.cells(schema).is_some_and(|cells| cells <= MOST_CELLS)
}

impl Degree {
    /// What was left out.
    pub(super) fn notes(&self) -> Vec<String> {
        let (degree, mut notes) = (self.degree, Vec::new());
        let looked_at = self.compared as u64 + self.too_large as u64;
        if looked_at < self.possible {
            notes.push(format!(
                "sets of {degree} columns: {looked_at} of {}, evenly spaced in lexicographic order of the schema's columns; a higher limit takes more",
                self.possible
            ));
        }
        if self.too_large > 0 {
            notes.push(format!(
                "sets of {degree} columns: {} left out for having more than {MOST_CELLS} cells",
                self.too_large
            ));
        }
        notes
    }
}

/// The L1 distance between the shares of the answers to a query, of which each row adds up to one, averaged
/// over the synthetic tables.
pub(super) fn distance(confidential: &CodedTable, question: &Question, query: &Query) -> f64 {
    let schema = &question.schema;
    let real = count(confidential, schema, query);
    question.mean(|table| {
        let synthetic = count(table, schema, query);
        let cells = real.iter().zip(&synthetic);
        let units = [confidential.rows, table.rows].map(|rows| rows as f64 * SCALE as f64);
        cells
            .map(|(&a, &b)| (a as f64 / units[0] - b as f64 / units[1]).abs())
            .sum()
    })
}

/// The marginals by degree, and all pairs.
pub(super) fn compare(
    confidential: &CodedTable,
    question: &Question,
) -> (Vec<Degree>, Vec<Variation>) {
    let (mut degrees, mut pairs) = (Vec::new(), Vec::new());
    for sets in &question.sets {
        let variation = |set: &Vec<usize>| Variation {
            columns: names(set, &question.schema),
            total_variation: 0.5 * distance(confidential, question, &marginal(set)),
        };
        let mut all: Vec<Variation> = sets.sets.par_iter().map(variation).collect();
        if sets.degree == 2 {
            pairs.clone_from(&all);
        }
        // A stable sort: ties stay in lexicographic order.
        all.sort_by(|a, b| b.total_variation.total_cmp(&a.total_variation));
        let sum: f64 = all.iter().map(|v| v.total_variation).sum();
        degrees.push(Degree {
            degree: sets.degree,
            possible: sets.possible,
            compared: all.len(),
            too_large: sets.too_large,
            mean: sum / all.len() as f64,
            max: all.first().map_or(f64::NAN, |worst| worst.total_variation),
            worst: all.into_iter().take(WORST).collect(),
        });
    }
    (degrees, pairs)
}

fn names(set: &[usize], schema: &Schema) -> Vec<String> {
    let name = |&column: &usize| schema.columns[column].name.clone();
    set.iter().map(name).collect()
}

/// The shares of every column's levels.
pub(super) fn columns(confidential: &CodedTable, question: &Question) -> Vec<ColumnComparison> {
    let schema = &question.schema;
    let column = |index: usize| {
        let query = marginal(&[index]);
        let shares = |table: &CodedTable| -> Vec<f64> {
            let unit = table.rows as f64 * SCALE as f64;
            let counts = count(table, schema, &query).into_iter();
            counts.map(|count| count as f64 / unit).collect()
        };
        let column = &schema.columns[index];
        let mut synthetic = vec![0.0; column.levels()];
        for table in &question.synthetic {
            for (mean, share) in synthetic.iter_mut().zip(shares(table)) {
                *mean += share / question.synthetic.len() as f64;
            }
        }
        ColumnComparison {
            name: column.name.clone(),
            total_variation: 0.5 * distance(confidential, question, &query),
            levels: (0..column.levels() as u16)
                .map(|code| column.level_name(code))
                .collect(),
            confidential: shares(confidential),
            synthetic,
        }
    };
    let is_small = |index: &usize| can_be_counted(&marginal(&[*index]), schema);
    let coded = schema.coded().into_iter();
    coded.filter(is_small).map(column).collect()
}

//! The bins of numeric columns from a count or from edges.

use super::check::MAX_LEVELS;
use super::column::Bin;
use super::fault::{Fault, Path};
use super::file::{BinsFile, ColumnFile, Number};

/// The bins of an integer column whose bounds are whole, ascending and exact.
pub(super) fn integer(file: &ColumnFile, bounds: (f64, f64), at: &Path) -> Result<Vec<Bin>, Fault> {
    let (lower, upper) = bounds;
    match declared(file, "[16, 20, 24, 60]", at)? {
        Declared::Count(count) => {
            // Integers k parts / count: sizes differ by at most one. The product fits: below
            // 2^54 values times 2^16 bins.
            let values = (upper - lower) as u128 + 1;
            let parts = u128::from(count).min(values);
            let edge = |part: u128| lower + (values * part / parts) as f64;
            Ok((0..parts)
                .map(|part| Bin {
                    lower: edge(part),
                    upper: edge(part + 1) - 1.0,
                })
                .collect())
        }
        Declared::Edges(edges) => {
            let at = at.to("bins");
            if let Some(index) = edges.iter().position(|edge| edge.fract() != 0.0) {
                return Err(at.to(index).fault(format!(
                    "{} is no whole number; the edges of the integer column {:?} must be",
                    edges[index], file.name
                )));
            }
            if let Some(index) = edges.windows(2).position(|pair| pair[0] >= pair[1]) {
                return Err(at.to(index + 1).fault(format!(
                    "{} does not come after {}; the edges of an integer column ascend, each once \
                     ([0, 1, 5] gives zero a bin of its own)",
                    edges[index + 1],
                    edges[index]
                )));
            }
            check_cover(file, &edges, bounds, &at)?;
            let last = edges.len() - 2;
            Ok(edges
                .windows(2)
                .enumerate()
                .map(|(index, pair)| Bin {
                    lower: pair[0],
                    upper: if index == last {
                        pair[1]
                    } else {
                        pair[1] - 1.0
                    },
                })
                .collect())
        }
    }
}

/// The bins of a real column whose bounds are finite and ascending.
pub(super) fn real(file: &ColumnFile, bounds: (f64, f64), at: &Path) -> Result<Vec<Bin>, Fault> {
    let (lower, upper) = bounds;
    let edges = match declared(file, "[0, 0, 1000, 5000, 60000]", at)? {
        Declared::Count(count) => {
            let width = upper - lower;
            let mut edges: Vec<f64> = (0..count)
                .map(|part| lower + width * f64::from(part) / f64::from(count))
                .collect();
            edges.push(upper);
            if edges.windows(2).any(|pair| pair[0] >= pair[1]) {
                return Err(at.to("bins").fault(format!(
                    "{count} bins are too many for the bounds of column {:?}: they would be narrower than the \
                     numbers' precision; take fewer",
                    file.name
                )));
            }
            edges
        }
        Declared::Edges(edges) => {
            let at = at.to("bins");
            if let Some(index) = edges.windows(2).position(|pair| pair[0] > pair[1]) {
                return Err(at.to(index + 1).fault(format!(
                    "{} comes after {}; sort the edges",
                    edges[index + 1],
                    edges[index]
                )));
            }
            let is_triple = |three: &[f64]| three[0] == three[2];
            if let Some(index) = edges.windows(3).position(is_triple) {
                return Err(at.to(index + 2).fault(format!(
                    "{} stands three times; twice makes a bin of that one value",
                    edges[index]
                )));
            }
            check_cover(file, &edges, bounds, &at)?;
            edges
        }
    };
    Ok(edges
        .windows(2)
        .map(|pair| Bin {
            lower: pair[0],
            upper: pair[1],
        })
        .collect())
}

/// A declaration that is not out of hand.
enum Declared {
    Count(u32),
    Edges(Vec<f64>),
}

fn declared(file: &ColumnFile, example: &str, at: &Path) -> Result<Declared, Fault> {
    let name = &file.name;
    let too_many = |bins: usize| {
        (bins > MAX_LEVELS).then(|| {
            at.to("bins").fault(format!(
                "column {name:?} has more than {MAX_LEVELS} bins; take fewer"
            ))
        })
    };
    match &file.bins {
        None => Err(at.fault(format!(
            "column {name:?} has no bins; add edges such as \"bins: {example}\" or a number of bins, from public \
             knowledge, never from the data"
        ))),
        Some(BinsFile::Count(0)) => Err(at
            .to("bins")
            .fault(format!("column {name:?} needs at least one bin"))),
        Some(BinsFile::Count(count)) => match too_many(*count as usize) {
            Some(fault) => Err(fault),
            None => Ok(Declared::Count(*count)),
        },
        Some(BinsFile::Edges(edges)) => {
            if let Some(fault) = too_many(edges.len().saturating_sub(1)) {
                return Err(fault);
            }
            if let Some(index) = edges.iter().position(|Number(edge)| !edge.is_finite()) {
                return Err(at.to("bins").to(index).fault(format!(
                    "the edges of column {name:?} must be finite; begin and end with its bounds"
                )));
            }
            Ok(Declared::Edges(edges.iter().map(|n| n.0).collect()))
        }
    }
}

/// The edges begin and end with the bounds: every value has a bin, and no bin lies beyond the bounds.
fn check_cover(
    file: &ColumnFile,
    edges: &[f64],
    (lower, upper): (f64, f64),
    at: &Path,
) -> Result<(), Fault> {
    if edges.len() >= 2 && edges.first() == Some(&lower) && edges.last() == Some(&upper) {
        return Ok(());
    }
    Err(at.fault(format!(
        "the edges of column {:?} must begin with its lower bound {lower} and end with its upper bound {upper}",
        file.name
    )))
}

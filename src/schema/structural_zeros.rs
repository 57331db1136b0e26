//! Structural zeros: combinations of levels that public knowledge rules out.

use super::StructuralZero;
use super::check::find_column;
use super::column::{Column, Kind};
use super::fault::{Fault, Path, did_you_mean};
use super::file::{CodesFile, RangeFile};
use std::collections::BTreeMap;

/// The most steps of the search for a combination that is left. The question is as hard as
/// satisfiability; a schema that needs more steps is accepted here, and a model without any possible
/// combination is refused where it is built.
const MAX_STEPS: usize = 1_000_000;

pub(super) fn check(
    files: &[BTreeMap<String, CodesFile>],
    columns: &[Column],
    at: &Path,
) -> Result<Vec<StructuralZero>, Fault> {
    let mut zeros = Vec::with_capacity(files.len());
    for (index, file) in files.iter().enumerate() {
        zeros.push(check_zero(file, columns, &at.to(index))?);
    }
    if !leaves_something(&zeros, columns) {
        return Err(at.fault(
            "together the structural zeros rule out every combination; remove or narrow some",
        ));
    }
    Ok(zeros)
}

fn check_zero(
    file: &BTreeMap<String, CodesFile>,
    columns: &[Column],
    at: &Path,
) -> Result<StructuralZero, Fault> {
    let mut conditions = Vec::with_capacity(file.len());
    for (name, codes) in file {
        let at = at.to(name.as_str());
        let column = find_column(columns, name, &at)?;
        if !columns[column].is_coded() {
            return Err(at.fault(format!(
                "column {name:?} is not released, so a structural zero can't name it; remove it here"
            )));
        }
        let codes = check_codes(codes, &columns[column], &at)?;
        if codes.len() == columns[column].levels() {
            return Err(at.fault(format!(
                "these are all levels of column {name:?}, which is no condition; name fewer or leave the column out"
            )));
        }
        conditions.push((column, codes));
    }
    if conditions.len() < 2 {
        return Err(at.fault(
            "a structural zero is a combination of at least two columns; drop an impossible level of one column \
             from its `levels`",
        ));
    }
    conditions.sort_by_key(|(column, _)| *column);
    Ok(StructuralZero { conditions })
}

/// The codes that a condition names, ascending, each once, never none.
fn check_codes(file: &CodesFile, column: &Column, at: &Path) -> Result<Vec<u16>, Fault> {
    let mut codes = match file {
        CodesFile::One(text) => vec![code_of(text, column, at)?],
        CodesFile::Range(range) => codes_of_range(*range, column, at)?,
        CodesFile::List(texts) if texts.is_empty() => {
            return Err(at.fault(format!(
                "name at least one level of column {:?}",
                column.name
            )));
        }
        CodesFile::List(texts) => {
            let of = |(index, text): (usize, &String)| code_of(text, column, &at.to(index));
            texts.iter().enumerate().map(of).collect::<Result<_, _>>()?
        }
    };
    codes.sort_unstable();
    codes.dedup();
    Ok(codes)
}

fn code_of(text: &str, column: &Column, at: &Path) -> Result<u16, Fault> {
    let declared = column.declared_levels();
    let missing = column.missing.iter().position(|m| m == text);
    let position = match &column.kind {
        _ if missing.is_some() => missing.map(|index| declared + index),
        Kind::Categorical { levels, other, .. } => {
            levels.iter().chain(other).position(|l| l.code == text)
        }
        Kind::Boolean => match text.to_lowercase().as_str() {
            "false" | "0" => Some(0),
            "true" | "1" => Some(1),
            _ => None,
        },
        Kind::Integer { bins, .. } | Kind::Real { bins, .. } => {
            let value = text.parse::<f64>().ok();
            let is_own = |b: &super::Bin| b.is_point() && Some(b.lower) == value;
            bins.iter().position(is_own)
        }
    };
    // A column has at most 65,535 codes, checked before.
    position.map(|code| code as u16).ok_or_else(|| {
        let name = &column.name;
        if column.bins().is_some() {
            return at.fault(format!(
                "{text:?} is neither a missing code of column {name:?} nor a value with a bin of its own; \
                 name whole bins by `{{from: A, to: B}}`"
            ));
        }
        let names: Vec<String> = (0..column.levels()).map(|c| column.level_name(c as u16)).collect();
        let nearest = did_you_mean(text, names.iter().map(String::as_str));
        at.fault(format!("{text:?} is no level of column {name:?}{nearest}"))
    })
}

/// The bins from the first that begins with `from` to the last that ends with `to`; a point bin at an
/// end belongs to the range.
fn codes_of_range(range: RangeFile, column: &Column, at: &Path) -> Result<Vec<u16>, Fault> {
    let (from, to) = (range.from.0, range.to.0);
    let Some(bins) = column.bins() else {
        return Err(at.fault(format!(
            "column {:?} is not numeric; list its levels instead of a range",
            column.name
        )));
    };
    let first = bins.iter().position(|b| b.lower == from);
    let last = bins.iter().rposition(|b| b.upper == to);
    match (first, last) {
        (Some(first), Some(last)) if first <= last => Ok((first as u16..=last as u16).collect()),
        _ => {
            let edges = |edge: fn(&super::Bin) -> f64| {
                let texts: Vec<String> =
                    bins.iter().take(12).map(|b| edge(b).to_string()).collect();
                let more = if bins.len() > 12 { ", ..." } else { "" };
                texts.join(", ") + more
            };
            Err(at.fault(format!(
                "the range {from} to {to} cuts through a bin of column {:?}; begin with one of {} and end with one \
                 of {}",
                column.name,
                edges(|b| b.lower),
                edges(|b| b.upper)
            )))
        }
    }
}

/// Whether a combination of codes escapes all zeros: depth-first over the columns that they name. A zero
/// is decided as soon as its last column has a code.
fn leaves_something(zeros: &[StructuralZero], columns: &[Column]) -> bool {
    let mut named: Vec<usize> = zeros
        .iter()
        .flat_map(|zero| zero.conditions.iter().map(|(column, _)| *column))
        .collect();
    named.sort_unstable();
    named.dedup();
    let mut codes = vec![0_u16; columns.len()];
    let mut level = 0;
    let mut steps = 0;
    // An odometer that skips: position `level` holds the column whose code is tried next.
    while level < named.len() {
        steps += 1;
        if steps > MAX_STEPS {
            return true;
        }
        let column = named[level];
        if usize::from(codes[column]) >= columns[column].levels() {
            if level == 0 {
                return false;
            }
            codes[column] = 0;
            level -= 1;
            codes[named[level]] += 1;
            continue;
        }
        let is_ruled_out = zeros.iter().any(|zero| {
            zero.conditions
                .last()
                .is_some_and(|(last, _)| *last == column)
                && zero
                    .conditions
                    .iter()
                    .all(|(c, ruled)| ruled.binary_search(&codes[*c]).is_ok())
        });
        if is_ruled_out {
            codes[column] += 1;
        } else {
            level += 1;
        }
    }
    true
}

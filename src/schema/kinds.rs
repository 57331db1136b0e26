//! A column's type from its document: levels, bounds and missing codes.

use super::bins;
use super::check::{INTEGER_LIMIT, MAX_LEVELS};
use super::column::{Column, Kind, Level};
use super::fault::{Fault, Path};
use super::file::{ColumnFile, LevelFile, Number, TypeFile};
use std::collections::HashMap;

/// The kind of a column that is not coded, where it has no meaning.
pub(super) const UNCODED: Kind = Kind::Categorical {
    levels: Vec::new(),
    other: None,
    ordered: false,
};

pub(super) fn check(file: &ColumnFile, at: &Path) -> Result<Kind, Fault> {
    let Some(kind) = file.kind else {
        return Err(at.fault(format!(
            "column {:?} has no type; add `type: integer`, `real`, `categorical` or `boolean`",
            file.name
        )));
    };
    refuse_keys_of_other_types(file, kind, at)?;
    match kind {
        TypeFile::Integer => {
            let bounds = check_bounds(file, "an integer", "[0, 120]", at)?;
            let bins = bins::integer(file, bounds, at)?;
            Ok(Kind::Integer {
                // Whole and below the limit: checked above.
                lower: bounds.0 as i64,
                upper: bounds.1 as i64,
                bins,
            })
        }
        TypeFile::Real => {
            let (lower, upper) = check_bounds(file, "a real number", "[0, 100000]", at)?;
            let bins = bins::real(file, (lower, upper), at)?;
            Ok(Kind::Real { lower, upper, bins })
        }
        TypeFile::Categorical => check_levels(file, at),
        TypeFile::Boolean => Ok(Kind::Boolean),
    }
}

/// Refuses keys that mean nothing for the column's type: the author expects an effect that they lack.
fn refuse_keys_of_other_types(file: &ColumnFile, kind: TypeFile, at: &Path) -> Result<(), Fault> {
    let is_numeric = matches!(kind, TypeFile::Integer | TypeFile::Real);
    let is_categorical = kind == TypeFile::Categorical;
    let keys = [
        ("bounds", file.bounds.is_some(), is_numeric),
        ("bins", file.bins.is_some(), is_numeric),
        ("levels", file.levels.is_some(), is_categorical),
        ("other", file.other.is_some(), is_categorical),
        ("ordered", file.ordered.is_some(), is_categorical),
    ];
    match keys.iter().find(|(_, given, fits)| *given && !fits) {
        None => Ok(()),
        Some((key, ..)) => Err(at.to(*key).fault(format!(
            "column {:?} is {}, which has no `{key}`; remove the key or change the type",
            file.name,
            match kind {
                TypeFile::Integer => "an integer",
                TypeFile::Real => "a real number",
                TypeFile::Categorical => "categorical",
                TypeFile::Boolean => "boolean",
            }
        ))),
    }
}

fn check_bounds(
    file: &ColumnFile,
    kind: &str,
    example: &str,
    at: &Path,
) -> Result<(f64, f64), Fault> {
    let name = &file.name;
    let Some([Number(lower), Number(upper)]) = file.bounds else {
        return Err(at.fault(format!(
            "column {name:?} is {kind} and has no bounds; add e.g. \"bounds: {example}\" from public \
             knowledge, never from the data"
        )));
    };
    let at = at.to("bounds");
    if !lower.is_finite() || !upper.is_finite() {
        return Err(at.fault(format!(
            "the bounds of column {name:?} must be finite; values beyond them are clamped"
        )));
    }
    if file.kind == Some(TypeFile::Integer) {
        for bound in [lower, upper] {
            if bound.fract() != 0.0 {
                return Err(at.fault(format!(
                    "{bound} is no whole number; round the bounds of column {name:?} or make it `real`"
                )));
            }
            if bound.abs() >= INTEGER_LIMIT {
                return Err(at.fault(format!(
                    "the bounds of an integer column must lie within +-(2^53 - 1), so that every value is exact; \
                     narrow those of column {name:?} or make it `real`"
                )));
            }
        }
    }
    if lower >= upper {
        return Err(at.fault(format!(
            "the lower bound of column {name:?} is not below the upper one; write [smaller, larger]"
        )));
    }
    if !(upper - lower).is_finite() {
        return Err(at.fault(format!(
            "the bounds of column {name:?} are too far apart for arithmetic; narrow them"
        )));
    }
    Ok((lower, upper))
}

fn check_levels(file: &ColumnFile, at: &Path) -> Result<Kind, Fault> {
    let levels = match &file.levels {
        Some(levels) if !levels.is_empty() => levels,
        _ => {
            return Err(at.fault(format!(
                "column {:?} is categorical and has no levels; add `levels: [...]` from public knowledge, \
                 never from the data",
                file.name
            )));
        }
    };
    if levels.len() + usize::from(file.other.is_some()) + file.missing.len() > MAX_LEVELS {
        return Err(at.to("levels").fault(format!(
            "column {:?} has more than {MAX_LEVELS} levels; merge some into `other`",
            file.name
        )));
    }
    Ok(Kind::Categorical {
        levels: levels.iter().map(level).collect(),
        other: file.other.as_ref().map(level),
        ordered: file.ordered.unwrap_or(false),
    })
}

fn level(file: &LevelFile) -> Level {
    match file {
        LevelFile::Code(code) => Level {
            code: code.clone(),
            label: None,
        },
        LevelFile::Labelled(level) => Level {
            code: level.code.clone(),
            label: level.label.clone(),
        },
    }
}

/// Whether the type has a level for texts that are not listed.
pub(super) fn has_other(kind: &Kind) -> bool {
    matches!(kind, Kind::Categorical { other: Some(_), .. })
}

/// Every text has one meaning: no two codes share a text, and no missing code is also a value.
pub(super) fn check_missing(column: &Column, at: &Path) -> Result<(), Fault> {
    let name = &column.name;
    let mut seen = HashMap::new();
    for (path, text) in texts(column, at) {
        if let Some(first) = seen.insert(text, ()).map(|()| text) {
            return Err(path.fault(format!(
                "{first:?} stands twice among the levels and missing codes of column {name:?}; remove one"
            )));
        }
    }
    for (index, text) in column.missing.iter().enumerate() {
        let is_value = match &column.kind {
            Kind::Integer { .. } | Kind::Real { .. } => {
                let bounds = column.bounds().unwrap_or((0.0, 0.0));
                let value = text.trim().parse::<f64>();
                value.is_ok_and(|v| bounds.0 <= v && v <= bounds.1)
            }
            Kind::Boolean => ["0", "1", "false", "true"].contains(&text.to_lowercase().as_str()),
            Kind::Categorical { .. } => false,
        };
        if is_value {
            return Err(at.to("missing").to(index).fault(format!(
                "missing code {text:?} is also a value of column {name:?}; choose bounds that leave it out, \
                 or recode it in the table"
            )));
        }
    }
    if column.levels() > MAX_LEVELS {
        return Err(at.to("missing").fault(format!(
            "column {name:?} has more than {MAX_LEVELS} codes; take fewer bins or missing codes"
        )));
    }
    Ok(())
}

/// The texts that a column's codes stand for, with their places.
fn texts<'a>(column: &'a Column, at: &Path) -> Vec<(Path, &'a str)> {
    let mut texts = Vec::new();
    if let Kind::Categorical { levels, other, .. } = &column.kind {
        let at_levels = at.to("levels");
        for (index, level) in levels.iter().enumerate() {
            texts.push((at_levels.to(index), level.code.as_str()));
        }
        texts.extend(other.iter().map(|o| (at.to("other"), o.code.as_str())));
    }
    let at_missing = at.to("missing");
    for (index, text) in column.missing.iter().enumerate() {
        texts.push((at_missing.to(index), text.as_str()));
    }
    texts
}

//! The code of one cell.

use super::bins::Bins;
use super::{CellProblem, TableError};
use crate::schema::{Column, Kind, Role, SCALE, Schema};
use polars::prelude::PlHashMap;

/// Codes the cells of one column.
pub(super) struct CellCoder {
    /// The texts that have a code whatever the type: missing codes and, of categorical columns, levels.
    texts: PlHashMap<Box<str>, u16>,
    /// What other texts mean.
    rest: Rest,
    kind: Kind,
    /// Whether the outcome is wanted beside the code.
    is_outcome: bool,
    /// The lower bound, and how many units of [`Coded::position`] one unit of the value is.
    position: (f64, f64),
}

enum Rest {
    Integer { bins: Bins, lower: i64, upper: i64 },
    Real { bins: Bins, lower: f64, upper: f64 },
    Boolean,
    Other(u16),
    Unlisted,
}

/// A cell's code and, of the outcome column, the outcome in units of `1 / SCALE` (0 elsewhere).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Coded {
    pub code: u16,
    pub outcome: u32,
    /// Of a number, where it lies between the bounds: from 0 to 65535, rounded to nearest.
    pub position: u16,
}

impl CellCoder {
    /// # Errors
    /// If the column can't be coded: no or too many levels, no bins, bounds out of order, or an outcome with
    /// missing codes, whose value would be a guess.
    pub(super) fn new(column: &Column) -> Result<CellCoder, TableError> {
        let invalid = |reason| TableError::Schema {
            column: column.name.clone(),
            reason,
        };
        if column.declared_levels() == 0 {
            return Err(invalid("it has no levels or bins; declare some"));
        }
        if column.levels() > usize::from(u16::MAX) {
            return Err(invalid(
                "it has more than 65535 levels; merge some into `other`",
            ));
        }
        let is_outcome = column.role == Role::Outcome;
        if is_outcome && !column.missing.is_empty() {
            return Err(invalid(
                "an outcome can't have missing codes; complete or drop such records, and say so in the analysis",
            ));
        }
        let mut texts = PlHashMap::default();
        let declared = column.declared_levels();
        for (code, text) in column.missing.iter().enumerate() {
            // Two equal texts: the first holds.
            texts
                .entry(text.as_str().into())
                .or_insert((declared + code) as u16);
        }
        let rest = match &column.kind {
            Kind::Integer { lower, upper, bins } if lower <= upper => Rest::Integer {
                bins: Bins::integer(bins, *lower, *upper),
                lower: *lower,
                upper: *upper,
            },
            Kind::Real { lower, upper, bins } if lower <= upper => Rest::Real {
                bins: Bins::real(bins),
                lower: *lower,
                upper: *upper,
            },
            Kind::Integer { .. } | Kind::Real { .. } => {
                return Err(invalid("its bounds are out of order; exchange them"));
            }
            Kind::Categorical { levels, other, .. } => {
                for (code, level) in levels.iter().chain(other).enumerate() {
                    texts
                        .entry(level.code.as_str().into())
                        .or_insert(code as u16);
                }
                match other {
                    Some(_) => Rest::Other(levels.len() as u16),
                    None => Rest::Unlisted,
                }
            }
            Kind::Boolean => Rest::Boolean,
        };
        Ok(CellCoder {
            texts,
            rest,
            kind: column.kind.clone(),
            is_outcome,
            position: position_scale(column),
        })
    }

    /// Whether a number can be coded without its text: no missing code or level could be meant.
    pub(super) fn takes_numbers(&self) -> bool {
        self.texts.is_empty() && matches!(self.rest, Rest::Integer { .. } | Rest::Real { .. })
    }

    /// The code of a text: missing codes and levels first, as they stand; then what the type makes of it.
    pub(super) fn text(&self, text: &str) -> Result<Coded, CellProblem> {
        if !self.texts.is_empty()
            && let Some(&code) = self.texts.get(text)
        {
            return Ok(self.level(code));
        }
        match &self.rest {
            Rest::Integer { .. } | Rest::Real { .. } => match plain_integer(text.as_bytes()) {
                Some(value) => self.integer(value),
                None => self.real(number(text)?),
            },
            Rest::Boolean => Ok(self.level(u16::from(boolean(text)?))),
            Rest::Other(_) | Rest::Unlisted if text.is_empty() => Err(CellProblem::Empty),
            Rest::Other(code) => Ok(self.level(*code)),
            Rest::Unlisted => Err(CellProblem::Unlisted),
        }
    }

    /// The code of an integer, clamped to the bounds, where the column is numeric.
    pub(super) fn integer(&self, value: i64) -> Result<Coded, CellProblem> {
        match &self.rest {
            Rest::Integer { bins, lower, upper } => {
                let value = value.clamp(*lower, *upper);
                Ok(self.numeric(bins.of_integer(value), value as f64))
            }
            _ => self.real(value as f64),
        }
    }

    /// The code of a number, clamped to the bounds, where the column is numeric. NaN and infinities are
    /// errors before anything is clamped.
    pub(super) fn real(&self, value: f64) -> Result<Coded, CellProblem> {
        if !value.is_finite() {
            return Err(CellProblem::NotFinite);
        }
        match &self.rest {
            Rest::Integer { .. } if value.fract() != 0.0 => Err(CellProblem::NotWhole),
            // The conversion saturates, and so does the clamping that follows.
            Rest::Integer { .. } => self.integer(value as i64),
            Rest::Real { bins, lower, upper } => {
                let value = value.clamp(*lower, *upper);
                Ok(self.numeric(bins.of_real(value), value))
            }
            _ => Err(CellProblem::NotNumber),
        }
    }

    fn numeric(&self, code: u16, value: f64) -> Coded {
        let outcome = if self.is_outcome {
            Schema::scaled_outcome(&self.kind, value).clamp(0, SCALE) as u32
        } else {
            0
        };
        let (lower, scale) = self.position;
        // The value is within the bounds, and the conversion saturates.
        let position = ((value - lower) * scale).round() as u16;
        Coded {
            code,
            outcome,
            position,
        }
    }

    fn level(&self, code: u16) -> Coded {
        let outcome = if self.is_outcome {
            Schema::two_level_outcome(code) as u32
        } else {
            0
        };
        Coded {
            code,
            outcome,
            position: 0,
        }
    }
}

/// The lower bound of a numeric column, and 65535 over its width; zeros of other columns.
fn position_scale(column: &Column) -> (f64, f64) {
    match column.bounds() {
        Some((lower, upper)) if upper > lower => (lower, f64::from(u16::MAX) / (upper - lower)),
        _ => (0.0, 0.0),
    }
}

/// The value of a plain decimal integer that surely fits, which is what most numeric cells hold.
fn plain_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    // 18 digits stay below 2^63.
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(digit - b'0');
    }
    Some(if negative { -value } else { value })
}

/// The value of a text, with spaces around it and in any decimal notation.
pub(super) fn number(text: &str) -> Result<f64, CellProblem> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(CellProblem::Empty);
    }
    trimmed.parse().map_err(|_| CellProblem::NotNumber)
}

fn boolean(text: &str) -> Result<bool, CellProblem> {
    let trimmed = text.trim();
    match trimmed {
        "0" => Ok(false),
        "1" => Ok(true),
        "" => Err(CellProblem::Empty),
        _ if trimmed.eq_ignore_ascii_case("false") => Ok(false),
        _ if trimmed.eq_ignore_ascii_case("true") => Ok(true),
        _ => Err(CellProblem::NotBoolean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::testing::schema;

    fn coder(name: &str) -> CellCoder {
        let schema = schema();
        CellCoder::new(&schema.columns[schema.column(name).unwrap()]).unwrap()
    }

    fn code(name: &str, text: &str) -> Result<u16, CellProblem> {
        coder(name).text(text).map(|coded| coded.code)
    }

    #[test]
    fn integers() {
        // Bins 16..=29, 30..=49, 50..=90, then missing codes "-9" and "".
        for (text, expected) in [
            ("16", 0),
            (" +29 ", 0),
            ("30.0", 1),
            ("5e1", 2),
            ("-9", 3),
            ("", 4),
            ("-8", 0),
            ("99999999999999999999", 2),
            ("-1e300", 0),
            ("007e1", 2),
        ] {
            assert_eq!(code("age", text), Ok(expected), "{text}");
        }
        for (text, problem) in [
            ("30.5", CellProblem::NotWhole),
            ("x", CellProblem::NotNumber),
            (" ", CellProblem::Empty),
            ("nan", CellProblem::NotFinite),
            ("-inf", CellProblem::NotFinite),
            ("1e999", CellProblem::NotFinite),
            ("0x10", CellProblem::NotNumber),
            ("1_000", CellProblem::NotNumber),
            ("-", CellProblem::NotNumber),
        ] {
            assert_eq!(code("age", text), Err(problem), "{text}");
        }
    }

    #[test]
    fn categories_match_exactly() {
        assert_eq!(code("region", "01"), Ok(0));
        assert_eq!(code("region", "1"), Ok(2), "leading zeros count: other");
        assert_eq!(code("region", "other"), Ok(2));
        assert_eq!(code("region", ""), Err(CellProblem::Empty));
        assert_eq!(code("sex", "female"), Ok(1));
        assert_eq!(code("sex", "Female"), Err(CellProblem::Unlisted));
        assert_eq!(code("sex", "NA"), Ok(2));
    }

    #[test]
    fn booleans_in_any_case() {
        for (text, expected) in [("0", 0), ("1", 1), ("TRUE", 1), ("False", 0), (" true", 1)] {
            assert_eq!(code("treated", text), Ok(expected));
        }
        assert_eq!(code("treated", "yes"), Err(CellProblem::NotBoolean));
        assert_eq!(code("treated", ""), Err(CellProblem::Empty));
    }

    #[test]
    fn outcomes_are_clamped_then_scaled() {
        let wage = coder("wage");
        let quarter = (SCALE / 4) as u32;
        for (text, expected) in [
            ("0", (0, 0)),
            ("250.0", (1, quarter)),
            ("1e6", (2, SCALE as u32)),
            ("-3", (0, 0)),
        ] {
            let coded = wage.text(text).map(|coded| (coded.code, coded.outcome));
            assert_eq!(coded, Ok(expected));
        }
        assert_eq!(wage.text("NaN"), Err(CellProblem::NotFinite));
    }

    #[test]
    fn numbers_have_a_position_between_the_bounds() {
        // Bounds 16 to 90.
        let nearest = (65535.0_f64 * 14.0 / 74.0).round() as u16;
        for (text, expected) in [("16", 0), ("30", nearest), ("99", 65535), ("-9", 0)] {
            assert_eq!(
                coder("age").text(text).map(|coded| coded.position),
                Ok(expected)
            );
        }
    }

    #[test]
    fn an_outcome_has_no_missing_codes() {
        let mut column = schema().columns[7].clone();
        column.missing.push("NA".into());
        assert!(matches!(
            CellCoder::new(&column),
            Err(TableError::Schema { .. })
        ));
    }
}

//! From codes back to values.
//!
//! A value within a bin is drawn uniformly within the bin's public edges; the outcome's comes from its own
//! fixed-point value. Every draw comes from a stream of ChaCha that is named by (seed, column, block of
//! rows), so that values do not depend on the number of threads.

use super::bins::Bins;
use super::{CodedTable, TableError};
use crate::schema::{Column as Declared, Kind, Role, SCALE};
use polars::prelude::{
    Column, IntoColumn, IntoSeries, NamedFrom, PlSmallStr, Series, StringChunked,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

/// The rows that share a stream of random numbers, and a row group of Parquet.
pub(super) const BLOCK: usize = 1 << 17;

/// Turns the codes of one column into values.
pub(super) struct Decoder {
    name: PlSmallStr,
    index: usize,
    values: Values,
    /// The texts of categorical levels, booleans or missing codes, by code less `first_text`.
    texts: Vec<String>,
    first_text: u16,
    levels: usize,
    is_outcome: bool,
}

enum Values {
    Integer(Bins, Span),
    Real(Bins, Span),
    Boolean,
    Text,
}

/// The bounds of a numeric column, and the decimals to which real values are rounded.
struct Span {
    lower: f64,
    upper: f64,
    power: Option<f64>,
}

impl Span {
    /// Reals are rounded to the decimals that resolve a quarter of the fixed-point unit, `2^-22` of the
    /// range: rounding then never changes an outcome's fixed-point value, and the shortest text of a value
    /// has no decimals that only the floating point put there. Ranges so narrow that this would take more
    /// decimals than a double has are not rounded.
    fn new(lower: f64, upper: f64) -> Span {
        let resolution = (upper - lower) / (4 * SCALE) as f64;
        let decimals = (-resolution.log10()).ceil().max(0.0);
        let power = (decimals <= 15.0).then(|| 10f64.powi(decimals as i32));
        Span {
            lower,
            upper,
            power,
        }
    }

    fn round(&self, value: f64) -> f64 {
        // Division by a power of ten that is itself exact gives the double nearest to the decimal.
        self.power
            .map_or(value, |power| (value * power).round() / power)
    }

    /// The outcome that a fixed-point value stands for.
    fn value(&self, scaled: u32) -> f64 {
        self.lower + f64::from(scaled) / SCALE as f64 * (self.upper - self.lower)
    }
}

impl Decoder {
    /// The decoder of a coded column, which is column `index` of the schema.
    pub(super) fn new(column: &Declared, index: usize) -> Decoder {
        let codes = 0..column.levels() as u16;
        let declared = column.declared_levels() as u16;
        let missing = column.missing.iter().cloned();
        let (values, texts, first_text) = match &column.kind {
            Kind::Integer { lower, upper, bins } => {
                let span = Span::new(*lower as f64, *upper as f64);
                let bins = Bins::integer(bins, *lower, *upper);
                (Values::Integer(bins, span), missing.collect(), declared)
            }
            Kind::Real { lower, upper, bins } => {
                let span = Span::new(*lower, *upper);
                (
                    Values::Real(Bins::real(bins), span),
                    missing.collect(),
                    declared,
                )
            }
            Kind::Boolean if column.missing.is_empty() => (Values::Boolean, Vec::new(), declared),
            Kind::Boolean | Kind::Categorical { .. } => {
                let declared = codes
                    .take(usize::from(declared))
                    .map(|c| column.level_name(c));
                (Values::Text, declared.chain(missing).collect(), 0)
            }
        };
        Decoder {
            name: column.name.as_str().into(),
            index,
            values,
            texts,
            first_text,
            levels: column.levels(),
            is_outcome: column.role == Role::Outcome,
        }
    }

    /// The values of some rows, which are block number `block`.
    ///
    /// # Errors
    /// If the table lacks the column or holds a code that the schema does not have.
    pub(super) fn decode(
        &self,
        table: &CodedTable,
        rows: Range<usize>,
        seed: u64,
        block: u32,
    ) -> Result<Column, TableError> {
        let misfit = || TableError::Misfit {
            column: self.name.to_string(),
        };
        let codes = table.codes.get(self.index).and_then(Option::as_deref);
        let codes = codes
            .and_then(|codes| codes.get(rows.clone()))
            .ok_or_else(misfit)?;
        if codes.iter().any(|&code| usize::from(code) >= self.levels) {
            return Err(misfit());
        }
        let outcome = if self.is_outcome {
            Some(table.outcome.get(rows).ok_or_else(misfit)?)
        } else {
            None
        };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream((self.index as u64) << 32 | u64::from(block));
        let values = codes
            .iter()
            .enumerate()
            .map(|(row, &code)| (code, outcome.map(|y| y[row])));
        Ok(match &self.values {
            Values::Boolean => {
                let values: Vec<bool> = codes.iter().map(|&code| code == 1).collect();
                Series::new(self.name.clone(), values).into_column()
            }
            Values::Text => self.text_column(codes),
            Values::Integer(bins, span) => {
                let draw = |(code, scaled)| integer(bins, span, code, scaled, &mut rng);
                self.numeric_column(values, draw)
            }
            Values::Real(bins, span) => {
                let draw = |(code, scaled)| real(bins, span, code, scaled, &mut rng);
                self.numeric_column(values, draw)
            }
        })
    }

    fn text_column(&self, codes: &[u16]) -> Column {
        let texts = codes
            .iter()
            .map(|&code| self.texts[usize::from(code)].as_str());
        let texts: StringChunked = texts.map(Some).collect();
        texts
            .with_name(self.name.clone())
            .into_series()
            .into_column()
    }

    /// Numbers, or texts where missing codes may stand among them.
    fn numeric_column<T: std::fmt::Display>(
        &self,
        values: impl Iterator<Item = (u16, Option<u32>)>,
        mut draw: impl FnMut((u16, Option<u32>)) -> T,
    ) -> Column
    where
        Series: NamedFrom<Vec<T>, [T]>,
    {
        if self.texts.is_empty() {
            let values: Vec<T> = values.map(draw).collect();
            return Series::new(self.name.clone(), values).into_column();
        }
        let texts: StringChunked = values
            .map(|(code, scaled)| {
                Some(match code.checked_sub(self.first_text) {
                    Some(missing) => self.texts[usize::from(missing)].clone(),
                    None => draw((code, scaled)).to_string(),
                })
            })
            .collect();
        texts
            .with_name(self.name.clone())
            .into_series()
            .into_column()
    }
}

/// An integer of a bin: drawn, or of the outcome the integer nearest to its fixed-point value.
fn integer(bins: &Bins, span: &Span, code: u16, scaled: Option<u32>, rng: &mut ChaCha8Rng) -> i64 {
    let bin = bins.get(code);
    match scaled {
        Some(scaled) => span.value(scaled).round().clamp(bin.lower, bin.upper) as i64,
        None => rng.random_range(bin.lower as i64..=bin.upper as i64),
    }
}

/// A real of a bin: drawn, or of the outcome its fixed-point value, and in either case rounded where the
/// rounded value is read back as the same bin.
fn real(bins: &Bins, span: &Span, code: u16, scaled: Option<u32>, rng: &mut ChaCha8Rng) -> f64 {
    let bin = bins.get(code);
    if bin.is_point() {
        return bin.lower;
    }
    let exact = match scaled {
        Some(scaled) => span.value(scaled),
        None => bin.lower + (bin.upper - bin.lower) * rng.random::<f64>(),
    };
    // The ends themselves may belong to a neighbour.
    let inner = exact.clamp(bin.lower.next_up(), bin.upper.next_down());
    let is_inside =
        |value: &f64| (span.lower..=span.upper).contains(value) && bins.of_real(*value) == code;
    [span.round(exact), exact, inner]
        .into_iter()
        .find(is_inside)
        .unwrap_or_else(|| bin.midpoint())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::testing::{schema, table};

    fn decoded(name: &str, codes: Vec<u16>, seed: u64, block: u32) -> Column {
        let schema = schema();
        let index = schema.column(name).unwrap();
        let rows = codes.len();
        let mut table = table(rows, 1);
        table.codes[index] = Some(codes);
        Decoder::new(&schema.columns[index], index)
            .decode(&table, 0..rows, seed, block)
            .unwrap()
    }

    #[test]
    fn integers_are_uniform_on_the_bin() {
        // 14 values 16..=29 in 14000 draws: chi-square with 13 degrees of freedom exceeds 54.0 with
        // probability below 1e-6.
        let column = decoded("age", vec![0; 14_000], 3, 0);
        let mut counts = [0f64; 14];
        for text in column.str().unwrap().iter() {
            let age: usize = text.unwrap().parse().unwrap();
            counts[age - 16] += 1.0;
        }
        let chi_square: f64 = counts.iter().map(|n| (n - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 54.0, "{chi_square}");
    }

    #[test]
    fn reals_are_uniform_within_the_bin_and_rounded() {
        // Bin (0, 0.5): the mean of 10000 draws has standard error 0.5 / sqrt(12 * 10000) = 0.00144;
        // five of them are exceeded with probability 6e-7.
        let column = decoded("score", vec![2; 10_000], 4, 0);
        let values: Vec<f64> = column.f64().unwrap().iter().map(|v| v.unwrap()).collect();
        let mean = values.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.25).abs() < 5.0 * 0.00144, "{mean}");
        assert!(values.iter().all(|v| 0.0 < *v && *v < 0.5));
        // 2^-22 of the range of 2 is 4.8e-7: seven decimals.
        assert!(values.iter().all(|v| v.to_string().len() <= 9));
        let points = decoded("score", vec![1; 5], 4, 0);
        assert!(points.f64().unwrap().iter().all(|v| v == Some(0.0)));
    }

    #[test]
    fn streams_differ_by_seed_and_block_only() {
        let draw = |seed, block| decoded("score", vec![0; 50], seed, block);
        let equal = |a: Column, b: Column| a.equals(&b);
        assert!(equal(draw(1, 0), draw(1, 0)));
        assert!(!equal(draw(1, 0), draw(2, 0)));
        assert!(!equal(draw(1, 0), draw(1, 1)));
    }

    #[test]
    fn tables_that_do_not_fit_are_refused() {
        let schema = schema();
        let decoder = Decoder::new(&schema.columns[4], 4);
        let mut table = table(3, 1);
        table.codes[4] = Some(vec![0, 3, 0]);
        assert!(decoder.decode(&table, 0..3, 0, 0).is_err(), "no such code");
        table.codes[4] = Some(vec![0]);
        assert!(decoder.decode(&table, 0..3, 0, 0).is_err(), "too short");
        table.codes[4] = None;
        assert!(decoder.decode(&table, 0..3, 0, 0).is_err(), "absent");
    }
}

//! Rows sampled from a model, as a coded table.

use super::{Purpose, derived_seed, stream};
use crate::model::{Model, ModelError, Variables};
use crate::schema::{Kind, SCALE, Schema};
use crate::table::CodedTable;
use rand::RngExt;
use rayon::prelude::*;

/// Samples `rows` rows from a model, with as little sampling error as there can be.
///
/// Codes come from the model; a numeric outcome is drawn uniformly within its grid cell and kept in
/// fixed point. A covariate that the model does not have (no measurement names it) is drawn evenly from its possible
/// levels: nothing is known of it.
///
/// # Errors
/// Where there are more rows than 32 bits count.
pub fn sample_rows(
    model: &Model,
    variables: &Variables,
    schema: &Schema,
    rows: usize,
    seed: u64,
) -> Result<CodedTable, ModelError> {
    let sampled = model.sample(rows, derived_seed(seed, Purpose::Rows, 0))?;
    Ok(decode_rows(sampled, variables, schema, rows, seed, 0))
}

/// Turns sampled variables into the schema's columns.
fn decode_rows(
    mut sampled: Vec<Vec<u16>>,
    variables: &Variables,
    schema: &Schema,
    rows: usize,
    seed: u64,
    index: u64,
) -> CodedTable {
    let mut table = CodedTable {
        rows,
        codes: vec![None; schema.columns.len()],
        ..CodedTable::default()
    };
    if let Some(outcome) = variables.outcome {
        let kind = &schema.columns[variables.columns[outcome]].kind;
        let mut random = stream(seed, Purpose::Values, index);
        table.outcome.reserve(rows);
        for code in &mut sampled[outcome] {
            let cell = &variables.grid.cells[usize::from(*code)];
            let value = match kind {
                Kind::Integer { .. } => {
                    random.random_range(cell.lower as i64..=cell.upper as i64) as f64
                }
                Kind::Real { .. } if cell.lower < cell.upper => {
                    random.random_range(cell.lower..cell.upper)
                }
                _ => cell.lower,
            };
            // `scaled_outcome` lies in 0..=SCALE, which a u32 holds.
            const { assert!(SCALE <= u32::MAX as i64) };
            table
                .outcome
                .push(Schema::scaled_outcome(kind, value) as u32);
            *code = cell.bin;
        }
    }
    for (&column, codes) in variables.columns.iter().zip(sampled) {
        table.codes[column] = Some(codes);
    }
    draw_unmeasured(
        &mut table,
        schema,
        &mut stream(seed, Purpose::Unmeasured, index),
    );
    table
}

/// How often a row's unmeasured covariates are drawn until they are possible. Where structural zeros leave half of
/// their combinations, one row in 2^64 is not.
const MOST_DRAWS: usize = 64;

/// Draws the covariates that are not there, evenly among the combinations that structural zeros leave with the rest of
/// each row.
fn draw_unmeasured(table: &mut CodedTable, schema: &Schema, random: &mut impl RngExt) {
    let covariates = schema.covariates().into_iter();
    let missing: Vec<usize> = covariates.filter(|&c| table.codes[c].is_none()).collect();
    let zeros = schema.structural_zeros.iter();
    let zeros: Vec<_> = zeros
        .filter(|zero| zero.conditions.iter().any(|(c, _)| missing.contains(c)))
        .collect();
    let mut drawn: Vec<Vec<u16>> = vec![Vec::with_capacity(table.rows); missing.len()];
    let mut codes = vec![0; missing.len()];
    for row in 0..table.rows {
        for _ in 0..MOST_DRAWS {
            for (code, &column) in codes.iter_mut().zip(&missing) {
                *code = random.random_range(0..schema.columns[column].levels() as u16);
            }
            let holds = |(column, ruled_out): &(usize, Vec<u16>)| {
                let code = match missing.iter().position(|c| c == column) {
                    Some(at) => Some(codes[at]),
                    None => table.codes[*column].as_ref().map(|codes| codes[row]),
                };
                code.is_some_and(|code| ruled_out.contains(&code))
            };
            if !zeros.iter().any(|zero| zero.conditions.iter().all(holds)) {
                break;
            }
        }
        for (drawn, &code) in drawn.iter_mut().zip(&codes) {
            drawn.push(code);
        }
    }
    for (column, drawn) in missing.into_iter().zip(drawn) {
        table.codes[column] = Some(drawn);
    }
}

/// Samples one table of independent rows per model, in parallel, and stacks them in order; table `k` (from 1) depends on the
/// seed and `k` only.
///
/// # Errors
/// As [`sample_rows`].
pub fn impute_tables(
    models: &[Model],
    variables: &Variables,
    schema: &Schema,
    rows: usize,
    seed: u64,
) -> Result<CodedTable, ModelError> {
    let tables: Vec<CodedTable> = models
        .par_iter()
        .enumerate()
        .map(|(k, model)| {
            let index = k as u64 + 1;
            let sampled =
                model.sample_independent(rows, derived_seed(seed, Purpose::Rows, index))?;
            Ok(decode_rows(sampled, variables, schema, rows, seed, index))
        })
        .collect::<Result<_, _>>()?;
    let mut stack = CodedTable {
        codes: vec![None; schema.columns.len()],
        ..CodedTable::default()
    };
    let mut imputation = Vec::with_capacity(rows * models.len());
    for (k, table) in tables.into_iter().enumerate() {
        stack.rows += table.rows;
        stack.outcome.extend(table.outcome);
        imputation.extend(std::iter::repeat_n(k as u32 + 1, table.rows));
        for (all, codes) in stack.codes.iter_mut().zip(table.codes) {
            if let Some(codes) = codes {
                all.get_or_insert_default().extend(codes);
            }
        }
    }
    stack.imputation = Some(imputation);
    Ok(stack)
}

//! The exact answers to queries, which stay confidential.

use crate::privacy::Confidential;
use crate::schema::{Query, Schema};
use crate::table::{CodedTable, tabulate};

/// Exact answers, each row-major, in units of `1 / SCALE` of a record.
pub struct Answers(pub Vec<Vec<i64>>);

/// Queries to answer.
pub struct Asked<'a> {
    /// The schema.
    pub schema: &'a Schema,
    /// The queries.
    pub queries: &'a [Query],
}

/// Answers in one pass.
///
/// # Panics
/// If a query can't be counted, which a plan refuses.
pub fn answers(table: &CodedTable, asked: &Asked) -> Answers {
    let counts = tabulate(table, asked.schema, asked.queries);
    Answers(counts.expect("a plan refuses marginals that can't be counted"))
}

/// One of the answers, to be measured.
pub fn answer_of(answers: &Confidential<Answers>, index: usize) -> Confidential<Vec<i64>> {
    answers.ask(&index, |answers: &Answers, &index: &usize| {
        answers.0[index].clone()
    })
}

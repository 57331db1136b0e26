//! The room's tests: hand-worked comparisons, the propensity score's law, and who may open what.

mod comparison;
mod opening;
mod propensity;

use super::{Evaluation, Options, Question, evaluate};
use crate::privacy::{Confidential, Form};
use crate::schema::Schema;
use crate::table::CodedTable;
use serde_json::Value;

/// A form that is the value's JSON, for tests to look into.
struct Json(String);

impl Form for Json {
    fn stamped(self, _: &'static str) -> String {
        self.0
    }
}

fn compared(real: &CodedTable, question: &Question) -> Value {
    let internal = evaluate(&Confidential::new(real.clone()), question).unwrap();
    let form = |evaluation: &Evaluation, (): &()| Json(serde_json::to_string(evaluation).unwrap());
    serde_json::from_str(&internal.show(&(), form)).unwrap()
}

fn evaluation(schema: &Schema, real: &CodedTable, synthetic: &CodedTable) -> Value {
    let question = Question::new(schema.clone(), synthetic.clone(), None, Options::default());
    compared(real, &question.unwrap())
}

//! Tests of the workload document.

mod documents;
mod effects;
mod errors;
mod queries;

use super::*;

const SCHEMA: &str = "\
format: dpcausal.schema/1
columns:
  - {name: treat, role: treatment, type: categorical, levels: [0, 1]}
  - {name: age, type: integer, bounds: [16, 60], bins: 4}
  - {name: married, type: boolean}
  - {name: region, type: categorical, levels: [a, b, c]}
  - {name: person, role: id}
  - {name: wage, role: outcome, type: integer, bounds: [0, 9], bins: 5}
";

const WORKLOAD: &str = "\
format: dpcausal.workload/1
mechanism: causal
adjacency: add-remove
accountant: zcdp
blocks:
  hub: {share: 0.2}
  leaves: {share: 0.4, columns: all}
  pairs: {share: 0.3, columns: [[region, age], [age, married]]}
  spread: {share: 0.1}
model: {max_cells: 1000}
";

fn schema() -> Schema {
    Schema::parse(SCHEMA, "s.yaml").unwrap().0
}

fn two_level_schema() -> Schema {
    let text = SCHEMA.replace("type: integer, bounds: [0, 9], bins: 5", "type: boolean");
    Schema::parse(&text, "s.yaml").unwrap().0
}

fn parse(text: &str, schema: &Schema) -> Result<Workload, String> {
    match Workload::parse(text, "w.yaml", schema) {
        Ok((workload, _)) => Ok(workload),
        Err(error) => Err(error.to_string()),
    }
}

/// The workload with effects of half the budget.
fn with_effects(effects: &str) -> String {
    WORKLOAD.replace("blocks:\n", &format!("effects: {effects}\nblocks:\n"))
}

//! Sensitivities of every block of the causal workload, by brute force over neighbouring tables.
//!
//! Answers are sums over rows, so two neighbours' answers differ by what one unit adds (add-remove), or by
//! the difference of what two units add (replace-one). All units of up to `max_rows` rows, each row any
//! combination of a small domain's levels and a few outcomes, are tried.

use dpcausal::measure::{Guarantee, Plan};
use dpcausal::privacy::Budget;
use dpcausal::schema::{SCALE, Schema};
use dpcausal::table::{CodedTable, tabulate};
use dpcausal::workload::Workload;

const SCHEMA: &str = "
format: dpcausal.schema/1
rows: 100
unit: UNIT
columns:
  - {name: person, role: id}
  - {name: treat, role: treatment, type: categorical, levels: [0, 1]}
  - {name: sex, type: categorical, levels: [f, m]}
  - {name: region, type: categorical, levels: [north, south], missing: [\"\"]}
  - {name: y, role: outcome, OUTCOME}
";

const WORKLOAD: &str = "
format: dpcausal.workload/1
mechanism: causal
adjacency: ADJACENCY
accountant: gdp
blocks:
  hub: {share: 0.2}
  leaves: {share: 0.5, columns: all}
  pairs: {share: 0.25, columns: all}
  spread: {share: 0.05}
";

/// One row: codes by column, and the outcome in fixed point.
type Row = ([u16; 5], u32);

/// Every row of the domain, with the outcomes that matter: the ends, the middle and something odd.
fn rows(numeric: bool) -> Vec<Row> {
    let scale = SCALE as u32;
    // Bins of the numeric outcome: 0..=4 and 5..=10 of 0..=10.
    let outcomes: Vec<(u16, u32)> = if numeric {
        vec![(0, 0), (0, scale / 3), (1, scale / 2), (1, scale)]
    } else {
        vec![(0, 0), (1, scale)]
    };
    let mut rows = Vec::new();
    for treat in 0..2 {
        for sex in 0..2 {
            for region in 0..3 {
                rows.extend(
                    outcomes
                        .iter()
                        .map(|&(bin, y)| ([0, treat, sex, region, bin], y)),
                );
            }
        }
    }
    rows
}

fn table(rows: &[Row]) -> CodedTable {
    let column = |c: usize| (c > 0).then(|| rows.iter().map(|(codes, _)| codes[c]).collect());
    CodedTable {
        rows: rows.len(),
        codes: (0..5).map(column).collect(),
        outcome: rows.iter().map(|(_, y)| *y).collect(),
        ..CodedTable::default()
    }
}

fn squared(values: impl Iterator<Item = i64>) -> u128 {
    values.map(|v| u128::from(v.unsigned_abs()).pow(2)).sum()
}

/// For each query: its name, the stated squared sensitivity, and the largest squared distance found.
fn stated_and_found(unit: &str, numeric: bool, adjacency: &str) -> Vec<(String, u128, u128)> {
    let outcome = if numeric {
        "type: integer, bounds: [0, 10], bins: [0, 5, 10]"
    } else {
        "type: boolean"
    };
    let schema = SCHEMA.replace("UNIT", unit).replace("OUTCOME", outcome);
    let (schema, _) = Schema::parse(&schema, "schema").expect("a schema");
    let (workload, _) = Workload::parse(
        &WORKLOAD.replace("ADJACENCY", adjacency),
        "workload",
        &schema,
    )
    .expect("a workload");
    let guarantee = Guarantee::new(Budget::gdp(1.0).expect("a budget"), &schema);
    let plan = Plan::new(schema, workload, guarantee).expect("a plan");
    let rows = rows(numeric);
    let mut units: Vec<Vec<Row>> = vec![vec![]];
    units.extend(rows.iter().map(|&row| vec![row]));
    if plan.schema.unit.max_rows() == 2 {
        for (i, &first) in rows.iter().enumerate() {
            units.extend(rows[i..].iter().map(|&second| vec![first, second]));
        }
    }
    let queries = plan.queries();
    let answers: Vec<Vec<Vec<i64>>> = units
        .iter()
        .map(|unit| tabulate(&table(unit), &plan.schema, &queries).expect("answers"))
        .collect();
    let largest = |q: usize| -> u128 {
        if adjacency == "add-remove" {
            return answers
                .iter()
                .map(|a| squared(a[q].iter().copied()))
                .max()
                .unwrap_or(0);
        }
        let distance = |a: &Vec<Vec<i64>>, b: &Vec<Vec<i64>>| {
            squared(a[q].iter().zip(&b[q]).map(|(x, y)| x - y))
        };
        answers
            .iter()
            .enumerate()
            .flat_map(|(i, a)| answers[..i].iter().map(move |b| distance(a, b)))
            .max()
            .unwrap_or(0)
    };
    let stated = |q: usize| plan.measurements[q].mechanism.sensitivity().squared();
    (0..queries.len())
        .map(|q| (queries[q].name.clone(), stated(q), largest(q)))
        .collect()
}

#[test]
fn no_neighbours_are_further_apart_than_stated() {
    for unit in ["row", "{column: person, max_rows: 2}"] {
        for numeric in [true, false] {
            for adjacency in ["add-remove", "replace-one"] {
                let blocks = stated_and_found(unit, numeric, adjacency);
                assert_eq!(blocks.len(), if numeric { 6 } else { 4 });
                for (name, stated, found) in blocks {
                    let context =
                        format!("{name}, {adjacency}, {unit}: {found} found, {stated} stated");
                    assert!(found <= stated, "{context}");
                    // The bound is attained, up to rounding of fixed-point outcomes.
                    assert!(found as f64 >= 0.99 * stated as f64, "{context}");
                }
            }
        }
    }
}

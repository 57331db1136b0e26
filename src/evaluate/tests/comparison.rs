//! Comparisons small enough to be worked by hand.

use super::{compared, evaluation};
use crate::estimate::Options as EstimateOptions;
use crate::estimate::{Estimand, Estimator, Rows, estimate};
use crate::evaluate::{EvaluateError, Options, Question, evaluate};
use crate::privacy::Confidential;
use crate::schema::{SCALE, Schema};
use crate::table::CodedTable;
use crate::workload::Workload;
use serde_json::Value;

const SCHEMA: &str = "
format: dpcausal.schema/1
columns:
  - {name: t, role: treatment, type: boolean}
  - {name: x, type: categorical, levels: [a, b, c]}
  - {name: w, type: boolean}
  - {name: y, role: outcome, type: boolean}
";

fn schema() -> Schema {
    Schema::parse(SCHEMA, "s.yaml").unwrap().0
}

fn table(t: &[u16], x: &[u16], w: &[u16], y: &[u16]) -> CodedTable {
    CodedTable {
        rows: t.len(),
        codes: [t, x, w, y].map(|codes| Some(codes.to_vec())).to_vec(),
        outcome: y.iter().map(|&y| u32::from(y) * SCALE as u32).collect(),
        ..CodedTable::default()
    }
}

fn real() -> CodedTable {
    table(
        &[0, 0, 0, 0, 1, 1, 1, 1],
        &[0, 0, 1, 2, 0, 1, 1, 2],
        &[0, 0, 1, 1, 0, 1, 1, 1],
        &[0, 1, 0, 0, 1, 1, 0, 1],
    )
}

/// Half as many rows, `x` shifted and `w` no longer tied to it.
fn synthetic() -> CodedTable {
    table(&[0, 0, 1, 1], &[0, 1, 0, 0], &[1, 0, 0, 1], &[0, 1, 1, 1])
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

fn pair(page: &Value, a: &str, b: &str) -> f64 {
    let pairs = page["pairs"].as_array().unwrap();
    let pair = pairs
        .iter()
        .find(|pair| pair["columns"] == serde_json::json!([a, b]));
    number(&pair.unwrap()["total_variation"])
}

#[test]
fn total_variations_by_hand() {
    let page = evaluation(&schema(), &real(), &synthetic());
    let columns = page["columns"].as_array().unwrap();
    // x: (3, 3, 2) / 8 against (3, 1, 0) / 4: the excess of a is 3/8.
    assert_eq!(columns[1]["total_variation"], 0.375);
    // w: 5/8 against 1/2. t: the same. y: 1/2 against 3/4.
    assert_eq!(columns[2]["total_variation"], 0.125);
    assert_eq!(columns[0]["total_variation"], 0.0);
    assert_eq!(columns[3]["total_variation"], 0.25);
    // (x, w): a0 3/8, b1 3/8, c1 2/8 against a1 2/4, b0 1/4, a0 1/4.
    assert_eq!(pair(&page, "x", "w"), 0.75);
    let singles = &page["marginals"][0];
    assert_eq!(singles["mean"], (0.375 + 0.125 + 0.25) / 4.0);
    assert_eq!(singles["max"], 0.375);
    assert_eq!(singles["worst"][0]["columns"][0], "x");
    let triples = &page["marginals"][2];
    assert_eq!(
        (&triples["degree"], &triples["compared"]),
        (&3.into(), &4.into())
    );
    // Without a workload: the L1 distance over the triples.
    let error = number(&page["workload_error"]["error"]);
    assert!((error - 2.0 * number(&triples["mean"])).abs() < 1e-15);
}

#[test]
fn identical_tables_differ_in_nothing() {
    let page = evaluation(&schema(), &real(), &real());
    for degree in page["marginals"].as_array().unwrap() {
        assert_eq!(
            (&degree["mean"], &degree["max"]),
            (&0.0.into(), &0.0.into())
        );
    }
    assert_eq!(page["workload_error"]["error"], 0.0);
    let pmse = number(&page["propensity"]["utility"]["pmse"]);
    assert!(pmse < 1e-20, "{pmse}");
    for row in page["balance"].as_array().unwrap() {
        assert_eq!(row["confidential"], row["synthetic"]);
    }
    for row in page["effects"].as_array().unwrap() {
        assert_eq!(row["confidential"], row["synthetic"], "{row}");
        assert!(row["confidential"]["reason"].is_null() || row["estimator"] == "regression");
    }
}

#[test]
fn balance_by_hand() {
    let page = evaluation(&schema(), &real(), &synthetic());
    let rows = page["balance"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|r| r["covariate"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["x=b", "x=c", "w=true"]);
    // x=b: 1/2 of the treated, 1/4 of the controls; variances 1/4 and 3/16.
    let spread = ((0.25 + 0.1875) / 2.0_f64).sqrt();
    let row = &rows[0];
    assert!((number(&row["confidential"]) - 0.25 / spread).abs() < 1e-12);
    // None of the synthetic treated, half of the controls, in the same units.
    assert!((number(&row["synthetic"]) + 0.5 / spread).abs() < 1e-12);
    assert_eq!(row["contrast"], "t true - false");
}

#[test]
fn effects_are_those_of_the_estimators() {
    let (real, synthetic) = (real(), synthetic());
    let page = evaluation(&schema(), &real, &synthetic);
    let row = &page["effects"][0];
    assert_eq!(row["estimator"], "difference-in-means");
    // 3/4 less 1/4, and 1 less 1/2.
    assert_eq!(row["confidential"]["estimate"], 0.5);
    assert_eq!(row["synthetic"]["estimate"], 0.5);
    assert_eq!(row["standardised_difference"], 0.0);
    let options = EstimateOptions::default();
    let found = estimate(
        &real,
        &Rows::All,
        &schema(),
        Estimator::DifferenceInMeans,
        Estimand::Ate,
        1,
        &options,
    );
    let error = found.unwrap().variance.sqrt();
    assert!((number(&row["confidential"]["standard_error"]) - error).abs() < 1e-15);
}

/// A stack of the real and the synthetic table: every number is the mean of theirs.
#[test]
fn imputations_are_averaged() {
    let (real, synthetic) = (real(), synthetic());
    let mut stack = real.clone();
    stack.rows += synthetic.rows;
    for (codes, more) in stack.codes.iter_mut().zip(&synthetic.codes) {
        codes.as_mut().unwrap().extend(more.as_ref().unwrap());
    }
    stack.outcome.extend(&synthetic.outcome);
    stack.imputation = Some([vec![2; real.rows], vec![1; synthetic.rows]].concat());
    let [one, both] = [&synthetic, &stack].map(|table| evaluation(&schema(), &real, table));
    assert_eq!(
        (&both["imputations"], &both["rows"]),
        (&2.into(), &12.into())
    );
    for k in 0..3 {
        let [alone, mean] = [&one, &both].map(|page| number(&page["marginals"][k]["mean"]));
        assert!((mean - alone / 2.0).abs() < 1e-15);
    }
    let [alone, mean] = [&one, &both].map(|p| number(&p["propensity"]["utility"]["pmse"]));
    assert!((mean - alone / 2.0).abs() < 1e-12);
    let [alone, mean] = [&one, &both].map(|p| number(&p["columns"][1]["synthetic"][0]));
    assert!((mean - (alone + 0.375) / 2.0).abs() < 1e-15);
}

#[test]
fn a_workload_weighs_its_marginals() {
    let schema = schema();
    let text = "
format: dpcausal.workload/1
mechanism: aim
marginals:
  - {columns: [x, w], weight: 3}
  - {columns: [t, y]}
";
    let workload = Workload::parse(text, "w.yaml", &schema).unwrap().0;
    let synthetic = synthetic();
    let question = Question::new(
        schema.clone(),
        synthetic.clone(),
        Some(&workload),
        Options::default(),
    );
    let page = compared(&real(), &question.unwrap());
    let expected = 2.0 * (3.0 * 0.75 + pair(&page, "t", "y")) / 4.0;
    let error = number(&page["workload_error"]["error"]);
    assert!((error - expected).abs() < 1e-15, "{error} {expected}");
    assert_eq!(page["workload_error"]["arrays"], 2);
    // Effects alone have no marginals.
    let effects = "format: dpcausal.workload/1\nmechanism: causal\neffects: {share: 1}\n";
    let workload = Workload::parse(effects, "w.yaml", &schema).unwrap().0;
    let refused = Question::new(schema, synthetic, Some(&workload), Options::default());
    assert!(matches!(refused.err(), Some(EvaluateError::NoMarginals)));
}

#[test]
fn a_limit_is_kept_and_said() {
    let options = Options {
        degree: 3,
        limit: 2,
    };
    let question = Question::new(schema(), synthetic(), None, options).unwrap();
    let page = compared(&real(), &question);
    assert_eq!(page["marginals"][1]["possible"], 6);
    assert_eq!(page["marginals"][1]["compared"], 2);
    // Of six pairs the middles of both halves: places 1 and 4.
    assert_eq!(page["pairs"][0]["columns"], serde_json::json!(["t", "w"]));
    assert_eq!(page["pairs"][1]["columns"], serde_json::json!(["x", "y"]));
    let notes = page["notes"].to_string();
    assert!(notes.contains("2 of 6, evenly spaced"), "{notes}");
}

#[test]
fn tables_without_rows_are_refused() {
    let empty = table(&[], &[], &[], &[]);
    let question = Question::new(schema(), empty.clone(), None, Options::default());
    assert!(matches!(
        question.err(),
        Some(EvaluateError::NoRows { which: "synthetic" })
    ));
    let question = Question::new(schema(), synthetic(), None, Options::default()).unwrap();
    let refused = evaluate(&Confidential::new(empty), &question).err();
    assert!(matches!(
        refused,
        Some(EvaluateError::NoRows {
            which: "confidential"
        })
    ));
}

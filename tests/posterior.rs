//! The Laplace posterior from the command line: what it says, and that its kappa reaches the interval.

mod common;

use common::Scratch;
use serde_json::Value;

/// The rows of an analysis.
fn effects(page: &Value) -> Vec<&Value> {
    let rows = page["effects"].as_array().expect("rows");
    // The effects part has a posterior of its own.
    rows.iter()
        .filter(|row| row["route"] != "effects")
        .collect()
}

/// Whether a row's notes speak of the star's over-adjustment.
fn is_cautioned(row: &Value) -> bool {
    row["notes"].to_string().contains("over-adjusts")
}

#[test]
fn imputed_tables_carry_the_posterior_and_its_caution() {
    let scratch = Scratch::new();
    scratch.measure("release.json", 5.0);
    let impute = scratch.run("impute release.json --posterior laplace -m 20 -o imputed.parquet");
    assert!(impute.stderr.contains("over-adjusts"), "{}", impute.stderr);
    let page = scratch.run("analyze imputed.parquet --json").json();
    for row in effects(&page) {
        assert_eq!(row["kappa"], 0);
        assert_eq!(row["formula"], "T = (1 + 1/m) B - U");
        assert_eq!(is_cautioned(row), row["estimator"] != "difference-in-means");
    }
    // Whoever says that they come from elsewhere is refused, with the release at hand or without it.
    scratch.run_for("analyze imputed.parquet --posterior noise", 2);
    scratch.run_for(
        "analyze imputed.parquet --posterior noise --release release.json",
        2,
    );
}

#[test]
fn a_csv_stack_is_told_where_it_comes_from() {
    let scratch = Scratch::new();
    scratch.measure("release.json", 5.0);
    scratch.run("impute release.json --posterior laplace -m 10 -o imputed.csv -q");
    let analyze = "analyze imputed.csv --release release.json --json -q";
    let told = scratch
        .run(&format!("{analyze} --posterior laplace"))
        .json();
    assert!(effects(&told).iter().all(|row| row["kappa"] == 0));
    assert!(effects(&told).iter().any(|row| is_cautioned(row)));
    let untold = scratch.run(analyze).json();
    assert!(effects(&untold).iter().all(|row| row["kappa"] == 1));
}

#[test]
fn the_moment_route_draws_from_either_posterior() {
    let scratch = Scratch::new();
    scratch.measure("release.json", 5.0);
    let laplace = scratch.run("analyze release.json --posterior laplace --json");
    assert!(
        laplace.stderr.contains("over-adjusts"),
        "{}",
        laplace.stderr
    );
    let page = laplace.json();
    for row in effects(&page) {
        assert_eq!(row["kappa"], 0);
        assert_eq!(row["formula"], "T = (1 + 1/m) B");
        assert_eq!(is_cautioned(row), row["estimator"] != "difference-in-means");
    }
    let noise = scratch.run("analyze release.json --posterior noise --json");
    assert!(!noise.stderr.contains("over-adjusts"), "{}", noise.stderr);
    assert!(
        effects(&noise.json())
            .iter()
            .all(|row| row["kappa"] == 1 && !is_cautioned(row))
    );
}

/// Men with twelve years of schooling have a degree, in every imputed table.
#[test]
fn structural_zeros_hold_in_imputed_tables() {
    let scratch = Scratch::new();
    scratch.measure("release.json", 1.0);
    scratch.run("impute release.json --posterior laplace -m 5 -o imputed.csv -q");
    let text = String::from_utf8(scratch.read("imputed.csv")).expect("text");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let column = |name: &str| header.iter().position(|h| *h == name).expect("a column");
    let (education, nodegree) = (column("education"), column("nodegree"));
    let mut rows = 0;
    for row in lines {
        let years: f64 = row[education].parse().expect("a number");
        assert_eq!(row[nodegree] == "1", years < 12.0, "{row:?}");
        rows += 1;
    }
    assert!(rows > 5 * 300, "{rows}");
}

//! `evaluate`: a synthetic table against the confidential one, as an agency's staff run it.

mod common;

use common::Scratch;
use serde_json::Value;

const STAMP: &str = "INTERNAL, NOT FOR RELEASE";

/// A scratch folder with 2000 rows that follow LaLonde's release at a loose budget.
fn synthesised() -> Scratch {
    let scratch = Scratch::new();
    scratch.measure("release.json", 20.0);
    scratch.run("reconstruct release.json --rows 2000 -q -o synthetic.csv");
    scratch
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn every_form_is_stamped_on_paper_and_on_the_screen() {
    let scratch = synthesised();
    let words = "evaluate synthetic.csv --against lalonde.csv --schema schema.yaml";
    let text = scratch.run(&format!("{words} --html page.html"));
    assert_eq!(text.text().lines().next(), Some(STAMP));
    // Quiet takes away notes, not the stamp.
    let quiet = scratch.run(&format!("{words} --json -q"));
    for output in [&text, &quiet] {
        assert!(output.stderr.contains(STAMP), "{}", output.stderr);
    }
    let page = quiet.json();
    assert_eq!(page["stamp"], STAMP);
    assert_eq!(page["format"], "dpcausal.evaluation/1");
    let html = String::from_utf8(scratch.read("page.html")).expect("text");
    assert!(
        html.contains(&format!("<title>{STAMP}")),
        "no stamp in the title"
    );
    assert!(html.contains(&format!(">{STAMP}</div>")), "no banner");
    for folder in [env!("CARGO_MANIFEST_DIR"), "/tmp"] {
        assert!(!html.contains(folder), "a path in the page");
    }
    // The same numbers, wherever they are written and by however many threads.
    let again = scratch.run(&format!("{words} --json -q --threads 1"));
    assert_eq!(again.stdout, quiet.stdout);
    let mean = number(&page["marginals"][1]["mean"]);
    assert!(
        text.text().contains(&format!("{mean:.4}")),
        "{}",
        text.text()
    );
}

/// LaLonde has 10 coded columns: 45 pairs and 120 triples.
#[test]
fn the_page_holds_marginals_effects_and_balance() {
    let scratch = synthesised();
    let words = "evaluate synthetic.csv --against lalonde.csv --schema schema.yaml --json -q";
    let page = scratch.run(words).json();
    assert_eq!(
        (&page["records"], &page["rows"]),
        (&445.into(), &2000.into())
    );
    let compared: Vec<&Value> = (page["marginals"].as_array().expect("degrees").iter())
        .map(|degree| &degree["compared"])
        .collect();
    assert_eq!(compared, [10, 45, 120]);
    assert_eq!(page["pairs"].as_array().expect("pairs").len(), 45);
    let means = [0, 1, 2].map(|k| number(&page["marginals"][k]["mean"]));
    assert!(
        means.is_sorted(),
        "more columns can only differ more: {means:?}"
    );
    let effect = &page["effects"][0];
    let ask = "analyze lalonde.csv --schema schema.yaml --estimand ate --estimator difference-in-means --json";
    let alone = &scratch.run(ask).json()["effects"][0];
    for field in ["estimate", "standard_error"] {
        assert_eq!(effect["confidential"][field], alone[field]);
    }
    assert_eq!(effect["contrast"], "treat 1 - 0");
    assert!(number(&page["propensity"]["utility"]["ratio"]) > 0.0);
    assert_eq!(page["balance"][0]["contrast"], "treat 1 - 0");
    // A table against itself.
    let words = "evaluate lalonde.csv --against lalonde.csv --schema schema.yaml --json -q";
    let page = scratch.run(words).json();
    assert_eq!(page["marginals"][2]["max"], 0.0);
    assert_eq!(page["effects"][1]["standardised_difference"], 0.0);
}

#[test]
fn imputations_and_workloads_are_understood() {
    let scratch = synthesised();
    scratch.run("impute release.json -m 3 --rows 400 -q -o imputed.parquet");
    let words = "evaluate imputed.parquet --against lalonde.csv --schema schema.yaml --workload workload.yaml --degree 2 --limit 7";
    let page = scratch.run(&format!("{words} --json")).json();
    assert_eq!(
        (&page["imputations"], &page["rows"]),
        (&3.into(), &1200.into())
    );
    assert_eq!(page["marginals"][1]["compared"], 7);
    assert!(
        page["notes"].to_string().contains("7 of 45"),
        "{}",
        page["notes"]
    );
    assert_eq!(page["workload_error"]["workload"], "as given");
    let text = scratch.run(words).text();
    assert!(
        text.contains("1,200 synthetic rows of 3 imputations"),
        "{text}"
    );
    // The synthetic table may come through a pipe.
    let output = scratch
        .command()
        .args("evaluate - --against lalonde.csv --schema schema.yaml".split(' '))
        .write_stdin(scratch.read("synthetic.csv"))
        .output()
        .expect("the command runs");
    assert!(output.status.success());
}

/// A row that does not fit is named by file, line and column, in either file, and never quoted.
#[test]
fn what_does_not_fit_is_named_and_not_quoted() {
    let scratch = synthesised();
    let broken = |name: &str, from: &str| {
        let text = String::from_utf8(scratch.read(from)).expect("text");
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        let cells: Vec<&str> = lines[4].split(',').collect();
        let age = (lines[0].split(',').position(|name| name == "age")).expect("a column");
        let mut cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
        cells[age] = "sesame".into();
        lines[4] = cells.join(",");
        scratch.write(name, lines.join("\n") + "\n");
    };
    broken("bad.csv", "lalonde.csv");
    broken("worse.csv", "synthetic.csv");
    for (words, file) in [
        (
            "evaluate synthetic.csv --against bad.csv --schema schema.yaml",
            "bad.csv",
        ),
        (
            "evaluate worse.csv --against lalonde.csv --schema schema.yaml",
            "worse.csv",
        ),
    ] {
        let failed = scratch.run_for(words, 3);
        let said = &failed.stderr;
        for part in [file, "line 5", "age", "not a number; correct it"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("sesame"), "{said}");
        assert!(failed.stdout.is_empty());
    }
    // Another schema's table.
    scratch.write("other.csv", "treat,height\n0,180\n");
    let said = scratch
        .run_for(
            "evaluate other.csv --against lalonde.csv --schema schema.yaml",
            3,
        )
        .stderr;
    assert!(
        said.contains("other.csv") && said.contains("`height`"),
        "{said}"
    );
    scratch.write("empty.csv", &scratch.read("lalonde.csv")[..0]);
    scratch.run_for(
        "evaluate empty.csv --against lalonde.csv --schema schema.yaml",
        3,
    );
}

#[test]
fn usage_errors_exit_with_2() {
    let scratch = Scratch::new();
    for words in [
        "evaluate lalonde.csv --schema schema.yaml",
        "evaluate lalonde.csv --against lalonde.csv",
        "evaluate - --against - --schema schema.yaml",
        "evaluate lalonde.csv --against lalonde.csv --schema schema.yaml --degree 9",
        "evaluate lalonde.csv --against lalonde.csv --schema schema.yaml --html -",
        "evaluate lalonde.csv --against lalonde.csv --schema schema.yaml --html nowhere/page.html",
        "evaluate lalonde.csv --against lalonde.csv --schema nowhere.yaml",
    ] {
        let failed = scratch.run_for(words, 2);
        assert!(!failed.stderr.is_empty(), "{words}: no message");
    }
}

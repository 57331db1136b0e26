//! The ledger: nothing is released that it lacks, and it never overspends.
#![cfg(unix)]

mod common;

use common::Scratch;
use std::process::{Command, Stdio};

/// `measure` with this epsilon into this file, not yet run.
fn measure(scratch: &Scratch, epsilon: &str, output: &str) -> Command {
    measure_with(scratch, ["--epsilon", epsilon], output)
}

/// `measure` with this budget into this file, not yet run.
fn measure_with(scratch: &Scratch, budget: [&str; 2], output: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dpcausal"));
    command
        .current_dir(scratch.path(""))
        .args([
            "measure",
            "lalonde.csv",
            "--schema",
            "schema.yaml",
            "--workload",
            "workload.yaml",
        ])
        .args(budget)
        .args(["--ledger", "ledger.jsonl", "-o", output, "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn entries(scratch: &Scratch) -> Vec<String> {
    let page = scratch.run("ledger show ledger.jsonl --json").json();
    page["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|e| e["release"].as_str().expect("an id").to_string())
        .collect()
}

/// A killed `measure` may lose a release but never a charge, and never harms a file that stood there.
#[test]
fn killed_runs_never_release_what_the_ledger_lacks() {
    let scratch = Scratch::new();
    scratch.run("ledger init ledger.jsonl --mu 1000");
    let started = std::time::Instant::now();
    assert!(
        measure(&scratch, "1", "good.json")
            .status()
            .expect("it runs")
            .success()
    );
    let duration = started.elapsed();
    let good = scratch.read("good.json");
    let mut finished = 0;
    for round in 0..200u32 {
        let mut child = measure(&scratch, "1", "release.json")
            .spawn()
            .expect("it starts");
        // Moments spread evenly over a little more than a whole run.
        std::thread::sleep(duration.mul_f64(1.2 * f64::from(round * 73 % 200) / 200.0));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        if let Ok(text) = std::fs::read_to_string(scratch.path("release.json")) {
            let release: serde_json::Value = serde_json::from_str(&text).expect("a whole release");
            let id = release["id"].as_str().expect("an id").to_string();
            assert!(
                entries(&scratch).contains(&id),
                "round {round}: released without a charge"
            );
            finished += 1;
            std::fs::remove_file(scratch.path("release.json")).expect("removable");
        }
    }
    assert!(
        finished > 0,
        "every run was killed too early for the test to mean anything"
    );
    assert!(finished < 200, "no run was killed in time");
    assert_eq!(scratch.read("good.json"), good);
    // A run killed while it replaces a good file leaves the good one or a whole new one.
    for round in 0..20u32 {
        let mut child = measure(&scratch, "1", "good.json")
            .spawn()
            .expect("it starts");
        std::thread::sleep(duration.mul_f64(f64::from(round) / 20.0));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        serde_json::from_slice::<serde_json::Value>(&scratch.read("good.json"))
            .expect("a whole release");
    }
    scratch.run("ledger check ledger.jsonl");
}

/// Each of 32 concurrent runs asks for a tenth of the budget (in mu^2): at most ten get it.
#[test]
fn concurrent_runs_never_exceed_the_budget() {
    let scratch = Scratch::new();
    scratch.run("ledger init ledger.jsonl --mu 1");
    let mut children = Vec::new();
    for run in 0..32 {
        let output = format!("release-{run}.json");
        let mut command = measure_with(&scratch, ["--mu", "0.31622776601683794"], &output);
        children.push(command.spawn().expect("it starts"));
    }
    let codes: Vec<i32> = children
        .into_iter()
        .map(|mut c| c.wait().expect("it ends").code().expect("a code"))
        .collect();
    let granted = codes.iter().filter(|&&c| c == 0).count();
    assert_eq!(granted, 10, "{codes:?}");
    assert!(codes.iter().all(|&c| c == 0 || c == 4), "{codes:?}");
    let written = scratch
        .names()
        .iter()
        .filter(|n| n.starts_with("release-") && n.ends_with(".json"))
        .count();
    assert_eq!((written, entries(&scratch).len()), (10, 10));
    scratch.run("ledger check ledger.jsonl");
}

#[test]
fn over_budget_is_refused_before_any_noise() {
    let scratch = Scratch::new();
    scratch.run("ledger init ledger.jsonl --epsilon 1 --delta 5e-6");
    assert_eq!(
        measure(&scratch, "0.8", "first.json")
            .status()
            .expect("it runs")
            .code(),
        Some(0)
    );
    assert_eq!(
        measure(&scratch, "0.8", "second.json")
            .status()
            .expect("it runs")
            .code(),
        Some(4)
    );
    assert!(!scratch.path("second.json").exists());
    assert_eq!(entries(&scratch).len(), 1);
    scratch.run_for("ledger init ledger.jsonl --mu 1", 2);
}

#[test]
fn invalid_data_cost_nothing() {
    let scratch = Scratch::new();
    scratch.run("ledger init ledger.jsonl --mu 1");
    let mut text = String::from_utf8(scratch.read("lalonde.csv")).expect("text");
    text.push_str("1,37,eleven,1,0,1,1,0,0,9930.046\n");
    scratch.write("lalonde.csv", text);
    let failed = scratch.run_for(
        "measure lalonde.csv --schema schema.yaml --workload workload.yaml --mu 0.5 --ledger ledger.jsonl -o release.json",
        3,
    );
    assert!(
        failed.stderr.contains("447") && failed.stderr.contains("education"),
        "{}",
        failed.stderr
    );
    assert!(
        !failed.stderr.contains("eleven"),
        "the value is echoed: {}",
        failed.stderr
    );
    assert!(entries(&scratch).is_empty());
    assert_eq!(
        scratch.names(),
        [
            "lalonde.csv",
            "ledger.jsonl",
            "schema.yaml",
            "workload.yaml"
        ]
    );
}

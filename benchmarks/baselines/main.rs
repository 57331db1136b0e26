//! MST and AIM on Adult: time, memory and the error of the synthetic table; fits on two fixed problems; AIM on 100
//! columns.

mod fits;
mod fixed;
mod meter;
mod release;
mod tables;
mod variation;

use meter::peak_megabytes;
use std::path::Path;
use tables::Coded;

fn main() {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build_global()
        .expect("one thread");
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let number = |at: usize, default: usize| {
        arguments
            .get(at)
            .map_or(default, |text| text.parse().expect("a number"))
    };
    let folder = || Path::new(arguments.get(1).expect("the folder of Adult"));
    match arguments.first().map(String::as_str) {
        Some("wide") => wide(
            number(1, 100),
            number(2, 100_000),
            number(3, 3),
            number(4, 1_000_000),
        ),
        Some("fit") => {
            let real = |at: usize, default: f64| {
                arguments
                    .get(at)
                    .map_or(default, |text| text.parse().expect("a number"))
            };
            let default = fits::Schedule::default();
            let schedule = fits::Schedule {
                first: real(3, default.first),
                factor: real(4, default.factor),
                tolerance: real(5, default.tolerance),
                by_entropy: arguments.len() > 3,
            };
            fit(
                &tables::adult(folder()),
                arguments.get(2).map(String::as_str),
                schedule,
            );
        }
        Some(mechanism) => mechanisms(&tables::adult(folder()), mechanism, number(2, 5)),
        None => eprintln!(
            "mst|aim-2|aim-3|mwem FOLDER [RUNS], fit FOLDER [PROBLEMS.json], wide [COLUMNS] [ROWS] [DEGREE] [CELLS]"
        ),
    }
}

fn document(mechanism: &str) -> String {
    match mechanism {
        "aim-2" => release::workload("aim", "marginals: {degree: 2}"),
        "aim-3" => release::workload("aim", "marginals: {degree: 3}"),
        other => release::workload(other, ""),
    }
}

fn mechanisms(data: &Coded, mechanism: &str, runs: usize) {
    for seed in 1..=runs as u64 {
        let run = release::run(data, &document(mechanism), seed);
        let peak = peak_megabytes();
        let [one, two, three] =
            [1, 2, 3].map(|degree| variation::mean(data, &run.synthetic, degree));
        println!(
            "{}",
            serde_json::json!({
                "mechanism": mechanism, "run": seed, "cpu": run.measuring + run.sampling,
                "measuring": run.measuring, "sampling": run.sampling, "rounds": run.rounds,
                "cells": run.cells, "gap": run.gap, "megabytes": peak,
                "tv1": one, "tv2": two, "tv3": three,
            })
        );
    }
}

fn wide(columns: usize, rows: usize, degree: usize, max_cells: usize) {
    let data = tables::wide(columns, rows);
    let before = peak_megabytes();
    let keys = format!("marginals: {{degree: {degree}}}\nmodel: {{max_cells: {max_cells}}}");
    let workload = release::workload("aim", &keys);
    let run = release::run(&data, &workload, 1);
    println!(
        "{}",
        serde_json::json!({
            "mechanism": "aim-wide", "columns": columns, "rows": rows, "degree": degree, "max_cells": max_cells,
            "cpu": run.measuring + run.sampling, "measuring": run.measuring, "sampling": run.sampling,
            "rounds": run.rounds, "cells": run.cells, "gap": run.gap,
            "megabytes": peak_megabytes(), "megabytes_of_data": before,
        })
    );
}

/// Fits both problems, after writing them to `problems.json` in the working folder where asked.
fn fit(data: &Coded, write_to: Option<&str>, schedule: fits::Schedule) {
    let problems = [("star", fixed::star(data)), ("tree", fixed::tree(data))];
    if let Some(path) = write_to {
        std::fs::write(path, fixed::to_json(&problems)).expect("the problems are written");
    }
    for (name, problem) in &problems {
        for line in fits::compare(name, problem, schedule) {
            println!("{line}");
        }
    }
}

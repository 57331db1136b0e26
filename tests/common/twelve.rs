//! The twelve-covariate design: three confounders, three instruments, three covariates that go with the outcome
//! alone, and three that go with nothing; some of each have uneven levels.

use dpcausal::table::CodedTable;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::fmt::Write;

const COVARIATES: usize = 12;
const LEVELS: usize = 5;
/// Slopes of the treatment's logit, before a common factor of .8.
const TREATMENT: [f64; COVARIATES] = [0.8, -0.7, 0.6, 0.8, 0.7, -0.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
/// Slopes of the outcome's logit.
const OUTCOME: [f64; COVARIATES] = [0.8, -0.6, 0.7, 0.0, 0.0, 0.0, 0.8, 0.8, -0.7, 0.0, 0.0, 0.0];
/// Covariates whose levels are uneven, with the upper ends of all levels but the last, as probabilities.
const UNEVEN: [(usize, [f64; LEVELS - 1]); 4] = [
    (4, [0.5, 0.7, 0.85, 0.95]),
    (8, [0.5, 0.7, 0.85, 0.95]),
    (10, [0.6, 0.8, 0.9, 0.96]),
    (11, [0.7, 0.85, 0.92, 0.97]),
];

/// The names of the confounders.
pub const CONFOUNDERS: [&str; 3] = ["x1", "x2", "x3"];

/// The schema of a table of so many rows.
pub fn schema(rows: usize) -> String {
    let mut text = format!(
        "format: dpcausal.schema/1\nrows: {rows}\ncolumns:\n  - {{name: t, role: treatment, type: boolean}}\n  - {{name: y, role: outcome, type: boolean}}\n"
    );
    for j in 1..=COVARIATES {
        writeln!(
            text,
            "  - {{name: x{j}, type: categorical, levels: [0, 1, 2, 3, 4], ordered: true}}"
        )
        .expect("a string takes text");
    }
    text
}

/// A table, and the mean effect of its records.
pub fn table(rows: usize, seed: u64) -> (CodedTable, f64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut codes: Vec<Vec<u16>> = vec![Vec::new(); 2 + COVARIATES];
    let mut outcome = Vec::with_capacity(rows);
    let mut effect = 0.0;
    for _ in 0..rows {
        let (mut propensity, mut index) = (0.0, 0.0);
        for j in 0..COVARIATES {
            let level = level(j, StandardNormal.sample(&mut random));
            let score = 2.0 * level as f64 / (LEVELS - 1) as f64 - 1.0;
            propensity += TREATMENT[j] * score * 0.8;
            index += OUTCOME[j] * score;
            codes[2 + j].push(level as u16);
        }
        let treated = random.random::<f64>() < logistic(propensity);
        let means = [logistic(index - 0.4), logistic(index + 0.3)];
        let died = random.random::<f64>() < means[usize::from(treated)];
        effect += means[1] - means[0];
        codes[0].push(u16::from(treated));
        codes[1].push(u16::from(died));
        outcome.push(if died { 1 << 20 } else { 0 });
    }
    let table = CodedTable {
        rows,
        codes: codes.into_iter().map(Some).collect(),
        outcome,
        ..CodedTable::default()
    };
    (table, effect / rows as f64)
}

fn level(covariate: usize, z: f64) -> usize {
    // Abramowitz and Stegun 26.2.17 is within 1e-7, and only levels are made of it.
    let probability = normal_distribution(z);
    match UNEVEN.iter().find(|(j, _)| *j == covariate) {
        Some((_, ends)) => ends.iter().filter(|end| **end <= probability).count(),
        None => ((probability * LEVELS as f64) as usize).min(LEVELS - 1),
    }
}

fn normal_distribution(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let polynomial = series.iter().rev().fold(0.0, |sum, c| (sum + c) * t);
    let tail = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial;
    if z > 0.0 { 1.0 - tail } else { tail }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

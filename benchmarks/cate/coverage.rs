//! The share of intervals that hold the projection of the effect, and the average effect, in three trials.
//!
//! | population | treated | covariates | effect | noise |
//! |---|---|---|---|---|
//! | B | 1/2 | six normal | `x0 + ln(1 + e^x1)`: not linear | even |
//! | curved | 1/2 | three uniform | `1 + x0^2 - x1`: not linear | grows with `x2` |
//! | levels | 1/6 | two binary, one of three levels | by level | larger for the treated |
//!
//! The truth of a projection is that of 10^6 drawn records.

use crate::release;
use crate::simulated::setups::{Sample, Setup};
use anyhow::{Context, Result};
use dpcausal::cate::{ProjectedEffect, Projection, projection};
use dpcausal::schema::SCALE;
use dpcausal::table::CodedTable;
use faer::Mat;
use faer::prelude::Solve;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

/// The records that truths are computed from.
const TRUTH_ROWS: usize = 1_000_000;

/// A population in which the design states the propensity.
#[derive(Clone, Copy)]
enum Population {
    B,
    Curved,
    Levels,
}

/// Prints coverages by population, number of records and epsilon.
pub fn run(rows: &[usize], epsilons: &[f64], repetitions: u64) -> Result<()> {
    println!(
        "population,basis,n,epsilon,average_coverage,average_length,points_given,point_coverage,least_point,point_length"
    );
    for population in [Population::B, Population::Curved, Population::Levels] {
        let truth = population.truth()?;
        for basis in ["linear", "one-hot"] {
            if basis == "one-hot" && !matches!(population, Population::Levels) {
                continue;
            }
            for &n in rows {
                for &epsilon in epsilons {
                    cell(population, &truth, basis, n, epsilon, repetitions)?;
                }
            }
        }
    }
    Ok(())
}

fn cell(
    population: Population,
    truth: &Truth,
    basis: &str,
    n: usize,
    epsilon: f64,
    repetitions: u64,
) -> Result<()> {
    let workload = format!(
        "format: dpcausal.workload/1\nmechanism: cate\nlearner: dr\nbase: second-moment\nbasis: {basis}\n"
    );
    let schema = population.schema();
    let found: Vec<Option<Projection>> = (0..repetitions)
        .into_par_iter()
        .map(|seed| {
            let sample = population.sample(n, &mut ChaCha8Rng::seed_from_u64(seed));
            let release = release(&schema, &workload, sample.table, epsilon, seed);
            let release = release.expect("a release");
            projection(&release, 0.95).expect("a sound release")
        })
        .collect();
    let given: Vec<&Projection> = found.iter().flatten().collect();
    let holds = |point: &ProjectedEffect, truth: f64| point.lower <= truth && truth <= point.upper;
    let share = |held: usize, of: usize| held as f64 / of.max(1) as f64;
    let held = given
        .iter()
        .filter(|p| holds(&p.average, truth.average))
        .count();
    let length = |points: &mut dyn Iterator<Item = &ProjectedEffect>| {
        let (count, sum) = points.fold((0.0, 0.0), |(n, s), p| (n + 1.0, s + p.upper - p.lower));
        sum / f64::max(count, 1.0)
    };
    let average_length = length(&mut given.iter().map(|p| &p.average));
    let with_points: Vec<&&Projection> = given.iter().filter(|p| !p.points.is_empty()).collect();
    let by_point: Vec<f64> = (0..truth.points.len())
        .map(|k| {
            let held = with_points
                .iter()
                .filter(|p| holds(&p.points[k], truth.points[k]))
                .count();
            share(held, with_points.len())
        })
        .collect();
    let points = by_point.len().max(1) as f64;
    println!(
        "{},{basis},{n},{epsilon},{:.3},{average_length:.3},{},{:.3},{:.3},{:.3}",
        population.name(),
        share(held, given.len()),
        with_points.len(),
        by_point.iter().sum::<f64>() / points,
        by_point.iter().copied().fold(f64::INFINITY, f64::min),
        length(&mut with_points.iter().flat_map(|p| &p.points)),
    );
    Ok(())
}

/// The average effect, and what the projection says at the points that are printed, in their order.
struct Truth {
    average: f64,
    points: Vec<f64>,
}

impl Population {
    fn name(self) -> &'static str {
        match self {
            Population::B => "B",
            Population::Curved => "curved",
            Population::Levels => "levels",
        }
    }

    fn schema(self) -> String {
        let head = "format: dpcausal.schema/1\n";
        match self {
            Population::B => Setup('B').schema_text("{propensity: [0.5, 0.5]}"),
            Population::Curved => format!(
                "{head}design: {{propensity: [0.5, 0.5]}}\ncolumns:\n  - {{name: t, role: treatment, type: boolean}}\n  - {{name: x0, type: real, bounds: [-1, 1], bins: 4}}\n  - {{name: x1, type: real, bounds: [-1, 1], bins: 4}}\n  - {{name: x2, type: real, bounds: [-1, 1], bins: 4}}\n  - {{name: y, role: outcome, type: real, bounds: [-6, 9], bins: 4}}\n"
            ),
            Population::Levels => format!(
                "{head}design: {{propensity: [0.8333333333333334, 0.16666666666666666]}}\ncolumns:\n  - {{name: t, role: treatment, type: boolean}}\n  - {{name: x0, type: boolean}}\n  - {{name: x1, type: boolean}}\n  - {{name: x2, type: categorical, levels: [a, b, c]}}\n  - {{name: y, role: outcome, type: real, bounds: [-8, 10], bins: 4}}\n"
            ),
        }
    }

    fn sample(self, rows: usize, rng: &mut ChaCha8Rng) -> Sample {
        if let Population::B = self {
            return Setup('B').sample(rows, rng);
        }
        let mut codes = vec![vec![0u16; rows]; 5];
        let mut values = vec![vec![0u16; rows]; 5];
        let (mut outcome, mut effects) = (Vec::new(), Vec::new());
        let numeric = matches!(self, Population::Curved);
        for row in 0..rows {
            let noise: f64 = rng.sample(StandardNormal);
            let (x, tau, base, share, spread) = if numeric {
                let x: [f64; 3] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
                let tau = 1.0 + x[0] * x[0] - x[1];
                (
                    x,
                    tau,
                    (2.0 * x[0]).sin() + x[2],
                    0.5,
                    [0.6 + 0.4 * x[2]; 2],
                )
            } else {
                let x = [
                    rng.random_range(0..2u16),
                    rng.random_range(0..2),
                    rng.random_range(0..3),
                ];
                let x = [x[0], x[1] * x[0].max(rng.random_range(0..2)), x[2]].map(f64::from);
                let tau = 0.5 + x[0] - 0.7 * x[2];
                (x, tau, x[1] * 2.0 - x[2], 1.0 / 6.0, [0.8, 1.6])
            };
            let treated = rng.random::<f64>() < share;
            let y = base + spread[usize::from(treated)] * noise + if treated { tau } else { 0.0 };
            let [low, high] = if numeric { [-6.0, 9.0] } else { [-8.0, 10.0] };
            let y = ((y - low) / (high - low)).clamp(0.0, 1.0);
            outcome.push((y * SCALE as f64).round() as u32);
            effects.push(tau);
            codes[0][row] = u16::from(treated);
            for (j, x) in x.into_iter().enumerate() {
                if numeric {
                    values[j + 1][row] = ((x + 1.0) / 2.0 * f64::from(u16::MAX)).round() as u16;
                    codes[j + 1][row] = (((x + 1.0) * 2.0) as u16).min(3);
                } else {
                    codes[j + 1][row] = x as u16;
                }
            }
        }
        let covariate = |j: usize| numeric && (1..4).contains(&j);
        let table = CodedTable {
            rows,
            codes: codes.into_iter().map(Some).collect(),
            values: values
                .into_iter()
                .enumerate()
                .map(|(j, v)| covariate(j).then_some(v))
                .collect(),
            outcome,
            ..CodedTable::default()
        };
        Sample { table, effects }
    }

    /// By covariate, the functions at each of its printed points.
    fn points(self) -> Vec<Vec<Vec<f64>>> {
        let line = || vec![vec![-1.0], vec![0.0], vec![1.0]];
        let sign = || vec![vec![-1.0], vec![1.0]];
        match self {
            Population::B => (0..6).map(|_| line()).collect(),
            Population::Curved => (0..3).map(|_| line()).collect(),
            // Of three levels, indicators of all but the first.
            Population::Levels => {
                vec![
                    sign(),
                    sign(),
                    vec![vec![0.0, 0.0], vec![1.0, 0.0], vec![0.0, 1.0]],
                ]
            }
        }
    }

    /// A row's functions, by covariate.
    fn functions(self, table: &CodedTable, row: usize) -> Vec<Vec<f64>> {
        let code = |j: usize| table.codes[j].as_ref().map_or(0, |codes| codes[row]);
        let value = |j: usize| {
            let position = table.values[j].as_ref().map_or(0, |values| values[row]);
            2.0 * f64::from(position) / f64::from(u16::MAX) - 1.0
        };
        let sign = |j: usize| vec![2.0 * f64::from(code(j)) - 1.0];
        match self {
            Population::B => (1..7).map(|j| vec![value(j)]).collect(),
            Population::Curved => (1..4).map(|j| vec![value(j)]).collect(),
            Population::Levels => {
                let of = |level: u16| f64::from(u8::from(code(3) == level));
                vec![sign(1), sign(2), vec![of(1), of(2)]]
            }
        }
    }

    fn truth(self) -> Result<Truth> {
        let sample = self.sample(TRUTH_ROWS, &mut ChaCha8Rng::seed_from_u64(99));
        let size = 1 + self.functions(&sample.table, 0).concat().len();
        let mut gram = Mat::<f64>::zeros(size, size);
        let mut cross = Mat::<f64>::zeros(size, 1);
        for (row, tau) in sample.effects.iter().enumerate() {
            let mut phi = vec![1.0];
            phi.extend(self.functions(&sample.table, row).concat());
            for i in 0..size {
                cross[(i, 0)] += phi[i] * tau;
                for j in 0..size {
                    gram[(i, j)] += phi[i] * phi[j];
                }
            }
        }
        let theta = gram.partial_piv_lu().solve(&cross);
        let mut points = Vec::new();
        let mut first = 1;
        for places in self.points() {
            let own = places.first().context("a place")?.len();
            for place in &places {
                let terms = (0..own).map(|k| {
                    let mean = gram[(0, first + k)] / gram[(0, 0)];
                    theta[(first + k, 0)] * (place[k] - mean)
                });
                points.push(terms.sum());
            }
            first += own;
        }
        Ok(Truth {
            average: sample.effects.iter().sum::<f64>() / TRUTH_ROWS as f64,
            points,
        })
    }
}

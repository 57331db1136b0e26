//! Random small problems, and the same answers by enumeration of the joint table: the oracle of the
//! room's tests.

use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// A random problem: 2 to 5 variables of 1 to 4 levels, up to five measurements with identity and
/// linear maps in any order of axes, now and then a reference factor with structural zeros.
pub(crate) fn random_problem(seed: u64) -> Problem {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let count = random.random_range(2..=5);
    let sizes: Vec<usize> = (0..count).map(|_| random.random_range(1..=4)).collect();
    let names = (0..count).map(|i| format!("v{i}")).collect();
    let domain = Domain::new(names, sizes).unwrap();
    let total = random.random_range(20.0..500.0);
    let measurements = (0..random.random_range(1..=5))
        .map(|index| random_measurement(&domain, index, total, &mut random))
        .collect();
    let reference = (0..random.random_range(0..=2))
        .map(|_| random_reference(&domain, &mut random))
        .collect();
    Problem {
        domain,
        reference,
        measurements,
        total,
        max_cells: 100_000,
        entropy_weight: 1.0,
    }
}

fn random_variables(domain: &Domain, most: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut variables = Vec::new();
    for _ in 0..random.random_range(1..=most) {
        let variable = random.random_range(0..domain.variables());
        if !variables.contains(&variable) {
            variables.push(variable);
        }
    }
    variables
}

fn random_measurement(
    domain: &Domain,
    index: usize,
    total: f64,
    random: &mut ChaCha8Rng,
) -> Measurement {
    let mut cells = 1;
    let axes: Vec<MeasuredAxis> = random_variables(domain, 3, random)
        .into_iter()
        .map(|variable| {
            let levels = domain.sizes()[variable];
            let map = if random.random_bool(0.6) {
                AxisMap::Identity
            } else {
                let rows = random.random_range(1..=3);
                AxisMap::Linear(Array2::from_shape_fn((rows, levels), |_| {
                    random.random_range(-0.3..1.0)
                }))
            };
            cells *= map.cells(levels);
            MeasuredAxis { variable, map }
        })
        .collect();
    let mean = total / cells as f64;
    Measurement {
        name: format!("m{index}"),
        axes,
        values: (0..cells)
            .map(|_| mean * random.random_range(-0.5..2.5))
            .collect(),
        sigma: random.random_range(0.5..8.0),
    }
}

/// Zeros never rule out code 0 everywhere, so some combination stays possible.
fn random_reference(domain: &Domain, random: &mut ChaCha8Rng) -> ReferenceFactor {
    let variables = random_variables(domain, 2, random);
    let cells = domain.cells(&variables) as usize;
    let log_weights = (0..cells)
        .map(|cell| match random.random_bool(0.3) {
            true if cell > 0 => f64::NEG_INFINITY,
            _ => random.random_range(-1.5..1.5),
        })
        .collect();
    ReferenceFactor {
        variables,
        log_weights,
    }
}

/// The joint table over all variables, row-major.
pub(crate) struct Joint<'a> {
    problem: &'a Problem,
    /// Unnormalised log weights, then probabilities.
    pub(crate) probabilities: Vec<f64>,
    pub(crate) log_z: f64,
}

impl<'a> Joint<'a> {
    /// The distribution proportional to `reference * exp(Q' parameters)`, by enumeration.
    pub(crate) fn new(problem: &'a Problem, parameters: &[f64]) -> Joint<'a> {
        let all: Vec<usize> = (0..problem.domain.variables()).collect();
        let cells = problem.domain.cells(&all) as usize;
        let weights: Vec<f64> = (0..cells)
            .map(|cell| {
                let codes = codes(&problem.domain, cell);
                let reference: f64 = problem
                    .reference
                    .iter()
                    .map(|f| f.log_weights[index(&problem.domain, &f.variables, &codes)])
                    .sum();
                let rows = statistics(problem, &codes);
                reference + rows.iter().zip(parameters).map(|(a, p)| a * p).sum::<f64>()
            })
            .collect();
        let largest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = weights.iter().map(|w| (w - largest).exp()).sum();
        let log_z = largest + sum.ln();
        Joint {
            problem,
            probabilities: weights.iter().map(|w| (w - log_z).exp()).collect(),
            log_z,
        }
    }

    /// A marginal, row-major over the variables in the order given.
    pub(crate) fn marginal(&self, variables: &[usize]) -> Vec<f64> {
        let domain = &self.problem.domain;
        let mut result = vec![0.0; domain.cells(variables) as usize];
        for (cell, p) in self.probabilities.iter().enumerate() {
            result[index(domain, variables, &codes(domain, cell))] += p;
        }
        result
    }

    /// The expectations of all statistics, times the total.
    pub(crate) fn answers(&self) -> Vec<f64> {
        let length = self
            .problem
            .measurements
            .iter()
            .map(|m| m.values.len())
            .sum();
        let mut result = vec![0.0; length];
        for (cell, p) in self.probabilities.iter().enumerate() {
            let row = statistics(self.problem, &codes(&self.problem.domain, cell));
            for (sum, a) in result.iter_mut().zip(row) {
                *sum += self.problem.total * p * a;
            }
        }
        result
    }
}

/// The codes of all variables in a cell of the joint table.
pub(crate) fn codes(domain: &Domain, mut cell: usize) -> Vec<usize> {
    let mut codes = vec![0; domain.variables()];
    for variable in (0..codes.len()).rev() {
        codes[variable] = cell % domain.sizes()[variable];
        cell /= domain.sizes()[variable];
    }
    codes
}

/// The cell of the table over some variables that holds the codes.
pub(crate) fn index(domain: &Domain, variables: &[usize], codes: &[usize]) -> usize {
    variables
        .iter()
        .fold(0, |index, &v| index * domain.sizes()[v] + codes[v])
}

/// What one record contributes to each statistic: the product of its maps' columns.
pub(crate) fn statistics(problem: &Problem, codes: &[usize]) -> Vec<f64> {
    let mut result = Vec::new();
    for measurement in &problem.measurements {
        let mut block = vec![1.0];
        for axis in &measurement.axes {
            let code = codes[axis.variable];
            let column: Vec<f64> = match &axis.map {
                AxisMap::Linear(matrix) => matrix.column(code).to_vec(),
                AxisMap::Identity => (0..problem.domain.sizes()[axis.variable])
                    .map(|level| f64::from(u8::from(level == code)))
                    .collect(),
            };
            block = block
                .iter()
                .flat_map(|b| column.iter().map(move |c| b * c))
                .collect();
        }
        result.extend(block);
    }
    result
}

/// Random parameters for a problem, normal in size.
pub(crate) fn random_parameters(problem: &Problem, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
    let length: usize = problem.measurements.iter().map(|m| m.values.len()).sum();
    (0..length)
        .map(|_| random.random_range(-2.0..2.0))
        .collect()
}

/// Whether two arrays agree to `tolerance`, relative to the larger of 1 and the entry.
pub(crate) fn close(left: &[f64], right: &[f64], tolerance: f64) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(a, b)| (a - b).abs() <= tolerance * a.abs().max(1.0))
}

//! Calibrations against optima found another way: descent on the primal over the joint table.

use super::super::testing::{Joint, random_problem};
use super::super::{AxisMap, Domain, MeasuredAxis, Measurement};
use super::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The certificate against an optimum found another way: exponentiated-gradient descent on the
/// primal over the joint table, which never sees the dual.
#[test]
fn certificate_bounds_the_distance_to_an_independent_optimum() {
    for seed in 0..12 {
        let problem = random_problem(seed);
        let calibrator = Calibrator::new(problem.clone()).unwrap();
        let early = calibrator
            .calibrate(
                &calibrator.targets(),
                &Settings {
                    tolerance: 1e-2,
                    ..Settings::default()
                },
                &mut |_, _| {},
            )
            .unwrap();
        let optimum = primal_by_mirror_descent(&problem);
        let diagnostics = &early.diagnostics;
        let primal = diagnostics.dual + diagnostics.duality_gap;
        let slack = 1e-6 * optimum.abs().max(1.0);
        assert!(diagnostics.dual <= optimum + slack, "{seed}");
        assert!(primal >= optimum - slack, "{seed}");
        let strict = calibrator
            .calibrate(&calibrator.targets(), &Settings::default(), &mut |_, _| {})
            .unwrap();
        let exact = strict.diagnostics.dual;
        assert!((exact - optimum).abs() <= slack, "{seed} {exact} {optimum}");
    }
}

/// Every column and the pairs of a star, or of a chain, with the noise of a release: to a millionth of the optimum, by
/// the certificate and by the descent that never sees the dual.
#[test]
fn stars_and_trees_are_fitted_to_a_millionth() {
    let sizes = [2, 4, 3, 3, 2];
    let names = (0..5).map(|i| format!("v{i}")).collect();
    let domain = Domain::new(names, sizes.to_vec()).unwrap();
    let star: Vec<Vec<usize>> = (1..5).map(|leaf| vec![0, leaf]).collect();
    let chain: Vec<Vec<usize>> = (1..5).map(|next| vec![next - 1, next]).collect();
    for pairs in [star, chain] {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let sets = (0..5).map(|v| vec![v]).chain(pairs);
        let measurements = sets.map(|set| {
            let cells = domain.cells(&set) as usize;
            Measurement {
                name: format!("{set:?}"),
                // Counts that fall off along the cells, some of them below the noise.
                values: (0..cells)
                    .map(|cell| 800.0 / (1 + cell * cell) as f64 + random.random_range(-60.0..60.0))
                    .collect(),
                axes: set
                    .into_iter()
                    .map(|variable| MeasuredAxis {
                        variable,
                        map: AxisMap::Identity,
                    })
                    .collect(),
                sigma: 35.0,
            }
        });
        let problem = Problem {
            measurements: measurements.collect(),
            domain: domain.clone(),
            reference: vec![],
            total: 1000.0,
            max_cells: 1000,
            entropy_weight: 1.0,
        };
        let calibrator = Calibrator::new(problem.clone()).unwrap();
        let settings = Settings {
            tolerance: 1e-6,
            ..Settings::default()
        };
        let targets = calibrator.targets();
        let fit = calibrator
            .calibrate(&targets, &settings, &mut |_, _| {})
            .unwrap();
        let diagnostics = &fit.diagnostics;
        let optimum = primal_by_mirror_descent(&problem);
        let primal = diagnostics.dual + diagnostics.duality_gap;
        assert!(diagnostics.relative_gap <= 1e-6, "{diagnostics:?}");
        assert!(primal <= optimum * (1.0 + 1e-6), "{primal} {optimum}");
        // The descent itself is at the optimum: no point is below the dual.
        assert!(
            optimum <= diagnostics.dual * (1.0 + 3e-6),
            "{optimum} {diagnostics:?}"
        );
    }
}

/// Minimises `n KL + 1/2 |residual / sigma|^2` over the joint table. The step is an estimate of the
/// inverse Lipschitz constant, halved whenever the objective rises.
fn primal_by_mirror_descent(problem: &Problem) -> f64 {
    let zero = vec![0.0; problem.measurements.iter().map(|m| m.values.len()).sum()];
    let sigma: Vec<f64> = problem
        .measurements
        .iter()
        .flat_map(|m| vec![m.sigma; m.values.len()])
        .collect();
    let values: Vec<f64> = problem
        .measurements
        .iter()
        .flat_map(|m| m.values.clone())
        .collect();
    let reference = Joint::new(problem, &zero);
    // The iterates stay in the exponential family: a mirror step mixes the parameters with the
    // gradient's, so the state is a parameter vector although no dual is evaluated.
    let primal = |parameters: &[f64]| {
        let joint = Joint::new(problem, parameters);
        let kl: f64 = joint
            .probabilities
            .iter()
            .zip(&reference.probabilities)
            .filter(|(p, _)| **p > 0.0)
            .map(|(p, r)| p * (p / r).ln())
            .sum();
        let residuals: Vec<f64> = joint
            .answers()
            .iter()
            .zip(&values)
            .map(|(a, q)| q - a)
            .collect();
        let fit: f64 = residuals
            .iter()
            .zip(&sigma)
            .map(|(r, s)| 0.5 * (r / s).powi(2))
            .sum();
        (problem.total * kl + fit, residuals)
    };
    let (mut parameters, mut step) = (zero, 1.0);
    let (mut best, mut residuals) = primal(&parameters);
    for _ in 0..3000 {
        let trial: Vec<f64> = (0..sigma.len())
            .map(|i| parameters[i] + step * (residuals[i] / sigma[i].powi(2) - parameters[i]))
            .collect();
        let (value, next) = primal(&trial);
        if value <= best {
            (best, parameters, residuals) = (value, trial, next);
            step *= 1.2;
        } else {
            step *= 0.5;
        }
    }
    best
}

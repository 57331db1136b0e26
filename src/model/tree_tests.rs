use std::sync::Arc;

use super::super::curvature::Curvature;
use super::super::testing::random_problem;
use super::super::{Calibrator, Settings};
use super::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// By messages and as a matrix, on random problems with every kind of map, merged tables and structural zeros.
#[test]
fn the_trees_system_is_that_of_the_matrix() {
    let mut structured = 0;
    for seed in 0..300 {
        let problem = random_problem(seed);
        let measurements = problem.measurements.clone();
        let domain = problem.domain.clone();
        let calibrator = Calibrator::new(problem).unwrap();
        let targets = calibrator.targets();
        let fit = calibrator.calibrate(&targets, &Settings::default(), &mut |_, _| ());
        let model = fit.unwrap().model;
        let propagation = &calibrator.structure().propagation;
        let system = TreeSystem::new(&domain, propagation, &measurements, f64::INFINITY).unwrap();
        structured += usize::from(
            system
                .nodes
                .iter()
                .any(|n| n.diagonal > 0 && n.size > n.diagonal),
        );
        let counts: Vec<Vec<f64>> = (0..system.nodes.len())
            .map(|c| {
                model
                    .clique_marginal(c)
                    .iter()
                    .map(|p| p * model.total())
                    .collect()
            })
            .collect();
        let tree = Curvature::tree(&Arc::new(system), &counts, &calibrator.sigma).unwrap();
        let matrix = Curvature::matrix(&calibrator.statistics, &model, &calibrator.sigma).unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let values: Vec<f64> = (calibrator.sigma.iter())
            .map(|_| random.random_range(-1.0..1.0))
            .collect();
        let (mut one, mut other) = (values.clone(), values);
        tree.solve(&mut one);
        matrix.solve(&mut other);
        let size = other.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        for (a, b) in one.iter().zip(&other) {
            assert!((a - b).abs() < 1e-7 * size, "{seed} {a} {b}");
        }
    }
    // Blocks that are eliminated as a diagonal, beside others, are among them.
    assert!(structured > 20, "{structured}");
}

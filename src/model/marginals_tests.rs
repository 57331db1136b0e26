//! Shared marginals against those of the model, which are tested by enumeration.

use super::super::testing::random_problem;
use super::super::{Calibrator, Settings};
use super::*;

/// Every subset of the variables of random models, against the marginals one by one, which are tested by
/// enumeration; in two orders, so that what is kept is used.
#[test]
fn shared_marginals_are_those_of_the_model() {
    for seed in 0..120 {
        let calibrator = Calibrator::new(random_problem(seed)).unwrap();
        let targets = calibrator.targets();
        let fit = calibrator.calibrate(&targets, &Settings::default(), &mut |_, _| ());
        let model = fit.unwrap().model;
        let count = model.domain().variables();
        let mut marginals = Marginals::new(&model);
        for mask in (1..1usize << count).chain((1..1 << count).rev()) {
            let set: Vec<usize> = (0..count).filter(|v| mask >> v & 1 == 1).collect();
            let expected = model.marginal(&set).unwrap();
            let found = marginals.marginal(&set).unwrap();
            assert_eq!(found.variables(), expected.variables());
            for (a, b) in found.values().iter().zip(expected.values()) {
                assert!((a - b).abs() < 1e-12, "{seed} {set:?}");
            }
        }
        let sets =
            (1..1usize << count).map(|mask| (0..count).filter(|v| mask >> v & 1 == 1).collect());
        assert_all(&model, &sets.collect::<Vec<_>>());
    }
}

/// All sets in one go, once each.
fn assert_all(model: &Model, sets: &[Vec<usize>]) {
    let of: Vec<&[usize]> = sets.iter().map(Vec::as_slice).collect();
    let mut visited = vec![0; sets.len()];
    let visit = &mut |position: usize, found: &[f64]| {
        visited[position] += 1;
        let expected = model.marginal(&sets[position]).unwrap();
        assert_eq!(found.len(), expected.values().len());
        for (a, b) in found.iter().zip(expected.values()) {
            assert!((a - b).abs() < 1e-12, "{:?}", sets[position]);
        }
    };
    Marginals::new(model)
        .for_each(&of, f64::INFINITY, visit)
        .unwrap();
    assert!(visited.iter().all(|&count| count == 1));
    // With less to spend, some are left out and none is wrong; with nothing, all but the cheapest.
    let mut some = 0;
    for work in [0.0, 200.0, 1000.0] {
        let mut count = 0;
        let visit = &mut |position: usize, found: &[f64]| {
            count += 1;
            let expected = model.marginal(&sets[position]).unwrap();
            for (a, b) in found.iter().zip(expected.values()) {
                assert!((a - b).abs() < 1e-12, "{:?}", sets[position]);
            }
        };
        Marginals::new(model).for_each(&of, work, visit).unwrap();
        assert!(count >= some.max(1));
        assert!(work > 0.0 || sets.len() < 8 || count < sets.len());
        some = count;
    }
}

/// Pairs and triples of a long tree: twelve variables, each tied to an earlier one.
#[test]
fn sets_that_meet_far_up_are_right() {
    use super::super::{Domain, Problem, ReferenceFactor};
    for seed in 0..20usize {
        let sizes: Vec<usize> = (0..12).map(|v| 2 + (v + seed) % 3).collect();
        let tie = |v: usize| {
            let parent = (v * 7 + seed * 5) % v;
            let cells = sizes[parent] * sizes[v];
            let weight = |cell: usize| ((cell * 5 + v * 3 + seed) % 7) as f64 * 0.4;
            ReferenceFactor {
                variables: vec![parent, v],
                log_weights: (0..cells).map(weight).collect(),
            }
        };
        // One variable in three starts a tree of its own.
        let ties = (1..12).filter(|v| v % 3 != seed % 4).map(tie);
        let names = (0..12).map(|i| format!("v{i}")).collect();
        let problem = Problem {
            reference: ties.collect(),
            domain: Domain::new(names, sizes.clone()).unwrap(),
            measurements: vec![],
            total: 1.0,
            max_cells: 100_000,
            entropy_weight: 1.0,
        };
        let model = Calibrator::new(problem).unwrap().reference_model();
        let mut marginals = Marginals::new(&model);
        let mut sets = Vec::new();
        for a in 0..12 {
            for b in 0..a {
                for c in 0..=b {
                    let set = if c == b { vec![b, a] } else { vec![c, b, a] };
                    sets.push(set.clone());
                    let expected = model.marginal(&set).unwrap();
                    let found = marginals.marginal(&set).unwrap();
                    for (x, y) in found.values().iter().zip(expected.values()) {
                        assert!((x - y).abs() < 1e-12, "{seed} {set:?}");
                    }
                }
            }
        }
        assert_all(&model, &sets);
    }
}

//! Tests of sampling: counts, unmeasured pairs, streams, threads.

use super::super::testing::{index, random_problem};
use super::super::{Calibrator, Domain, Problem, ReferenceFactor};
use super::*;

/// A hub with two children that are independent given it, and another child of the first.
fn star() -> Model {
    let names = ["hub", "left", "right", "grandchild"].map(String::from);
    let domain = Domain::new(names.to_vec(), vec![3, 4, 5, 3]).unwrap();
    let pair = |a: usize, b: usize| {
        let sizes = (domain.sizes()[a], domain.sizes()[b]);
        let log_weights = (0..sizes.0 * sizes.1)
            .map(|cell| match cell {
                1 => f64::NEG_INFINITY,
                _ => ((cell * 7 + a) % 5) as f64 * 0.5,
            })
            .collect();
        ReferenceFactor {
            variables: vec![a, b],
            log_weights,
        }
    };
    let problem = Problem {
        reference: vec![pair(0, 1), pair(0, 2), pair(1, 3)],
        domain,
        measurements: vec![],
        total: 1.0,
        max_cells: 1000,
        entropy_weight: 1.0,
    };
    Calibrator::new(problem).unwrap().reference_model()
}

fn counts(model: &Model, columns: &[Vec<u16>], set: &[usize]) -> Vec<f64> {
    let mut result = vec![0.0; model.domain().cells(set) as usize];
    for row in 0..columns[0].len() {
        let codes: Vec<usize> = columns.iter().map(|c| usize::from(c[row])).collect();
        result[index(model.domain(), set, &codes)] += 1.0;
    }
    result
}

/// Pearson's statistic against the model, over the cells that are possible, and their number.
fn chi_square(model: &Model, columns: &[Vec<u16>], set: &[usize]) -> (f64, f64) {
    let expected = model.marginal(set).unwrap().values_in_order(set);
    let rows = columns[0].len() as f64;
    let (mut sum, mut cells) = (0.0, 0.0);
    for (count, p) in counts(model, columns, set).iter().zip(&expected) {
        if *p == 0.0 {
            assert_eq!(*count, 0.0, "a structural zero in {set:?}");
        } else {
            sum += (count - rows * p).powi(2) / (rows * p);
            cells += 1.0;
        }
    }
    (sum, cells)
}

/// Stratified counts vary less than multinomial ones, so Pearson's statistic of any pair, measured
/// or not, is stochastically below chi-square with cells - 1 degrees of freedom. Bound: mean plus 6
/// standard deviations; with 6 pairs and 20 seeds the false-alarm rate is below 1e-4.
#[test]
fn all_pairs_follow_the_model() {
    let model = star();
    for seed in 0..20 {
        let columns = model.sample(20_000, seed).unwrap();
        for pair in [[0, 1], [0, 2], [1, 3], [1, 2], [0, 3], [2, 3]] {
            let (statistic, cells) = chi_square(&model, &columns, &pair);
            let degrees = cells - 1.0;
            assert!(
                statistic < degrees + 6.0 * (2.0 * degrees).sqrt(),
                "{seed} {pair:?}"
            );
        }
    }
}

/// The fault of sorted ranks: the two children of the hub come out comonotone, and only the
/// unmeasured pair shows it.
#[test]
fn unshuffled_ranks_would_be_noticed() {
    let model = star();
    let columns = model.sample_by(20_000, 1, Draw::fill).unwrap();
    let (measured, _) = chi_square(&model, &columns, &[0, 1]);
    assert!(measured < 1.0);
    let (unmeasured, cells) = chi_square(&model, &columns, &[1, 2]);
    assert!(unmeasured > 100.0 * cells);
}

/// On a star, pairs that nothing measured: half the L1 distance of the sampled table's shares from the model's own. For
/// `n` independent rows its mean is at most `1/2 sum sqrt(p (1 - p) / n)`, and as a row moves it by at most `1/n`, it exceeds its mean
/// by `sqrt(ln(1 / a) / 2n)` with probability at most `a` (McDiarmid); rows drawn with fixed counts vary less.
/// With `a = 1e-6` and 3 pairs of 10 seeds, false alarms are below 3e-5. Unshuffled ranks are an order of magnitude off.
#[test]
fn unmeasured_pairs_of_a_star_are_within_sampling_error() {
    let sizes = [2, 6, 5, 4];
    let leaf = |leaf: usize| ReferenceFactor {
        variables: vec![0, leaf],
        log_weights: (0..2 * sizes[leaf])
            .map(|cell| ((cell * 5 + leaf) % 7) as f64 * 0.3)
            .collect(),
    };
    let names = ["income", "age", "work", "region"].map(String::from);
    let problem = Problem {
        reference: vec![leaf(1), leaf(2), leaf(3)],
        domain: Domain::new(names.to_vec(), sizes.to_vec()).unwrap(),
        measurements: vec![],
        total: 1.0,
        max_cells: 1000,
        entropy_weight: 1.0,
    };
    let model = Calibrator::new(problem).unwrap().reference_model();
    let rows = 48_842.0;
    let variation = |columns: &[Vec<u16>], pair: &[usize]| {
        let expected = model.marginal(pair).unwrap().values_in_order(pair);
        let cells = counts(&model, columns, pair).into_iter().zip(&expected);
        let distance = cells
            .map(|(count, p)| (count / rows - p).abs())
            .sum::<f64>()
            / 2.0;
        let mean = expected.iter().map(|p| (p * (1.0 - p) / rows).sqrt());
        (
            distance,
            mean.sum::<f64>() / 2.0 + (1e6f64.ln() / 2.0 / rows).sqrt(),
        )
    };
    let pairs = [[1, 2], [1, 3], [2, 3]];
    for seed in 0..10 {
        let columns = model.sample(rows as usize, seed).unwrap();
        let ranked = model.sample_by(rows as usize, seed, Draw::fill).unwrap();
        for pair in pairs {
            let (distance, most) = variation(&columns, &pair);
            assert!(distance <= most, "{seed} {pair:?}: {distance} > {most}");
            let (distance, most) = variation(&ranked, &pair);
            assert!(distance > 10.0 * most, "{seed} {pair:?}: {distance} {most}");
        }
    }
}

/// Counts of every clique cell of the root are within one of their expectation.
#[test]
fn counts_are_stratified_and_unbiased() {
    let model = star();
    let root = &model.junction_tree().cliques()[0];
    let expected = model.clique_marginal(0);
    let mut mean = vec![0.0; expected.len()];
    let repetitions = 400;
    for seed in 0..repetitions {
        let columns = model.sample(37, seed).unwrap();
        for ((m, c), p) in mean
            .iter_mut()
            .zip(counts(&model, &columns, root))
            .zip(expected)
        {
            assert!((c - 37.0 * p).abs() < 1.0);
            *m += c / repetitions as f64;
        }
    }
    // A count is Bernoulli(fraction) above its floor: standard deviation at most 1/2, so the mean of
    // 400 has at most 0.025; 5 standard deviations (12 cells: false alarms below 1e-5).
    for (m, p) in mean.iter().zip(expected) {
        assert!((m - 37.0 * p).abs() < 0.125, "{m} {}", 37.0 * p);
    }
}

/// Groups, and cliques, of the same law must not be arranged alike. Agreement of two independent
/// arrangements of 600 uniform codes of three levels: mean 200, standard deviation below 12; the
/// bound is 6 of them, for 2 comparisons.
#[test]
fn groups_and_cliques_have_streams_of_their_own() {
    let uniform = |child: usize| ReferenceFactor {
        variables: vec![0, child],
        log_weights: vec![0.0; 6],
    };
    let names = ["hub", "root", "left", "right"].map(String::from).to_vec();
    let problem = Problem {
        domain: Domain::new(names, vec![2, 3, 3, 3]).unwrap(),
        reference: vec![uniform(1), uniform(2), uniform(3)],
        measurements: vec![],
        total: 1.0,
        max_cells: 100,
        entropy_weight: 1.0,
    };
    let model = Calibrator::new(problem).unwrap().reference_model();
    let columns = model.sample(1200, 5).unwrap();
    let codes = |variable: usize, hub: u16| -> Vec<u16> {
        let rows = columns[variable].iter().zip(&columns[0]);
        rows.filter(|(_, h)| **h == hub).map(|(c, _)| *c).collect()
    };
    for (a, b) in [(codes(2, 0), codes(2, 1)), (codes(2, 0), codes(3, 0))] {
        assert_eq!((a.len(), b.len()), (600, 600));
        let agreement = a.iter().zip(&b).filter(|(a, b)| a == b).count();
        assert!(agreement < 272, "{agreement}");
    }
}

#[test]
fn samples_do_not_depend_on_threads() {
    let model = star();
    let sample = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| model.sample(50_000, 3).unwrap())
    };
    assert_eq!(sample(1), sample(2));
    assert_ne!(sample(1), model.sample(50_000, 4).unwrap());
}

#[test]
fn any_model_yields_any_number_of_rows() {
    for seed in 0..60 {
        let problem = random_problem(seed);
        let model = Calibrator::new(problem.clone()).unwrap().reference_model();
        for rows in [0, 1, 2, 50] {
            let columns = model.sample(rows, seed).unwrap();
            for (column, &size) in columns.iter().zip(problem.domain.sizes()) {
                assert_eq!(column.len(), rows);
                assert!(column.iter().all(|&code| usize::from(code) < size));
            }
        }
    }
}

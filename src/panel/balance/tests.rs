use super::*;
use crate::panel::channel::Lattice;
use crate::panel::effects::of_target;
use crate::panel::tests::panels::{Panel, accountant};
use crate::privacy::mu_from_epsilon_delta;
use crate::workload::DpscMethod;

/// Given the first two measurements, intervals for privacy alone cover the estimate without the last one's noise, of every
/// period and of the mean. With 500 repetitions the standard error of a coverage of .95 is .0097; the bounds are 2.1 and
/// 2.6 of them away. Seeds are fixed.
#[test]
fn intervals_for_noise_cover_the_estimate_without_it() {
    const REPETITIONS: u64 = 500;
    for epsilon in [0.5, 1.0, 2.0, 5.0] {
        let mu = mu_from_epsilon_delta(epsilon, 1e-6).unwrap();
        let (mut of_path, mut of_mean) = (0, 0);
        for repetition in 0..REPETITIONS {
            let panel = Panel::factor_model(60, 16, 20, repetition);
            let setting = panel.setting(Share::Gaussian(mu * mu));
            let balance = Balance::new(&setting).unwrap();
            let donors = Confidential::new(panel.rows.clone());
            let mut noise = NoiseSource::insecure_seed(repetition);
            let mut account = accountant(balance.cost());
            let measured = balance.measure(&donors, &mut account, &mut noise).unwrap();
            let weights = balance.weights(&measured[0], &measured[1]).unwrap();
            let question = Question {
                schema: &panel.schema,
                features: &balance.features,
                past_mean: &weights.past_mean,
                error_mean: &weights.error_mean,
                theta: &weights.theta,
                clip: weights.clip,
                lattice: weights.channel.lattice(),
            };
            let mut exact = measured.clone();
            exact[2].values = sum_of_balanced(&panel.rows, &question);
            let of = |measured: &[PanelMeasurement], draws| {
                let control = balance.control(measured).unwrap();
                of_target(
                    &setting,
                    &control,
                    DpscMethod::Balance,
                    0.95,
                    (repetition, draws),
                )
            };
            let (truth, ours) = (of(&exact, 2), of(&measured, 1000));
            let holds = |[low, high]: [f64; 2], value: f64| low <= value && value <= high;
            for (ours, truth) in ours.periods.iter().zip(&truth.periods) {
                let interval = ours.effect.privacy_interval;
                of_path += u64::from(holds(interval, truth.effect.estimate));
            }
            of_mean += u64::from(holds(ours.att.privacy_interval, truth.att.estimate));
        }
        let path = of_path as f64 / (4 * REPETITIONS) as f64;
        let mean = of_mean as f64 / REPETITIONS as f64;
        eprintln!("epsilon {epsilon}: path {path:.4}, mean {mean:.4}");
        assert!((0.93..=0.975).contains(&path), "{epsilon}: path {path}");
        assert!((0.93..=0.975).contains(&mean), "{epsilon}: mean {mean}");
    }
}

/// However extreme the donors and whatever the released means and weights, replacing a donor moves no sum of
/// integers by more than its charge is for.
#[test]
fn the_sensitivities_hold() {
    let panel = Panel::factor_model(30, 12, 16, 3);
    let setting = panel.setting(Share::Gaussian(0.5));
    let balance = Balance::new(&setting).unwrap();
    let donors = Confidential::new(panel.rows.clone());
    let mut noise = NoiseSource::insecure_seed(5);
    let mut account = accountant(balance.cost());
    let measured = balance.measure(&donors, &mut account, &mut noise).unwrap();
    let weights = balance.weights(&measured[0], &measured[1]).unwrap();
    let question = |lattice| Question {
        schema: &panel.schema,
        features: &balance.features,
        past_mean: &weights.past_mean,
        error_mean: &weights.error_mean,
        theta: &weights.theta,
        clip: weights.clip,
        lattice,
    };
    let row = |seed: usize, size: f64| -> Vec<f64> {
        (0..16)
            .map(|t| (5.0 + size * ((seed + 3 * t) as f64).sin()).exp())
            .collect()
    };
    let order = balance.features.order();
    type Sum = fn(&DonorRows, &Question<'_>) -> Vec<i64>;
    let sums: [(Sum, Lattice, bool); 3] = [
        (sum_of_means, balance.means.lattice(), false),
        (sum_of_spreads, balance.spread.lattice(), true),
        (sum_of_balanced, weights.channel.lattice(), false),
    ];
    for ((sum, lattice, is_matrix), measured) in sums.into_iter().zip(&measured) {
        let question = question(lattice);
        let mut most: f64 = 0.0;
        for seed in 0..1500 {
            let size = 0.02 * (seed % 60) as f64;
            let a = sum(&vec![row(seed, size)], &question);
            let b = sum(&vec![row(seed + 1 + seed / 7, -size)], &question);
            let cells = (0..order).flat_map(|i| (i..order).map(move |j| i == j));
            let square = |(a, b): (&i64, &i64)| ((a - b) as f64).powi(2);
            let squares = a.iter().zip(&b).map(square);
            // Off the diagonal an entry stands for two.
            let apart: f64 = match is_matrix {
                true => squares
                    .zip(cells)
                    .map(|(s, d)| if d { s } else { 2.0 * s })
                    .sum(),
                false => squares.sum(),
            };
            most = most.max(apart.sqrt());
        }
        let found = most / measured.sensitivity as f64;
        assert!(found <= 1.0 && found > 0.6, "{}: {found}", measured.name);
    }
}

#[test]
fn a_triangle_is_read_row_by_row() {
    let order = 4;
    let cells: Vec<(usize, usize)> = (0..order)
        .flat_map(|i| (i..order).map(move |j| (i, j)))
        .collect();
    for (at, (i, j)) in cells.iter().enumerate() {
        assert_eq!(i * order - i * (i + 1) / 2 + j, at);
    }
}

#[test]
fn noise_asks_for_no_weights() {
    let centre = [1.0, -1.0, 0.5];
    // A distance that noise of this variance explains.
    assert_eq!(shrunk_towards(&centre, &[1.1, -1.0, 0.5], 0.01), centre);
    let kept = shrunk_towards(&centre, &[3.0, -1.0, 0.5], 0.4);
    // 1 - 3 * .4 / 4 of the way.
    assert!((kept[0] - (1.0 + 2.0 * 0.7)).abs() < 1e-12 && kept[1..] == centre[1..]);
    assert_eq!(shrunk_towards(&centre, &centre, 0.0), centre);
}

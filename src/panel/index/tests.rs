use super::*;
use crate::panel::effects::of_target;
use crate::panel::linear::length;
use crate::panel::tests::panels::{Panel, accountant};
use crate::privacy::NoiseSource;
use crate::workload::DpscMethod;

/// California and its donors, from the embedded table.
fn california() -> Panel {
    let table = include_str!("../../cli/quickstart/prop99.csv");
    let mut series: std::collections::BTreeMap<&str, Vec<f64>> = Default::default();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        series
            .entry(cells[0])
            .or_default()
            .push(cells[2].parse().unwrap());
    }
    let target = series.remove("California").unwrap();
    Panel::new(
        [26.0, 312.0],
        19,
        target,
        series.into_values().collect(),
        "",
    )
}

/// The exact answer as if it had been measured.
fn without_noise(index: &Index<'_>, panel: &Panel) -> PanelMeasurement {
    let question = index.question();
    let mut noise = NoiseSource::insecure_seed(1);
    let donors = Confidential::new(panel.rows.clone());
    let mut measured = index
        .measure(&donors, &mut accountant(index.cost()), &mut noise)
        .unwrap()
        .remove(0);
    measured.values = sum(&panel.rows, &question);
    measured
}

/// Computed by numpy 2.4.6 from the formulas of the room's documentation: forecast, covariance, rank, clip, and the mean
/// effect with the noise left out.
#[test]
fn california_agrees_with_an_independent_computation() {
    let panel = california();
    let forecast = panel.setting(Share::Pure(2.0)).forecast();
    for (h, value) in [
        (0, 4.471593276123),
        (5, 4.324958833669),
        (11, 4.148997502723),
    ] {
        assert!(
            (forecast.path[h] - value).abs() < 2e-6,
            "{}",
            forecast.path[h]
        );
    }
    for (i, j, value) in [
        (0, 0, 0.0017676280979),
        (11, 11, 0.033491900802),
        (3, 7, 0.0096754380096),
    ] {
        assert!((forecast.covariance[(i, j)] / value - 1.0).abs() < 1e-4);
    }
    for (epsilon, rank, radius, att) in [
        (0.5, 1, 1.276854638732, -20.555744758),
        (1.0, 2, 1.440586073726, -20.243851963),
        (2.0, 4, 1.592042581049, -20.170755976),
        (5.0, 11, 1.815379066605, -20.209322883),
    ] {
        let setting = panel.setting(Share::Pure(epsilon));
        let index = Index::new(&setting).unwrap();
        assert_eq!(index.rank(), rank);
        assert!((index.radius / radius - 1.0).abs() < 1e-4);
        let control = index.control(&[without_noise(&index, &panel)]).unwrap();
        let effects = of_target(&setting, &control, DpscMethod::Index, 0.9, (1, 10));
        assert!(
            (effects.att.estimate - att).abs() < 1e-3,
            "{}",
            effects.att.estimate
        );
        assert!((effects.forecast.estimate + 14.494650).abs() < 1e-3);
    }
}

/// However extreme the donors, replacing one moves the integers by no more than the charge is for; opposite donors move
/// them by all of it.
#[test]
fn the_sensitivity_holds_and_is_attained() {
    let panel = Panel::factor_model(5, 12, 16, 3);
    for epsilon in [0.3, 2.0, 20.0] {
        let setting = panel.setting(Share::Pure(epsilon));
        let index = Index::new(&setting).unwrap();
        let question = index.question();
        let measured = without_noise(&index, &panel);
        let one = |row: Vec<f64>| sum(&vec![row], &question);
        let row = |seed: usize, size: f64| -> Vec<f64> {
            (0..16)
                .map(|t| (5.0 + size * ((seed + 3 * t) as f64).sin()).exp())
                .collect()
        };
        let mut most: f64 = 0.0;
        for seed in 0..1500 {
            // The second row moves the other way from the intervention on, often beyond the clip.
            let size = 0.02 * (seed % 60) as f64;
            let (a, b) = (one(row(seed, size)), one(row(seed + 1 + seed / 7, -size)));
            let apart: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a - b) as f64).collect();
            most = most.max(length(&apart));
        }
        assert!(most <= measured.sensitivity as f64);
        let jump = |to: f64| {
            let mut row = vec![100.0; 16];
            row[12..].fill(to);
            one(row)
        };
        let apart: Vec<f64> = jump(1000.0)
            .iter()
            .zip(jump(10.0))
            .map(|(a, b)| (a - b) as f64)
            .collect();
        let attained = length(&apart) / measured.sensitivity as f64;
        assert!(attained <= 1.0 && attained > 0.97, "{attained}");
    }
}

/// Intervals for privacy alone cover the estimate without noise, of every period and of the mean. With 800
/// repetitions the standard error of a coverage of .95 is .0077; the bounds are 2.6 and 3.2 of them away, and the
/// draws behind each interval add less than a half. Seeds are fixed.
#[test]
fn intervals_for_noise_cover_the_estimate_without_it() {
    const REPETITIONS: usize = 800;
    for epsilon in [0.5, 1.0, 2.0, 5.0] {
        let (mut of_path, mut of_mean) = (0, 0);
        for repetition in 0..REPETITIONS {
            let panel = Panel::factor_model(40, 16, 20, repetition as u64);
            let setting = panel.setting(Share::Pure(epsilon));
            let index = Index::new(&setting).unwrap();
            let truth = index.control(&[without_noise(&index, &panel)]).unwrap();
            let truth = of_target(&setting, &truth, DpscMethod::Index, 0.95, (1, 2));
            let donors = Confidential::new(panel.rows.clone());
            let mut noise = NoiseSource::insecure_seed(repetition as u64 + 10);
            let measured = index
                .measure(&donors, &mut accountant(index.cost()), &mut noise)
                .unwrap();
            let control = index.control(&measured).unwrap();
            let seed = repetition as u64;
            let ours = of_target(&setting, &control, DpscMethod::Index, 0.95, (seed, 500));
            let holds =
                |interval: [f64; 2], value: f64| interval[0] <= value && value <= interval[1];
            for (ours, truth) in ours.periods.iter().zip(&truth.periods) {
                of_path += usize::from(holds(ours.effect.privacy_interval, truth.effect.estimate));
            }
            of_mean += usize::from(holds(ours.att.privacy_interval, truth.att.estimate));
        }
        let path = of_path as f64 / (4 * REPETITIONS) as f64;
        let mean = of_mean as f64 / REPETITIONS as f64;
        assert!((0.93..=0.975).contains(&path), "{epsilon}: path {path}");
        assert!((0.93..=0.975).contains(&mean), "{epsilon}: mean {mean}");
    }
}

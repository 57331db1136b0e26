//! Placebo units of panels.

use crate::{harness, of_target, run_and_resume};

const PLACEBO: &str = "
format: dpcausal.study/1
title: test
seed: 7
repetitions: 3
interval_repetitions: 1
epsilons: [2, 20]
delta: 1e-6
mechanisms: [forecast, simplex, index]
cells:
  - {dataset: panel-factor40}
";

/// 40 units, 12 periods.
#[test]
fn placebo_units_of_a_panel_are_studied() {
    let (records, page) = run_and_resume(PLACEBO);
    let count = |mechanism: &str| -> [usize; 3] {
        ["path", "mean", "period"].map(|target| of_target(&records, mechanism, target).len())
    };
    // What draws no noise runs once.
    for mechanism in ["forecast", "simplex"] {
        assert_eq!(count(mechanism), [40, 40, 0], "{mechanism}");
    }
    let with_intervals = 2 * 40;
    let expected = [2 * 3 * 40, with_intervals, 12 * with_intervals];
    assert_eq!(count("index"), expected);
    // A path's error is that of its periods, and the mean effect is theirs.
    for epsilon in ["2", "20"] {
        let of = |target: &str| -> Vec<f64> {
            let rows = of_target(&records, "index", target).into_iter();
            let rows = rows.filter(|r| r.key.epsilon == epsilon && r.key.repetition == 0);
            rows.map(|r| r.estimate).collect()
        };
        let (paths, means, periods) = (of("path"), of("mean"), of("period"));
        for unit in 0..40 {
            let effects = &periods[12 * unit..12 * (unit + 1)];
            let square = effects.iter().map(|e| e * e).sum::<f64>() / 12.0;
            assert!((square.sqrt() - paths[unit]).abs() < 1e-9 * paths[unit]);
            let mean = effects.iter().sum::<f64>() / 12.0;
            assert!((mean - means[unit]).abs() < 1e-9 * paths[unit]);
        }
    }
    let cells = harness::statistics::cells(&records);
    let found = |target: &str, epsilon: f64, mechanism: &str| {
        let cell = harness::statistics::Cell::new(
            "panel-factor40",
            40,
            target,
            epsilon,
            mechanism,
            "counterfactual",
        );
        cells[&cell]
    };
    // Noise: it differs between repetitions, falls with epsilon, and is all that separates them.
    let (tight, loose) = (found("path", 2.0, "index"), found("path", 20.0, "index"));
    assert_eq!(
        (tight.repetitions, found("mean", 2.0, "index").repetitions),
        (3, 1)
    );
    assert!(0.0 < loose.rmse.error && loose.rmse.value < tight.rmse.value);
    assert!(tight.coverage.value.is_nan());
    for target in ["mean", "period"] {
        let coverage = found(target, 20.0, "index").coverage.value;
        assert!((0.7..=1.0).contains(&coverage), "{target}: {coverage}");
    }
    for part in [
        "## Placebo errors",
        "## Placebo intervals",
        "| panel-factor40 | 40 |",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let picture = harness::figures::figure(&cells, "panel-factor40", "path").unwrap();
    assert!(picture.contains("synthetic control, not private") && !picture.contains("NaN"));
}

//! What a noisy leaf shows, and what is measured again because of it.

use super::super::evidence::shows_both;
use super::super::hub::Hub;
use super::*;
use crate::privacy::Cost;
use crate::release::Measurement;
use crate::workload::Block;
use rand_distr::{Distribution, Normal};

const LEVELS: usize = 4;

/// A leaf of two arms, by its sums in records: arm by (without, with the outcome) by level.
fn leaf(records: &[f64], sigma: f64) -> Measurement {
    let units = |x: f64| (x * SCALE as f64).round();
    Measurement {
        block: Block::Leaves,
        name: "leaf".into(),
        axes: Vec::new(),
        shape: vec![2, 2, LEVELS],
        mechanism: "discrete-gaussian".into(),
        scale: SCALE,
        sigma: units(sigma) as u64,
        sigma_squared: String::new(),
        sensitivity_squared: String::new(),
        cost: Cost::ZERO,
        values: records.iter().map(|&x| units(x) as i64).collect(),
    }
}

/// 1000 records, a fifth treated, outcome shares .3 and .6.
fn hub() -> Hub {
    Hub {
        records: 1000.0,
        shares: vec![0.8, 0.2],
        means: vec![0.3, 0.6],
        variances: vec![0.21, 0.24],
    }
}

/// The hub's sums over levels; where `lean` is not 0, treated and successes are more frequent at high levels.
fn sums(lean: f64) -> Vec<f64> {
    let hub = hub();
    let mut sums = Vec::new();
    for arm in 0..2 {
        for success in 0..2 {
            for level in 0..LEVELS {
                let outcome = [1.0 - hub.means[arm], hub.means[arm]][success];
                let pull = lean * (level as f64 - 1.5) * (arm as f64 - 0.2 + success as f64 - 0.5);
                sums.push(1000.0 * hub.shares[arm] * outcome / LEVELS as f64 * (1.0 + pull));
            }
        }
    }
    sums
}

/// The share of noisy leaves that show both associations.
fn share_that_shows(lean: f64, sigma: f64) -> f64 {
    const DRAWS: usize = 2000;
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let noise = Normal::new(0.0, sigma).unwrap();
    let shows = (0..DRAWS).filter(|_| {
        let noisy = sums(lean)
            .into_iter()
            .map(|x| x + noise.sample(&mut random));
        shows_both(&leaf(&noisy.collect::<Vec<f64>>(), sigma), &hub())
    });
    shows.count() as f64 / DRAWS as f64
}

/// Either association exceeds its threshold by noise alone in 16 % of leaves; both, in 2.5 %.
#[test]
fn noise_alone_rarely_shows_anything() {
    for sigma in [20.0, 100.0] {
        let share = share_that_shows(0.0, sigma);
        assert!((0.005..0.06).contains(&share), "{sigma}: {share}");
    }
}

#[test]
fn associations_beyond_the_noise_show() {
    assert!(share_that_shows(0.4, 5.0) > 0.9);
    // The same associations drown.
    assert!(share_that_shows(0.4, 200.0) < 0.1);
}

/// `c` shows both associations and is measured again. Most leaves of `z`, which goes with nothing, and of `p`, which shows a
/// treatment it does not go with once in six tables, are not.
#[test]
fn what_shows_is_measured_again_and_nothing_else() {
    let again = |seed| {
        let budget = Budget::zcdp(50.0).unwrap();
        let text = workload(", rounds: 12, pairs: none");
        let release = release(&text, budget, sample(4000, seed), seed);
        assert_eq!(chosen(&release).first().map(String::as_str), Some("c"));
        let measurements = release.document.measurements.iter();
        let again = measurements.filter(|m| m.name.starts_with("again:"));
        let covariate = |m: &Measurement| m.axes.last().map(|axis| axis.column.clone());
        again.filter_map(covariate).collect::<Vec<_>>()
    };
    let found: Vec<Vec<String>> = (20..32).map(again).collect();
    let count = |column: &str| {
        found
            .iter()
            .filter(|again| again.iter().any(|c| c == column))
            .count()
    };
    // Where the last round spent all there was, nothing is measured again.
    let some = found.iter().filter(|again| !again.is_empty()).count();
    assert!(some >= 8 && count("c") == some, "{found:?}");
    assert!(count("z") <= 2, "{found:?}");
    assert!(count("p") <= 6, "{found:?}");
}

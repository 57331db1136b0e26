//! Rules against hand-worked numbers, and coverage under the sampling scheme that they are for.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::estimate::{Combined, Estimate, EstimateError, Note, Rule, combine};
use crate::impute::Kappa;

fn draws(values: &[f64], variance: f64) -> Vec<Estimate> {
    let draw = |&value: &f64| Estimate {
        value,
        variance,
        rows: 1.0,
        clipped: 0.0,
    };
    values.iter().map(draw).collect()
}

fn unified(kappa: Kappa, ratio: f64) -> Rule {
    Rule::Unified { kappa, ratio }
}

/// Values 1, 2, 3, 4, 5: mean 3, B = 2.5, (1 + 1/5) B = 3. With U = 0.5:
#[test]
fn rules_by_hand() {
    let five = draws(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.5);
    let cases = [
        (Rule::Rubin, 3.5, 4.0 * (3.5_f64 / 3.0).powi(2)),
        (
            Rule::Raghunathan { ratio: 1.0 },
            2.5,
            4.0 * (2.5_f64 / 3.0).powi(2),
        ),
        (
            unified(Kappa::Posterior, 1.0),
            2.5,
            4.0 * (2.5_f64 / 3.0).powi(2),
        ),
        (unified(Kappa::Noise, 1.0), 3.0, 4.0),
        (
            unified(Kappa::Noise, 2.0),
            3.5,
            4.0 * (3.5_f64 / 3.0).powi(2),
        ),
        (unified(Kappa::Noise, 10.0), 7.5, 4.0 * 2.5_f64.powi(2)),
        (
            unified(Kappa::Noise, f64::INFINITY),
            3.5,
            4.0 * (3.5_f64 / 3.0).powi(2),
        ),
        (unified(Kappa::Posterior, f64::INFINITY), 3.0, 4.0),
    ];
    for (rule, total, freedom) in cases {
        let combined = combine(&five, rule).unwrap();
        assert_eq!((combined.estimate, combined.between_variance), (3.0, 2.5));
        assert!(
            (combined.standard_error.powi(2) - total).abs() < 1e-12,
            "{rule:?}"
        );
        assert!(
            (combined.degrees_of_freedom - freedom).abs() < 1e-12,
            "{rule:?}"
        );
        assert_eq!(combined.note, None);
    }
    // t_{.975, 4} = 2.7764451051977987, from any table.
    let combined = combine(&five, unified(Kappa::Noise, 1.0)).unwrap();
    let (lower, upper) = combined.interval(0.95).unwrap();
    let half = 2.7764451051977987 * 3.0_f64.sqrt();
    assert!((lower - (3.0 - half)).abs() < 1e-9 && (upper - (3.0 + half)).abs() < 1e-9);
}

#[test]
fn a_single_table_has_the_normal_interval() {
    let single = Combined::single(&draws(&[10.0], 4.0)[0]);
    let (lower, upper) = single.interval(0.95).unwrap();
    assert!((lower - (10.0 - 2.0 * 1.959963984540054)).abs() < 1e-12);
    assert!((upper - (10.0 + 2.0 * 1.959963984540054)).abs() < 1e-12);
}

#[test]
fn a_useless_variance_is_replaced_by_a_larger_one_and_noted() {
    // (1 + 1/5) B = 3 and U = 4: T = -1; T* = 3 + r U.
    for (rule, total) in [
        (Rule::Raghunathan { ratio: 2.0 }, 11.0),
        (unified(Kappa::Posterior, 2.0), 11.0),
        // (0.5 - 1) U = -3.5 with U = 7.
        (unified(Kappa::Noise, 0.5), 6.5),
    ] {
        let within = if rule == unified(Kappa::Noise, 0.5) {
            7.0
        } else {
            4.0
        };
        let combined = combine(&draws(&[1.0, 2.0, 3.0, 4.0, 5.0], within), rule).unwrap();
        assert!(
            (combined.standard_error.powi(2) - total).abs() < 1e-12,
            "{rule:?}"
        );
        assert_eq!(combined.note, Some(Note::VarianceReplaced));
        assert!(combined.degrees_of_freedom >= 4.0);
    }
    // Equal draws and no variance at all: a point, not a NaN.
    let point = combine(&draws(&[1.0, 1.0], 0.0), Rule::Raghunathan { ratio: 1.0 }).unwrap();
    assert_eq!(point.interval(0.9).unwrap(), (1.0, 1.0));
}

#[test]
fn what_cannot_be_combined_is_an_error() {
    let one = draws(&[1.0], 1.0);
    assert_eq!(
        combine(&one, Rule::Rubin),
        Err(EstimateError::TooFewDraws { draws: 1 })
    );
    let two = draws(&[1.0, 2.0], 1.0);
    for ratio in [0.0, -1.0, f64::NAN] {
        assert!(combine(&two, unified(Kappa::Noise, ratio)).is_err());
    }
    assert!(
        combine(
            &two,
            Rule::Raghunathan {
                ratio: f64::INFINITY
            }
        )
        .is_err()
    );
    assert!(combine(&draws(&[1.0, f64::NAN], 1.0), Rule::Rubin).is_err());
    let combined = combine(&two, Rule::Rubin).unwrap();
    for level in [0.0, 1.0, 1.5, f64::NAN] {
        assert!(combined.interval(level).is_err());
    }
}

/// Sampling variance, noise variance, draws and repetitions of the emulation.
const V: f64 = 1.0;
const W: f64 = 0.2;
const M: usize = 50;
const REPETITIONS: usize = 10_000;

/// Coverage of the 95 % interval for the truth 0: the real sample's statistic errs by `N(0, V)`, the
/// release adds `N(0, W)`; a draw varies by `W` or `V + W`, and its `n_syn` rows by `V / r`.
fn coverage(kappa: Kappa, ratio: f64, rule: Rule) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(20);
    let mut normal = |variance: f64| -> f64 {
        let z: f64 = StandardNormal.sample(&mut random);
        z * variance.sqrt()
    };
    let posterior = W + V * (1.0 - kappa.value());
    // On the model itself the estimator reports V; a rule that takes infinitely many rows for a table
    // sees their variance, 0.
    let within = match rule {
        Rule::Unified { .. } if ratio.is_infinite() => V,
        _ => V / ratio,
    };
    let covered = (0..REPETITIONS).filter(|_| {
        let released = normal(V) + normal(W);
        let values: Vec<f64> = (0..M)
            .map(|_| released + normal(posterior) + normal(V / ratio))
            .collect();
        let combined = combine(&draws(&values, within), rule).unwrap();
        let (lower, upper) = combined.interval(0.95).unwrap();
        lower <= 0.0 && 0.0 <= upper
    });
    covered.count() as f64 / REPETITIONS as f64
}

/// Coverage of .95 over 10000 repetitions has standard error .0022; four of them are .0087 (false alarm
/// 6e-5 a case). nu's approximation to the law of T costs less than .002 at m = 50.
const BAND: f64 = 0.0087 + 0.002;

#[test]
fn the_unified_rule_covers() {
    for kappa in [Kappa::Posterior, Kappa::Noise] {
        for ratio in [1.0, 2.0, 10.0, f64::INFINITY] {
            let coverage = coverage(kappa, ratio, unified(kappa, ratio));
            assert!(
                (coverage - 0.95).abs() < BAND,
                "{kappa:?} {ratio}: {coverage}"
            );
        }
    }
}

#[test]
fn rubins_rule_covers_only_where_it_is_the_unified_rule() {
    // kappa = 1: errs by (2/r - 1) V; nominal at r = 2 only. Coverage at r = 10 is that of
    // T = W + .2 V against V + W: 2 Phi(1.96 sqrt(.4 / 1.2)) - 1 = .742; at infinity of W: .576.
    let noise = |ratio| coverage(Kappa::Noise, ratio, Rule::Rubin);
    assert!(noise(1.0) > 0.95 + BAND);
    assert!((noise(2.0) - 0.95).abs() < BAND);
    assert!((noise(10.0) - 0.742).abs() < 0.03);
    assert!(noise(f64::INFINITY) < 0.62);
    // kappa = 0: over-states by 2 V / r. At r = 10: 2 Phi(1.96 sqrt(1.4 / 1.2)) - 1 = .966.
    for ratio in [1.0, 2.0, 10.0] {
        let coverage = coverage(Kappa::Posterior, ratio, Rule::Rubin);
        assert!(coverage > 0.95 + 0.0087, "{ratio}: {coverage}");
    }
}

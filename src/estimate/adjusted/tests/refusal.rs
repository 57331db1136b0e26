//! Small, degenerate and impossible releases.

use ndarray::Array2;

use super::population::{Noise, release};
use crate::estimate::EstimateError;
use crate::estimate::adjusted::{
    Arm, CentredMoments, Constants, LeftOut, Target, disagreement, fit, second_estimate,
};

const NOISE: Noise = Noise {
    vectors: 5.0,
    covariance: 7.0,
};

/// A release of the first scores only.
fn first_scores(count: usize) -> CentredMoments {
    let mut moments = release(500, NOISE, 11);
    moments.imbalance.truncate(count);
    for arm in [&mut moments.reference, &mut moments.treated] {
        arm.cross.truncate(count);
        let whole = arm.covariance.clone();
        arm.covariance = Array2::from_shape_fn((count, count), |at| whole[at]);
    }
    moments
}

#[test]
fn without_scores_the_fit_is_the_difference_in_means() {
    let moments = first_scores(0);
    let fitted = fit(&moments, &Constants::default(), 1).unwrap();
    let difference = moments.treated.mean - moments.reference.mean;
    let welch: f64 = [&moments.reference, &moments.treated]
        .iter()
        .map(|arm| arm.variance / (arm.count - 1.0) + arm.mean_noise)
        .sum();
    for target in [Target::Everyone, Target::Treated, Target::Reference] {
        let estimate = fitted.effect(target);
        assert_eq!(estimate.value, difference);
        assert!((estimate.variance.total() / welch - 1.0).abs() < 1e-12);
        let [low, high] = estimate.interval(0.95).unwrap();
        let half = 1.959963984540054 * welch.sqrt();
        assert!((high - difference - half).abs() < 1e-9, "{high}");
        assert!((difference - low - half).abs() < 1e-9, "{low}");
    }
    let second = second_estimate(&moments, &Constants::default()).unwrap();
    assert_eq!(second.value, difference);
    let apart = disagreement(&fitted.effect(Target::Everyone), &second);
    assert!(!apart.is_beyond(0.5).unwrap(), "{apart:?}");
}

#[test]
fn one_score_is_enough() {
    let moments = first_scores(1);
    let constants = Constants::default();
    let estimate = fit(&moments, &constants, 1)
        .unwrap()
        .effect(Target::Everyone);
    let second = second_estimate(&moments, &constants).unwrap();
    let apart = disagreement(&estimate, &second);
    // One score, little noise: the prior has nothing to say, and both are the same regression's.
    let error = estimate.standard_error();
    assert!(apart.difference.abs() < 0.5 * error, "{apart:?} {error}");
    assert!((second.standard_error() / error - 1.0).abs() < 0.2);
}

#[test]
fn parts_of_the_variance_add_up_and_means_agree_with_effects() {
    let mut moments = release(500, NOISE, 2);
    moments.left_out = Some(LeftOut {
        count: 30,
        picks: 8,
        epsilon: 0.1,
        utilities: [500.0, 500.0],
    });
    moments.clipping = 1e-4;
    let fitted = fit(&moments, &Constants::default(), 2).unwrap();
    for target in [Target::Everyone, Target::Treated, Target::Reference] {
        let effect = fitted.effect(target);
        let terms = effect.variance;
        let sampling = terms.sampling + terms.heterogeneity;
        let of_noise = terms.mean_noise + terms.adjustment;
        let sum = sampling + of_noise + terms.clipping + terms.omitted;
        assert!((effect.standard_error().powi(2) / sum - 1.0).abs() < 1e-12);
        assert!((terms.privacy() + sampling - terms.total()).abs() < 1e-15);
        let [reference, treated] = [Arm::Reference, Arm::Treated].map(|a| fitted.mean(a, target));
        assert!((treated.value - reference.value - effect.value).abs() < 1e-12);
        // The joint draws have the variance that the terms state: 8000 of them tell it to 1.6 %, of
        // which four are allowed, and to the posterior draws' own correlation.
        let draws = fitted.arm_means(target, 8);
        let differences: Vec<f64> = draws.iter().map(|[y0, y1]| y1 - y0).collect();
        let count = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let square: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
        let ratio = square / count / effect.variance.total();
        assert!((ratio - 1.0).abs() < 0.065, "{target:?}: {ratio}");
        let error = (effect.variance.total() / count).sqrt();
        assert!((mean - effect.value).abs() < 4.0 * error, "{mean}");
    }
}

/// The draws are widened about their medians: the estimates stay, and what the noise leaves open grows by the square.
#[test]
fn the_spread_widens_the_draws_about_the_estimate() {
    let moments = release(500, NOISE, 4);
    let fitted = |posterior_spread: f64| {
        let constants = Constants {
            posterior_spread,
            ..Constants::default()
        };
        fit(&moments, &constants, 4)
            .unwrap()
            .effect(Target::Everyone)
    };
    let [plain, wide] = [1.0, 1.5].map(fitted);
    assert!((wide.value - plain.value).abs() < 1e-12);
    let ratio = wide.variance.adjustment / plain.variance.adjustment;
    assert!((ratio - 2.25).abs() < 1e-9, "{ratio}");
    assert_eq!(wide.variance.mean_noise, plain.variance.mean_noise);
}

#[test]
fn the_interval_is_the_quantiles_of_the_draws() {
    let fitted = fit(&release(500, NOISE, 3), &Constants::default(), 3).unwrap();
    let estimate = fitted.effect(Target::Treated);
    let mut draws: Vec<f64> = (fitted.arm_means(Target::Treated, 40).iter())
        .map(|[y0, y1]| y1 - y0)
        .collect();
    draws.sort_by(f64::total_cmp);
    for level in [0.5, 0.95, 0.999] {
        let [low, high] = estimate.interval(level).unwrap();
        for (end, probability) in [(low, (1.0 - level) / 2.0), (high, (1.0 + level) / 2.0)] {
            // The share of 40000 draws below the quantile is binomial.
            let below = draws.partition_point(|&d| d < end) as f64 / draws.len() as f64;
            let error = (probability * (1.0 - probability) / draws.len() as f64).sqrt();
            assert!(
                (below - probability).abs() < 4.0 * error,
                "{level}: {below}"
            );
        }
    }
    assert!(estimate.interval(1.0).is_err() && estimate.interval(f64::NAN).is_err());
}

#[test]
fn the_seed_fixes_the_fit() {
    let moments = release(500, NOISE, 4);
    let run = |seed| fit(&moments, &Constants::default(), seed).unwrap();
    assert_eq!(run(1), run(1));
    let [first, again] = [1, 1].map(|seed| run(seed).arm_means(Target::Everyone, 2));
    assert_eq!(first, again);
    assert_ne!(
        run(1).effect(Target::Everyone),
        run(2).effect(Target::Everyone)
    );
}

type Breaking = fn(&mut CentredMoments);

#[test]
fn impossible_releases_are_refused() {
    let broken: [(&str, Breaking); 9] = [
        ("NaN imbalance", |m| m.imbalance[0] = f64::NAN),
        ("negative count", |m| m.treated.count = -3.0),
        ("empty arm", |m| m.reference.count = 0.0),
        ("infinite mean", |m| m.reference.mean = f64::INFINITY),
        ("negative noise", |m| m.treated.cross_noise = -1.0),
        ("negative variance", |m| m.treated.variance = -0.1),
        ("short cross", |m| m.treated.cross.truncate(2)),
        ("not square", |m| {
            m.reference.covariance = Array2::zeros((5, 4))
        }),
        ("asymmetric", |m| m.reference.covariance[(0, 1)] += 0.1),
    ];
    for (what, breaking) in broken {
        let mut moments = release(100, NOISE, 5);
        breaking(&mut moments);
        let refused = |e: EstimateError| matches!(e, EstimateError::Moments(_));
        let constants = Constants::default();
        assert!(fit(&moments, &constants, 1).is_err_and(refused), "{what}");
        assert!(
            second_estimate(&moments, &constants).is_err_and(refused),
            "{what}"
        );
    }
}

#[test]
fn constants_without_a_meaning_are_refused() {
    let broken: [fn(&mut Constants); 5] = [
        |c| c.prior_scale = 0.0,
        |c| c.arm_limits = [-1.0, 4.0],
        |c| c.variance_bounds = [0.5, 0.1],
        |c| c.correction_cap = f64::NAN,
        |c| c.draws = 0,
    ];
    let moments = release(100, NOISE, 5);
    for breaking in broken {
        let mut constants = Constants::default();
        breaking(&mut constants);
        let refused = fit(&moments, &constants, 1);
        assert!(
            matches!(refused, Err(EstimateError::Option(_))),
            "{constants:?}"
        );
    }
}

/// Noise far above the signal, matrices that are nowhere near positive, an outcome without variance: the
/// answer is wide, not an error and not a NaN.
#[test]
fn extreme_noise_gives_finite_answers() {
    let loud = Noise {
        vectors: 3000.0,
        covariance: 5000.0,
    };
    for seed in 0..10 {
        let mut moments = release(60, loud, seed);
        if seed % 2 == 0 {
            moments.treated.variance = 0.0;
            moments.reference.variance = 0.0;
        }
        let constants = Constants {
            draws: 200,
            ..Constants::default()
        };
        let fitted = fit(&moments, &constants, seed).unwrap();
        for target in [Target::Everyone, Target::Treated, Target::Reference] {
            let estimate = fitted.effect(target);
            let [low, high] = estimate.interval(0.95).unwrap();
            assert!(
                low < estimate.value && estimate.value < high,
                "{low} {high}"
            );
            assert!(estimate.standard_error().is_finite());
        }
        second_estimate(&moments, &constants).unwrap();
    }
}

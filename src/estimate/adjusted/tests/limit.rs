//! Without noise, the fit is the interacted regression.

use ndarray::{Array1, Array2};

use super::population::{Noise, SCORES, release};
use crate::estimate::adjusted::{
    AdjustedEstimate, CentredArm, Constants, Target, fit, second_estimate,
};
use crate::estimate::{ArmMoments, Estimand, Estimate, regression_from_moments};

/// The arm's raw moments, its scores' mean at `mean`.
fn raw(arm: &CentredArm, mean: &[f64]) -> ArmMoments {
    let first = |i: usize| if i == 0 { 1.0 } else { mean[i - 1] };
    let mut gram = Array2::from_shape_fn((SCORES + 1, SCORES + 1), |(i, j)| first(i) * first(j));
    let mut cross = Array1::from_shape_fn(SCORES + 1, |i| first(i) * arm.mean);
    for i in 0..SCORES {
        cross[i + 1] += arm.cross[i];
        for j in 0..SCORES {
            gram[(i + 1, j + 1)] += arm.covariance[(i, j)];
        }
    }
    ArmMoments {
        weight: arm.count,
        gram,
        cross,
        second_moment: arm.variance + arm.mean * arm.mean,
    }
}

/// The posterior's centre is off the regression by the noise at most: exact moments are taken for ones with
/// noise of the size that the release states, so that the posterior's own standard deviation bounds what
/// prior and Monte Carlo can do (each a small part of it). `regression_from_moments` adds a ridge of 1e-10,
/// which moves slopes of order 1 by 1e-10 over the least eigenvalue, 0.1.
fn check(estimate: &AdjustedEstimate, expected: Estimate) {
    let tolerance = estimate.variance.adjustment.sqrt() + 1e-8;
    assert!(tolerance < 1e-6, "the noise is not small: {tolerance}");
    let error = estimate.value - expected.value;
    assert!(error.abs() < tolerance, "{error} is beyond {tolerance}");
    let ratio = estimate.variance.total() / expected.variance;
    assert!((ratio - 1.0).abs() < 1e-5, "variances have ratio {ratio}");
}

#[test]
fn without_noise_the_fit_is_the_interacted_regression() {
    let noise = |size| Noise {
        vectors: size,
        covariance: size,
    };
    for stated in [0.0, 1e-5] {
        let mut moments = release(2000, noise(0.0), 5);
        let scale = stated / 1000.0;
        moments.imbalance_noise = scale * scale;
        for arm in [&mut moments.reference, &mut moments.treated] {
            arm.cross_noise = scale * scale;
            arm.covariance_noise = scale;
        }
        let fitted = fit(&moments, &Constants::default(), 3).unwrap();
        let reference = raw(&moments.reference, &[0.0; SCORES]);
        let treated = raw(&moments.treated, &moments.imbalance);
        let arms = [reference.clone(), treated.clone()];
        let ate = regression_from_moments(&arms, 1, Estimand::Ate).unwrap();
        check(&fitted.effect(Target::Everyone), ate);
        let att = regression_from_moments(&arms, 1, Estimand::Att).unwrap();
        check(&fitted.effect(Target::Treated), att);
        // The ATC is the other arm's ATT, with the opposite sign.
        let mut atc = regression_from_moments(&[treated, reference], 1, Estimand::Att).unwrap();
        atc.value = -atc.value;
        check(&fitted.effect(Target::Reference), atc);

        let second = second_estimate(&moments, &Constants::default()).unwrap();
        assert!((second.value - ate.value).abs() < 1e-6, "{second:?}");
        assert!((second.variance.total() / ate.variance - 1.0).abs() < 1e-5);
    }
}

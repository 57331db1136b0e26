use super::*;
use crate::privacy::testing::clopper_pearson;
use crate::privacy::{Adjacency, Authorisation, ReleaseId, epsilon_from_mu, mu_from_epsilon_delta};
use crate::schema::SCALE;

fn accountant(limit: Cost) -> Accountant {
    Accountant::new(Authorisation::granted(ReleaseId::random().unwrap(), limit))
}

fn one_record() -> Sensitivity {
    Sensitivity::of_non_negative_sum(SCALE, Adjacency::AddRemove, 1).unwrap()
}

#[test]
fn sigma_is_the_smallest_that_the_share_affords() {
    let mu = mu_from_epsilon_delta(1.0, 1e-6).unwrap();
    let mechanism = GaussianMechanism::new(one_record(), mu * mu).unwrap();
    assert!((mechanism.standard_deviation_records() - 4.225).abs() < 5e-4);
    let sigma = mechanism.sigma();
    assert!(mechanism.cost().gaussian_mu_squared() <= mu * mu);
    assert!(gaussian_charge(one_record(), sigma - 1) > mu * mu);
    // The charge is the CKS bound and hardly more: rho = Delta^2 / (2 sigma^2).
    let rho = (SCALE as f64 / sigma as f64).powi(2) / 2.0;
    let charged = mechanism.cost().rho();
    assert!(charged > rho && charged < rho * (1.0 + 1e-10));
}

#[test]
fn extreme_shares_are_safe() {
    assert_eq!(
        GaussianMechanism::new(one_record(), 1e300).unwrap().sigma(),
        5
    );
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(GaussianMechanism::new(one_record(), bad).is_err());
        assert!(LaplaceMechanism::new(1, bad).is_err());
    }
    assert!(LaplaceMechanism::new(0, 1.0).is_err());
    assert!(matches!(
        GaussianMechanism::new(one_record(), 1e-30),
        Err(PrivacyError::NoiseTooLarge { .. })
    ));
}

#[test]
fn laplace_scale_and_charge() {
    let mechanism = LaplaceMechanism::new(SCALE as u64, 0.1).unwrap();
    assert!(mechanism.epsilon() <= 0.1);
    assert!(laplace_epsilon(SCALE as u64, mechanism.scale() - 1) > 0.1);
    assert!((mechanism.cost().other_rho() - 0.005).abs() < 1e-8);
}

#[test]
fn nothing_is_drawn_that_was_not_authorised() {
    let mechanism = GaussianMechanism::new(one_record(), 0.5).unwrap();
    let mut accountant = accountant(Cost::gaussian(0.75).unwrap());
    let mut noise = NoiseSource::insecure_seed(1);
    let mut release = |noise: &mut NoiseSource| {
        mechanism.release(Confidential::new(vec![0; 8]), &mut accountant, noise)
    };
    release(&mut noise).unwrap();
    assert!(release(&mut noise).is_err());
    // The refused release took nothing from the generator.
    use rand::Rng;
    let mut reference = NoiseSource::insecure_seed(1);
    for _ in 0..8 {
        discrete_gaussian(mechanism.sigma(), reference.generator());
    }
    assert_eq!(
        noise.generator().next_u64(),
        reference.generator().next_u64()
    );
}

#[test]
fn sums_at_the_ends_of_the_range_are_clamped() {
    let mechanism = GaussianMechanism::new(one_record(), 0.5).unwrap();
    let exact = [i64::MAX, i64::MIN].repeat(50);
    let mut accountant = accountant(mechanism.cost());
    let answer = mechanism
        .release(
            Confidential::new(exact.clone()),
            &mut accountant,
            &mut NoiseSource::insecure_seed(2),
        )
        .unwrap();
    // No wrap-around: signs are kept. Some draws of each sign hit the end itself.
    assert!(
        answer
            .values
            .iter()
            .zip(&exact)
            .all(|(v, e)| v.signum() == e.signum())
    );
    assert!(answer.values.contains(&i64::MAX) && answer.values.contains(&i64::MIN));
}

/// The proof's decomposition, at scales where its slack is visible: the law of the rounded continuous
/// Gaussian, `f`, and the discrete Gaussian, `D`, differ by a factor of at most
/// `(1 + eta) / (1 - eta)`. The integral is by Simpson's rule over +-12 sigma_1 in steps of 1/200: its
/// error for these analytic integrands is near the rounding error.
#[test]
fn the_discrete_gaussian_is_a_rounded_continuous_one() {
    let total = 3.0f64;
    for rounding in [0.4f64, 0.5, 1.0] {
        let first = (total * total - rounding * rounding).sqrt();
        let eta = 2.0
            * (1..20)
                .map(|j| {
                    (-2.0 * std::f64::consts::PI.powi(2) * (rounding * f64::from(j)).powi(2)).exp()
                })
                .sum::<f64>();
        let bell = |x: f64, s: f64| (-x * x / (2.0 * s * s)).exp();
        let norm_first = (2.0 * std::f64::consts::PI).sqrt() * first;
        let norm_total: f64 = (-60..=60).map(|k| bell(f64::from(k), total)).sum();
        let rounded = |k: f64| {
            let half = (first * 12.0 * 200.0) as i32;
            let sum: f64 = (-half..=half)
                .map(|i| {
                    let y = f64::from(i) / 200.0;
                    let weight = match i {
                        i if i.abs() == half => 1.0,
                        i if (i + half) % 2 == 1 => 4.0,
                        _ => 2.0,
                    };
                    let lattice: f64 = (-12..=12)
                        .map(|j| bell(y.round() + f64::from(j) - y, rounding))
                        .sum();
                    weight * bell(y, first) / norm_first * bell(k - y, rounding) / lattice
                })
                .sum();
            sum / 600.0
        };
        let bound = (1.0 + eta) / (1.0 - eta) + 1e-9;
        let mut worst: f64 = 1.0;
        for k in -12..=12 {
            let k = f64::from(k);
            let ratio = bell(k, total) / norm_total / rounded(k);
            worst = worst.max(ratio.max(1.0 / ratio));
        }
        assert!(worst <= bound, "{rounding}: {worst} > {bound}");
        if rounding < 0.45 {
            // Here the slack is large enough to be seen: the bound is not vacuous.
            assert!(worst > 1.0 + 1e-3, "{worst}");
        }
    }
}

/// A distinguishing attack on a count and its neighbour, at the best of several thresholds chosen from the
/// noise law beforehand. Each threshold's two Clopper-Pearson bounds miss with probability 1e-7, so a
/// lower bound on epsilon above the true one is a false alarm of less than 16e-7 in all.
fn audited_epsilon(sigma: u64, delta: f64) -> f64 {
    const DRAWS: u64 = 400_000;
    let mut noise = NoiseSource::insecure_seed(3);
    let mut draws = |count: i64| -> Vec<i64> {
        let exact = Confidential::new(vec![count; DRAWS as usize]);
        add_noise(exact, || discrete_gaussian(sigma, noise.generator()))
    };
    let (without, with) = (draws(0), draws(SCALE));
    [1.5f64, 2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5]
        .iter()
        .map(|z| {
            let threshold = (z * sigma as f64) as i64;
            let above = |sample: &[i64]| sample.iter().filter(|&&x| x >= threshold).count() as u64;
            let (_, false_positive) = clopper_pearson(DRAWS, above(&without), 1e-7);
            let (true_positive, _) = clopper_pearson(DRAWS, above(&with), 1e-7);
            ((true_positive - delta) / false_positive).ln()
        })
        .fold(0.0, f64::max)
}

#[test]
fn an_attack_finds_no_more_than_the_stated_epsilon() {
    let delta = 1e-6;
    let mu = mu_from_epsilon_delta(1.0, delta).unwrap();
    let mechanism = GaussianMechanism::new(one_record(), mu * mu).unwrap();
    let charged = mechanism.cost().mu().unwrap();
    assert!(epsilon_from_mu(charged, delta).unwrap() <= 1.0);
    assert!(audited_epsilon(mechanism.sigma(), delta) < 1.0);
    // The attack has power: with half the noise it is caught.
    let mutant = audited_epsilon(mechanism.sigma() / 2, delta);
    assert!(mutant > 1.0, "{mutant}");
}

//! The `opendp` crate (0.16) as an oracle: another implementation of the same laws and conversions.

use opendp::combinators::ConcentratedMeasure;
use opendp::domains::{AtomDomain, VectorDomain};
use opendp::measurements::{make_gaussian, make_laplace};
use opendp::measures::{MaxDivergence, ZeroConcentratedDivergence};
use opendp::metrics::{L1Distance, L2Distance};

use super::sampler::{discrete_gaussian, discrete_laplace};
use super::testing::chi_square_bound;
use super::{NoiseSource, delta_from_rho, epsilon_from_rho};

const DRAWS: usize = 100_000;

/// Two-sample chi-square of equally many draws over cells `-reach..=reach`, tails joined to the end
/// cells. `opendp` draws from the operating system, so this can fail by chance: once in 10^6 runs.
fn same_law(ours: &[i64], theirs: &[i64], reach: i64) -> bool {
    assert_eq!(ours.len(), theirs.len());
    let histogram = |sample: &[i64]| {
        let mut counts = vec![0.0f64; 2 * reach as usize + 1];
        for x in sample {
            counts[(x.clamp(&-reach, &reach) + reach) as usize] += 1.0;
        }
        counts
    };
    let (ours, theirs) = (histogram(ours), histogram(theirs));
    let statistic: f64 = ours
        .iter()
        .zip(&theirs)
        .map(|(a, b)| (a - b) * (a - b) / (a + b).max(1.0))
        .sum();
    statistic <= chi_square_bound(ours.len() - 1)
}

#[test]
fn gaussian_draws_have_the_same_law() {
    for (sigma, reach) in [(1u64, 3), (7, 18)] {
        let oracle = make_gaussian::<_, _, ZeroConcentratedDivergence>(
            VectorDomain::new(AtomDomain::<i64>::default()),
            L2Distance::<i64>::default(),
            sigma as f64,
            None,
        )
        .unwrap();
        let theirs = oracle.invoke(&vec![0; DRAWS]).unwrap();
        let mut noise = NoiseSource::insecure_seed(31);
        let ours: Vec<i64> = (0..DRAWS)
            .map(|_| discrete_gaussian(sigma, noise.generator()) as i64)
            .collect();
        assert!(same_law(&ours, &theirs, reach));
        // The test has power: a sigma one tenth too large is seen.
        let wrong: Vec<i64> = (0..DRAWS)
            .map(|_| {
                (discrete_gaussian(11 * sigma, noise.generator()) as f64 / 10.0).round() as i64
            })
            .collect();
        assert!(!same_law(&wrong, &theirs, reach));
        // Their charge for Delta = 3 is rho = 9 / (2 sigma^2).
        let rho = oracle.map(&3).unwrap();
        assert!((rho - 4.5 / (sigma * sigma) as f64).abs() < 1e-12);
    }
}

#[test]
fn laplace_draws_have_the_same_law() {
    for (scale, reach) in [(1u64, 6), (7, 40)] {
        let oracle = make_laplace::<_, _, MaxDivergence>(
            VectorDomain::new(AtomDomain::<i64>::default()),
            L1Distance::<i64>::default(),
            scale as f64,
            None,
        )
        .unwrap();
        let theirs = oracle.invoke(&vec![0; DRAWS]).unwrap();
        let mut noise = NoiseSource::insecure_seed(32);
        let ours: Vec<i64> = (0..DRAWS)
            .map(|_| discrete_laplace(scale, noise.generator()) as i64)
            .collect();
        assert!(same_law(&ours, &theirs, reach));
    }
}

#[test]
fn zcdp_conversions_agree() {
    for rho in [0.001, 0.0149731, 0.1, 1.0, 10.0] {
        let profile = ZeroConcentratedDivergence::convert(rho).unwrap();
        for delta in [1e-9, 1e-6, 1e-3] {
            let theirs = profile.epsilon(delta).unwrap();
            let ours = epsilon_from_rho(rho, delta).unwrap();
            assert!(
                (ours / theirs - 1.0).abs() < 1e-6,
                "{rho} {delta}: {ours} {theirs}"
            );
            assert!(delta_from_rho(rho, theirs * (1.0 + 1e-6)).unwrap() <= delta);
        }
    }
}

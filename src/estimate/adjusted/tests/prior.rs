//! The prior's tail: without data the chain must draw from the prior.

use ndarray::Array2;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

use super::super::covariance::{Reliability, Shrunk, released};
use super::super::sampler::{Chain, run};
use crate::estimate::adjusted::{CentredArm, CentredMoments, Constants};

const SCORES: usize = 3;

/// Moments of so much noise that they say nothing of imbalance and slopes; covariances are exact, so that whitening is
/// known.
fn without_information() -> CentredMoments {
    let arm = CentredArm {
        count: 500.0,
        mean: 0.0,
        mean_noise: 0.0,
        variance: 0.04,
        cross: vec![0.0; SCORES],
        cross_noise: 1e12,
        covariance: Array2::from_diag(&ndarray::arr1(&[0.2, 0.3, 0.4])),
        covariance_noise: 0.0,
    };
    CentredMoments {
        reference: arm.clone(),
        treated: arm,
        imbalance: vec![0.0; SCORES],
        imbalance_noise: 1e12,
        clipping: 0.0,
        left_out: None,
    }
}

fn chain(constants: &Constants) -> (Chain, Shrunk) {
    let moments = without_information();
    let reliability = Reliability::new(&moments, constants);
    let arms = released(&moments);
    let shrunk = reliability
        .shrink(&arms, constants.arm_limits, constants)
        .unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let chain = run(&moments, &shrunk, &reliability, constants, &mut random).unwrap();
    (chain, shrunk)
}

/// `|alpha_j|` in units of the prior's scale is `|z| sqrt(m / chi2_m) sqrt(d / chi2_d)`, `m` the strength and `d` the degrees of
/// freedom, because the first entry of an inverse Wishart matrix is inverse chi squared. Its quartiles, of both
/// directions' draws, are those of direct draws of that product.
#[test]
fn the_chain_without_data_draws_from_the_prior() {
    for degrees in [1.0, 5.0, 1e9] {
        let constants = Constants {
            prior_degrees: degrees,
            prior_strength: 4.0,
            draws: 60_000,
            ..Constants::default()
        };
        let (chain, shrunk) = chain(&constants);
        let mut found: Vec<f64> = Vec::new();
        for draw in &chain.kept {
            for ([imbalance, _], variance) in draw.moments.iter().zip([0.2, 0.3, 0.4]) {
                found.push((imbalance / f64::sqrt(variance)).abs() / constants.prior_scale);
            }
        }
        let diagonal = shrunk.arms[0][(1, 1)];
        assert!(
            (diagonal - 0.3).abs() < 1e-9,
            "whitening is not the diagonal's"
        );
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let [of_scale, of_tail] =
            [constants.prior_strength, degrees].map(|d| ChiSquared::new(d).unwrap());
        let mut expected: Vec<f64> = (0..400_000)
            .map(|_| {
                let z: f64 = StandardNormal.sample(&mut random);
                let scale = constants.prior_strength / of_scale.sample(&mut random);
                let tail = degrees / of_tail.sample(&mut random);
                z.abs() * (scale * tail).sqrt()
            })
            .collect();
        found.sort_by(f64::total_cmp);
        expected.sort_by(f64::total_cmp);
        for quarter in 1..4 {
            let at = |draws: &[f64]| draws[draws.len() * quarter / 4];
            let ratio = at(&found) / at(&expected);
            assert!((ratio - 1.0).abs() < 0.05, "{degrees}, {quarter}: {ratio}");
        }
    }
}

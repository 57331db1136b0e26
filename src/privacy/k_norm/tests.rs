use super::*;
use crate::privacy::testing::chi_square_fits;
use crate::privacy::{Authorisation, Budget, ReleaseId};
use statrs::distribution::{Beta, ContinuousCDF, Gamma};

/// Chi-square of draws on a small lattice against the law, cell by cell; false alarms: one in 10^6.
#[test]
fn small_lattices_have_the_law() {
    for (norm, dimension, scale, reach) in [
        (Norm::L2, 1, 3, 12i64),
        (Norm::L2, 2, 2, 7),
        (Norm::LInfinity, 2, 2, 7),
    ] {
        let length = |k: &[i64]| match norm {
            Norm::L2 => (k.iter().map(|k| (k * k) as f64).sum::<f64>().sqrt()).ceil(),
            Norm::LInfinity => k.iter().map(|k| k.abs()).max().unwrap() as f64,
        };
        let weight = |k: &[i64]| (-length(k) / scale as f64).exp();
        let side = 2 * reach + 1;
        let point = |cell: i64| match dimension {
            1 => vec![cell - reach],
            _ => vec![cell / side - reach, cell % side - reach],
        };
        let cells = side.pow(dimension as u32);
        // All weights, far beyond the cells, for the norming constant.
        let far = 60i64;
        let total: f64 = match dimension {
            1 => (-far..=far).map(|k| weight(&[k])).sum(),
            _ => (-far..=far)
                .flat_map(|i| (-far..=far).map(move |j| weight(&[i, j])))
                .sum(),
        };
        const DRAWS: usize = 300_000;
        let ball = Ball::new(norm, dimension, scale);
        let mut noise = NoiseSource::insecure_seed(31);
        let mut observed = vec![0u64; cells as usize + 1];
        for _ in 0..DRAWS {
            let k = ball.draw(noise.generator());
            let inside = k.iter().all(|k| k.abs() <= reach);
            let index = k.iter().fold(0, |index, k| index * side + k + reach);
            observed[if inside {
                index as usize
            } else {
                cells as usize
            }] += 1;
        }
        let mut expected: Vec<f64> = (0..cells)
            .map(|cell| weight(&point(cell)) / total * DRAWS as f64)
            .collect();
        expected.push(DRAWS as f64 - expected.iter().sum::<f64>());
        // Cells that expect too few draws are joined.
        let (mut o, mut e) = (vec![0], vec![0.0]);
        for (observed, expected) in observed.into_iter().zip(expected) {
            if expected < 12.0 {
                (o[0], e[0]) = (o[0] + observed, e[0] + expected);
            } else {
                o.push(observed);
                e.push(expected);
            }
        }
        // The joined cell, where it is too small by itself, joins the next.
        if e[0] < 12.0 {
            (o[1], e[1]) = (o[0] + o[1], e[0] + e[1]);
            (o, e) = (o.split_off(1), e.split_off(1));
        }
        assert!(chi_square_fits(&o, &e), "{norm:?} {dimension}");
    }
}

/// In any dimension the length is a Gamma variable of shape d, and the square of a coordinate over the squared length a
/// Beta variable of 1/2 and (d - 1) / 2: 20 buckets of equal probability. False alarms: one in 10^6 each.
#[test]
fn lengths_and_directions_have_their_laws() {
    const DRAWS: usize = 6_000;
    const BUCKETS: usize = 20;
    for dimension in [2usize, 8, 9, 38] {
        let scale = 1u64 << 28;
        let ball = Ball::new(Norm::L2, dimension, scale);
        let lengths = Gamma::new(dimension as f64, 1.0).unwrap();
        let shares = Beta::new(0.5, (dimension as f64 - 1.0) / 2.0).unwrap();
        let mut noise = NoiseSource::insecure_seed(32);
        let mut counts = [[0u64; BUCKETS]; 2];
        for _ in 0..DRAWS {
            let k = ball.draw(noise.generator());
            let square: f64 = k.iter().map(|&k| (k as f64).powi(2)).sum();
            let parts = [
                lengths.cdf(square.sqrt() / scale as f64),
                shares.cdf((k[0] as f64).powi(2) / square),
            ];
            for (counts, p) in counts.iter_mut().zip(parts) {
                counts[((p * BUCKETS as f64) as usize).min(BUCKETS - 1)] += 1;
            }
        }
        for counts in counts {
            assert!(
                chi_square_fits(&counts, &[DRAWS as f64 / BUCKETS as f64; BUCKETS]),
                "{dimension}"
            );
        }
    }
}

#[test]
fn the_charge_is_kept_and_the_scale_is_the_least() {
    for (norm, dimension) in [
        (Norm::L2, 1),
        (Norm::L2, 12),
        (Norm::LInfinity, 30),
        (Norm::L2, 4000),
    ] {
        let mechanism = KNormMechanism::new(norm, dimension, 1 << 28, 0.75).unwrap();
        let cost = mechanism.cost().pure_epsilon();
        assert!(cost <= 0.75 && cost > 0.749, "{dimension}: {cost}");
        assert!(cost * mechanism.scale() as f64 >= mechanism.sensitivity() as f64);
    }
    for wrong in [f64::NAN, 0.0, -1.0, 1e-9] {
        assert!(KNormMechanism::new(Norm::L2, 3, 1 << 28, wrong).is_err());
    }
    assert!(KNormMechanism::new(Norm::L2, 3, 0, 1.0).is_err());
}

#[test]
fn nothing_is_drawn_without_a_charge() {
    let mechanism = KNormMechanism::new(Norm::L2, 2, 1 << 20, 1.0).unwrap();
    let budget = Budget::pure(1.0).unwrap();
    let authorisation =
        Authorisation::without_ledger(ReleaseId::random().unwrap(), mechanism.cost(), &budget);
    let mut accountant = Accountant::new(authorisation.unwrap());
    let mut noise = NoiseSource::insecure_seed(33);
    let exact = || Confidential::new(vec![5, -7]);
    assert!(
        mechanism
            .release(exact(), &mut accountant, &mut noise)
            .is_ok()
    );
    assert!(matches!(
        mechanism.release(exact(), &mut accountant, &mut noise),
        Err(PrivacyError::NotAuthorised { .. })
    ));
}

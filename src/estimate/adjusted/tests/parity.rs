//! Agreement of the posterior with an independent implementation.
//!
//! The cases are noisy releases of 3 and 4 scores of American Community Survey workers with a simulated
//! outcome; what is expected of each is the posterior of `a' beta_t` from 60 chains of 2500 draws in numpy
//! 2 (vectorised over chains, another order of steps), and the standard deviation, over those chains, of
//! each statistic of one chain. A chain of the same length here must lie within 4.5 of them (36 comparisons,
//! false alarm 2.5e-4 in all). That implementation's prior is normal, the limit of many degrees of freedom; `prior` tests
//! their finite number.

use ndarray::Array2;

use crate::estimate::adjusted::{CentredArm, CentredMoments, Constants, fit};

/// A statistic, and the standard deviation of one chain's.
type Expected = (f64, f64);

struct Case {
    name: &'static str,
    counts: [f64; 2],
    variances: [f64; 2],
    imbalance: &'static [f64],
    imbalance_noise: f64,
    cross: [&'static [f64]; 2],
    cross_noise: [f64; 2],
    covariance: [&'static [f64]; 2],
    covariance_noise: [f64; 2],
    /// Mean, standard deviation, 2.5 % and 97.5 % quantile of `a' beta_0`, `a' beta_1` and of the ATE's
    /// `(1-p) a' beta_1 + p a' beta_0`.
    expected: [[Expected; 4]; 3],
}

const CASES: [Case; 3] = [
    Case {
        name: "dollars, loose",
        counts: [2952.26837, 1972.98641],
        variances: [0.0413022029, 0.0397085231],
        imbalance: &[0.272117594, 0.206372654, 0.209591483],
        imbalance_noise: 6.93868647e-05,
        cross: [
            &[0.041322962, 0.0491935623, 0.0395864667],
            &[0.0254775548, 0.0377765502, 0.032036453],
        ],
        cross_noise: [1.10717679e-05, 2.47902242e-05],
        covariance: [
            &[
                0.331615925,
                -0.00407495397,
                0.113793394,
                -0.00407495397,
                0.212646037,
                0.0165999215,
                0.113793394,
                0.0165999215,
                0.350342753,
            ],
            &[
                0.263265494,
                -0.0148252354,
                0.0569565593,
                -0.0148252354,
                0.194917212,
                0.0133841007,
                0.0569565593,
                0.0133841007,
                0.30863635,
            ],
        ],
        covariance_noise: [0.00720808569, 0.0107857831],
        expected: [
            [
                (0.089412, 0.000097),
                (0.005130, 0.000065),
                (0.079679, 0.000241),
                (0.099743, 0.000246),
            ],
            [
                (0.080736, 0.000196),
                (0.008383, 0.000108),
                (0.064834, 0.000353),
                (0.097618, 0.000465),
            ],
            [
                (0.084212, 0.000127),
                (0.005691, 0.000081),
                (0.073385, 0.000267),
                (0.095621, 0.000351),
            ],
        ],
    },
    Case {
        name: "binary, small",
        counts: [599.678525, 376.690274],
        variances: [0.829227371, 1.07780877],
        imbalance: &[0.230279372, 0.175758594, -0.0299569823, 0.0212470316],
        imbalance_noise: 0.000497029802,
        cross: [
            &[0.0834855556, 0.136410905, -0.0171196838, -0.0211385755],
            &[0.0720819858, 0.170358047, -0.0599724463, -0.0148901124],
        ],
        cross_noise: [0.000332306098, 0.000842183038],
        covariance: [
            &[
                0.307590083,
                0.00498864911,
                0.0179454522,
                0.00432079612,
                0.00498864911,
                0.200910907,
                -0.0066790841,
                0.0466354169,
                0.0179454522,
                -0.0066790841,
                0.336418269,
                0.0187416328,
                0.00432079612,
                0.0466354169,
                0.0187416328,
                0.156606998,
            ],
            &[
                0.24302395,
                0.0170430013,
                -0.0457723996,
                0.0031678193,
                0.0170430013,
                0.162965782,
                0.0307096274,
                0.0617671732,
                -0.0457723996,
                0.0307096274,
                0.374956748,
                -0.0400155191,
                0.0031678193,
                0.0617671732,
                -0.0400155191,
                0.15366114,
            ],
        ],
        covariance_noise: [0.0202740985, 0.0322756979],
        expected: [
            [
                (0.187639, 0.000820),
                (0.032574, 0.000563),
                (0.129140, 0.001483),
                (0.256648, 0.002277),
            ],
            [
                (0.214803, 0.001363),
                (0.048408, 0.000777),
                (0.128877, 0.001985),
                (0.318937, 0.003301),
            ],
            [
                (0.204322, 0.000972),
                (0.035975, 0.000562),
                (0.139804, 0.001227),
                (0.281130, 0.002609),
            ],
        ],
    },
    Case {
        name: "dollars, large",
        counts: [11859.4453, 8138.38615],
        variances: [0.0397594183, 0.0394291076],
        imbalance: &[-0.0590585125, 0.215447351, 0.0236535948, 0.18760255],
        imbalance_noise: 3.0238236e-07,
        cross: [
            &[-0.0246515227, 0.0454347544, -0.0166960422, 0.038268815],
            &[-0.00488466827, 0.0403884838, -0.024744549, 0.0289868634],
        ],
        cross_noise: [4.91879345e-08, 1.04450555e-07],
        covariance: [
            &[
                0.302660957,
                -0.0298591608,
                0.00834320683,
                -0.0746584895,
                -0.0298591608,
                0.216061594,
                0.0245723403,
                0.0239157531,
                0.00834320683,
                0.0245723403,
                0.330966904,
                -0.0187121568,
                -0.0746584895,
                0.0239157531,
                -0.0187121568,
                0.333631347,
            ],
            &[
                0.289800961,
                -0.0195980579,
                -0.00428008601,
                -0.0317454754,
                -0.0195980579,
                0.164856632,
                0.0178212076,
                0.0191041953,
                -0.00428008601,
                0.0178212076,
                0.332754825,
                -0.0247675313,
                -0.0317454754,
                0.0191041953,
                -0.0247675313,
                0.300197871,
            ],
        ],
        covariance_noise: [0.000543843656, 0.000792501604],
        expected: [
            [
                (0.0609466, 0.0000067),
                (0.0002988, 0.0000045),
                (0.0603629, 0.0000141),
                (0.0615365, 0.0000171),
            ],
            [
                (0.0646846, 0.0000131),
                (0.0005386, 0.0000079),
                (0.0636356, 0.0000294),
                (0.0657445, 0.0000316),
            ],
            [
                (0.0631634, 0.0000091),
                (0.0003544, 0.0000053),
                (0.0624743, 0.0000201),
                (0.0638615, 0.0000182),
            ],
        ],
    },
];

impl Case {
    fn moments(&self) -> CentredMoments {
        let scores = self.imbalance.len();
        let arm = |t: usize| CentredArm {
            count: self.counts[t],
            mean: 0.0,
            mean_noise: 0.0,
            variance: self.variances[t],
            cross: self.cross[t].to_vec(),
            cross_noise: self.cross_noise[t],
            covariance: Array2::from_shape_vec((scores, scores), self.covariance[t].to_vec())
                .unwrap(),
            covariance_noise: self.covariance_noise[t],
        };
        CentredMoments {
            reference: arm(0),
            treated: arm(1),
            imbalance: self.imbalance.to_vec(),
            imbalance_noise: self.imbalance_noise,
            clipping: 0.0,
            left_out: None,
        }
    }
}

/// Mean, standard deviation and the two quantiles.
fn statistics(mut draws: Vec<f64>) -> [f64; 4] {
    let count = draws.len();
    let mean = draws.iter().sum::<f64>() / count as f64;
    let square = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>();
    draws.sort_by(f64::total_cmp);
    [
        mean,
        (square / count as f64).sqrt(),
        draws[count / 40],
        draws[count - 1 - count / 40],
    ]
}

#[test]
fn the_posterior_agrees_with_another_implementation() {
    let constants = Constants {
        draws: 2500,
        prior_degrees: 1e9,
        posterior_spread: 1.0,
        ..Constants::default()
    };
    for case in &CASES {
        let moments = case.moments();
        let draws = fit(&moments, &constants, 1).unwrap().adjustments;
        let share = moments.treated_share();
        let weights = [[1.0, 0.0], [0.0, 1.0], [share, 1.0 - share]];
        for (weights, expected) in weights.iter().zip(&case.expected) {
            let mixed = draws.iter().map(|d| weights[0] * d[0] + weights[1] * d[1]);
            let found = statistics(mixed.collect());
            for (found, (expected, deviation)) in found.iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 4.5 * deviation,
                    "{}, weights {weights:?}: {found} is not {expected} +- {deviation}",
                    case.name
                );
            }
        }
    }
}

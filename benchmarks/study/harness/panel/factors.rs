//! Factor models: levels about 100, as logarithms three random walks with loadings of each unit's own, and noise.

use super::units::Units;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};

const PERIODS: usize = 40;
const PRE_PERIODS: usize = 28;
/// The deviations of the factors' steps.
const STEPS: [f64; 3] = [0.04, 0.03, 0.03];
/// The number of units that take the target's part.
pub const TARGETS: usize = 40;

/// The path of the three common factors that the figures to reach are about: random walks with steps of .04, .03 and .03,
/// drawn once (numpy 2, seed 7). One path decides a panel's figures, so other paths are drawn beside it.
const FACTORS: [[f64; 3]; 40] = [
    [0.0000, 0.0033, -0.0128],
    [0.0120, 0.0052, -0.0220],
    [0.0010, -0.0315, -0.0114],
    [-0.0346, -0.0292, -0.0150],
    [-0.0528, 0.0115, -0.0209],
    [-0.0924, -0.0349, -0.0543],
    [-0.0900, -0.0091, -0.0547],
    [-0.0364, -0.0055, -0.0680],
    [-0.0561, -0.0248, -0.0330],
    [-0.0809, 0.0352, -0.0134],
    [-0.0613, 0.0581, -0.0141],
    [-0.0471, 0.0221, 0.0059],
    [-0.0429, 0.0244, -0.0043],
    [-0.0801, 0.0417, 0.0273],
    [-0.0812, 0.0360, 0.0271],
    [-0.0534, 0.0565, 0.0446],
    [-0.1072, 0.0545, 0.0059],
    [-0.1255, 0.0745, 0.0163],
    [-0.2015, 0.1177, -0.0344],
    [-0.2531, 0.0974, -0.0954],
    [-0.3268, 0.1035, -0.1045],
    [-0.3362, 0.0896, -0.1315],
    [-0.3869, 0.0934, -0.1266],
    [-0.3761, 0.0578, -0.0593],
    [-0.3698, 0.0404, -0.0842],
    [-0.3773, 0.0345, -0.1029],
    [-0.4779, 0.0615, -0.0968],
    [-0.4995, 0.0958, -0.0820],
    [-0.5014, 0.0561, -0.0873],
    [-0.4969, 0.0323, -0.0935],
    [-0.5581, 0.0517, -0.0724],
    [-0.5772, -0.0081, -0.0568],
    [-0.6163, -0.0220, -0.0878],
    [-0.6487, -0.0249, -0.0902],
    [-0.6063, 0.0128, -0.0891],
    [-0.6386, 0.0335, -0.1208],
    [-0.6399, 0.0237, -0.1130],
    [-0.6045, 0.0126, -0.1387],
    [-0.6278, 0.0051, -0.1095],
    [-0.6323, 0.0508, -0.1038],
];

/// So many donors on the path that the figures to reach are about.
pub fn on_the_path_to_reach(donors: usize) -> Units {
    units(donors, &FACTORS, 7 + donors as u64)
}

/// So many donors on another path.
pub fn on_a_path_of_its_own(donors: usize, draw: u64) -> Units {
    let mut rng = SmallRng::seed_from_u64(1000 + draw);
    let mut level = [0.0; 3];
    let path: Vec<[f64; 3]> = (0..PERIODS)
        .map(|_| {
            for (level, step) in level.iter_mut().zip(STEPS) {
                *level += step * normal(&mut rng);
            }
            level
        })
        .collect();
    units(donors, &path, 2000 + draw)
}

fn units(donors: usize, path: &[[f64; 3]], seed: u64) -> Units {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut row = || -> Vec<f64> {
        let base = 0.3 * normal(&mut rng);
        let loadings = [
            1.0 + 0.5 * normal(&mut rng),
            normal(&mut rng),
            normal(&mut rng),
        ];
        let mut value = |f: &[f64; 3]| {
            let shared: f64 = loadings.iter().zip(f).map(|(l, f)| l * f).sum();
            100.0 * (base + shared + 0.02 * normal(&mut rng)).exp()
        };
        path.iter().map(&mut value).collect()
    };
    let rows = (0..=donors).map(|_| row()).collect();
    Units {
        bounds: [5.0, 2000.0],
        season: None,
        pre_periods: PRE_PERIODS,
        rows,
        targets: (0..TARGETS).map(|k| k * donors / TARGETS).collect(),
    }
}

fn normal(rng: &mut SmallRng) -> f64 {
    StandardNormal.sample(rng)
}

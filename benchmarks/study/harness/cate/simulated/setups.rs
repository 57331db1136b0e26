//! The five simulation setups of Niu et al. (2022), with public bounds: `Y = b(X) + noise + tau(X) T`.
//!
//! | setup | covariates | propensity | effect |
//! |---|---|---|---|
//! | A | six uniform | `clip(sin(pi x0 x1), .1, .9)` | `(x0 + x1) / 2` |
//! | B | six normal | 1/2 | `x0 + ln(1 + e^x1)` |
//! | C | six normal | `1 / (1 + e^(x1 + x2))` | 1 |
//! | D | six normal | `1 / (1 + e^-x0 + e^-x1)` | `max(x0 + x1 + x2, 0) - max(x3 + x4, 0)` |
//! | E | three normal, three binary, correlated | `clip(expit(x0 + x5), .1, .9)` | linear, and `5 expit(x0)` |

use dpcausal::schema::SCALE;
use dpcausal::table::CodedTable;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// The number of bins of a numeric covariate, of equal width.
const BINS: u16 = 20;

/// The number of covariates.
pub const COVARIATES: usize = 6;

/// The leading rows of the matrix whose product with its transpose is the covariance of setup E's latent variables.
const MIXING: [[f64; 12]; COVARIATES] = [
    [
        -0.16595599,
        0.44064899,
        -0.99977125,
        -0.39533485,
        -0.70648822,
        -0.81532281,
        -0.62747958,
        -0.30887855,
        -0.20646505,
        0.07763347,
        -0.16161097,
        0.370439,
    ],
    [
        -0.5910955,
        0.75623487,
        -0.94522481,
        0.34093502,
        -0.1653904,
        0.11737966,
        -0.71922612,
        -0.60379702,
        0.60148914,
        0.93652315,
        -0.37315164,
        0.38464523,
    ],
    [
        0.7527783,
        0.78921333,
        -0.82991158,
        -0.92189043,
        -0.66033916,
        0.75628501,
        -0.80330633,
        -0.15778475,
        0.91577906,
        0.06633057,
        0.38375423,
        -0.36896874,
    ],
    [
        0.37300186,
        0.66925134,
        -0.96342345,
        0.50028863,
        0.97772218,
        0.49633131,
        -0.43911202,
        0.57855866,
        -0.79354799,
        -0.10421295,
        0.81719101,
        -0.4127717,
    ],
    [
        -0.42444932,
        -0.73994286,
        -0.96126608,
        0.35767107,
        -0.57674377,
        -0.46890668,
        -0.01685368,
        -0.89327491,
        0.14823521,
        -0.70654285,
        0.17861107,
        0.39951672,
    ],
    [
        -0.79533114,
        -0.17188802,
        0.38880032,
        -0.17164146,
        -0.90009308,
        0.07179281,
        0.32758929,
        0.02977822,
        0.88918951,
        0.17311008,
        0.80680383,
        -0.72505059,
    ],
];

/// A simulated table and the effect at each of its rows.
pub struct Sample {
    /// The table, coded by the setup's schema.
    pub table: CodedTable,
    /// `tau`.
    pub effects: Vec<f64>,
}

/// A setup: `A` to `E`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup(pub char);

impl Setup {
    /// All of them.
    pub const ALL: [Setup; 5] = [Setup('A'), Setup('B'), Setup('C'), Setup('D'), Setup('E')];
}

/// A record's covariates, probability of treatment, outcome without treatment and effect.
struct Draw {
    x: [f64; COVARIATES],
    propensity: f64,
    baseline: f64,
    effect: f64,
}

impl Setup {
    /// The schema's text; `design` is what stands at that key.
    pub fn schema_text(self, design: &str) -> String {
        let columns: Vec<String> = (0..COVARIATES)
            .map(|j| match self.bounds(j) {
                Some([low, high]) => {
                    format!(
                        "  - {{name: x{j}, type: real, bounds: [{low}, {high}], bins: {BINS}}}\n"
                    )
                }
                None => format!("  - {{name: x{j}, type: boolean}}\n"),
            })
            .collect();
        let [low, high] = self.outcome_bounds();
        format!(
            "format: dpcausal.schema/1\ndesign: {design}\ncolumns:\n  - {{name: t, role: treatment, type: boolean}}\n{}  - {{name: y, role: outcome, type: real, bounds: [{low}, {high}], bins: 4}}\n",
            columns.concat()
        )
    }

    /// Public bounds of a covariate; none of a binary one.
    fn bounds(self, covariate: usize) -> Option<[f64; 2]> {
        match self.0 {
            'A' => Some([0.0, 1.0]),
            'E' if covariate >= 3 => None,
            'E' => Some([-6.0, 6.0]),
            _ => Some([-3.5, 3.5]),
        }
    }

    /// Public bounds of the outcome.
    fn outcome_bounds(self) -> [f64; 2] {
        match self.0 {
            'A' => [-2.5, 6.5],
            'C' => [-3.0, 12.0],
            'E' => [-25.0, 40.0],
            _ => [-4.0, 10.0],
        }
    }

    /// So many independent records.
    pub fn sample(self, rows: usize, rng: &mut ChaCha8Rng) -> Sample {
        let mut codes = vec![Some(vec![0u16; rows]); COVARIATES + 2];
        let mut values = vec![None; COVARIATES + 2];
        for j in (0..COVARIATES).filter(|&j| self.bounds(j).is_some()) {
            values[j + 1] = Some(vec![0u16; rows]);
        }
        let [low, high] = self.outcome_bounds();
        let mut outcome = Vec::with_capacity(rows);
        let mut effects = Vec::with_capacity(rows);
        for row in 0..rows {
            let draw = self.draw(rng);
            let treated = rng.random::<f64>() < draw.propensity;
            let noise: f64 = rng.sample(StandardNormal);
            let y = draw.baseline + noise + if treated { draw.effect } else { 0.0 };
            outcome.push(
                ((y - low) / (high - low))
                    .clamp(0.0, 1.0)
                    .mul_add(SCALE as f64, 0.5) as u32,
            );
            set(&mut codes[0], row, u16::from(treated));
            for (j, x) in draw.x.into_iter().enumerate() {
                match self.bounds(j) {
                    Some([low, high]) => {
                        let position = ((x - low) / (high - low)).clamp(0.0, 1.0);
                        let bin = (position * f64::from(BINS)) as u16;
                        set(&mut codes[j + 1], row, bin.min(BINS - 1));
                        set(
                            &mut values[j + 1],
                            row,
                            (position * f64::from(u16::MAX)).round() as u16,
                        );
                    }
                    None => set(&mut codes[j + 1], row, u16::from(x > 0.5)),
                }
            }
            effects.push(draw.effect);
        }
        let table = CodedTable {
            rows,
            codes,
            values,
            outcome,
            ..CodedTable::default()
        };
        Sample { table, effects }
    }

    fn draw(self, rng: &mut ChaCha8Rng) -> Draw {
        let normal = |rng: &mut ChaCha8Rng| -> f64 { rng.sample(StandardNormal) };
        let normals =
            |rng: &mut ChaCha8Rng| -> [f64; COVARIATES] { std::array::from_fn(|_| normal(rng)) };
        match self.0 {
            'A' => {
                let x: [f64; COVARIATES] = std::array::from_fn(|_| rng.random());
                let s = (std::f64::consts::PI * x[0] * x[1]).sin();
                Draw {
                    propensity: s.clamp(0.1, 0.9),
                    baseline: s + 2.0 * (x[2] - 0.5).powi(2) + x[3] + 0.5 * x[4],
                    effect: f64::midpoint(x[0], x[1]),
                    x,
                }
            }
            'B' => {
                let x = normals(rng);
                Draw {
                    propensity: 0.5,
                    baseline: (x[0] + x[1]).max(x[2]).max(0.0) + (x[3] + x[4]).max(0.0),
                    effect: x[0] + x[1].exp().ln_1p(),
                    x,
                }
            }
            'C' => {
                let x = normals(rng);
                Draw {
                    propensity: expit(-x[1] - x[2]),
                    baseline: 2.0 * (x[0] + x[1] + x[2]).exp().ln_1p(),
                    effect: 1.0,
                    x,
                }
            }
            'D' => {
                let x = normals(rng);
                Draw {
                    propensity: 1.0 / (1.0 + (-x[0]).exp() + (-x[1]).exp()),
                    baseline: (x[0] + x[1]).max(0.0) + (x[3] + x[4]).max(0.0),
                    effect: (x[0] + x[1] + x[2]).max(0.0) - (x[3] + x[4]).max(0.0),
                    x,
                }
            }
            _ => setup_e(rng),
        }
    }
}

fn setup_e(rng: &mut ChaCha8Rng) -> Draw {
    let normal = |rng: &mut ChaCha8Rng| -> f64 { rng.sample(StandardNormal) };
    let source: [f64; 12] = std::array::from_fn(|_| normal(rng));
    let latent = |j: usize| -> f64 { MIXING[j].iter().zip(&source).map(|(m, s)| m * s).sum() };
    let x: [f64; COVARIATES] = std::array::from_fn(|j| match j {
        0..3 => latent(j),
        _ => f64::from(u8::from(latent(j) > 1.0)),
    });
    let linear: f64 = x.iter().enumerate().map(|(j, x)| 0.6 * j as f64 * x).sum();
    let step = if x[2].abs() < 0.5 { 0.8 } else { 0.2 };
    Draw {
        propensity: expit(x[0] + x[5]).clamp(0.1, 0.9),
        baseline: linear + (x[0] + 1.0) * normal(rng) + x[0] * x[5] + step,
        effect: x[1] - x[2] + x[3] + x[4] + x[5] + 5.0 * expit(x[0]),
        x,
    }
}

fn set(column: &mut Option<Vec<u16>>, row: usize, value: u16) {
    if let Some(column) = column {
        column[row] = value;
    }
}

fn expit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

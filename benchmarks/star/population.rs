//! The simulated population: six independent covariates of five levels, a confounded binary treatment, a
//! binary outcome with a heterogeneous effect.
//!
//! With scores `s_j` equally spaced on -1 to 1,
//!
//! ```text
//! logit P(T = 1 | x)        = .7 s1 - .5 s2 + .4 s3 + .3 s5
//! f(x)                      = .8 s1 + .5 s2 - .4 s3 + .6 s4 + .3 s6 + .5 (s1^2 - .5) + .25 s1 s2
//! logit P(Y = 1 | x, T = 0) = f - .4            logit P(Y = 1 | x, T = 1) = f + .3 + .4 s1
//! ```

use dpcausal::schema::SCALE;
use dpcausal::table::CodedTable;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const COVARIATES: usize = 6;
const LEVELS: u16 = 5;

/// A fifth to the hub, the rest to the leaves.
pub const WORKLOAD: &str = "
format: dpcausal.workload/1
mechanism: causal
adjacency: replace-one
accountant: zcdp
blocks:
  hub: {share: 0.2}
  leaves: {share: 0.8, columns: all}
";

/// The schema of a table of `n` rows.
pub fn schema(n: usize) -> String {
    let covariate = |j| format!("  - {{name: x{j}, type: categorical, levels: [a, b, c, d, e]}}\n");
    let covariates: String = (1..=COVARIATES).map(covariate).collect();
    format!(
        "format: dpcausal.schema/1\nrows: {n}\ncolumns:\n  - {{name: t, role: treatment, type: boolean}}\n{covariates}  \
         - {{name: y, role: outcome, type: boolean}}\n"
    )
}

fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

fn scores(x: &[u16; COVARIATES]) -> [f64; COVARIATES] {
    x.map(|level| 2.0 * f64::from(level) / f64::from(LEVELS - 1) - 1.0)
}

fn propensity(x: &[u16; COVARIATES]) -> f64 {
    let s = scores(x);
    logistic(0.7 * s[0] - 0.5 * s[1] + 0.4 * s[2] + 0.3 * s[4])
}

/// `P(Y = 1 | x, t)` of both arms.
fn outcome(x: &[u16; COVARIATES]) -> [f64; 2] {
    let s = scores(x);
    let f = 0.8 * s[0] + 0.5 * s[1] - 0.4 * s[2] + 0.6 * s[3] + 0.3 * s[5];
    let f = f + 0.5 * (s[0] * s[0] - 0.5) + 0.25 * s[0] * s[1];
    [logistic(f - 0.4), logistic(f + 0.3 + 0.4 * s[0])]
}

/// The average effect, over all combinations of levels.
pub fn true_effect() -> f64 {
    let combinations = u32::from(LEVELS).pow(COVARIATES as u32);
    let effect = |index: u32| {
        let level = |j: usize| (index / u32::from(LEVELS).pow(j as u32) % u32::from(LEVELS)) as u16;
        let [control, treated] = outcome(&std::array::from_fn(level));
        treated - control
    };
    (0..combinations).map(effect).sum::<f64>() / f64::from(combinations)
}

/// Draws tables.
pub struct Population(ChaCha8Rng);

impl Population {
    /// A population's stream.
    pub fn new(seed: u64) -> Population {
        Population(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A table of independent rows.
    pub fn sample(&mut self, rows: usize) -> CodedTable {
        let mut codes = vec![Vec::new(); COVARIATES + 2];
        for _ in 0..rows {
            let x: [u16; COVARIATES] = std::array::from_fn(|_| self.0.random_range(0..LEVELS));
            let t = u16::from(self.0.random_bool(propensity(&x)));
            let y = u16::from(self.0.random_bool(outcome(&x)[usize::from(t)]));
            let row = std::iter::once(t).chain(x).chain([y]);
            codes
                .iter_mut()
                .zip(row)
                .for_each(|(column, code)| column.push(code));
        }
        let outcome = codes[COVARIATES + 1]
            .iter()
            .map(|&y| u32::from(y) * SCALE as u32);
        CodedTable {
            rows,
            outcome: outcome.collect(),
            codes: codes.into_iter().map(Some).collect(),
            imputation: None,
            ..CodedTable::default()
        }
    }
}

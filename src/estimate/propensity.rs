//! Logistic propensities, fitted by Newton's method with a small ridge, and their clipping.
//!
//! The log-odds of being in an arm are linear in `z = (1, scores)`. The fit maximises
//!
//! ```text
//! sum_i [ t_i z_i' b - log(1 + exp(z_i' b)) ]  -  (lambda / 2) sum over scores b_k^2
//! ```
//!
//! which is strictly concave with a finite maximum even where a covariate separates the arms. With
//! more than two arms, `P(T = a | x)` is the logistic regression of `a` against all the rest.

use faer::Mat;
use faer::linalg::solvers::Llt;

use super::linear::{dot, factor, solve};
use super::sample::{Sample, block_map};
use super::{EstimateError, Options};

/// The ridge `lambda`, in records: a normal prior of variance 1000 on each slope. One record carries at
/// most 1/4 of information about a log-odds, so against tens of records it moves a slope by less than
/// a hundredth of its standard error; under separation it stops the slope near `log(1 / lambda)`.
pub const PROPENSITY_RIDGE: f64 = 1e-3;

/// Newton steps. From a cold start under complete separation about 20 are needed.
const MAX_ITERATIONS: usize = 100;

/// Stop once `g' H^-1 g`, the squared distance to the maximum in standard errors, is below this: the
/// step that is then still taken squares the distance once more.
const DECREMENT: f64 = 1e-8;

/// A fitted propensity of one arm.
#[derive(Debug, Clone)]
pub(super) struct Propensity {
    /// Of `z`.
    coefficients: Vec<f64>,
    /// The arm whose probability it is.
    arm: u16,
}

impl Propensity {
    /// Fits the probability of `arm` on the rows given; `start` is a fit on similar rows.
    pub fn fit(
        sample: &Sample<'_>,
        rows: &[usize],
        arm: u16,
        start: Option<&Propensity>,
    ) -> Result<Propensity, EstimateError> {
        let coefficients = start.map_or_else(
            || vec![0.0; sample.z_len()],
            |start| start.coefficients.clone(),
        );
        let mut fit = Propensity { coefficients, arm };
        let mut state = fit.evaluate(sample, rows);
        for _ in 0..MAX_ITERATIONS {
            let step = solve(&fit.information(sample, rows)?, &state.gradient);
            let decrement = dot(&step, &state.gradient);
            let mut size = 1.0;
            let (next, next_state) = loop {
                let next = fit.moved(&step, size);
                if decrement < DECREMENT {
                    return Ok(next);
                }
                let next_state = next.evaluate(sample, rows);
                // A quarter of the linear gain: the usual sufficient increase.
                if next_state.objective >= state.objective + 0.25 * size * decrement {
                    break (next, next_state);
                }
                size /= 2.0;
                if size < 1e-10 {
                    return Err(EstimateError::NotConverged {
                        iterations: MAX_ITERATIONS,
                    });
                }
            };
            (fit, state) = (next, next_state);
        }
        Err(EstimateError::NotConverged {
            iterations: MAX_ITERATIONS,
        })
    }

    /// The probability at `z`.
    pub fn at(&self, z: &[f64]) -> f64 {
        logistic(dot(&self.coefficients, z))
    }

    /// The score's factor at a row: `1{T = arm} - e`.
    pub fn residual(&self, sample: &Sample<'_>, row: usize, e: f64) -> f64 {
        f64::from(sample.arms[row] == self.arm) - e
    }

    /// The factored information `sum e (1 - e) z z' + lambda` at the fit.
    pub fn information(
        &self,
        sample: &Sample<'_>,
        rows: &[usize],
    ) -> Result<Llt<f64>, EstimateError> {
        let weights: Vec<f64> = block_map(rows, |(_, block)| {
            let mut z = sample.room();
            let weight = |&row: &usize| {
                sample.fill_z(row, &mut z);
                let e = self.at(&z);
                e * (1.0 - e)
            };
            block.iter().map(weight).collect::<Vec<_>>()
        })
        .concat();
        let information: Mat<f64> = sample.weighted_gram(rows, &weights);
        // The intercept is not shrunk; the floor keeps the matrix definite where every weight underflows.
        factor(
            information,
            |i| if i == 0 { 1e-12 } else { PROPENSITY_RIDGE },
        )
    }

    /// The complementary propensity, of the only other arm.
    fn complement(&self, arm: u16) -> Propensity {
        Propensity {
            coefficients: self.coefficients.iter().map(|b| -b).collect(),
            arm,
        }
    }

    fn moved(&self, step: &[f64], size: f64) -> Propensity {
        let moved = self
            .coefficients
            .iter()
            .zip(step)
            .map(|(b, s)| b + size * s);
        Propensity {
            coefficients: moved.collect(),
            arm: self.arm,
        }
    }

    fn evaluate(&self, sample: &Sample<'_>, rows: &[usize]) -> Evaluation {
        let blocks = block_map(rows, |(_, block)| {
            let mut sum = Evaluation {
                objective: 0.0,
                gradient: vec![0.0; sample.z_len()],
            };
            let mut z = sample.room();
            for &row in block {
                sample.fill_z(row, &mut z);
                let odds = dot(&self.coefficients, &z);
                let member = f64::from(sample.arms[row] == self.arm);
                // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), which does not overflow.
                sum.objective += member * odds - odds.max(0.0) - libm::log1p((-odds.abs()).exp());
                let residual = member - logistic(odds);
                for (g, z) in sum.gradient.iter_mut().zip(&z) {
                    *g += residual * z;
                }
            }
            sum
        });
        let mut total = Evaluation {
            objective: 0.0,
            gradient: vec![0.0; sample.z_len()],
        };
        for block in blocks {
            total.objective += block.objective;
            for (g, b) in total.gradient.iter_mut().zip(block.gradient) {
                *g += b;
            }
        }
        for (g, b) in total.gradient.iter_mut().zip(&self.coefficients).skip(1) {
            total.objective -= PROPENSITY_RIDGE / 2.0 * b * b;
            *g -= PROPENSITY_RIDGE * b;
        }
        total
    }
}

/// The penalised log-likelihood and its gradient.
struct Evaluation {
    objective: f64,
    gradient: Vec<f64>,
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The propensities of an estimand's arms: the arm and the reference, or one arm alone, which then
/// stands at both positions.
#[derive(Debug, Clone)]
pub(super) struct Propensities([Propensity; 2]);

impl Propensities {
    /// Fits `P(T = t | x)` of one or two arms on the rows given; one fit serves where these hold the two
    /// arms only.
    pub fn fit(
        sample: &Sample<'_>,
        rows: &[usize],
        arms: &[u16],
        start: Option<&Propensities>,
    ) -> Result<Propensities, EstimateError> {
        let fit = |position: usize| {
            let start = start.map(|s| s.of(position));
            Propensity::fit(sample, rows, arms[position], start)
        };
        let first = fit(0)?;
        let only_these = || (rows.iter()).all(|&row| arms.contains(&sample.arms[row]));
        let second = match arms {
            [_] => first.clone(),
            _ if only_these() => first.complement(arms[1]),
            _ => fit(1)?,
        };
        Ok(Propensities([first, second]))
    }

    /// That of the arm at a position.
    pub fn of(&self, position: usize) -> &Propensity {
        &self.0[position]
    }

    /// The propensities at `z`, clipped.
    pub fn at(&self, z: &[f64], options: &Options) -> Overlap {
        let raw = self.0.each_ref().map(|p| p.at(z));
        Overlap {
            raw,
            clipped: raw.map(|e| e.clamp(options.clip, 1.0 - options.clip)),
        }
    }
}

/// A row's propensities, by position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overlap {
    /// As fitted.
    pub raw: [f64; 2],
    /// Clipped.
    pub clipped: [f64; 2],
}

impl Overlap {
    /// Whether the propensity at a position was clipped.
    pub fn is_clipped(&self, position: usize) -> bool {
        self.clipped[position] != self.raw[position]
    }
}

/// The number of rows with a clipped propensity.
///
/// # Errors
/// If all rows of one of the arms are clipped: then the weights say nothing but the bound.
pub(super) fn count_clipped(
    sample: &Sample<'_>,
    overlaps: &[Overlap],
    arms: &[u16],
    options: &Options,
) -> Result<f64, EstimateError> {
    let clipped = |o: &Overlap| o.is_clipped(0) || o.is_clipped(1);
    for &arm in arms {
        let mut members = (sample.arms.iter().zip(overlaps)).filter(|(t, _)| **t == arm);
        if members.all(|(_, o)| clipped(o)) {
            return Err(EstimateError::NoOverlap {
                arm: sample.arm_names[usize::from(arm)].clone(),
                clip: options.clip,
            });
        }
    }
    Ok(overlaps.iter().filter(|o| clipped(o)).count() as f64)
}

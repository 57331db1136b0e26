//! Propensity-score utility: how well a logistic regression on all columns tells synthetic rows from real
//! ones (Woo, Reiter, Oganian and Karr 2009; Snoke, Raab, Nowok, Dibben and Slavkovic, *General and specific
//! utility measures for synthetic data*, Journal of the Royal Statistical Society A 181, 2018).
//!
//! Of `N` rows, a part `c` synthetic, with fitted probabilities `p_i` of being synthetic,
//!
//! ```text
//! pMSE = (1/N) sum_i (p_i - c)^2.
//! ```
//!
//! # What to compare it with
//! Near `c` the fit is `p - c = c (1 - c) x'b`, `b` with the information `I = N c (1 - c) E[x x']`, so `pMSE` is
//! `c (1 - c) / N` times a quadratic form that is chi-square with `k - 1` degrees of freedom where `b` has
//! variance `I^-1`: where both tables are independent samples of one population. Where the synthetic rows
//! are drawn from the law that the *real rows themselves* have (a correct model fitted to them), only the
//! synthetic sample varies, which is a part `1 - c` of that variance. This is the null case of Snoke et al.:
//!
//! ```text
//! E[pMSE] = (k - 1) (1 - c)^2 c / N,    SD[pMSE] = sqrt(2 (k - 1)) (1 - c)^2 c / N.
//! ```
//!
//! The ratio `pMSE / E[pMSE]` is 1 on average for such rows and 0 for a copy; larger where the tables differ.
//! Another sample of the population has `1 / (1 - c)`, which is 2 for tables of one size and far more where
//! the synthetic one is long; so the ratio to *its* expectation, `(k - 1) c (1 - c) / N`, is given beside:
//! below 1 the synthetic table is nearer to the real rows than another survey would be.
//!
//! # What it sees
//! Indicators of every level of every column (`k` counts the intercept and those that do not depend on
//! others): the regression tells apart one-way marginals. It is blind to associations, which the marginals of
//! two and three columns show.

use super::Question;
use super::one_hot::OneHot;
use crate::estimate::PROPENSITY_RIDGE;
use crate::estimate::linear::{dot, factor, solve};
use crate::table::CodedTable;
use serde::Serialize;

/// More parameters than this take minutes; the marginals say as much.
const MOST_PARAMETERS: usize = 2000;

/// Newton steps. A level that only one of the tables has separates the rows: about 20 are needed then.
const MAX_ITERATIONS: usize = 100;

/// Stop once the squared distance to the maximum, in standard errors, is below this: the step that is then
/// still taken makes it smaller by far, and under the null the fit itself is `k - 1` away from zero.
const DECREMENT: f64 = 1e-6;

/// The part of the log-likelihood that may be rounding: it sums up millions of rows.
const ROUNDING: f64 = 1e-12;

/// The information matrix is kept for the next step while each step leaves less than this part of the
/// squared distance: near the null its changes are small, and it costs more than anything else.
const FAST_ENOUGH: f64 = 0.1;

/// How well the tables can be told apart: the mean over imputations, or why it is not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PropensityUtility {
    /// The numbers.
    pub utility: Option<Utility>,
    /// Why there are none.
    pub reason: Option<String>,
}

/// See the module's documentation, with its formulas.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Utility {
    /// `pMSE`.
    pub pmse: f64,
    /// `pMSE` over its expectation for rows drawn from the real rows' own law (Snoke et al.).
    pub ratio: f64,
    /// `pMSE` over its expectation for another sample of the population: `ratio (1 - c)`.
    pub sample_ratio: f64,
    /// `E[pMSE]` in the null case.
    pub null_expectation: f64,
    /// `SD[pMSE]` in the null case.
    pub null_standard_deviation: f64,
    /// `k`.
    pub parameters: f64,
    /// `c`.
    pub synthetic_share: f64,
}

/// The utility, averaged over the synthetic tables.
pub(super) fn compare(confidential: &CodedTable, question: &Question) -> PropensityUtility {
    let utilities: Result<Vec<Utility>, String> = (question.synthetic.iter())
        .map(|table| utility(confidential, table))
        .collect();
    match utilities {
        Ok(all) => {
            let mean = |of: fn(&Utility) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
            PropensityUtility {
                utility: Some(Utility {
                    pmse: mean(|u| u.pmse),
                    ratio: mean(|u| u.ratio),
                    sample_ratio: mean(|u| u.sample_ratio),
                    null_expectation: mean(|u| u.null_expectation),
                    null_standard_deviation: mean(|u| u.null_standard_deviation),
                    parameters: mean(|u| u.parameters),
                    synthetic_share: mean(|u| u.synthetic_share),
                }),
                reason: None,
            }
        }
        Err(reason) => PropensityUtility {
            utility: None,
            reason: Some(reason),
        },
    }
}

/// The utility of one synthetic table, or why there is none.
pub(super) fn utility(real: &CodedTable, synthetic: &CodedTable) -> Result<Utility, String> {
    let design = OneHot::of(real, synthetic);
    let parameters = design.parameters();
    if parameters > MOST_PARAMETERS {
        return Err(format!(
            "the columns have {parameters} levels together, more than {MOST_PARAMETERS}; use coarser bins"
        ));
    }
    let design = design.independent();
    let parameters = design.parameters() as f64;
    if parameters < 2.0 {
        return Err("no column varies".into());
    }
    let rows = (real.rows + synthetic.rows) as f64;
    let share = synthetic.rows as f64 / rows;
    let fitted = fit(&design, real.rows, share)?;
    let squares: f64 = fitted.iter().map(|p| (p - share).powi(2)).sum();
    let pmse = squares / rows;
    let unit = (1.0 - share).powi(2) * share / rows;
    let null_expectation = (parameters - 1.0) * unit;
    Ok(Utility {
        pmse,
        ratio: pmse / null_expectation,
        sample_ratio: (1.0 - share) * pmse / null_expectation,
        null_expectation,
        null_standard_deviation: (2.0 * (parameters - 1.0)).sqrt() * unit,
        parameters,
        synthetic_share: share,
    })
}

/// The fitted probabilities that rows are beyond the first `real`, a part `share` of all: Newton's method on
/// the log-likelihood with the small ridge of the propensities on every slope.
fn fit(design: &OneHot, real: usize, share: f64) -> Result<Vec<f64>, String> {
    let mut b = vec![0.0; design.parameters()];
    b[0] = (share / (1.0 - share)).ln();
    let mut state = State::new(design, real, &b);
    let mut information = None;
    let mut last = f64::INFINITY;
    for _ in 0..MAX_ITERATIONS {
        if information.is_none() {
            let ridge = |i| if i == 0 { 1e-12 } else { PROPENSITY_RIDGE };
            let factored = factor(design.gram(&state.weights()), ridge);
            information = Some(factored.map_err(|error| error.to_string())?);
        }
        let Some(cholesky) = &information else { break };
        let step = solve(cholesky, &state.gradient);
        let decrement = dot(&step, &state.gradient);
        let mut size = 1.0;
        loop {
            let moved: Vec<f64> = b.iter().zip(&step).map(|(b, s)| b + size * s).collect();
            let next = State::new(design, real, &moved);
            if decrement < DECREMENT {
                return Ok(next.probabilities);
            }
            // A quarter of the linear gain: the usual sufficient increase.
            let slack = ROUNDING * state.objective.abs();
            if next.objective + slack >= state.objective + 0.25 * size * decrement {
                (b, state) = (moved, next);
                break;
            }
            size /= 2.0;
            if size < 1e-10 {
                return Err("the logistic regression did not converge".into());
            }
        }
        if decrement > FAST_ENOUGH * last || size < 1.0 {
            information = None;
        }
        last = decrement;
    }
    Err("the logistic regression did not converge".into())
}

/// The penalised log-likelihood at some parameters.
struct State {
    objective: f64,
    gradient: Vec<f64>,
    probabilities: Vec<f64>,
}

impl State {
    fn new(design: &OneHot, real: usize, b: &[f64]) -> State {
        let mut odds = design.times(b);
        let mut objective = 0.0;
        let mut residuals = Vec::with_capacity(odds.len());
        for (row, odds) in odds.iter_mut().enumerate() {
            let member = f64::from(row >= real);
            // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), which does not overflow.
            let tail = (-odds.abs()).exp();
            objective += member * *odds - odds.max(0.0) - libm::log1p(tail);
            let far = tail / (1.0 + tail);
            *odds = if *odds > 0.0 { 1.0 - far } else { far };
            residuals.push(member - *odds);
        }
        let mut gradient = design.transposed_times(&residuals);
        for (g, b) in gradient.iter_mut().zip(b).skip(1) {
            objective -= PROPENSITY_RIDGE / 2.0 * b * b;
            *g -= PROPENSITY_RIDGE * b;
        }
        State {
            objective,
            gradient,
            probabilities: odds,
        }
    }

    fn weights(&self) -> Vec<f64> {
        self.probabilities.iter().map(|p| p * (1.0 - p)).collect()
    }
}

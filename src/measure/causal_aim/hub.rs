//! What a model says of treatment and outcome alone.

use crate::measure::MeasureError;
use crate::measure::marginals::fit::Fit;
use crate::model::ModelError;

/// How many standard deviations within arms a residual may reach: of a normal outcome, clipping touches 3 in
/// 1000, and a wider scale makes the same association smaller beside the noise of the choice.
const REACH: f64 = 3.0;

/// The least `B`, in units of the outcome's range: a model's variance may be nearly 0.
const LEAST_BOUND: f64 = 1e-3;

/// The law of treatment and outcome under a model; all of it is post-processing.
#[derive(Debug, Clone)]
pub struct Hub {
    /// The number of records.
    pub records: f64,
    /// `P(T = t)`.
    pub shares: Vec<f64>,
    /// `E[Y | T = t]`, the outcome on `[0, 1]`.
    pub means: Vec<f64>,
    /// `Var(Y | T = t)`.
    pub variances: Vec<f64>,
}

impl Hub {
    /// That of a fitted model.
    ///
    /// # Errors
    /// Those of the model, and where it lacks treatment or outcome.
    pub fn of(fit: &Fit) -> Result<Hub, MeasureError> {
        let (treatment, outcome) = roles(fit)?;
        let cells = &fit.variables().grid.cells;
        let order = [treatment, outcome];
        let joint = fit.model().marginal(&order)?.values_in_order(&order);
        let mut hub = Hub {
            records: fit.model().total(),
            shares: Vec::new(),
            means: Vec::new(),
            variances: Vec::new(),
        };
        for arm in joint.chunks_exact(cells.len()) {
            let mass: f64 = arm.iter().sum();
            let of = |value: &dyn Fn(usize) -> f64| {
                let sum: f64 = arm.iter().enumerate().map(|(o, p)| p * value(o)).sum();
                if mass > 0.0 { sum / mass } else { 0.0 }
            };
            let mean = of(&|o| cells[o].mean);
            // E[y^2] = E[y] - E[y (1 - y)].
            let square = mean - of(&|o| cells[o].spread);
            hub.shares.push(mass);
            hub.means.push(mean);
            hub.variances.push((square - mean * mean).max(0.0));
        }
        Ok(hub)
    }

    /// `B`: what residuals of a numeric outcome are divided by before they are clipped to `[-1, 1]`.
    pub fn residual_bound(&self, is_numeric: bool) -> Option<f64> {
        let arms = self.shares.iter().zip(&self.variances);
        let variance: f64 = arms.map(|(p, v)| p * v).sum();
        is_numeric.then(|| (REACH * variance.sqrt()).clamp(LEAST_BOUND, 1.0))
    }

    /// The numbers of arms that are compared with the reference.
    pub fn contrasts(&self) -> usize {
        self.shares.len() - 1
    }

    /// Of arm `t` against the reference: the expected records of both, and the arm's share in them.
    pub fn contrast(&self, t: usize) -> (f64, f64) {
        let both = self.shares[0] + self.shares[t];
        let share = if both > 0.0 {
            self.shares[t] / both
        } else {
            0.5
        };
        (self.records * both, share)
    }

    /// The variance of the outcome within the two arms of a contrast.
    pub fn variance(&self, t: usize) -> f64 {
        self.over_arms(t, |arm| self.variances[arm])
    }

    /// The mean of something over the records of the two arms of a contrast.
    pub fn over_arms(&self, t: usize, of: impl Fn(usize) -> f64) -> f64 {
        let (_, share) = self.contrast(t);
        (1.0 - share) * of(0) + share * of(t)
    }
}

/// The variables of treatment and outcome.
///
/// # Errors
/// Where the model lacks one, which a hub rules out.
pub fn roles(fit: &Fit) -> Result<(usize, usize), MeasureError> {
    let variables = fit.variables();
    match (variables.treatment, variables.outcome) {
        (Some(treatment), Some(outcome)) => Ok((treatment, outcome)),
        _ => Err(MeasureError::Model(ModelError::Length {
            context: "the hub's variables".into(),
            expected: 2,
            found: 0,
        })),
    }
}

/// The number of cells of treatment by outcome.
///
/// # Errors
/// As [`roles`].
pub fn cells(fit: &Fit) -> Result<usize, MeasureError> {
    let (treatment, outcome) = roles(fit)?;
    let sizes = fit.variables().domain.sizes();
    Ok(sizes[treatment] * sizes[outcome])
}

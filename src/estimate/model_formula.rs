//! The g-formula on a model, over rows sampled from it.

use super::estimand::Population;
use super::model_effect::ModelContext;
use super::{Estimand, Estimate, EstimateError, Options};
use crate::impute::{Purpose, derived_seed};
use crate::model::{FullConditional, Model};

/// How many rows of covariates a model's outcome regressions are averaged over. An average's Monte Carlo
/// error is `sd(m(X)) / sqrt(rows)` at most (rows are sampled with stratified ranks, so it is less), and
/// that of the mean over `m` draws, each with rows of its own, `sqrt(m)` times smaller: with 100 draws
/// `sqrt(n / 200 000)` standard errors at most, since no estimator from `n` records has a standard error
/// below `sd(m(X)) / sqrt(n)`. The variance between the draws holds it.
pub const EVALUATION_ROWS: usize = 2000;

/// The least expected number of records of an arm.
const LEAST_RECORDS: f64 = 2.0;

/// What a model says of sampled rows' covariates.
pub struct ModelFormula {
    units: Vec<Unit>,
}

/// What a model says of one row's covariates, by arm.
struct Unit(Vec<ArmLaw>);

/// One arm's law given a row's covariates.
#[derive(Clone, Copy)]
struct ArmLaw {
    /// `e_t(x) = P(T = t | x)`.
    propensity: f64,
    /// `m_t(x)`; not a number where the propensity is 0.
    mean: f64,
    /// The residual variance.
    variance: f64,
}

impl ArmLaw {
    /// The propensity, clipped.
    fn clipped(&self) -> f64 {
        self.propensity.clamp(Options::CLIP, 1.0 - Options::CLIP)
    }
}

impl ModelFormula {
    /// Samples rows and asks the model about them.
    ///
    /// # Errors
    /// Those of the model.
    pub fn new(
        context: &ModelContext,
        model: &Model,
        seed: u64,
        index: u64,
    ) -> Result<ModelFormula, EstimateError> {
        let seed = derived_seed(seed, Purpose::Evaluation, index);
        let rows = model.sample(EVALUATION_ROWS, seed)?;
        let conditional = FullConditional::new(model, &[context.treatment(), context.outcome()])?;
        let mut table = vec![0.0; conditional.cells()];
        let units = (0..EVALUATION_ROWS)
            .map(|row| {
                conditional.probabilities(|variable| rows[variable][row], &mut table)?;
                Ok(Unit::new(context, &table))
            })
            .collect::<Result<_, EstimateError>>()?;
        Ok(ModelFormula { units })
    }

    /// Refuses an arm that some row's likes never take, and one of fewer than two expected records: the
    /// other estimators' least number, below which no variance speaks of the arm.
    fn check_arm(&self, context: &ModelContext, t: u16, n: f64) -> Result<(), EstimateError> {
        let arm = || context.arm_name(usize::from(t));
        let propensities = || self.units.iter().map(|u| u.arm(t).propensity);
        // Sampled rows have mass in the model, but an arm may have none among rows like them.
        if propensities().any(|e| e <= 0.0) {
            return Err(EstimateError::EmptyArm { arm: arm() });
        }
        let records = n * propensities().sum::<f64>() / self.units.len() as f64;
        if records < LEAST_RECORDS {
            return Err(EstimateError::TooFewRows {
                arm: arm(),
                rows: (10.0 * records).round() / 10.0,
                needed: LEAST_RECORDS,
            });
        }
        Ok(())
    }

    /// An estimand of arm `arm`, in a model of `n` records. With `h = 1` over everyone and `h = e_p` over
    /// arm `p`, and `g` the estimand's gradient at the means `mu_t = E[h m_t] / E[h]`,
    ///
    /// ```text
    /// V = E[ sum over t of h^2 g_t^2 v_t / e_t  +  h (sum over t of g_t (m_t - mu_t))^2 ] / (n E[h]^2)
    /// ```
    ///
    /// the efficiency bounds of Hahn (1998), theorems 1 and 2 (propensity unknown).
    ///
    /// # Errors
    /// Where an arm has no mass in the model.
    pub fn estimate(
        &self,
        context: &ModelContext,
        estimand: Estimand,
        arm: usize,
        n: f64,
    ) -> Result<Estimate, EstimateError> {
        let arms = estimand.arms(arm as u16);
        let population = estimand.population(arm as u16);
        for &t in &arms {
            self.check_arm(context, t, n)?;
        }
        let total: f64 = self.units.iter().map(|u| u.weight(population)).sum();
        let means: Vec<f64> = (arms.iter())
            .map(|&t| {
                let weighted = |u: &Unit| u.weight(population) * u.arm(t).mean;
                self.units.iter().map(weighted).sum::<f64>() / total
            })
            .collect();
        let functional = estimand.of_means(&means)?;
        let bound = |u: &Unit| {
            let h = match population {
                Population::Everyone => 1.0,
                Population::Arm(p) => u.arm(p).clipped(),
            };
            let (mut residual, mut deviation) = (0.0, 0.0);
            for ((&t, mean), slope) in arms.iter().zip(&means).zip(&functional.gradient) {
                let law = u.arm(t);
                residual += h * h * slope * slope * law.variance / law.clipped();
                deviation += slope * (law.mean - mean);
            }
            residual + h * deviation * deviation
        };
        let rows = self.units.len() as f64;
        let share = total / rows;
        let variance = self.units.iter().map(bound).sum::<f64>() / rows / (share * share) / n;
        let is_clipped =
            |u: &&Unit| (arms.iter()).any(|&t| u.arm(t).clipped() != u.arm(t).propensity);
        let clipped = self.units.iter().filter(is_clipped).count() as f64 / rows * n;
        Ok(Estimate {
            value: functional.value,
            variance,
            rows: n,
            clipped,
        })
    }
}

impl Unit {
    /// The moments of one row, from its joint probabilities of arm and outcome cell.
    fn new(context: &ModelContext, table: &[f64]) -> Unit {
        let law = |cells: &[f64]| {
            let mass: f64 = cells.iter().sum();
            let of =
                |values: &[f64]| cells.iter().zip(values).map(|(p, y)| p * y).sum::<f64>() / mass;
            let (mean, square) = (of(context.values()), of(context.squares()));
            ArmLaw {
                propensity: mass,
                mean,
                variance: (square - mean * mean).max(0.0),
            }
        };
        Unit(table.chunks(context.values().len()).map(law).collect())
    }

    fn arm(&self, t: u16) -> ArmLaw {
        self.0[usize::from(t)]
    }

    /// The weight of the row in an average over a population, not clipped.
    fn weight(&self, population: Population) -> f64 {
        match population {
            Population::Everyone => 1.0,
            Population::Arm(p) => self.arm(p).propensity,
        }
    }
}

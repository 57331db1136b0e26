//! The planned mechanism, carried out on a simulated table with seeded noise, and its estimate.
//!
//! Where the workload measures effects, the estimate is theirs, and microdata are released once only, for
//! their fit; without effects it is that of the microdata's model.

use super::floor::is_randomised;
use crate::estimate::adjusted::{Constants, Target, fit, moments_of, second_estimate};
use crate::estimate::{
    Effect, Estimand, EstimateError, Estimator, Request, RuleKind, from_release,
};
use crate::impute::{BaseFit, Kappa};
use crate::measure::{self, Counted, Documents, Guarantee, Plan};
use crate::model::{Model, Released};
use crate::privacy::{
    Accountant, Authorisation, Budget, Confidential, Cost, NoiseSource, PrivacyError, ReleaseId,
};
use crate::release::CheckedRelease;
use crate::table::{CodedTable, Counter};

/// The level of the intervals.
pub(super) const LEVEL: f64 = 0.95;

/// Posterior draws of a microdata release: enough for the interval's width (the t quantile with 24 degrees
/// of freedom is 5 % above the normal one), few enough to repeat.
const DRAWS: usize = 25;

/// What a release says about the effect of arm 1, in the outcome's units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub estimate: f64,
    pub interval: [f64; 2],
    /// The variance that the interval counts for privacy noise.
    pub privacy: f64,
    /// The second estimate.
    pub second: Option<f64>,
    /// Variance that the number of posterior draws leaves, where it was looked at: of effects, from two fits only.
    pub monte_carlo: Option<f64>,
    /// Whether it is the effects part's.
    pub is_effects: bool,
}

impl Answer {
    pub fn width(&self) -> f64 {
        self.interval[1] - self.interval[0]
    }
}

/// How well the microdata's model fits one release.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    pub chi_square: f64,
    pub degrees_of_freedom: usize,
    /// The model's estimate.
    pub estimate: f64,
}

/// A plan and what its releases are documented with.
pub(super) struct Mechanism<'a> {
    pub plan: Plan,
    documents: &'a Documents,
}

impl<'a> Mechanism<'a> {
    pub fn new(plan: Plan, documents: &'a Documents) -> Mechanism<'a> {
        Mechanism { plan, documents }
    }

    /// The same under another budget of the same kind; see [`amount`].
    pub fn with_budget(&self, amount: f64) -> Result<Mechanism<'a>, EstimateError> {
        let guarantee = self.plan.guarantee;
        let budget = match guarantee.budget {
            Budget::Pure { .. } => Budget::pure(amount),
            Budget::Approximate { delta, .. } => Budget::approximate(amount, delta),
            Budget::Zcdp { .. } => Budget::zcdp(amount),
            Budget::Gdp { .. } => Budget::gdp(amount),
        };
        let guarantee = Guarantee {
            budget: budget.map_err(refused)?,
            ..guarantee
        };
        let (schema, workload) = (self.plan.schema.clone(), self.plan.workload.clone());
        let plan = Plan::new(schema, workload, guarantee).map_err(simulation)?;
        Ok(Mechanism::new(plan, self.documents))
    }

    /// The estimators: the one to rely on, and the second one.
    pub fn estimators(&self) -> (Estimator, Option<Estimator>) {
        match (&self.plan.effects, is_randomised(&self.plan.schema)) {
            (_, true) => (Estimator::DifferenceInMeans, None),
            (Some(_), _) => (Estimator::Adjusted, Some(Estimator::Gram)),
            (None, _) => (Estimator::Regression, Some(Estimator::Model)),
        }
    }

    /// Releases and estimates. `refit`: whether to look at the Monte Carlo error, which costs a second fit.
    pub fn answer(
        &self,
        table: &CodedTable,
        seed: u64,
        refit: bool,
    ) -> Result<Answer, EstimateError> {
        if self.plan.effects.is_some() {
            return self.effects(table, seed, refit);
        }
        let (_, rows) = self.microdata(table, seed, true)?;
        let (estimator, second) = self.estimators();
        let of = |wanted| rows.iter().find(|row| row.estimator == wanted);
        let row = of(estimator).ok_or_else(no_estimate)?;
        let draws = DRAWS as f64;
        Ok(Answer {
            estimate: row.estimate,
            interval: row.interval,
            privacy: row.privacy_variance,
            second: second.and_then(of).map(|row| row.estimate),
            // The privacy variance is (1 + 1/m) B, and B / m the error of the mean of m draws.
            monte_carlo: Some(row.privacy_variance / (draws + 1.0)),
            is_effects: false,
        })
    }

    fn effects(&self, table: &CodedTable, seed: u64, refit: bool) -> Result<Answer, EstimateError> {
        let plan = &self.plan;
        let effects = plan.effects.as_ref().ok_or(EstimateError::NoEffects)?;
        let mut accountant = Accountant::new(self.authorise(effects.cost)?);
        let released = measure::effects::run(
            effects,
            &plan.schema,
            plan.workload.adjacency,
            &Confidential::new(table.clone()),
            &mut accountant,
            &mut NoiseSource::insecure_seed(seed),
        );
        let moments = moments_of(&released.map_err(simulation)?, 1);
        let constants = Constants::default();
        let effect = fit(&moments, &constants, seed)?.effect(Target::Everyone);
        // The fit's outcome lies in [-1, 1].
        let unit = plan.schema.outcome_range().1 / 2.0;
        let is_drawn = moments.scores() > 0;
        let second = second_estimate(&moments, &constants)?;
        let monte_carlo = match (is_drawn, refit) {
            (false, _) => Some(0.0),
            (true, false) => None,
            (true, true) => {
                let again = fit(&moments, &constants, !seed)?.effect(Target::Everyone);
                Some((again.value - effect.value).powi(2) / 2.0 * unit * unit)
            }
        };
        Ok(Answer {
            estimate: effect.value * unit,
            interval: effect.interval(LEVEL)?.map(|end| end * unit),
            privacy: effect.variance.privacy() * unit * unit,
            second: is_drawn.then_some(second.value * unit),
            monte_carlo,
            is_effects: true,
        })
    }

    /// The fit of one release of the microdata part. `drawn`: whether the estimate is that of posterior draws,
    /// as `analyze` has it, or of the fit itself.
    pub fn fit(&self, table: &CodedTable, seed: u64, drawn: bool) -> Result<Fit, EstimateError> {
        let (fit, rows) = self.microdata(table, seed, drawn)?;
        let diagnostics = fit.diagnostics();
        Ok(Fit {
            chi_square: diagnostics.chi_square,
            degrees_of_freedom: diagnostics.degrees_of_freedom,
            estimate: rows.first().ok_or_else(no_estimate)?.estimate,
        })
    }

    /// The plan without its effects, unless the microdata need what they select.
    fn microdata_plan(&self) -> Plan {
        let mut plan = self.plan.clone();
        let shares = |plan: &Plan| {
            let rounds = plan.causal_aim.as_ref();
            rounds.is_some_and(|rounds| rounds.block.uses_effects_selection())
        };
        if let Some(effects) = plan.effects.take_if(|_| !shares(&self.plan)) {
            plan.cost = plan.cost.minus(&effects.cost);
        }
        plan
    }

    /// A release of the microdata part, its model, and the estimates of arm 1.
    fn microdata(
        &self,
        table: &CodedTable,
        seed: u64,
        drawn: bool,
    ) -> Result<(BaseFit, Vec<Effect>), EstimateError> {
        let plan = self.microdata_plan();
        let queries = plan.queries();
        let mut counter = Counter::new(&plan.schema, &queries).map_err(simulation)?;
        counter.add(table);
        let document = measure::run(
            &plan,
            self.documents.clone(),
            Counted {
                answers: counter.answers(),
                rows: plan.keeps_rows().then(|| Confidential::new(table.clone())),
            },
            self.authorise(plan.cost)?,
            &mut NoiseSource::insecure_seed(seed),
        );
        let document = document.map_err(simulation)?;
        let release = match document.selection {
            None => CheckedRelease {
                document,
                schema: plan.schema,
                workload: plan.workload,
                queries,
            },
            // The queries that were chosen stand in the document alone.
            Some(_) => CheckedRelease::parse(&document.to_json(), "a simulated release")
                .map_err(simulation)?,
        };
        let fit = BaseFit::new(Released::new(&release)?, &mut |_, _| ())?;
        // The same model twice is the fewest draws that can be combined.
        let models: Vec<Model> = if drawn {
            let draws = fit.noise_posterior(DRAWS, seed, &|| ())?;
            draws.into_iter().map(|draw| draw.model).collect()
        } else {
            vec![fit.model().clone(); 2]
        };
        let estimators: &[Estimator] = match is_randomised(&release.schema) {
            true => &[Estimator::DifferenceInMeans],
            false => &[Estimator::Regression, Estimator::Model],
        };
        let request = Request {
            estimands: vec![Estimand::Ate],
            estimators: estimators.to_vec(),
            rule: RuleKind::Unified,
            level: LEVEL,
            groups: Vec::new(),
        };
        let (kappa, schema) = (Kappa::Noise, &release.schema);
        let analysis = from_release(&fit, &models, kappa, schema, &request, seed)?;
        // Arm 1 comes first.
        let rows = analysis.effects.into_iter().take(estimators.len());
        Ok((fit, rows.collect()))
    }

    /// No ledger: the tables are simulated, and nobody's.
    fn authorise(&self, cost: Cost) -> Result<Authorisation, EstimateError> {
        let release = ReleaseId::random().map_err(refused)?;
        let budget = &self.plan.guarantee.budget;
        Authorisation::without_ledger(release, cost, budget).map_err(refused)
    }
}

/// The number that a budget consists of, beside delta, and its name.
pub(super) fn amount(budget: &Budget) -> (&'static str, f64) {
    match *budget {
        Budget::Pure { epsilon } | Budget::Approximate { epsilon, .. } => ("epsilon", epsilon),
        Budget::Zcdp { rho } => ("rho", rho),
        Budget::Gdp { mu } => ("mu", mu),
    }
}

fn no_estimate() -> EstimateError {
    EstimateError::Simulation("the microdata give no estimate of the first contrast".into())
}

fn refused(error: PrivacyError) -> EstimateError {
    simulation(error)
}

pub(super) fn simulation(error: impl std::fmt::Display) -> EstimateError {
    EstimateError::Simulation(error.to_string())
}

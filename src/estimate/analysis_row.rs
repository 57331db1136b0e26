//! From a combined estimate to a row of effects, or to the reason why there is none.

use super::analysis::Request;
use super::combine::Combined;
use super::effect::{Analysis, Effect, NotEstimated, Route};
use super::effects_route::Found;
use super::{Estimand, EstimateError, Estimator, Group, Scale};
use crate::impute::Kappa;
use crate::schema::{Column, Schema};

/// What one number estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Key {
    /// The subgroup; `None` is everyone.
    pub group: Option<Group>,
    pub estimator: Estimator,
    pub estimand: Estimand,
    pub arm: usize,
}

impl Key {
    /// Whether the analysis goes on without this row: a level of few rows, or a ratio without a risk, is no
    /// reason to withhold the others.
    fn can_be_left_out(&self, error: &EstimateError) -> bool {
        let cause = match error {
            EstimateError::InImputation { source, .. } | EstimateError::InDraw { source, .. } => {
                source.as_ref()
            }
            other => other,
        };
        match cause {
            EstimateError::NotASubgroup { .. } | EstimateError::NotMeasured { .. } => false,
            EstimateError::NoRisk { .. } => true,
            _ => self.group.is_some(),
        }
    }
}

/// How a combined estimate was made.
pub(super) struct How {
    pub kappa: Option<Kappa>,
    pub ratio: Option<f64>,
    pub n: f64,
    pub clipped: f64,
}

/// The rows of an analysis, as they come.
pub(super) struct Answer<'a> {
    schema: &'a Schema,
    treatment: &'a Column,
    request: &'a Request,
    route: Route,
    pub analysis: Analysis,
}

impl<'a> Answer<'a> {
    pub fn new(
        schema: &'a Schema,
        request: &'a Request,
        route: Route,
    ) -> Result<Answer<'a>, EstimateError> {
        let treatment = schema.treatment().ok_or(EstimateError::NoTreatment)?;
        Ok(Answer {
            schema,
            treatment: &schema.columns[treatment],
            request,
            route,
            analysis: Analysis::default(),
        })
    }

    /// The number of arms.
    pub fn arms(&self) -> usize {
        self.treatment.levels()
    }

    /// Adds a row with a further note, or the reason why there is none.
    ///
    /// # Errors
    /// An error that concerns more than this row.
    pub fn push(
        &mut self,
        key: &Key,
        found: Result<(Combined, How, Option<String>), EstimateError>,
    ) -> Result<(), EstimateError> {
        let effect = found.and_then(|(combined, how, note)| {
            let mut effect = self.effect(key, &combined, &how)?;
            effect.notes.extend(note);
            Ok(effect)
        });
        self.keep(key, effect)
    }

    /// Adds a row of the effects route, or the reason why there is none.
    ///
    /// # Errors
    /// An error that concerns more than this row.
    pub fn push_found(
        &mut self,
        key: &Key,
        found: Result<Found, EstimateError>,
    ) -> Result<(), EstimateError> {
        let effect = found.map(|found| {
            let mut effect = self.unfilled(key);
            found.fill(&mut effect);
            if self.arms() > 2 && effect.population == "all rows" {
                let arms = [0, key.arm.max(1) as u16].map(|t| self.treatment.level_name(t));
                effect.population =
                    format!("rows with {} = {}", self.treatment.name, arms.join(" or "));
            }
            effect
        });
        self.keep(key, effect)
    }

    fn keep(
        &mut self,
        key: &Key,
        effect: Result<Effect, EstimateError>,
    ) -> Result<(), EstimateError> {
        match effect {
            Ok(effect) => self.analysis.effects.push(effect),
            Err(error) if key.can_be_left_out(&error) => {
                self.analysis.not_estimated.push(NotEstimated {
                    estimand: key.estimand,
                    contrast: self.contrast(key),
                    population: self.population(key),
                    subgroup: key.group.map(|g| g.named(self.schema)),
                    route: self.route,
                    estimator: key.estimator,
                    reason: error.to_string(),
                });
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn contrast(&self, key: &Key) -> String {
        let treatment = &self.treatment.name;
        let [arm, reference] = [key.arm as u16, 0].map(|t| self.treatment.level_name(t));
        match key.estimand {
            Estimand::Ate | Estimand::Att | Estimand::Atc => {
                format!("{treatment} {arm} - {reference}")
            }
            Estimand::RiskRatio => format!("{treatment} {arm} / {reference}"),
            Estimand::ArmMean => format!("{treatment} {arm}"),
        }
    }

    fn population(&self, key: &Key) -> String {
        let arm = match key.estimand {
            Estimand::Att => Some(key.arm as u16),
            Estimand::Atc => Some(0),
            Estimand::Ate | Estimand::ArmMean | Estimand::RiskRatio => None,
        };
        let arm =
            arm.map(|t| format!("{} = {}", self.treatment.name, self.treatment.level_name(t)));
        let group = key.group.map(|g| g.named(self.schema).to_string());
        let conditions: Vec<String> = arm.into_iter().chain(group).collect();
        if conditions.is_empty() {
            "all rows".into()
        } else {
            format!("rows with {}", conditions.join(" and "))
        }
    }

    fn effect(&self, key: &Key, combined: &Combined, how: &How) -> Result<Effect, EstimateError> {
        let total = combined.standard_error.powi(2);
        // U estimates V / r, or V itself where r does not apply.
        let finite = how.ratio.filter(|r| r.is_finite()).unwrap_or(1.0);
        let sampling = (combined.within_variance * finite).min(total);
        let (lower, upper) = combined.interval(self.request.level)?;
        let scale = key.estimand.scale();
        // The estimate, the ends, and by the delta method the factor of a standard error.
        let (estimate, interval, factor) = match scale {
            Scale::Identity => (combined.estimate, [lower, upper], 1.0),
            Scale::Log => {
                let ratio = combined.estimate.exp();
                (ratio, [lower.exp(), upper.exp()], ratio)
            }
        };
        Ok(Effect {
            rule: combined.rule.into(),
            formula: combined.formula.into(),
            m: (self.route != Route::Naive).then_some(combined.draws),
            r: how.ratio.filter(|r| r.is_finite()),
            kappa: how.kappa.map(|kappa| kappa.value() as u8),
            n: how.n,
            estimate,
            standard_error: factor * combined.standard_error,
            degrees_of_freedom: combined.degrees_of_freedom,
            interval,
            sampling_variance: factor * factor * sampling,
            privacy_variance: factor * factor * (total - sampling),
            clipped_propensities: how.clipped,
            notes: combined.note.iter().map(ToString::to_string).collect(),
            ..self.unfilled(key)
        })
    }

    /// A row that says what it is about, and no numbers yet.
    fn unfilled(&self, key: &Key) -> Effect {
        Effect {
            estimand: key.estimand,
            contrast: self.contrast(key),
            population: self.population(key),
            subgroup: key.group.map(|g| g.named(self.schema)),
            scale: key.estimand.scale(),
            route: self.route,
            estimator: key.estimator,
            rule: String::new(),
            formula: String::new(),
            m: None,
            r: None,
            kappa: None,
            n: 0.0,
            estimate: 0.0,
            standard_error: 0.0,
            degrees_of_freedom: f64::INFINITY,
            level: self.request.level,
            interval: [0.0; 2],
            sampling_variance: 0.0,
            privacy_variance: 0.0,
            variance_terms: Vec::new(),
            clipped_propensities: 0.0,
            not_private: false,
            notes: Vec::new(),
        }
    }
}

//! The effects route: straight from the effects part of a release, by the posterior of imbalance times slope.

use super::adjusted::{
    AdjustedEstimate, AdjustedFit, Arm, Constants, Target, VarianceTerms, disagreement, fit,
    moments_of, second_estimate,
};
use super::analysis::Request;
use super::analysis_row::{Answer, Key};
use super::effect::{Analysis, Effect, Route, VarianceTerm};
use super::{Estimand, EstimateError, Estimator};
use crate::impute::{Purpose, derived_seed};
use crate::release::{CheckedRelease, EffectsRelease};
use crate::schema::Schema;

/// Draws of both arm means at every posterior draw, for a ratio's quantiles.
const RATIO_DRAWS: usize = 6;

/// Effects of every arm against the reference arm, over everyone.
///
/// Each arm is compared with the reference arm in the rows of these two arms. In a randomised design nothing
/// was measured but arms, and the estimator is the difference in means.
///
/// # Errors
/// A release without an effects part, an estimand without a meaning for the outcome, or moments that no
/// release can contain.
pub fn from_effects(
    release: &CheckedRelease,
    request: &Request,
    constants: &Constants,
    seed: u64,
) -> Result<Analysis, EstimateError> {
    let schema = &release.schema;
    request.check(schema)?;
    let effects = release.document.effects.as_ref();
    let effects = effects.ok_or(EstimateError::NoEffects)?;
    let mut answer = Answer::new(schema, request, Route::Effects)?;
    let notes = notes_of(effects);
    for arm in 1..answer.arms() {
        let moments = moments_of(effects, arm);
        let seed = derived_seed(seed, Purpose::Adjustment, arm as u64);
        let posterior = fit(&moments, constants, seed)?;
        let mut rows = Rows {
            schema,
            posterior: &posterior,
            records: moments.records(),
            unadjusted: moments.scores() == 0,
            arm,
        };
        let second = second_estimate(&moments, constants)?;
        let differs = disagreement(&posterior.effect(Target::Everyone), &second);
        let mut notes = notes.clone();
        if !rows.unadjusted && differs.is_beyond(0.95)? {
            let unit = rows.half_range();
            notes.push(format!(
                "the estimate and the one without a prior differ by {:.4}, more than 1.96 joint standard errors \
                 ({:.4}): trust neither interval alone",
                differs.difference * unit,
                differs.standard_error * unit
            ));
        }
        for key in request.keys(None, answer.arms(), |e| rows.answers(e)) {
            let first = key.arm == 0 && arm == 1;
            if key.arm != arm && !first {
                continue;
            }
            rows.arm = key.arm;
            let found = match key.estimator {
                Estimator::Gram if key.estimand != Estimand::Ate => continue,
                Estimator::Gram => Ok(rows.row_of(
                    second.value,
                    second.variance,
                    second.interval(request.level)?,
                )),
                _ => rows.estimate(&key, request.level),
            };
            answer.push_found(&key, found.map(|found| found.noted(&notes)))?;
        }
    }
    Ok(answer.analysis)
}

/// What concerns every row.
fn notes_of(effects: &EffectsRelease) -> Vec<String> {
    let kept = effects.kept_names();
    if kept.is_empty() {
        return vec![
            "the schema declares a randomised design: arm means are compared as they are".into(),
        ];
    }
    if effects.selection.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "adjusted for {} of {} scores, chosen privately: {}; what the others confound is allowed for in the interval",
        kept.len(),
        effects.scores.len(),
        kept.join(", ")
    )]
}

/// An estimate in the outcome's own units, with all that a row needs.
pub(super) struct Found {
    pub estimate: f64,
    pub standard_error: f64,
    pub interval: [f64; 2],
    pub terms: Vec<VarianceTerm>,
    pub sampling: f64,
    pub privacy: f64,
    pub draws: Option<usize>,
    pub records: f64,
    pub notes: Vec<String>,
}

impl Found {
    fn noted(mut self, notes: &[String]) -> Found {
        self.notes.extend_from_slice(notes);
        self
    }

    /// Fills in what the rows of other routes take from a combining rule.
    pub fn fill(self, effect: &mut Effect) {
        effect.rule = if self.draws.is_some() {
            "posterior"
        } else {
            "normal"
        }
        .into();
        effect.formula = match self.draws {
            Some(_) => "quantiles of ybar_1 - ybar_0 - a'beta over posterior draws and N(0, the other terms)",
            None => "estimate -+ z sqrt(sum of the variance terms)",
        }
        .into();
        effect.m = self.draws;
        effect.kappa = Some(0);
        effect.n = self.records;
        effect.estimate = self.estimate;
        effect.standard_error = self.standard_error;
        effect.degrees_of_freedom = f64::INFINITY;
        effect.interval = self.interval;
        effect.sampling_variance = self.sampling;
        effect.privacy_variance = self.privacy;
        effect.variance_terms = self.terms;
        effect.notes = self.notes;
    }
}

struct Rows<'a> {
    schema: &'a Schema,
    posterior: &'a AdjustedFit,
    records: f64,
    /// Whether there is nothing to adjust for.
    unadjusted: bool,
    arm: usize,
}

impl Rows<'_> {
    /// The estimators that have an answer.
    fn answers(&self, estimator: Estimator) -> bool {
        match estimator {
            Estimator::Adjusted | Estimator::Gram => !self.unadjusted,
            Estimator::DifferenceInMeans => self.unadjusted,
            _ => false,
        }
    }

    /// How much one unit of the fit's `[-1, 1]` is.
    fn half_range(&self) -> f64 {
        self.schema.outcome_range().1 / 2.0
    }

    fn estimate(&self, key: &Key, level: f64) -> Result<Found, EstimateError> {
        let of = |estimate: &AdjustedEstimate| -> Result<Found, EstimateError> {
            let mut found =
                self.row_of(estimate.value, estimate.variance, estimate.interval(level)?);
            found.draws = (!self.unadjusted).then_some(estimate.draws());
            Ok(found)
        };
        match key.estimand {
            Estimand::Ate => of(&self.posterior.effect(Target::Everyone)),
            Estimand::Att => of(&self.posterior.effect(Target::Treated)),
            Estimand::Atc => of(&self.posterior.effect(Target::Reference)),
            Estimand::ArmMean => {
                let arm = if self.arm == 0 {
                    Arm::Reference
                } else {
                    Arm::Treated
                };
                let mut found = of(&self.posterior.mean(arm, Target::Everyone))?;
                // A mean has a place, not only a size: -1 is the range's lower end.
                let (lower, _) = self.schema.outcome_range();
                let origin = lower + self.half_range();
                found.estimate += origin;
                found.interval = found.interval.map(|end| end + origin);
                Ok(found)
            }
            Estimand::RiskRatio => self.risk_ratio(level),
        }
    }

    fn row_of(&self, value: f64, variance: VarianceTerms, interval: [f64; 2]) -> Found {
        let unit = self.half_range();
        let term = |(source, variance): (&str, f64)| VarianceTerm {
            source: source.into(),
            variance: variance * unit * unit,
        };
        let terms = [
            ("sampling", variance.sampling),
            ("heterogeneity", variance.heterogeneity),
            ("noise of arm means", variance.mean_noise),
            ("clipped outcomes", variance.clipping),
            ("noise of the adjustment", variance.adjustment),
            ("unselected confounders", variance.omitted),
        ];
        Found {
            estimate: value * unit,
            standard_error: variance.total().sqrt() * unit,
            interval: interval.map(|end| end * unit),
            terms: terms.into_iter().map(term).collect(),
            sampling: (variance.sampling + variance.heterogeneity) * unit * unit,
            privacy: variance.privacy() * unit * unit,
            draws: None,
            records: self.records,
            notes: Vec::new(),
        }
    }

    /// The ratio of both arms' risks: its quantiles over joint draws, its error by the delta method.
    fn risk_ratio(&self, level: f64) -> Result<Found, EstimateError> {
        // Risks are (1 + y) / 2.
        let draws: Vec<[f64; 2]> = (self
            .posterior
            .arm_means(Target::Everyone, RATIO_DRAWS)
            .iter())
        .map(|means| means.map(|mean| (1.0 + mean) / 2.0))
        .collect();
        let count = draws.len() as f64;
        let mean = [0, 1].map(|t| draws.iter().map(|d| d[t]).sum::<f64>() / count);
        if let Some(&mean) = mean.iter().find(|mean| **mean <= 0.0) {
            return Err(EstimateError::NoRisk { mean });
        }
        let covariance = |s: usize, t: usize| {
            let product = |d: &[f64; 2]| (d[s] - mean[s]) * (d[t] - mean[t]);
            draws.iter().map(product).sum::<f64>() / count / (mean[s] * mean[t])
        };
        let log_variance = covariance(0, 0) + covariance(1, 1) - 2.0 * covariance(0, 1);
        // A draw without a risk in the reference arm bounds the ratio from no side.
        let ratio = |d: &[f64; 2]| match d {
            [reference, _] if *reference <= 0.0 => f64::INFINITY,
            [reference, arm] => arm.max(0.0) / reference,
        };
        let mut ratios: Vec<f64> = draws.iter().map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |probability: f64| {
            let position = (probability * (count - 1.0)).round() as usize;
            ratios[position.min(ratios.len() - 1)]
        };
        let tail = (1.0 - level) / 2.0;
        let interval = [at(tail), at(1.0 - tail)];
        if !interval[1].is_finite() {
            return Err(EstimateError::NoRisk { mean: mean[0] });
        }
        let estimate = mean[1] / mean[0];
        let variance = self.posterior.effect(Target::Everyone).variance;
        let total = log_variance * estimate * estimate;
        let share = variance.privacy() / variance.total().max(f64::MIN_POSITIVE);
        Ok(Found {
            estimate,
            standard_error: total.sqrt(),
            interval,
            terms: Vec::new(),
            sampling: total * (1.0 - share),
            privacy: total * share,
            draws: (!self.unadjusted).then_some(draws.len() / RATIO_DRAWS),
            records: self.records,
            notes: Vec::new(),
        })
    }
}

//! Adjusted effects: the whole budget on the effects part of the causal workload.

use super::measuring;
use super::{Estimated, Findings, Input, Procedure, Settings};
use anyhow::{Context, Result, bail};
use dpcausal::estimate::adjusted::Constants;
use dpcausal::estimate::{self, Estimator, Request, RuleKind};

/// The procedure.
pub struct Effects {
    constants: Constants,
    /// The workload's `keep`.
    keep: String,
    /// The workload's `stages`, where any is not the default.
    stages: Option<String>,
}

impl Effects {
    /// With some constants of the fit, the number of scores to `keep`, or shares of stages (`stages.NAME`) replaced, each
    /// given as `name=value`.
    ///
    /// # Errors
    /// A name that is no constant, or a value that is no number.
    pub fn with(settings: &[&str]) -> Result<Effects> {
        let mut constants = Constants::default();
        let mut keep = "auto".to_owned();
        let mut stages = Vec::new();
        for setting in settings {
            let (name, value) = setting
                .split_once('=')
                .context("a constant is given as name=value")?;
            if name == "keep" {
                keep = value.into();
                continue;
            }
            if let Some(stage) = name.strip_prefix("stages.") {
                stages.push(format!("{stage}: {value}"));
                continue;
            }
            let value: f64 = value
                .parse()
                .with_context(|| format!("{value:?} is no number"))?;
            match name {
                "prior_scale" => constants.prior_scale = value,
                "prior_strength" => constants.prior_strength = value,
                "prior_degrees" => constants.prior_degrees = value,
                "posterior_spread" => constants.posterior_spread = value,
                "difference_scale" => constants.difference_scale = value,
                "difference_degrees" => constants.difference_degrees = value,
                "least_arm" => constants.arm_limits[0] = value,
                "largest_arm" => constants.arm_limits[1] = value,
                "eigenvalue_floor" => constants.eigenvalue_floor = value,
                "eigenvalue_noise" => constants.eigenvalue_noise = value,
                _ => bail!("the fit has no constant {name:?} that a study can set"),
            }
        }
        constants.check()?;
        Ok(Effects {
            constants,
            keep,
            stages: (!stages.is_empty()).then(|| stages.join(", ")),
        })
    }
}

impl Procedure for Effects {
    fn run(&self, input: &Input, settings: &Settings) -> Result<Findings> {
        let stages = self.stages.as_ref();
        let stages = stages.map(|stages| format!(", stages: {{{stages}}}"));
        let workload = format!(
            "format: dpcausal.workload/1\nmechanism: causal\neffects: {{share: 1, squares: [{}], keep: {}{}}}",
            input.squares.join(", "),
            self.keep,
            stages.unwrap_or_default()
        );
        let release = measuring::checked_release(input, &workload)?;
        let all = [
            ("adjusted", Estimator::Adjusted),
            ("gram", Estimator::Gram),
            ("difference-in-means", Estimator::DifferenceInMeans),
        ];
        let wanted = all.iter().filter(|(name, _)| settings.wants(name));
        let mut found = Vec::new();
        for (name, estimator) in wanted {
            let request = Request {
                estimands: vec![input.estimand],
                estimators: vec![*estimator],
                rule: RuleKind::Unified,
                level: 0.95,
                groups: vec![],
            };
            let analysis = estimate::from_effects(&release, &request, &self.constants, input.seed)?;
            found.extend(analysis.effects.iter().map(|effect| {
                let found = (effect.estimate, effect.interval);
                Estimated::of(name, input.main_question(), Ok(found))
            }));
        }
        Ok(found.into())
    }
}

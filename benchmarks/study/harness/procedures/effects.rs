//! Adjusted effects: the whole budget on the effects part of the causal workload.

use super::measuring;
use super::{Estimated, Input, Procedure, Settings};
use anyhow::Result;
use dpcausal::estimate::{self, Estimator, Request, RuleKind};
use dpcausal::release::CheckedRelease;

/// The procedure.
pub struct Effects;

impl Procedure for Effects {
    fn run(&self, input: &Input, settings: &Settings) -> Result<Vec<Estimated>> {
        let workload = format!(
            "format: dpcausal.workload/1\nmechanism: causal\neffects: {{share: 1, squares: [{}]}}",
            input.squares.join(", ")
        );
        let (plan, file) = measuring::plan(input, &workload)?;
        let text = measuring::release(input, &plan, file)?.to_json();
        let release = CheckedRelease::parse(&text, "the release")?;
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
            let analysis = estimate::from_effects(&release, &request, input.seed)?;
            found.extend(analysis.effects.iter().map(|effect| Estimated {
                estimator: (*name).into(),
                estimate: effect.estimate,
                interval: effect.interval,
            }));
        }
        Ok(found)
    }
}

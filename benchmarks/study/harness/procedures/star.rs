//! The star: the causal workload without pairs, measured, calibrated, and read by the moment route.

use super::measuring;
use super::{Estimated, Input, Procedure, Settings};
use anyhow::{Result, ensure};
use dpcausal::estimate::{self, Estimator, Request, RuleKind};
use dpcausal::impute::{BaseFit, Kappa};
use dpcausal::model::Released;
use dpcausal::release::CheckedRelease;

const WORKLOAD: &str = "
format: dpcausal.workload/1
mechanism: causal
blocks:
  hub: {share: 0.17}
  leaves: {share: 0.53, columns: all}
  pairs: {share: 0.27, columns: none}
  spread: {share: 0.03}
";

/// The procedure.
pub struct Star;

impl Procedure for Star {
    fn run(&self, input: &Input, settings: &Settings) -> Result<Vec<Estimated>> {
        let (plan, file) = measuring::plan(input, WORKLOAD)?;
        let text = measuring::release(input, &plan, file)?.to_json();
        let release = CheckedRelease::parse(&text, "the release")?;
        let released = Released::new(&release)?;
        let fit = BaseFit::new(released, &mut |_, _| ())?;
        ensure!(
            fit.diagnostics().converged,
            "the calibration did not converge"
        );
        let draws = fit.noise_posterior(settings.draws, input.seed, &|| ())?;
        let models: Vec<_> = draws.into_iter().map(|draw| draw.model).collect();
        let all = [
            ("regression", Estimator::Regression),
            ("model", Estimator::Model),
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
            let analysis = estimate::from_release(
                &fit,
                &models,
                Kappa::Noise,
                &release.schema,
                &request,
                input.seed,
            )?;
            found.extend(analysis.effects.iter().map(|effect| Estimated {
                estimator: (*name).into(),
                estimate: effect.estimate,
                interval: effect.interval,
            }));
        }
        Ok(found)
    }
}

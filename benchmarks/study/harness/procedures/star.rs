//! The star: the causal workload without pairs, measured, calibrated, and read by the moment route.

use super::measuring;
use super::{Estimated, Findings, Input, Procedure, Settings};
use anyhow::{Result, ensure};
use dpcausal::estimate::{self, Estimator, Request, RuleKind};
use dpcausal::impute::{BaseFit, Kappa};
use dpcausal::model::Released;

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
    fn run(&self, input: &Input, settings: &Settings) -> Result<Findings> {
        let release = measuring::checked_release(input, WORKLOAD)?;
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
            found.extend(analysis.effects.iter().map(|effect| {
                let found = (effect.estimate, effect.interval);
                Estimated::of(name, input.main_question(), Ok(found))
            }));
        }
        Ok(found.into())
    }
}

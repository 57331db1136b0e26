//! Posterior draws for `impute`, `analyze` and `quickstart`, with a bar.

use super::args::Posterior;
use super::progress::Progress;
use super::reconstruct::require_converged;
use super::status::{ExitStatus, Failure, OrStatus};
use super::{GlobalArguments, note};
use crate::impute::laplace::{LaplaceError, LaplacePosterior};
use crate::impute::{BaseFit, Kappa};
use crate::model::Model;
use crate::release::CheckedRelease;

/// Which draws, and how many.
#[derive(Debug, Clone, Copy)]
pub struct DrawRequest {
    /// Of which posterior.
    pub posterior: Posterior,
    /// How many.
    pub m: usize,
    /// Their seed.
    pub seed: u64,
    /// Whether unconverged refits will do.
    pub accept_unconverged: bool,
}

/// Draws.
pub struct Draws {
    /// The drawn models.
    pub models: Vec<Model>,
    /// What they vary by.
    pub kappa: Kappa,
    /// What has to stand beside adjusted effects computed from them.
    pub caution: Option<String>,
}

/// Draws models from a posterior of a release, and says on standard error what a reader must know of it.
pub fn draw_models(
    release: &CheckedRelease,
    fit: &BaseFit,
    request: DrawRequest,
    global: GlobalArguments,
) -> Result<Draws, Failure> {
    match request.posterior {
        Posterior::Noise => noise(fit, request, global),
        Posterior::Laplace => laplace(release, fit, request, global),
    }
}

fn noise(fit: &BaseFit, request: DrawRequest, global: GlobalArguments) -> Result<Draws, Failure> {
    let progress = Progress::bar("posterior draws", request.m as u64, global.quiet);
    let draws = fit
        .noise_posterior(request.m, request.seed, &|| progress.advance(1))
        .or_status(ExitStatus::Internal)?;
    drop(progress);
    for draw in &draws {
        require_converged(&draw.diagnostics, request.accept_unconverged)?;
    }
    Ok(Draws {
        models: draws.into_iter().map(|draw| draw.model).collect(),
        kappa: Kappa::Noise,
        caution: None,
    })
}

fn laplace(
    release: &CheckedRelease,
    fit: &BaseFit,
    request: DrawRequest,
    global: GlobalArguments,
) -> Result<Draws, Failure> {
    let posterior = LaplacePosterior::new(release, fit).map_err(failure)?;
    let [main, treatment, outcome, both] = posterior.prior_variances().map(f64::sqrt);
    note(
        global,
        &format!(
            "laplace posterior: mode found in {} steps; contrasts' prior sd {main:.2}, with treatment {treatment:.2}, \
             with outcome {outcome:.2}, with both {both:.2}",
            posterior.steps()
        ),
    );
    let caution = posterior.caution();
    if let Some(caution) = &caution {
        note(global, caution);
    }
    let progress = Progress::bar("posterior draws", request.m as u64, global.quiet);
    let draws = posterior
        .draws(request.m, request.seed, &|| progress.advance(1))
        .map_err(failure)?;
    drop(progress);
    for diagnostics in draws.iter().filter_map(|draw| draw.diagnostics.as_ref()) {
        require_converged(diagnostics, request.accept_unconverged)?;
    }
    Ok(Draws {
        models: draws.into_iter().map(|draw| draw.model).collect(),
        kappa: Kappa::Posterior,
        caution,
    })
}

/// A release that this posterior does not suit is a matter of usage.
fn failure(error: LaplaceError) -> Failure {
    let status = match error {
        LaplaceError::NoHub | LaplaceError::NoLeaf { .. } => ExitStatus::Usage,
        LaplaceError::Diverged { .. } => ExitStatus::NotConverged,
        LaplaceError::Indefinite | LaplaceError::Model(_) => ExitStatus::Internal,
    };
    Failure::new(status, error)
}

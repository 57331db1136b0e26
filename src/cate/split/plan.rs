//! What each part's regression would measure, from public quantities alone.

use super::ebm::{self, Task};
use super::regression::{basis, mechanism, task};
use super::second_moment::{MOMENT_SCALE, MomentQuestion};
use super::sequence::public_targets;
use crate::cate::{CateError, CateLine, CatePlan};
use crate::privacy::GaussianMechanism;
use crate::workload::{SplitPart, SplitSettings};

/// The lines of a plan; of the published code, which has no guarantee to plan with, none.
///
/// # Errors
/// Where the budget has no room for Gaussian noise.
pub fn lines(plan: &CatePlan, settings: &SplitSettings) -> Result<Vec<CateLine>, CateError> {
    if settings.published {
        return Ok(Vec::new());
    }
    let mut lines = Vec::new();
    for &(part, share) in &settings.parts {
        let targets = public_targets(part, &plan.workload, settings);
        if settings.boosts(part) {
            let task = task(plan, settings, part, &targets);
            lines.extend(boosting(&task, part, share)?);
            continue;
        }
        let basis = basis(plan, settings, part);
        let question = MomentQuestion {
            basis: &basis,
            targets: &targets,
            treatment: plan.workload.treatment,
        };
        let cells = question.cells();
        let unit = (MOMENT_SCALE * MOMENT_SCALE) as f64;
        lines.push(line(
            part.name(),
            cells,
            &mechanism(plan, &question)?,
            unit,
            share,
        ));
    }
    Ok(lines)
}

fn boosting(task: &Task, part: SplitPart, share: f64) -> Result<[CateLine; 2], CateError> {
    let features = task.features();
    let mechanisms = task.mechanisms(features.len())?;
    let bins: usize = features.iter().map(ebm::Feature::coarse).sum();
    let [counts, turns] = match part {
        SplitPart::Propensity => ["propensity bins", "propensity turns"],
        SplitPart::Outcome => ["outcome bins", "outcome turns"],
        SplitPart::Effect => ["effect bins", "effect turns"],
    };
    let mut of_turns = line(
        turns,
        3 * mechanisms.turns as usize,
        &mechanisms.turn,
        ebm::RESIDUAL_SCALE as f64,
        share,
    );
    of_turns.mu_squared *= f64::from(mechanisms.turns);
    let of_counts = line(
        counts,
        bins,
        &mechanisms.counts,
        ebm::WEIGHT_SCALE as f64,
        share,
    );
    Ok([of_counts, of_turns])
}

fn line(
    stage: &'static str,
    cells: usize,
    mechanism: &GaussianMechanism,
    unit: f64,
    share: f64,
) -> CateLine {
    CateLine {
        stage,
        part: Some(share),
        cells,
        sensitivity: (mechanism.sensitivity().squared() as f64).sqrt() / unit,
        sigma: mechanism.sigma() as f64 / unit,
        mu_squared: mechanism.cost().gaussian_mu_squared(),
    }
}

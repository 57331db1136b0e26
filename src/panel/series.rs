//! Synthetic control series, and imputations of them.

use super::PanelError;
use super::released::controls;
use crate::impute::{Purpose, stream};
use crate::release::CheckedPanelRelease;

/// One row of a series that is written.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesRow {
    /// The number of the imputation, from 1; 0 for the released path.
    pub imputation: u32,
    /// The unit.
    pub unit: String,
    /// The period.
    pub period: String,
    /// The target's outcome.
    pub observed: f64,
    /// The synthetic control's, from the intervention on.
    pub synthetic: Option<f64>,
}

/// The synthetic control series of every target: all periods, values from the intervention on.
///
/// # Errors
/// Where the release has a mean in the place of a path, or measurements that are not its workload's.
pub fn synthetic_series(release: &CheckedPanelRelease) -> Result<Vec<SeriesRow>, PanelError> {
    let mut rows = Vec::new();
    for (target, control) in controls(release)?.iter().enumerate() {
        let path = outcomes(release, &control.path, control.scale)?;
        rows.extend(series(release, target, 0, &path));
    }
    Ok(rows)
}

/// `m` draws of what the synthetic control series without noise may have been: the released one less a draw of its
/// noise. Draws carry the privacy error and nothing else.
///
/// # Errors
/// As [`synthetic_series`].
pub fn imputed_series(
    release: &CheckedPanelRelease,
    m: u32,
    seed: u64,
) -> Result<Vec<SeriesRow>, PanelError> {
    let controls = controls(release)?;
    let mut rows = Vec::new();
    for imputation in 1..=m {
        for (target, control) in controls.iter().enumerate() {
            let index = u64::from(imputation) * controls.len() as u64 + target as u64;
            let mut rng = stream(seed, Purpose::Rows, index);
            let path = outcomes(release, &control.draw(&mut rng), control.scale)?;
            rows.extend(series(release, target, imputation, &path));
        }
    }
    Ok(rows)
}

fn outcomes(
    release: &CheckedPanelRelease,
    path: &[f64],
    scale: super::control::PathScale,
) -> Result<Vec<f64>, PanelError> {
    if path.len() != release.document.frame.post_periods() {
        return Err(PanelError::Configuration(
            "this release holds the mean over the periods and no series; run `dpcausal analyze` for its effect, or \
             measure with `stage2: projected`"
                .into(),
        ));
    }
    Ok(path.iter().map(|&value| scale.outcome(value)).collect())
}

fn series<'a>(
    release: &'a CheckedPanelRelease,
    target: usize,
    imputation: u32,
    path: &'a [f64],
) -> impl Iterator<Item = SeriesRow> + 'a {
    let frame = &release.document.frame;
    let own = &frame.targets[target];
    (0..frame.periods.len()).map(move |t| SeriesRow {
        imputation,
        unit: own.unit.clone(),
        period: frame.periods[t].clone(),
        observed: own.values[t],
        synthetic: t.checked_sub(frame.pre_periods).map(|h| path[h]),
    })
}

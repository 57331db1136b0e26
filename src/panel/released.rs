//! From a release back to counterfactuals.

use super::PanelError;
use super::control::Control;
use super::division::Division;
use super::method::Setting;
use super::plan::no_fit;
use crate::release::CheckedPanelRelease;
use crate::workload::DpscMethod;

/// The public side of one target of a release.
///
/// # Errors
/// Where the release's budget and method do not go together.
pub fn setting(release: &CheckedPanelRelease, target: usize) -> Result<Setting<'_>, PanelError> {
    let document = &release.document;
    let control = &document.controls[target];
    let (budget, targets) = (&document.accounting.budget, document.frame.targets.len());
    let division = Division::new(control.method, &release.workload, budget, targets)?;
    let penalty = control.penalty.as_ref().map(|chosen| chosen.lambda);
    let grid = release.workload.grid.as_ref();
    let is_of_grid = match (penalty, grid.filter(|_| control.method.is_ridge())) {
        (Some(penalty), Some(grid)) => grid.candidates.contains(&penalty),
        (penalty, grid) => penalty.is_none() && grid.is_none(),
    };
    if !is_of_grid {
        return Err(PanelError::Release(
            "a penalty of the workload's grid is expected, and none without one".into(),
        ));
    }
    Ok(Setting {
        schema: &release.schema,
        workload: &release.workload,
        frame: &document.frame,
        target,
        share: division.method,
        penalty,
    })
}

/// The counterfactual of every target, in order.
///
/// # Errors
/// [`PanelError::Release`] where the measurements are not those of the workload.
pub fn controls(release: &CheckedPanelRelease) -> Result<Vec<Control>, PanelError> {
    let document = &release.document;
    let mut controls = Vec::with_capacity(document.controls.len());
    for (target, released) in document.controls.iter().enumerate() {
        if released.method == DpscMethod::Auto {
            return Err(PanelError::Release(
                "a method that was used is expected".into(),
            ));
        }
        let method = setting(release, target)?.method(released.method)?;
        let mut control = method.control(&released.measurements)?;
        if let Some(number) = &released.fit {
            let fit = method.fit().ok_or_else(no_fit)?;
            control.fit = Some(fit.released(number, &released.measurements)?);
        }
        controls.push(control);
    }
    Ok(controls)
}

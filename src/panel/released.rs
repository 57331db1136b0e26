//! From a release back to counterfactuals.

use super::PanelError;
use super::control::Control;
use super::method::Setting;
use super::plan;
use crate::release::CheckedPanelRelease;
use crate::workload::DpscMethod;

/// The public side of one target of a release.
///
/// # Errors
/// Where the release's budget and method do not go together.
pub fn setting(release: &CheckedPanelRelease, target: usize) -> Result<Setting<'_>, PanelError> {
    let document = &release.document;
    let method = document.controls[target].method;
    let budget = &document.accounting.budget;
    Ok(Setting {
        schema: &release.schema,
        workload: &release.workload,
        frame: &document.frame,
        target,
        share: plan::share(method, budget, document.frame.targets.len())?,
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
        controls.push(method.control(&released.measurements)?);
    }
    Ok(controls)
}

//! The deployment card of a panel's release.

use super::{Accounting, DeploymentCard, NoiseLaw, ReleasedControl};
use crate::schema::{PanelFrame, PanelSchema};

impl DeploymentCard {
    /// The card of a panel's release.
    pub fn of_panel(
        schema: &PanelSchema,
        frame: &PanelFrame,
        accounting: &Accounting,
        controls: &[ReleasedControl],
    ) -> DeploymentCard {
        let spent = &accounting.spent;
        let guarantee = match (accounting.epsilon, accounting.delta, spent.mu()) {
            (Some(epsilon), None, _) if spent.is_pure() => {
                format!("{epsilon:.6}-differential privacy (pure: no delta)")
            }
            (Some(epsilon), Some(delta), Some(mu)) => {
                format!("({epsilon:.6}, {delta:e})-differential privacy; {mu:.6}-GDP")
            }
            (Some(epsilon), Some(delta), None) => {
                let rho = spent.rho();
                format!("({epsilon:.6}, {delta:e})-differential privacy; {rho:.6}-zCDP")
            }
            (_, _, Some(mu)) => format!("{mu:.6}-GDP, which implies {:.6}-zCDP", spent.rho()),
            _ => format!("{:.6}-zCDP", spent.rho()),
        };
        let donors = frame.donors.len();
        let targets: Vec<&str> = frame.targets.iter().map(|t| t.unit.as_str()).collect();
        DeploymentCard {
            name: schema.title.clone().unwrap_or_else(|| "a panel".into()),
            guarantee,
            privacy_unit: "one donor: its whole row, all periods".into(),
            adjacency: "replace-one: one donor's row is replaced by another; the number of donors is public".into(),
            domain: "outcomes within the schema's bounds; values beyond are clipped".into(),
            unprotected_quantities: vec![
                format!("the series of {}, declared public by the schema", targets.join(", ")),
                format!("the names of the {donors} donors, and the periods"),
                "the schema and the workload: bounds, intervention, method, noise scales".into(),
            ],
            composition: match (spent.is_pure(), spent.is_gaussian()) {
                (true, _) => "pure differential privacy: epsilons add, over measurements and targets".into(),
                (_, true) => "Gaussian differential privacy: squared parameters add, over measurements and targets".into(),
                _ => "zero-concentrated differential privacy: rho adds, over choices, measurements and targets".into(),
            },
            preprocessing: vec![
                "a row is clipped to the bounds, put on the method's scale and clipped in length by a map that depends on public numbers alone".into(),
                "contributions and statistics are rounded to a lattice that is finer than the noise by a factor of 2^29 at least; the sensitivity includes the rounding".into(),
            ],
            postprocessing: vec![
                "counterfactuals, effects, intervals and imputations are computed from the noisy integers and the public series".into(),
            ],
            mechanisms: controls
                .iter()
                .flat_map(|control| {
                    let measured = control.measurements.iter().chain(&control.fit);
                    measured.map(move |m| (control, m))
                })
                .map(|(control, measurement)| {
                    format!(
                        "{}: {} of {} numbers, {}, method {}",
                        control.target,
                        measurement.name,
                        measurement.values.len(),
                        law_name(measurement.law),
                        control.method.name()
                    )
                })
                .chain(controls.iter().filter_map(|control| {
                    let chosen = control.penalty.as_ref()?;
                    Some(format!(
                        "{}: the ridge penalty of a public grid, exponential mechanism with epsilon {:.6}",
                        control.target, chosen.epsilon
                    ))
                }))
                .collect(),
            justification: "sensitivities are proved where the methods are documented, attained by witnesses and searched for counterexamples in the tests; noise is drawn in whole numbers, exactly; every charge was taken before its noise was drawn".into(),
        }
    }
}

fn law_name(law: NoiseLaw) -> &'static str {
    match law {
        NoiseLaw::KNormL2 => "K-norm noise of Euclid's norm",
        NoiseLaw::KNormLInfinity => "K-norm noise of the largest coordinate",
        NoiseLaw::DiscreteGaussian => "discrete Gaussian noise",
        NoiseLaw::SymmetricDiscreteGaussian => "discrete Gaussian noise of a symmetric matrix",
    }
}

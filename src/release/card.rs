//! The deployment card: what a reader must know to judge the guarantee, in the fields of the OpenDP
//! deployments registry.

use super::Accounting;
use crate::privacy::{AccountantKind, Adjacency};
use crate::schema::Schema;
use serde::{Deserialize, Serialize};

/// A deployment card. All fields are text for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeploymentCard {
    /// What is released.
    pub name: String,
    /// The flavour of privacy and its parameters.
    pub guarantee: String,
    /// Whose data are protected.
    pub privacy_unit: String,
    /// What neighbouring tables are.
    pub adjacency: String,
    /// What the input may hold.
    pub domain: String,
    /// What is published without noise, because it is public.
    pub unprotected_quantities: Vec<String>,
    /// How the charges compose.
    pub composition: String,
    /// What happens to the data before noise.
    pub preprocessing: Vec<String>,
    /// What happens to the noisy answers afterwards (it costs nothing).
    pub postprocessing: Vec<String>,
    /// The mechanisms.
    pub mechanisms: Vec<String>,
    /// Why the guarantee holds.
    pub justification: String,
}

impl DeploymentCard {
    /// The card of a release of Gaussian measurements.
    pub fn new(schema: &Schema, accounting: &Accounting, measurements: usize) -> DeploymentCard {
        let mut unprotected = vec![
            "the schema: column names, types, bounds, bins, levels, missing codes, roles, structural zeros".to_string(),
            "the workload: which sums are measured, and the noise scale of each".to_string(),
        ];
        if let Some(rows) = schema.rows {
            unprotected.push(format!(
                "the number of rows, {rows}, declared public by the schema"
            ));
        }
        let unit = match schema.unit.max_rows() {
            1 => "one row".to_string(),
            most => format!("all rows of one unit, of which at most {most} count"),
        };
        let (mu, rho) = (accounting.spent.mu(), accounting.spent.rho());
        // Charges that are not Gaussian have no GDP guarantee.
        let concentrated = match mu {
            Some(mu) => format!("{mu:.6}-GDP"),
            None => format!("{rho:.6}-zCDP"),
        };
        DeploymentCard {
            name: schema.title.clone().unwrap_or_else(|| "a table of microdata".into()),
            guarantee: match (accounting.epsilon, accounting.delta) {
                (Some(epsilon), Some(delta)) => format!("({epsilon:.6}, {delta:e})-differential privacy; {concentrated}"),
                _ if mu.is_some() => format!("{concentrated}, which implies {rho:.6}-zCDP"),
                _ => concentrated,
            },
            privacy_unit: unit,
            adjacency: match accounting.adjacency {
                Adjacency::AddRemove => "add-remove: one unit is added or removed; the number of rows is protected".into(),
                Adjacency::ReplaceOne => "replace-one: one unit's rows are replaced by others; the number of rows is public".into(),
            },
            domain: "rows in the schema's declared domain; values outside numeric bounds are clamped, unlisted levels go to a declared `other`".into(),
            unprotected_quantities: unprotected,
            composition: match accounting.accountant {
                AccountantKind::Gdp => "Gaussian differential privacy: squared parameters add".into(),
                AccountantKind::Zcdp => "zero-concentrated differential privacy: rho adds".into(),
                AccountantKind::Pure => "pure differential privacy: epsilon adds".into(),
            },
            preprocessing: vec![
                "each row is coded by the schema alone; the outcome is mapped to [0, 1] by its public bounds and rounded to a multiple of 2^-20".into(),
                "rows of a unit beyond the declared maximum are dropped in file order".into(),
            ],
            postprocessing: vec!["estimates, models, imputations and synthetic rows are computed from the noisy answers alone".into()],
            mechanisms: vec![format!("{measurements} discrete Gaussian measurements of integer sums, drawn exactly (Canonne, Kamath, Steinke 2020) from the operating system's generator")],
            justification: "sums are integers, so their sensitivity is exact; every charge was taken before its noise was drawn; the noise scales depend on public quantities only".into(),
        }
    }
}

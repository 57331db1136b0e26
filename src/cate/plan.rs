//! What a release will cost, from public quantities alone.

use super::CateError;
use super::basis::Basis;
use super::features::Features;
use super::hub::LARGEST_CURVE_WEIGHT;
use super::split;
use super::statistics::HubTotals;
use crate::measure::Guarantee;
use crate::measure::effects::Statistic;
use crate::privacy::{Adjacency, Cost};
use crate::schema::Schema;
use crate::workload::{CateStage, CateWorkload};
use serde::Serialize;

/// A plan.
#[derive(Debug, Clone)]
pub struct CatePlan {
    /// The schema.
    pub schema: Schema,
    /// The workload.
    pub workload: CateWorkload,
    /// The features of the covariates and the terms of the basis.
    pub features: Features,
    /// The guarantee.
    pub guarantee: Guarantee,
    /// The budget, as `mu^2`.
    pub mu_squared: f64,
    /// What all of it costs.
    pub cost: Cost,
}

/// What a stage will measure, as far as it is known before: clips in the outcome's units are taken to be its whole
/// half-range, and the basis to weigh its curves as much as it ever does.
#[derive(Debug, Clone, Serialize)]
pub struct CateLine {
    /// The stage.
    pub stage: &'static str,
    /// The share of the records that it looks at, where they are divided; each part's charges are the whole's then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<f64>,
    /// The number of noisy values.
    pub cells: usize,
    /// The L2 sensitivity, in the stage's own units.
    pub sensitivity: f64,
    /// The standard deviation of the noise, in the same units.
    pub sigma: f64,
    /// The charge, `mu^2`.
    pub mu_squared: f64,
}

impl CatePlan {
    /// Divides a budget over the stages. Touches no data.
    ///
    /// # Errors
    /// Where the budget has no room for Gaussian noise.
    pub fn new(
        schema: Schema,
        workload: CateWorkload,
        guarantee: Guarantee,
    ) -> Result<CatePlan, CateError> {
        let total = guarantee.budget.total(workload.accountant)?;
        let features = Features::new(&schema, &workload);
        let mu_squared = total.gaussian_mu_squared();
        Ok(CatePlan {
            schema,
            workload,
            features,
            guarantee,
            mu_squared,
            cost: Cost::gaussian(mu_squared)?,
        })
    }

    /// A stage's charge, `mu^2`.
    pub fn charge(&self, stage: CateStage) -> f64 {
        self.workload.share(stage) * self.mu_squared
    }

    /// The stages as they are planned.
    ///
    /// # Errors
    /// Where the budget has no room for Gaussian noise.
    pub fn lines(&self) -> Result<Vec<CateLine>, CateError> {
        match &self.workload.split {
            Some(settings) => split::lines(self, settings),
            None => Ok(self.adaptive_lines()),
        }
    }

    fn adaptive_lines(&self) -> Vec<CateLine> {
        let d = self.features.list.len();
        let basis = Basis::new(
            &self.features,
            vec![0.0; d],
            vec![1.0; d],
            LARGEST_CURVE_WEIGHT,
        );
        let (p, length) = (basis.size(), basis.length());
        let hub = HubTotals { features: d };
        let reach = hub.reach();
        let unit = hub.scale() as f64;
        let [norm, diameter] = [reach.norm, reach.diameter].map(|units| units as f64 / unit);
        let root = std::f64::consts::SQRT_2;
        let of = |stage| match stage {
            CateStage::Hub => (hub.cells(), norm, diameter),
            CateStage::Gram => (p * (p + 1), length * length, root * length * length),
            CateStage::Cross => (2 * p, length, 2.0 * length),
            CateStage::Spread => (1, 1.0, 1.0),
            CateStage::Effect => (p, length, 2.0 * length),
        };
        let rows = f64::from(self.schema.unit.max_rows());
        let line = |stage: CateStage| {
            let (cells, norm, diameter) = of(stage);
            let sensitivity = rows
                * match self.workload.adjacency {
                    Adjacency::AddRemove => norm,
                    Adjacency::ReplaceOne => diameter,
                };
            let mu_squared = self.charge(stage);
            CateLine {
                stage: stage.name(),
                part: None,
                cells,
                sensitivity,
                sigma: sensitivity / mu_squared.sqrt(),
                mu_squared,
            }
        };
        CateStage::ALL.into_iter().map(line).collect()
    }
}

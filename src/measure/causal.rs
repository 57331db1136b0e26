//! The fixed causal workload (Asiaee and Aryan, UAI 2026, in split form).
//!
//! Per arm `t`, covariate `j` and level `l` the published method measures the feature mass
//! `sum 1{T=t, X_j=l}` and the outcome moment `sum 1{T=t, X_j=l} Y`. Here they are released as
//!
//! ```text
//! A[t, l] = sum 1{T=t, X_j=l} (1 - Y)        B[t, l] = sum 1{T=t, X_j=l} Y
//! ```
//!
//! a linear bijection of the two (mass = A + B, moment = B).
//!
//! **Adjacency.** Add-remove or replace-one of a privacy unit, as the workload says.
//! **Sensitivity.** A record adds `(1 - Y, Y)` at one cell pair of a block, a non-negative vector of L2
//! norm at most 1, for `(1-y)^2 + y^2 <= 1` on `[0, 1]`; see [`Query::record_norm`](crate::schema::Query::record_norm)
//! for the other features and `Sensitivity` for units of several rows and for replacement.
//! **Charge.** Each query is a Gaussian mechanism with its share of the budget's `mu^2`; squared
//! parameters add (Dong, Roth, Su 2022, Cor. 3.3), whether or not the queries touch the same records.

use super::{MeasureError, PlannedMeasurement};
use crate::privacy::{Cost, GaussianMechanism, Sensitivity};
use crate::schema::Schema;
use crate::workload::Workload;

/// The measurements that a workload makes whatever the data say, under a total cost. Marginals of other mechanisms
/// go the same way: a record is one cell's count, an L2 norm of 1.
pub(super) fn measurements(
    schema: &Schema,
    workload: &Workload,
    total: Cost,
) -> Result<Vec<PlannedMeasurement>, MeasureError> {
    workload
        .queries(schema)
        .into_iter()
        .map(|part| {
            let cells = part
                .query
                .cells(schema)
                .ok_or_else(|| MeasureError::TooManyCells {
                    query: part.query.name.clone(),
                })?;
            let sensitivity = Sensitivity::of_non_negative_sum(
                part.query.record_norm(),
                workload.adjacency,
                schema.unit.max_rows(),
            )?;
            let mechanism =
                GaussianMechanism::new(sensitivity, total.gaussian_mu_squared() * part.share)?;
            Ok(PlannedMeasurement {
                block: part.block,
                query: part.query,
                cells,
                mechanism,
            })
        })
        .collect()
}

//! The released sums that the posterior is about, in the star's order.

use super::LaplaceError;
use super::star::Star;
use crate::model::Variables;
use crate::release::CheckedRelease;
use crate::schema::{Feature, Query};

/// Released sums with the noise of each.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    /// The noisy sums, in records, in the order `(t, s, r)`.
    pub(super) values: Vec<f64>,
    /// The variance of each sum's noise.
    pub(super) noise: Vec<f64>,
}

/// The column of the third axis, if the query is treatment x split x levels; `Some(None)` for the hub.
fn star_query(query: &Query, variables: &Variables) -> Option<Option<usize>> {
    let of = |position: usize, feature| {
        let axis = query.axes.get(position)?;
        (axis.feature == feature).then(|| variables.of_column(axis.column))?
    };
    let hub = of(0, Feature::Levels).is_some_and(|v| Some(v) == variables.treatment)
        && of(1, Feature::Split).is_some_and(|v| Some(v) == variables.outcome);
    match (hub, query.axes.len()) {
        (true, 2) => Some(None),
        (true, 3) => of(2, Feature::Levels).map(Some),
        _ => None,
    }
}

/// The variables of the covariates that have a leaf.
///
/// # Errors
/// Where a covariate was measured without one: this posterior would know nothing of it.
pub(super) fn covariates(
    release: &CheckedRelease,
    variables: &Variables,
) -> Result<Vec<usize>, LaplaceError> {
    let mut leaves: Vec<usize> = release
        .queries
        .iter()
        .filter_map(|query| star_query(query, variables).flatten())
        .collect();
    leaves.sort_unstable();
    leaves.dedup();
    let hub = [variables.treatment, variables.outcome];
    let missing = (0..variables.columns.len())
        .find(|&v| !hub.contains(&Some(v)) && leaves.binary_search(&v).is_err());
    match missing {
        Some(variable) => Err(LaplaceError::NoLeaf {
            column: variables.domain.names()[variable].clone(),
        }),
        None => Ok(leaves),
    }
}

impl Sums {
    /// Gathers the sums; several measurements of one block are averaged by their precision.
    ///
    /// # Errors
    /// Where the hub's moments were not measured.
    pub(super) fn new(
        release: &CheckedRelease,
        variables: &Variables,
        star: &Star,
    ) -> Result<Sums, LaplaceError> {
        let rows = star.rows();
        let count = 2 * star.arms * rows;
        let (mut weighted, mut precision) = (vec![0.0; count], vec![0.0; count]);
        for (query, measured) in release.queries.iter().zip(&release.document.measurements) {
            let Some(leaf) = star_query(query, variables) else {
                continue;
            };
            let (row, levels) = match leaf {
                None => (0, 1),
                Some(variable) => star
                    .leaves
                    .iter()
                    .find(|leaf| leaf.variable == variable)
                    .map_or((0, 1), |leaf| (leaf.row, leaf.levels)),
            };
            let weight = measured.sigma_records().powi(-2);
            for (block, values) in measured.records().chunks(levels).enumerate() {
                for (level, value) in values.iter().enumerate() {
                    let at = block * rows + row + level;
                    weighted[at] += weight * value;
                    precision[at] += weight;
                }
            }
        }
        if precision.contains(&0.0) {
            return Err(LaplaceError::NoHub);
        }
        Ok(Sums {
            values: weighted
                .iter()
                .zip(&precision)
                .map(|(w, p)| w / p)
                .collect(),
            noise: precision.iter().map(|p| p.recip()).collect(),
        })
    }

    /// The arms' shares of the records by the hub, kept away from 0: where to start.
    pub(super) fn arm_shares(&self, star: &Star) -> Vec<f64> {
        let rows = star.rows();
        let mass = |arm: usize| self.values[2 * arm * rows] + self.values[(2 * arm + 1) * rows];
        let floor = 0.1 / star.arms as f64;
        (0..star.arms)
            .map(|arm| (mass(arm) / star.total).max(floor))
            .collect()
    }
}

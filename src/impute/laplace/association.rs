//! What the star cannot see: association of covariates beyond treatment and outcome.
//!
//! Under the star, covariates are independent given `(T, Y)`. Where they are not, it counts what they
//! have in common once for each of them, and adjusts too much. Without measured pairs a release does not
//! tell. With a pair's table `q~` there is a test: its residual `q~ - n P` against the star's prediction,
//! in contrasts of both columns' levels (`H_j' . H_k`, which leave the margins out), has covariance
//!
//! ```text
//! H' (n (diag P - P P') + sigma^2 I) H
//! ```
//!
//! under the star, so that its quadratic form is chi-square with `(L_j - 1) (L_k - 1)` degrees of freedom.
//! The error of `P` itself is left out: contrasts of products of margins are small beside it.

use super::LaplaceError;
use super::star::{Point, Star, contrasts};
use crate::model::Variables;
use crate::release::{CheckedRelease, Measurement};
use crate::schema::{Feature, Query};
use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, Side};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The chance that independent covariates are called associated, over all pairs of a release.
pub(super) const SIGNIFICANCE: f64 = 0.01;

/// What is true of every star.
pub(super) const OVER_ADJUSTS: &str = "the star takes covariates as independent given treatment and outcome, and where they \
     are associated beyond that it over-adjusts";

/// A measured pair against the star's prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct PairExcess {
    /// The two columns.
    pub columns: [String; 2],
    /// The statistic.
    pub chi_square: f64,
    /// Its degrees of freedom.
    pub degrees_of_freedom: usize,
    /// The chance of a larger one under the star.
    pub p_value: f64,
}

/// The pairs of leaves that a release measured, against the star's prediction at a point.
pub(super) fn excesses(
    release: &CheckedRelease,
    variables: &Variables,
    star: &Star,
    point: &Point,
) -> Result<Vec<PairExcess>, LaplaceError> {
    let measured = release.queries.iter().zip(&release.document.measurements);
    measured
        .filter_map(|(query, measurement)| {
            let leaves = pair(query, variables, star)?;
            Some(excess(measurement, star, point, leaves, variables))
        })
        .collect()
}

/// The positions of the two leaves of a pair's query.
fn pair(query: &Query, variables: &Variables, star: &Star) -> Option<[usize; 2]> {
    let [first, second] = query.axes.as_slice() else {
        return None;
    };
    let leaf = |axis: &crate::schema::Axis| {
        let variable = variables.of_column(axis.column)?;
        let position = star
            .leaves
            .iter()
            .position(|leaf| leaf.variable == variable)?;
        (axis.feature == Feature::Levels).then_some(position)
    };
    let both = [leaf(first)?, leaf(second)?];
    // A column of one level has no contrast to test.
    both.iter()
        .all(|&leaf| star.leaves[leaf].levels > 1)
        .then_some(both)
}

fn excess(
    measurement: &Measurement,
    star: &Star,
    point: &Point,
    [j, k]: [usize; 2],
    variables: &Variables,
) -> Result<PairExcess, LaplaceError> {
    let (rows, columns) = (star.leaves[j].levels, star.leaves[k].levels);
    let mut predicted = vec![0.0; rows * columns];
    for (at, hub) in point.hub.iter().enumerate() {
        for l in 0..rows {
            let weight = hub * point.leaves[j][at * rows + l];
            for h in 0..columns {
                predicted[l * columns + h] += weight * point.leaves[k][at * columns + h];
            }
        }
    }
    let (left, right) = (contrasts(rows), contrasts(columns));
    // The contrasts of both as one matrix: cells x degrees of freedom.
    let degrees = (rows - 1) * (columns - 1);
    let contrast = Mat::from_fn(rows * columns, degrees, |cell, d| {
        let (l, h) = (cell / columns, cell % columns);
        left[l * (rows - 1) + d / (columns - 1)] * right[h * (columns - 1) + d % (columns - 1)]
    });
    let residual = Mat::from_fn(rows * columns, 1, |cell, _| {
        measurement.records()[cell] - point.total * predicted[cell]
    });
    let weighted = Mat::from_fn(rows * columns, degrees, |cell, d| {
        predicted[cell] * contrast[(cell, d)]
    });
    let expected =
        contrast.transpose() * Mat::from_fn(rows * columns, 1, |cell, _| predicted[cell]);
    let mut covariance = contrast.transpose() * weighted - &expected * expected.transpose();
    covariance *= faer::Scale(point.total);
    for d in 0..degrees {
        covariance[(d, d)] += measurement.sigma_records().powi(2);
    }
    let score = contrast.transpose() * residual;
    let solved = Llt::new(covariance.as_ref(), Side::Lower)
        .map_err(|_| LaplaceError::Indefinite)?
        .solve(&score);
    let chi_square: f64 = (0..degrees).map(|d| score[(d, 0)] * solved[(d, 0)]).sum();
    let name = |leaf: usize| variables.domain.names()[star.leaves[leaf].variable].clone();
    // The degrees are positive: both columns have two levels at least.
    let p_value = ChiSquared::new(degrees as f64).map_or(1.0, |law| law.sf(chi_square));
    Ok(PairExcess {
        columns: [name(j), name(k)],
        chi_square,
        degrees_of_freedom: degrees,
        p_value,
    })
}

/// What a reader has to know of a star over these covariates, in words; nothing for a single one.
pub(super) fn caution(covariates: usize, excesses: &[PairExcess]) -> Option<String> {
    if covariates < 2 {
        return None;
    }
    let general = OVER_ADJUSTS;
    if excesses.is_empty() {
        return Some(format!(
            "{general}; no pairs were measured, so the release does not tell whether they are"
        ));
    }
    let threshold = SIGNIFICANCE / excesses.len() as f64;
    let found: Vec<String> = excesses
        .iter()
        .filter(|excess| excess.p_value < threshold)
        .map(|e| {
            format!(
                "{} (chi-square {:.0} on {})",
                e.columns.join(" with "),
                e.chi_square,
                e.degrees_of_freedom
            )
        })
        .collect();
    Some(if found.is_empty() {
        format!(
            "{general}; none of the {} measured pairs departs from that independence by more than noise and \
             sampling explain (significance {SIGNIFICANCE} for all together), the others are not known",
            excesses.len()
        )
    } else {
        format!(
            "{general}; measured pairs that depart from that independence by more than noise and sampling \
             explain (significance {SIGNIFICANCE} for all together): {}. This posterior does not use pairs; \
             the noise posterior does",
            found.join(", ")
        )
    })
}

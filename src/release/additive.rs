//! Sums of functions of single covariates: what both bases fit, and what a release of step functions holds.

use crate::schema::Schema;
use crate::table::CodedTable;
use serde::{Deserialize, Serialize};

/// `f(t, x) = intercept + treatment (t - 1/2) + sum f_j(x_j)`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdditiveModel {
    /// The intercept.
    pub intercept: f64,
    /// What treatment adds; 0 in models without it.
    pub treatment: f64,
    /// The covariates' functions.
    pub terms: Vec<AdditiveTerm>,
}

/// A function of one covariate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdditiveTerm {
    /// The covariate's name.
    pub name: String,
    /// Its index in the schema.
    pub column: usize,
    /// The function by code, of all codes; those that a curve covers have 0.
    pub codes: Vec<f64>,
    /// The function of a numeric covariate's value; none where its code decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
}

/// A function of a numeric covariate, of its position between the bounds: from 0 to 65535.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// It covers the codes below this one: bins, not missing codes.
    pub covers: u16,
    /// Whether values are joined by lines, rather than each holding from its knot on.
    pub joined: bool,
    /// Positions, ascending, the first 0; of joined values, the last 65535.
    pub knots: Vec<u16>,
    /// One value per knot.
    pub values: Vec<f64>,
}

impl AdditiveModel {
    /// The model's value at a row of a table, for an arm (as `t - 1/2`).
    ///
    /// # Panics
    /// If the table is not of the schema, or was read without the values of numeric covariates.
    pub fn at(&self, table: &CodedTable, row: usize, arm: f64) -> f64 {
        let terms = self.terms.iter().map(|term| term.at_row(table, row));
        self.intercept + self.treatment * arm + terms.sum::<f64>()
    }

    /// The model times a number.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> AdditiveModel {
        self.intercept *= factor;
        self.treatment *= factor;
        for term in &mut self.terms {
            let curve = term.curve.iter_mut().flat_map(|curve| &mut curve.values);
            for value in term.codes.iter_mut().chain(curve) {
                *value *= factor;
            }
        }
        self
    }

    /// Whether the model is one of this schema: columns, numbers of codes, ascending knots, finite values.
    pub fn fits(&self, schema: &Schema) -> bool {
        self.intercept.is_finite()
            && self.treatment.is_finite()
            && self.terms.iter().all(|term| term.fits(schema))
    }
}

impl AdditiveTerm {
    /// The function's value at a row of a table of the schema.
    fn at_row(&self, table: &CodedTable, row: usize) -> f64 {
        let code = table.codes[self.column].as_ref().expect("a coded column")[row];
        match &self.curve {
            Some(curve) if code < curve.covers => {
                let values = table.values[self.column].as_ref();
                curve.at(values.expect("a column with values")[row])
            }
            _ => self.codes[usize::from(code)],
        }
    }

    fn fits(&self, schema: &Schema) -> bool {
        let Some(column) = schema.columns.get(self.column) else {
            return false;
        };
        let finite = |values: &[f64]| values.iter().all(|x| x.is_finite());
        let curve_fits = self.curve.as_ref().is_none_or(|curve| {
            column.bounds().is_some()
                && usize::from(curve.covers) == column.declared_levels()
                && curve.knots.first() == Some(&0)
                && curve.knots.windows(2).all(|pair| pair[0] < pair[1])
                && curve.values.len() == curve.knots.len()
                && (!curve.joined || curve.knots.last() == Some(&u16::MAX))
                && finite(&curve.values)
        });
        curve_fits
            && column.name == self.name
            && self.codes.len() == column.levels()
            && finite(&self.codes)
    }
}

impl Curve {
    /// The value at a position.
    pub fn at(&self, position: u16) -> f64 {
        // The first knot is 0, so there is one at or before the position.
        let before = self.knots.partition_point(|knot| *knot <= position) - 1;
        if !self.joined || before + 1 == self.knots.len() {
            return self.values[before];
        }
        let [left, right] = [self.knots[before], self.knots[before + 1]].map(f64::from);
        let part = (f64::from(position) - left) / (right - left);
        self.values[before] + part * (self.values[before + 1] - self.values[before])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_hold_or_join_their_values() {
        let mut curve = Curve {
            covers: 3,
            joined: true,
            knots: vec![0, 100, u16::MAX],
            values: vec![1.0, 3.0, 3.0],
        };
        assert_eq!(
            [0, 50, 100, u16::MAX].map(|p| curve.at(p)),
            [1.0, 2.0, 3.0, 3.0]
        );
        curve.joined = false;
        assert_eq!(
            [0, 99, 100, u16::MAX].map(|p| curve.at(p)),
            [1.0, 1.0, 3.0, 3.0]
        );
    }
}

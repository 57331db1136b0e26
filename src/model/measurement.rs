//! Noisy linear statistics of a table, and their maps applied axis by axis.

use ndarray::Array2;

use super::{Domain, ModelError};

/// What a measurement takes of one variable.
#[derive(Debug, Clone, PartialEq)]
pub enum AxisMap {
    /// One cell per level.
    Identity,
    /// A matrix with one row per cell of the answer and one column per level: a bin that is the sum of
    /// several levels has a row of zeros and ones; the split `(1 - y, y)` of an outcome has two rows.
    Linear(Array2<f64>),
}

/// One axis of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredAxis {
    /// The variable (an index of the domain).
    pub variable: usize,
    /// What is taken of it.
    pub map: AxisMap,
}

/// A noisy linear statistic: `n (M_1 x M_2 x ...) mu + sigma Z`, the Kronecker product of the axes'
/// maps applied to `n` times the marginal over the axes' variables, with independent standard normal
/// `Z`.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What people call it.
    pub name: String,
    /// The axes, each of another variable.
    pub axes: Vec<MeasuredAxis>,
    /// The noisy answers in records, row-major over the axes (the last fastest).
    pub values: Vec<f64>,
    /// The standard deviation of each value's noise, in records.
    pub sigma: f64,
}

impl AxisMap {
    /// The number of cells of the answer along this axis.
    pub fn cells(&self, levels: usize) -> usize {
        match self {
            AxisMap::Identity => levels,
            AxisMap::Linear(matrix) => matrix.nrows(),
        }
    }
}

impl Measurement {
    /// The variables of the axes, in the axes' order.
    pub fn variables(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.variable).collect()
    }

    /// Checks the measurement against a domain.
    ///
    /// # Errors
    /// If a variable does not exist or has two axes, a matrix has not one column per level, the number
    /// of values is not the product of the axes' cells, a number is not finite, or sigma is not
    /// positive.
    pub fn check(&self, domain: &Domain) -> Result<(), ModelError> {
        let context = || format!("measurement `{}`", self.name);
        domain.check(&self.variables(), &context())?;
        let mut expected = 1usize;
        for axis in &self.axes {
            let levels = domain.sizes()[axis.variable];
            if let AxisMap::Linear(matrix) = &axis.map {
                if matrix.ncols() != levels {
                    return Err(ModelError::Length {
                        context: format!("a row of the axis map of {}", context()),
                        expected: levels,
                        found: matrix.ncols(),
                    });
                }
                if matrix.iter().any(|v| !v.is_finite()) {
                    let context = format!("the axis map of {}", context());
                    return Err(ModelError::NotFinite { context });
                }
            }
            expected = expected.saturating_mul(axis.map.cells(levels));
        }
        if expected != self.values.len() {
            return Err(ModelError::Length {
                context: context(),
                expected,
                found: self.values.len(),
            });
        }
        if self.values.iter().any(|v| !v.is_finite()) {
            return Err(ModelError::NotFinite { context: context() });
        }
        if !(self.sigma > 0.0 && self.sigma.is_finite()) {
            return Err(ModelError::Sigma {
                measurement: self.name.clone(),
                sigma: self.sigma,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ndarray::array;

    pub(crate) fn example() -> (Domain, Vec<MeasuredAxis>) {
        let domain = Domain::new(vec!["a".into(), "b".into()], vec![3, 2]).unwrap();
        let axes = vec![
            MeasuredAxis {
                variable: 1,
                map: AxisMap::Identity,
            },
            MeasuredAxis {
                variable: 0,
                map: AxisMap::Linear(array![[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]),
            },
        ];
        (domain, axes)
    }

    #[test]
    fn faults_are_refused() {
        let (domain, axes) = example();
        let good = Measurement {
            name: "m".into(),
            axes,
            values: vec![0.0; 4],
            sigma: 1.0,
        };
        assert!(good.check(&domain).is_ok());
        let mut bad = good.clone();
        bad.sigma = 0.0;
        assert!(matches!(bad.check(&domain), Err(ModelError::Sigma { .. })));
        bad = good.clone();
        bad.values[1] = f64::NAN;
        assert!(matches!(
            bad.check(&domain),
            Err(ModelError::NotFinite { .. })
        ));
        bad = good.clone();
        bad.values.pop();
        assert!(matches!(bad.check(&domain), Err(ModelError::Length { .. })));
        bad = good;
        bad.axes[1].variable = 1;
        assert!(matches!(
            bad.check(&domain),
            Err(ModelError::RepeatedVariable { .. })
        ));
    }
}

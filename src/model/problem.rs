//! What is to be calibrated: a domain, a reference measure, and noisy measurements.

use super::{Domain, Measurement, ModelError};

/// A factor of the reference measure.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceFactor {
    /// The variables, in the order of the weights' axes.
    pub variables: Vec<usize>,
    /// Logarithms of the weights, row-major (the last variable fastest). `-inf` is a structural zero:
    /// the combination has probability exactly 0 in every model and never occurs in a sample.
    pub log_weights: Vec<f64>,
}

/// A calibration problem: find the distribution that fits the measurements and is otherwise as close
/// as can be, in relative entropy, to the reference measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The variables.
    pub domain: Domain,
    /// The reference measure is the product of these factors (uniform if there are none).
    pub reference: Vec<ReferenceFactor>,
    /// The measurements.
    pub measurements: Vec<Measurement>,
    /// The number of records `n` that the measurements refer to.
    pub total: f64,
    /// The largest number of cells that the model's cliques, or a marginal computed from it, may have.
    /// One cell of a model costs 16 bytes, and 8 more during calibration.
    pub max_cells: u64,
    /// The weight `g > 0` of the relative entropy against the misfit; see the room's documentation.
    pub entropy_weight: f64,
}

impl ReferenceFactor {
    /// The factor that rules out combinations of codes: `conditions` lists variables with the codes
    /// that, all holding at once, can't occur.
    ///
    /// # Errors
    /// If a variable does not exist or stands twice, or the table over the variables would have more
    /// than `max_cells` cells. Codes beyond a variable's levels rule out nothing.
    pub fn structural_zero(
        domain: &Domain,
        conditions: &[(usize, Vec<u16>)],
        max_cells: u64,
    ) -> Result<ReferenceFactor, ModelError> {
        let variables: Vec<usize> = conditions.iter().map(|(v, _)| *v).collect();
        domain.check(&variables, "a structural zero")?;
        let cells = domain.cells(&variables);
        if cells > u128::from(max_cells) {
            return Err(ModelError::TooLarge {
                context: "a structural zero".into(),
                clique: domain.names_of(&variables),
                cells,
                limit: u128::from(max_cells),
            });
        }
        let mut excluded = vec![true];
        for (variable, codes) in conditions {
            let mut hit = vec![false; domain.sizes()[*variable]];
            for &code in codes {
                if let Some(level) = hit.get_mut(usize::from(code)) {
                    *level = true;
                }
            }
            excluded = excluded
                .iter()
                .flat_map(|&before| hit.iter().map(move |&level| before && level))
                .collect();
        }
        let log_weights = excluded
            .iter()
            .map(|&out| if out { f64::NEG_INFINITY } else { 0.0 })
            .collect();
        Ok(ReferenceFactor {
            variables,
            log_weights,
        })
    }
}

impl Problem {
    /// The sets of variables that must each lie within a clique; the measurements' last, in their order, so that a tree
    /// can grow with them.
    pub fn sets(&self) -> Vec<Vec<usize>> {
        let measured = self.measurements.iter().map(Measurement::variables);
        let reference = self.reference.iter().map(|f| f.variables.clone());
        reference.chain(measured).collect()
    }

    /// Checks every part.
    ///
    /// # Errors
    /// See [`Measurement::check`]; besides, a reference factor needs one weight per cell, none of them
    /// NaN or `+inf`, and the total must be positive and finite.
    pub fn check(&self) -> Result<(), ModelError> {
        if !(self.entropy_weight.is_finite() && self.entropy_weight > 0.0) {
            return Err(ModelError::NotFinite {
                context: "the weight of the entropy".into(),
            });
        }
        for factor in &self.reference {
            self.domain.check(&factor.variables, "a reference factor")?;
            let cells = self.domain.cells(&factor.variables);
            if cells != factor.log_weights.len() as u128 {
                return Err(ModelError::Length {
                    context: "a reference factor".into(),
                    expected: usize::try_from(cells).unwrap_or(usize::MAX),
                    found: factor.log_weights.len(),
                });
            }
            let bad = |w: &f64| w.is_nan() || *w == f64::INFINITY;
            if factor.log_weights.iter().any(bad) {
                return Err(ModelError::NotFinite {
                    context: "a reference factor".into(),
                });
            }
        }
        for measurement in &self.measurements {
            measurement.check(&self.domain)?;
        }
        check_total(self.total)
    }
}

/// Refuses a number of records that is not positive and finite.
pub(crate) fn check_total(total: f64) -> Result<(), ModelError> {
    if total > 0.0 && total.is_finite() {
        Ok(())
    } else {
        Err(ModelError::Total { total })
    }
}

//! The propensity and the doubly robust pseudo-outcome of a record, by released parameters.
//!
//! ```text
//! psi = (T - e) / (e (1 - e)) (y - m_T),   m_t = clip(ybar + phi' b_t, +-1)
//! ```
//!
//! is the part of the doubly robust score beyond `m_1 - m_0`: its mean given the covariates is the error of the effect
//! that the outcome regressions imply, where propensity or regressions are right.

use super::basis::Basis;
use crate::measure::effects::Record;
use crate::panel::linear::dot;
use crate::release::{CateParameters, ReleasedPropensity};
use crate::schema::SCALE;

/// What is needed to compute a record's pseudo-outcome.
#[derive(Debug)]
pub struct PseudoOutcome<'a> {
    /// The basis.
    pub basis: &'a Basis,
    /// The released parameters; propensity, outcome mean and slopes are used.
    pub parameters: &'a CateParameters,
}

impl PseudoOutcome<'_> {
    /// `psi` of a record whose unweighted basis is `phi`.
    pub fn of(&self, phi: &[f64], record: &Record) -> f64 {
        let e = propensity(&self.parameters.propensity, phi);
        let slopes = &self.parameters.outcome_slopes[record.arm.min(1)];
        let fitted = (self.parameters.outcome_mean + dot(phi, slopes)).clamp(-1.0, 1.0);
        let residual = record.outcome as f64 / SCALE as f64 - fitted;
        match record.arm {
            1 => residual / e,
            _ => -residual / (1.0 - e),
        }
    }
}

/// The probability of treatment of a record whose unweighted basis is `phi`.
pub fn propensity(of: &ReleasedPropensity, phi: &[f64]) -> f64 {
    if of.weights.is_empty() {
        return of.share;
    }
    let terms = phi[1..].iter().zip(&of.centre).zip(&of.weights);
    let index: f64 = terms
        .map(|((phi, centre), weight)| (phi - centre) * weight)
        .sum();
    let e = expit(of.intercept + of.slope * index);
    e.clamp(of.overlap, 1.0 - of.overlap)
}

/// The inverse of the log-odds.
pub fn expit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

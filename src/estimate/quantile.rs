//! Quantiles of the standard normal and of Student's t, with any positive degrees of freedom.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::EstimateError;

/// Above so many degrees of freedom t is the normal: the quantile's relative difference is at most
/// `(z^2 + 1) / (4 nu)`, below `1e-7` for any level up to six sigma.
const NORMAL_ABOVE: f64 = 1e8;

/// The half-width, in standard errors, of an interval of the level given.
pub(super) fn critical_value(level: f64, degrees_of_freedom: f64) -> Result<f64, EstimateError> {
    if !(level > 0.0 && level < 1.0) {
        return Err(EstimateError::Option("the level must lie between 0 and 1"));
    }
    let undefined = || EstimateError::Option("degrees of freedom must be positive");
    let p = f64::midpoint(level, 1.0);
    let quantile = if degrees_of_freedom > NORMAL_ABOVE {
        Normal::standard().inverse_cdf(p)
    } else {
        StudentsT::new(0.0, 1.0, degrees_of_freedom)
            .map_err(|_| undefined())?
            .inverse_cdf(p)
    };
    if quantile.is_finite() {
        Ok(quantile)
    } else {
        Err(undefined())
    }
}

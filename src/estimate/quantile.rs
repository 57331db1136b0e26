//! Quantiles of the standard normal and of Student's t, with any positive degrees of freedom; the median of numbers.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::EstimateError;

/// Above so many degrees of freedom the inverse incomplete beta function loses digits (1e-4 at a million),
/// and the expansion of the quantile in `1 / nu` gains them: its next term, `(3 z^7 + ...) / (384 nu^3)`,
/// is below `1e-8` for any level up to six sigma.
const EXPANSION_ABOVE: f64 = 1e4;

/// The half-width, in standard errors, of an interval of the level given.
pub(super) fn critical_value(level: f64, degrees_of_freedom: f64) -> Result<f64, EstimateError> {
    if !(level > 0.0 && level < 1.0) {
        return Err(EstimateError::Option("the level must lie between 0 and 1"));
    }
    let undefined = || EstimateError::Option("degrees of freedom must be positive");
    let p = f64::midpoint(level, 1.0);
    let quantile = if degrees_of_freedom > EXPANSION_ABOVE {
        let z = Normal::standard().inverse_cdf(p);
        // Abramowitz and Stegun, 26.7.5.
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        z + (first + second / degrees_of_freedom) / degrees_of_freedom
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

/// The median, of an even number the mean of the middle two; 0 of none.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1, `scipy.stats.t.ppf(p, nu)` at p = .975 and .9995: levels .95 and .999.
    #[test]
    fn quantiles_agree_with_scipy() {
        let cases = [
            (0.5, 164.55767348048818, 411396.462526262),
            (1.0, 12.706204736174694, 636.6192487687897),
            (1.7, 5.1188389882530565, 52.294707594665304),
            (3.3, 3.024874461840807, 11.106695189933484),
            (10.0, 2.228138851986274, 4.586893858702708),
            (49.0, 2.0095752371292392, 3.5004428913674035),
            (199.5, 1.9719263079015248, 3.339960662241929),
            (1e4, 1.960201239890626, 3.2914999659416355),
            // On the other side of the change of method.
            (10_001.0, 1.960201216164641, 3.291499868601784),
            (1e6, 1.959966356814107, 3.2905364612487222),
            (5e7, 1.9599640319854799, 3.2905269260865495),
            (f64::INFINITY, 1.959963984540054, 3.2905267314918945),
        ];
        for (freedom, at_95, at_999) in cases {
            for (level, expected) in [(0.95, at_95), (0.999, at_999)] {
                let value = critical_value(level, freedom).unwrap();
                assert!(
                    (value / expected - 1.0).abs() < 1e-7,
                    "{level} {freedom}: {value} is not {expected}"
                );
            }
        }
    }
}

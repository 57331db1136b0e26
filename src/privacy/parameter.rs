//! Checks of privacy parameters, one error for all.

use super::PrivacyError;

/// Accepts finite, positive numbers.
pub(super) fn check_positive(name: &'static str, value: f64) -> Result<(), PrivacyError> {
    check(
        name,
        value,
        value.is_finite() && value > 0.0,
        "finite and positive",
    )
}

/// Accepts numbers strictly between 0 and 1.
pub(super) fn check_delta(value: f64) -> Result<(), PrivacyError> {
    check(
        "delta",
        value,
        value > 0.0 && value < 1.0,
        "strictly between 0 and 1",
    )
}

/// Accepts finite numbers that are not negative.
pub(super) fn check_not_negative(name: &'static str, value: f64) -> Result<(), PrivacyError> {
    check(
        name,
        value,
        value.is_finite() && value >= 0.0,
        "finite and not negative",
    )
}

fn check(
    name: &'static str,
    value: f64,
    holds: bool,
    requirement: &'static str,
) -> Result<(), PrivacyError> {
    if holds {
        return Ok(());
    }
    Err(PrivacyError::Parameter {
        name,
        value,
        requirement,
    })
}

//! What may be spent, and what is.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    AccountantKind, PrivacyError, epsilon_from_mu, epsilon_from_rho, mu_from_epsilon_delta,
    rho_from_epsilon_delta,
};

/// The relative slack of every comparison with a budget. Shares of a budget, each rounded up, may sum
/// to a few units in the last place more than the budget. It applies where a ledger adds up releases and
/// where an accountant adds up one release's charges: a budget is kept to two parts in 10^9.
pub const SLACK: f64 = 1e-9;

/// A privacy guarantee to be kept by everything that is released from one data set.
///
/// Make one by [`Budget::approximate`], [`Budget::zcdp`] or [`Budget::gdp`]; deserialising checks too.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "Unchecked")]
pub enum Budget {
    /// `(epsilon, delta)`-differential privacy.
    Approximate {
        /// Finite and positive.
        epsilon: f64,
        /// In `(0, 1)`.
        delta: f64,
    },
    /// Zero-concentrated differential privacy.
    Zcdp {
        /// Finite and positive.
        rho: f64,
    },
    /// Gaussian differential privacy. It has room for Gaussian measurements only.
    Gdp {
        /// Finite and positive.
        mu: f64,
    },
}

/// A budget as it stands in a file, before its parameters are checked.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Unchecked {
    Approximate { epsilon: f64, delta: f64 },
    Zcdp { rho: f64 },
    Gdp { mu: f64 },
}

impl TryFrom<Unchecked> for Budget {
    type Error = PrivacyError;

    fn try_from(budget: Unchecked) -> Result<Budget, PrivacyError> {
        match budget {
            Unchecked::Approximate { epsilon, delta } => Budget::approximate(epsilon, delta),
            Unchecked::Zcdp { rho } => Budget::zcdp(rho),
            Unchecked::Gdp { mu } => Budget::gdp(mu),
        }
    }
}

impl Budget {
    /// `(epsilon, delta)`-differential privacy.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless `epsilon` is finite and positive and `delta` in `(0, 1)`.
    pub fn approximate(epsilon: f64, delta: f64) -> Result<Budget, PrivacyError> {
        check_positive("epsilon", epsilon)?;
        check_delta(delta)?;
        Ok(Budget::Approximate { epsilon, delta })
    }

    /// `rho`-zCDP.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless `rho` is finite and positive.
    pub fn zcdp(rho: f64) -> Result<Budget, PrivacyError> {
        check_positive("rho", rho)?;
        Ok(Budget::Zcdp { rho })
    }

    /// `mu`-GDP.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless `mu` is finite and positive.
    pub fn gdp(mu: f64) -> Result<Budget, PrivacyError> {
        check_positive("mu", mu)?;
        Ok(Budget::Gdp { mu })
    }

    /// The whole budget as a cost in Gaussian charges, `mu^2`, under an accountant.
    ///
    /// `(epsilon, delta)` converts tightly: by GDP to `mu^2`, by zCDP to `mu^2 = 2 rho`. A `rho` budget is
    /// `mu^2 = 2 rho` and a `mu` budget is `mu^2` under either: Gaussian charges of `mu^2` in total are
    /// `mu^2 / 2`-zCDP and `mu`-GDP. Other charges take their `rho` from this total as `mu^2 = 2 rho`,
    /// except under a `mu` budget, which has no room for them (see [`Cost::within`]): zCDP implies no
    /// GDP guarantee.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] where `epsilon` and `delta` are too small to convert.
    pub fn total(&self, kind: AccountantKind) -> Result<Cost, PrivacyError> {
        let gaussian_mu_squared = match (*self, kind) {
            (Budget::Approximate { epsilon, delta }, AccountantKind::Gdp) => {
                let mu = mu_from_epsilon_delta(epsilon, delta)?;
                (mu * mu).next_down()
            }
            (Budget::Approximate { epsilon, delta }, AccountantKind::Zcdp) => {
                2.0 * rho_from_epsilon_delta(epsilon, delta)?
            }
            (Budget::Zcdp { rho }, _) => 2.0 * rho,
            (Budget::Gdp { mu }, _) => mu * mu,
        };
        Cost::gaussian(gaussian_mu_squared)
    }

    /// The accountant that the budget's own form implies: `None` for `(epsilon, delta)`, where it is a
    /// choice.
    pub fn implied_accountant(&self) -> Option<AccountantKind> {
        match self {
            Budget::Approximate { .. } => None,
            Budget::Zcdp { .. } => Some(AccountantKind::Zcdp),
            Budget::Gdp { .. } => Some(AccountantKind::Gdp),
        }
    }

    /// The `delta` of an `(epsilon, delta)` budget.
    pub fn delta(&self) -> Option<f64> {
        match *self {
            Budget::Approximate { delta, .. } => Some(delta),
            _ => None,
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::Approximate { epsilon, delta } => {
                write!(f, "epsilon = {epsilon}, delta = {delta:e}")
            }
            Budget::Zcdp { rho } => write!(f, "rho = {rho}"),
            Budget::Gdp { mu } => write!(f, "mu = {mu}"),
        }
    }
}

/// What a mechanism, a release or a series of releases costs.
///
/// While `other_rho` is zero, the guarantee is `sqrt(gaussian_mu_squared)`-GDP; always, it is
/// `gaussian_mu_squared / 2 + other_rho`-zCDP. Both parts are finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "UncheckedCost")]
pub struct Cost {
    gaussian_mu_squared: f64,
    other_rho: f64,
}

/// A cost as it stands in a file, before its parts are checked: a negative one would refund a budget.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedCost {
    gaussian_mu_squared: f64,
    other_rho: f64,
}

impl TryFrom<UncheckedCost> for Cost {
    type Error = PrivacyError;

    fn try_from(cost: UncheckedCost) -> Result<Cost, PrivacyError> {
        Ok(Cost {
            other_rho: Cost::other(cost.other_rho)?.other_rho,
            ..Cost::gaussian(cost.gaussian_mu_squared)?
        })
    }
}

impl Cost {
    /// Nothing.
    pub const ZERO: Cost = Cost {
        gaussian_mu_squared: 0.0,
        other_rho: 0.0,
    };

    /// The cost of Gaussian measurements that are `sqrt(mu_squared)`-GDP together.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless finite and not negative.
    pub fn gaussian(mu_squared: f64) -> Result<Cost, PrivacyError> {
        check_not_negative("mu^2", mu_squared)?;
        Ok(Cost {
            gaussian_mu_squared: mu_squared,
            ..Cost::ZERO
        })
    }

    /// The cost of mechanisms that are `rho`-zCDP together and not Gaussian.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless finite and not negative.
    pub fn other(rho: f64) -> Result<Cost, PrivacyError> {
        check_not_negative("rho", rho)?;
        Ok(Cost {
            other_rho: rho,
            ..Cost::ZERO
        })
    }

    /// The sum of the `mu^2` of the Gaussian measurements.
    pub fn gaussian_mu_squared(&self) -> f64 {
        self.gaussian_mu_squared
    }

    /// The sum of the `rho` of all other mechanisms.
    pub fn other_rho(&self) -> f64 {
        self.other_rho
    }

    /// Whether every charge is a Gaussian measurement, so that the GDP guarantee holds.
    pub fn is_gaussian(&self) -> bool {
        self.other_rho == 0.0
    }

    /// The zCDP guarantee, rounded up.
    pub fn rho(&self) -> f64 {
        sum_up(self.gaussian_mu_squared / 2.0, self.other_rho)
    }

    /// The GDP guarantee, rounded up, where there is one.
    pub fn mu(&self) -> Option<f64> {
        match self.gaussian_mu_squared {
            _ if !self.is_gaussian() => None,
            0.0 => Some(0.0),
            mu_squared => Some(mu_squared.sqrt().next_up()),
        }
    }

    /// The cost of both, adaptively composed, rounded up.
    #[must_use]
    pub fn plus(&self, other: &Cost) -> Cost {
        Cost {
            gaussian_mu_squared: sum_up(self.gaussian_mu_squared, other.gaussian_mu_squared),
            other_rho: sum_up(self.other_rho, other.other_rho),
        }
    }

    /// The cost as an accountant sees it: under zCDP, everything is `rho`.
    #[must_use]
    pub fn under(&self, kind: AccountantKind) -> Cost {
        match kind {
            AccountantKind::Gdp => *self,
            AccountantKind::Zcdp => Cost {
                gaussian_mu_squared: 0.0,
                other_rho: self.rho(),
            },
        }
    }

    /// The smallest `epsilon` at this `delta`: by GDP if every charge is Gaussian, else by zCDP.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless `delta` is in `(0, 1)`.
    pub fn epsilon(&self, delta: f64) -> Result<f64, PrivacyError> {
        check_delta(delta)?;
        match self.mu() {
            Some(0.0) => Ok(0.0),
            Some(mu) => epsilon_from_mu(mu, delta),
            None => epsilon_from_rho(self.rho(), delta),
        }
    }

    /// Whether the cost keeps the budget, up to a relative slack of [`SLACK`] in `mu^2` or `rho`: by GDP
    /// if every charge is Gaussian, else by zCDP. A `mu` budget is kept by Gaussian charges only.
    pub fn within(&self, budget: &Budget) -> bool {
        if let (Budget::Gdp { .. }, false) = (budget, self.is_gaussian()) {
            return false;
        }
        let kind = match self.is_gaussian() {
            true => AccountantKind::Gdp,
            false => AccountantKind::Zcdp,
        };
        budget.total(kind).is_ok_and(|total| match kind {
            AccountantKind::Gdp => at_most(self.gaussian_mu_squared, total.gaussian_mu_squared),
            AccountantKind::Zcdp => at_most(self.rho(), total.rho()),
        })
    }

    /// Whether an authorised cost leaves room for `spent`, up to a relative slack of [`SLACK`]. An authorisation
    /// of Gaussian charges covers only those; one that holds other charges is accounted by zCDP.
    pub fn covers(&self, spent: &Cost) -> bool {
        if self.is_gaussian() {
            spent.is_gaussian() && at_most(spent.gaussian_mu_squared, self.gaussian_mu_squared)
        } else {
            at_most(spent.rho(), self.rho())
        }
    }

    /// What is left of this cost after `spent`, never negative: `mu^2` where both are Gaussian, else `rho`.
    #[must_use]
    pub fn minus(&self, spent: &Cost) -> Cost {
        if self.is_gaussian() && spent.is_gaussian() {
            Cost {
                gaussian_mu_squared: (self.gaussian_mu_squared - spent.gaussian_mu_squared)
                    .max(0.0),
                other_rho: 0.0,
            }
        } else {
            Cost {
                gaussian_mu_squared: 0.0,
                other_rho: (self.rho() - spent.rho()).max(0.0),
            }
        }
    }
}

/// Whether `spent` is at most `total`, with the stated slack.
fn at_most(spent: f64, total: f64) -> bool {
    spent <= total * (1.0 + SLACK)
}

/// A sum rounded up; exact where a term is zero, so that "no other charge" stays exactly zero.
fn sum_up(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 {
        a + b
    } else {
        (a + b).next_up()
    }
}

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
fn check_not_negative(name: &'static str, value: f64) -> Result<(), PrivacyError> {
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

#[cfg(test)]
mod tests;

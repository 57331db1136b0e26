//! What may be spent: the guarantee that everything released from one data set must keep.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::parameter::{check_delta, check_positive};
use super::{AccountantKind, Cost, PrivacyError, mu_from_epsilon_delta, rho_from_epsilon_delta};

/// A privacy guarantee to be kept by everything that is released from one data set.
///
/// Make one by [`Budget::approximate`], [`Budget::zcdp`] or [`Budget::gdp`]; deserialising checks too.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "Unchecked")]
pub enum Budget {
    /// `epsilon`-differential privacy, with no delta. It has room for pure mechanisms only.
    Pure {
        /// Finite and positive.
        epsilon: f64,
    },
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
    Pure { epsilon: f64 },
    Approximate { epsilon: f64, delta: f64 },
    Zcdp { rho: f64 },
    Gdp { mu: f64 },
}

impl TryFrom<Unchecked> for Budget {
    type Error = PrivacyError;

    fn try_from(budget: Unchecked) -> Result<Budget, PrivacyError> {
        match budget {
            Unchecked::Pure { epsilon } => Budget::pure(epsilon),
            Unchecked::Approximate { epsilon, delta } => Budget::approximate(epsilon, delta),
            Unchecked::Zcdp { rho } => Budget::zcdp(rho),
            Unchecked::Gdp { mu } => Budget::gdp(mu),
        }
    }
}

impl Budget {
    /// `epsilon`-differential privacy, with no delta.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless `epsilon` is finite and positive.
    pub fn pure(epsilon: f64) -> Result<Budget, PrivacyError> {
        check_positive("epsilon", epsilon)?;
        Ok(Budget::Pure { epsilon })
    }

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

    /// The whole budget as a cost under an accountant: in pure charges under [`AccountantKind::Pure`], else in
    /// Gaussian charges, `mu^2`.
    ///
    /// `(epsilon, delta)` converts tightly: by GDP to `mu^2`, by zCDP to `mu^2 = 2 rho`. A `rho` budget is
    /// `mu^2 = 2 rho` and a `mu` budget is `mu^2` under either: Gaussian charges of `mu^2` in total are
    /// `mu^2 / 2`-zCDP and `mu`-GDP. Other charges take their `rho` from this total as `mu^2 = 2 rho`,
    /// except under a `mu` budget, which has no room for them (see [`Cost::within`]): zCDP implies no
    /// GDP guarantee.
    ///
    /// In pure charges, an `(epsilon, delta)` budget has room for its `epsilon`, and a `rho` budget for
    /// `sqrt(2 rho)`, since that many together imply it.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] where `epsilon` and `delta` are too small to convert;
    /// [`PrivacyError::NotPure`] for other than pure charges of a budget without a delta, and
    /// [`PrivacyError::NotGaussian`] for pure charges of a `mu` budget.
    pub fn total(&self, kind: AccountantKind) -> Result<Cost, PrivacyError> {
        let gaussian_mu_squared = match (*self, kind) {
            (
                Budget::Pure { epsilon } | Budget::Approximate { epsilon, .. },
                AccountantKind::Pure,
            ) => {
                return Cost::pure(epsilon);
            }
            (Budget::Zcdp { rho }, AccountantKind::Pure) => {
                return Cost::pure((2.0 * rho).sqrt().next_down());
            }
            (Budget::Gdp { .. }, AccountantKind::Pure) => return Err(PrivacyError::NotGaussian),
            (Budget::Pure { .. }, _) => return Err(PrivacyError::NotPure),
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
            Budget::Pure { .. } => Some(AccountantKind::Pure),
            Budget::Zcdp { .. } => Some(AccountantKind::Zcdp),
            Budget::Gdp { .. } => Some(AccountantKind::Gdp),
        }
    }

    /// A cost in the budget's own terms, for people: epsilon at the budget's delta, rho, or mu. Epsilons
    /// do not add up; rho and mu^2 do.
    pub fn describe(&self, cost: &Cost) -> String {
        match (*self, cost.mu()) {
            (Budget::Pure { .. }, _) if cost.is_pure() => {
                format!("epsilon = {:.6}", cost.pure_epsilon())
            }
            (Budget::Approximate { delta, .. }, _) => match cost.epsilon(delta) {
                Ok(epsilon) => format!("epsilon = {epsilon:.6} at delta = {delta:e}"),
                Err(_) => format!("rho = {:.6e}", cost.rho()),
            },
            (Budget::Gdp { .. }, Some(mu)) => format!("mu = {mu:.6}"),
            _ => format!("rho = {:.6e}", cost.rho()),
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
            Budget::Pure { epsilon } => write!(f, "epsilon = {epsilon}, no delta"),
            Budget::Approximate { epsilon, delta } => {
                write!(f, "epsilon = {epsilon}, delta = {delta:e}")
            }
            Budget::Zcdp { rho } => write!(f, "rho = {rho}"),
            Budget::Gdp { mu } => write!(f, "mu = {mu}"),
        }
    }
}

#[cfg(test)]
mod tests;

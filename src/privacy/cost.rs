//! What is spent: charges, their sum, and the comparisons with what may be spent.

use serde::{Deserialize, Serialize};

use super::parameter::{check_delta, check_not_negative};
use super::{AccountantKind, Budget, PrivacyError, epsilon_from_mu, epsilon_from_rho};

/// The relative slack of every comparison with a budget. Shares of a budget, each rounded up, may sum
/// to a few units in the last place more than the budget. It applies where a ledger adds up releases and
/// where an accountant adds up one release's charges: a budget is kept to two parts in 10^9.
pub const SLACK: f64 = 1e-9;

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

#[cfg(test)]
mod tests;

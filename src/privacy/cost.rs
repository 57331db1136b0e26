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
/// There are three kinds of charges, each with a sum of its own: Gaussian ones by `mu^2`, those of pure
/// mechanisms by `epsilon`, all others by `rho`. Where every charge is Gaussian, the guarantee is
/// `sqrt(gaussian_mu_squared)`-GDP; where every charge is pure, it is `pure_epsilon`-differential privacy;
/// always, it is `(gaussian_mu_squared + pure_epsilon^2) / 2 + other_rho`-zCDP, since pure charges of
/// `epsilon` in total are `epsilon`-DP together, and that implies `epsilon^2 / 2`-zCDP (Bun and Steinke 2016,
/// proposition 1.4). All parts are finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "UncheckedCost")]
pub struct Cost {
    gaussian_mu_squared: f64,
    other_rho: f64,
    #[serde(skip_serializing_if = "is_zero")]
    pure_epsilon: f64,
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

/// A cost as it stands in a file, before its parts are checked: a negative one would refund a budget.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedCost {
    gaussian_mu_squared: f64,
    other_rho: f64,
    #[serde(default)]
    pure_epsilon: f64,
}

impl TryFrom<UncheckedCost> for Cost {
    type Error = PrivacyError;

    fn try_from(cost: UncheckedCost) -> Result<Cost, PrivacyError> {
        Ok(Cost {
            other_rho: Cost::other(cost.other_rho)?.other_rho,
            pure_epsilon: Cost::pure(cost.pure_epsilon)?.pure_epsilon,
            ..Cost::gaussian(cost.gaussian_mu_squared)?
        })
    }
}

impl Cost {
    /// Nothing.
    pub const ZERO: Cost = Cost {
        gaussian_mu_squared: 0.0,
        other_rho: 0.0,
        pure_epsilon: 0.0,
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

    /// The cost of mechanisms that are `epsilon`-differentially private together, with no delta.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless finite and not negative.
    pub fn pure(epsilon: f64) -> Result<Cost, PrivacyError> {
        check_not_negative("epsilon", epsilon)?;
        Ok(Cost {
            pure_epsilon: epsilon,
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

    /// The sum of the `epsilon` of the pure mechanisms.
    pub fn pure_epsilon(&self) -> f64 {
        self.pure_epsilon
    }

    /// Whether every charge is a Gaussian measurement, so that the GDP guarantee holds.
    pub fn is_gaussian(&self) -> bool {
        self.other_rho == 0.0 && self.pure_epsilon == 0.0
    }

    /// Whether every charge is of a pure mechanism, so that there is a guarantee without a delta.
    pub fn is_pure(&self) -> bool {
        self.other_rho == 0.0 && self.gaussian_mu_squared == 0.0
    }

    /// The zCDP guarantee, rounded up.
    pub fn rho(&self) -> f64 {
        let concentrated = sum_up(self.gaussian_mu_squared / 2.0, self.other_rho);
        match self.pure_epsilon {
            0.0 => concentrated,
            epsilon => sum_up(concentrated, (epsilon * epsilon / 2.0).next_up()),
        }
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
            pure_epsilon: sum_up(self.pure_epsilon, other.pure_epsilon),
        }
    }

    /// The larger of both, kind by kind: a bound on either.
    #[must_use]
    pub fn at_least(&self, other: &Cost) -> Cost {
        Cost {
            gaussian_mu_squared: self.gaussian_mu_squared.max(other.gaussian_mu_squared),
            other_rho: self.other_rho.max(other.other_rho),
            pure_epsilon: self.pure_epsilon.max(other.pure_epsilon),
        }
    }

    /// The cost as an accountant sees it: under zCDP, everything is `rho`.
    #[must_use]
    pub fn under(&self, kind: AccountantKind) -> Cost {
        match kind {
            AccountantKind::Gdp | AccountantKind::Pure => *self,
            AccountantKind::Zcdp => Cost {
                other_rho: self.rho(),
                ..Cost::ZERO
            },
        }
    }

    /// The smallest `epsilon` at this `delta`: by GDP if every charge is Gaussian, the sum of the epsilons if
    /// every charge is pure, else by zCDP.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless `delta` is in `(0, 1)`.
    pub fn epsilon(&self, delta: f64) -> Result<f64, PrivacyError> {
        check_delta(delta)?;
        if self.is_pure() {
            return Ok(self.pure_epsilon);
        }
        match self.mu() {
            Some(0.0) => Ok(0.0),
            Some(mu) => epsilon_from_mu(mu, delta),
            None => epsilon_from_rho(self.rho(), delta),
        }
    }

    /// Whether the cost keeps the budget, up to a relative slack of [`SLACK`] in `mu^2` or `rho`: by GDP
    /// if every charge is Gaussian, by epsilon if every charge is pure, else by zCDP. A `mu` budget is kept by
    /// Gaussian charges only, and a budget without a delta by pure ones only.
    pub fn within(&self, budget: &Budget) -> bool {
        match budget {
            Budget::Gdp { .. } if !self.is_gaussian() => return false,
            Budget::Pure { epsilon } => {
                return self.is_pure() && at_most(self.pure_epsilon, *epsilon);
            }
            Budget::Approximate { epsilon, .. } if self.is_pure() => {
                return at_most(self.pure_epsilon, *epsilon);
            }
            _ => {}
        }
        let kind = match self.is_gaussian() {
            true => AccountantKind::Gdp,
            false => AccountantKind::Zcdp,
        };
        budget.total(kind).is_ok_and(|total| match kind {
            AccountantKind::Gdp => at_most(self.gaussian_mu_squared, total.gaussian_mu_squared),
            _ => at_most(self.rho(), total.rho()),
        })
    }

    /// Whether an authorised cost leaves room for `spent`, up to a relative slack of [`SLACK`]. An authorisation
    /// of Gaussian charges covers only those, one of pure charges only those; any other is accounted by zCDP.
    pub fn covers(&self, spent: &Cost) -> bool {
        if self.is_pure() && self.pure_epsilon > 0.0 {
            spent.is_pure() && at_most(spent.pure_epsilon, self.pure_epsilon)
        } else if self.is_gaussian() {
            spent.is_gaussian() && at_most(spent.gaussian_mu_squared, self.gaussian_mu_squared)
        } else {
            at_most(spent.rho(), self.rho())
        }
    }

    /// What is left of this cost after `spent`, never negative: `mu^2` where both are Gaussian, `epsilon` where
    /// both are pure, else `rho`.
    #[must_use]
    pub fn minus(&self, spent: &Cost) -> Cost {
        let mut left = Cost::ZERO;
        if self.is_gaussian() && spent.is_gaussian() {
            left.gaussian_mu_squared =
                (self.gaussian_mu_squared - spent.gaussian_mu_squared).max(0.0);
        } else if self.is_pure() && spent.is_pure() {
            left.pure_epsilon = (self.pure_epsilon - spent.pure_epsilon).max(0.0);
        } else {
            left.other_rho = (self.rho() - spent.rho()).max(0.0);
        }
        left
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

//! Budgets, costs, and the accountant that every draw goes through.

use super::conversion::{epsilon_of_gdp, epsilon_of_zcdp, mu_of_budget, rho_of_budget};
use super::{AccountantKind, PrivacyError};
use serde::{Deserialize, Serialize};

/// Relative slack by which a cost may exceed a budget: it absorbs the rounding of sums of doubles.
pub const SLACK: f64 = 1e-9;

/// What may be spent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenBudget", into = "WrittenBudget")]
pub enum Budget {
    /// (epsilon, delta)-differential privacy.
    Approximate {
        /// epsilon > 0.
        epsilon: f64,
        /// 0 < delta < 1.
        delta: f64,
    },
    /// rho-zCDP.
    Zcdp {
        /// rho > 0.
        rho: f64,
    },
    /// mu-GDP.
    Gdp {
        /// mu > 0.
        mu: f64,
    },
}

/// A budget as documents write it: `{epsilon, delta}`, `{rho}` or `{mu}`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenBudget {
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rho: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mu: Option<f64>,
}

impl TryFrom<WrittenBudget> for Budget {
    type Error = String;

    fn try_from(written: WrittenBudget) -> Result<Budget, String> {
        match (written.epsilon, written.delta, written.rho, written.mu) {
            (Some(epsilon), Some(delta), None, None) => Budget::approximate(epsilon, delta),
            (None, None, Some(rho), None) => Budget::zcdp(rho),
            (None, None, None, Some(mu)) => Budget::gdp(mu),
            _ => return Err("a budget is {epsilon, delta}, {rho} or {mu}".into()),
        }
        .map_err(|e| e.to_string())
    }
}

impl From<Budget> for WrittenBudget {
    fn from(budget: Budget) -> WrittenBudget {
        let none = WrittenBudget::default();
        match budget {
            Budget::Approximate { epsilon, delta } => WrittenBudget { epsilon: Some(epsilon), delta: Some(delta), ..none },
            Budget::Zcdp { rho } => WrittenBudget { rho: Some(rho), ..none },
            Budget::Gdp { mu } => WrittenBudget { mu: Some(mu), ..none },
        }
    }
}

/// Bounds on parameters: outside, the conversions' arithmetic is not to be trusted.
const SMALLEST: f64 = 1e-9;
const LARGEST: f64 = 1e6;

fn parameter(name: &'static str, value: f64) -> Result<f64, PrivacyError> {
    if (SMALLEST..=LARGEST).contains(&value) {
        Ok(value)
    } else {
        Err(PrivacyError::Parameter { name, range: "between 1e-9 and 1e6", value })
    }
}

impl Budget {
    /// (epsilon, delta)-differential privacy.
    ///
    /// # Errors
    /// Unless `1e-9 <= epsilon <= 1e6` and `1e-200 <= delta < 1`.
    pub fn approximate(epsilon: f64, delta: f64) -> Result<Budget, PrivacyError> {
        if !(1e-200..1.0).contains(&delta) {
            return Err(PrivacyError::Parameter { name: "delta", range: "above 0 (at least 1e-200) and below 1", value: delta });
        }
        Ok(Budget::Approximate { epsilon: parameter("epsilon", epsilon)?, delta })
    }

    /// rho-zCDP.
    ///
    /// # Errors
    /// Unless `1e-9 <= rho <= 1e6`.
    pub fn zcdp(rho: f64) -> Result<Budget, PrivacyError> {
        Ok(Budget::Zcdp { rho: parameter("rho", rho)? })
    }

    /// mu-GDP.
    ///
    /// # Errors
    /// Unless `1e-9 <= mu <= 1e6`.
    pub fn gdp(mu: f64) -> Result<Budget, PrivacyError> {
        Ok(Budget::Gdp { mu: parameter("mu", mu)? })
    }

    /// What the budget buys of Gaussian noise under an accountant, as a cost of Gaussian measurements.
    ///
    /// (epsilon, delta) is converted tightly by the accountant's own law. A zCDP budget buys
    /// `mu^2 = 2 rho` (a `mu`-Gaussian mechanism is `mu^2/2`-zCDP), a GDP budget `mu^2`, whichever the
    /// accountant: for Gaussian measurements alone the two laws are the same numbers.
    pub fn total(&self, accountant: AccountantKind) -> Cost {
        let gaussian_mu_squared = match (*self, accountant) {
            (Budget::Approximate { epsilon, delta }, AccountantKind::Gdp) => mu_of_budget(epsilon, delta).powi(2),
            (Budget::Approximate { epsilon, delta }, AccountantKind::Zcdp) => 2.0 * rho_of_budget(epsilon, delta),
            (Budget::Zcdp { rho }, _) => 2.0 * rho,
            (Budget::Gdp { mu }, _) => mu * mu,
        };
        Cost { gaussian_mu_squared, other_rho: 0.0 }
    }
}

/// What was spent: Gaussian measurements, and everything else.
///
/// Gaussian measurements compose exactly: their squared parameters add (Dong, Roth and Su 2022,
/// Corollary 3.3). Everything else is kept in zCDP, where `rho` adds (Bun and Steinke 2016, Lemma 1.7);
/// as soon as there is any of it, the Gaussian part counts as `mu^2/2` in zCDP too.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Sum of the squared GDP parameters of Gaussian measurements.
    pub gaussian_mu_squared: f64,
    /// Sum of the zCDP parameters of everything else.
    pub other_rho: f64,
}

impl Cost {
    /// Nothing.
    pub const ZERO: Cost = Cost { gaussian_mu_squared: 0.0, other_rho: 0.0 };

    /// The cost of both, rounded up.
    pub fn and(self, other: Cost) -> Cost {
        Cost {
            gaussian_mu_squared: sum_up(self.gaussian_mu_squared, other.gaussian_mu_squared),
            other_rho: sum_up(self.other_rho, other.other_rho),
        }
    }

    /// The zCDP parameter, rounded up.
    pub fn rho(self) -> f64 {
        sum_up(self.gaussian_mu_squared / 2.0, self.other_rho)
    }

    /// The smallest epsilon at `delta`, by GDP where only Gaussian measurements were made, else by zCDP.
    pub fn epsilon(self, delta: f64) -> f64 {
        if self == Cost::ZERO {
            0.0
        } else if self.other_rho == 0.0 {
            epsilon_of_gdp(self.gaussian_mu_squared.sqrt().next_up(), delta)
        } else {
            epsilon_of_zcdp(self.rho(), delta)
        }
    }

    /// Whether the cost is within a budget, with the relative slack [`SLACK`].
    pub fn within(self, budget: &Budget) -> bool {
        let most = 1.0 + SLACK;
        match *budget {
            Budget::Approximate { epsilon, delta } => self.epsilon(delta) <= epsilon * most,
            Budget::Zcdp { rho } => self.rho() <= rho * most,
            // Only Gaussian measurements are known to be GDP.
            Budget::Gdp { mu } => self.other_rho == 0.0 && self.gaussian_mu_squared <= mu * mu * most,
        }
    }

    /// Whether both parts are numbers that a cost can have.
    pub(super) fn is_valid(self) -> bool {
        [self.gaussian_mu_squared, self.other_rho].iter().all(|part| part.is_finite() && *part >= 0.0)
    }
}

/// A sum rounded up; exact where a term is zero.
fn sum_up(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { a + b } else { (a + b).next_up() }
}

/// The permission to spend a cost, which only the ledger, or the decision to have none, gives.
#[derive(Debug)]
pub struct Authorisation {
    pub(super) cost: Cost,
}

impl Authorisation {
    /// The permission to spend `cost` of a budget that no ledger keeps.
    ///
    /// # Errors
    /// Where the cost exceeds the budget.
    pub fn without_ledger(budget: Budget, cost: Cost) -> Result<Authorisation, PrivacyError> {
        if cost.within(&budget) { Ok(Authorisation { cost }) } else { Err(PrivacyError::OverBudget) }
    }
}

/// Adds up what one release spends, and refuses what was not authorised.
#[derive(Debug)]
pub struct Accountant {
    authorised: Cost,
    spent: Cost,
}

impl Accountant {
    /// An accountant for an authorised cost.
    pub fn new(authorisation: Authorisation) -> Accountant {
        Accountant { authorised: authorisation.cost, spent: Cost::ZERO }
    }

    /// What was spent so far.
    pub fn spent(&self) -> Cost {
        self.spent
    }

    /// Charges a cost; to be called before any noise is drawn for it.
    ///
    /// # Errors
    /// Where more would be spent than was authorised; nothing is charged then.
    pub(super) fn charge(&mut self, cost: Cost) -> Result<(), PrivacyError> {
        let spent = self.spent.and(cost);
        let most = 1.0 + SLACK;
        if spent.gaussian_mu_squared > self.authorised.gaussian_mu_squared * most
            || spent.other_rho > self.authorised.other_rho * most
        {
            return Err(PrivacyError::OverBudget);
        }
        self.spent = spent;
        Ok(())
    }
}

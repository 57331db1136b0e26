//! The permission to draw noise, and the account of what it was used for.

use super::{Budget, Cost, PrivacyError, ReleaseId};

/// Permission to spend a cost on one release. It can't be copied, and comes from
/// [`Ledger::reserve`](super::Ledger::reserve), after the charge is on disk, or from a budget that is
/// spent without a ledger.
#[derive(Debug)]
pub struct Authorisation {
    release: ReleaseId,
    limit: Cost,
}

impl Authorisation {
    /// Permission to spend `cost` of a budget that has no ledger: what earlier releases of the same data
    /// spent is then for the caller to remember.
    ///
    /// # Errors
    /// [`PrivacyError::OverBudget`] where `cost` is not within the budget.
    pub fn without_ledger(
        release: ReleaseId,
        cost: Cost,
        budget: &Budget,
    ) -> Result<Authorisation, PrivacyError> {
        if cost.within(budget) {
            return Ok(Authorisation::granted(release, cost));
        }
        if !cost.is_gaussian() && matches!(budget, Budget::Gdp { .. }) {
            return Err(PrivacyError::NotGaussian);
        }
        let remaining = budget.total(match cost {
            cost if cost.is_gaussian() => super::AccountantKind::Gdp,
            cost if cost.is_pure() => super::AccountantKind::Pure,
            _ => super::AccountantKind::Zcdp,
        })?;
        Err(PrivacyError::OverBudget {
            budget: *budget,
            spent: Cost::ZERO,
            asked: cost,
            remaining,
        })
    }

    /// For the ledger, once the charge is durable.
    pub(super) fn granted(release: ReleaseId, limit: Cost) -> Authorisation {
        Authorisation { release, limit }
    }
}

/// Keeps the charges of one release within its authorisation.
#[derive(Debug)]
pub struct Accountant {
    release: ReleaseId,
    limit: Cost,
    spent: Cost,
}

impl Accountant {
    /// An account that holds what was authorised.
    pub fn new(authorisation: Authorisation) -> Accountant {
        Accountant {
            release: authorisation.release,
            limit: authorisation.limit,
            spent: Cost::ZERO,
        }
    }

    /// The release that the charges belong to.
    pub fn release(&self) -> &ReleaseId {
        &self.release
    }

    /// What the mechanisms have charged so far.
    pub fn spent(&self) -> Cost {
        self.spent
    }

    /// What is left. Charges that fit into it are accepted.
    pub fn remaining(&self) -> Cost {
        self.limit.minus(&self.spent)
    }

    /// An account for a part of the rows, which may cost what this one has left.
    pub(super) fn of_part(&self) -> Accountant {
        Accountant {
            release: self.release.clone(),
            limit: self.remaining(),
            spent: Cost::ZERO,
        }
    }

    /// Takes the charge of parts of the rows: that of the costliest, by parallel composition.
    pub(super) fn charge_parts(
        &mut self,
        parts: impl IntoIterator<Item = Accountant>,
    ) -> Result<(), PrivacyError> {
        let costliest = parts
            .into_iter()
            .fold(Cost::ZERO, |most, part| most.at_least(&part.spent));
        self.charge(&costliest)
    }

    /// Takes a charge, before any noise is drawn for it.
    pub(super) fn charge(&mut self, cost: &Cost) -> Result<(), PrivacyError> {
        let spent = self.spent.plus(cost);
        if !self.limit.covers(&spent) {
            return Err(PrivacyError::NotAuthorised { asked: *cost });
        }
        self.spent = spent;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(limit: Cost) -> Accountant {
        Accountant::new(Authorisation::granted(ReleaseId::random().unwrap(), limit))
    }

    #[test]
    fn charges_stop_at_the_limit_and_a_refused_one_costs_nothing() {
        let mut accountant = account(Cost::gaussian(1.0).unwrap());
        let tenth = Cost::gaussian(0.1).unwrap();
        for _ in 0..10 {
            accountant.charge(&tenth).unwrap();
        }
        let spent = accountant.spent();
        assert!(accountant.charge(&Cost::gaussian(1e-6).unwrap()).is_err());
        assert_eq!(accountant.spent(), spent);
        assert_eq!(accountant.remaining(), Cost::ZERO);
    }

    #[test]
    fn a_gaussian_authorisation_covers_no_other_mechanism() {
        let mut accountant = account(Cost::gaussian(1.0).unwrap());
        assert!(accountant.charge(&Cost::other(1e-9).unwrap()).is_err());
        // Under zCDP, Gaussian and other charges share the total.
        let mut accountant = account(Cost::other(1.0).unwrap());
        accountant.charge(&Cost::gaussian(1.0).unwrap()).unwrap();
        accountant.charge(&Cost::other(0.5).unwrap()).unwrap();
        assert!(accountant.charge(&Cost::other(1e-6).unwrap()).is_err());
    }

    #[test]
    fn without_a_ledger_the_budget_is_the_limit() {
        let id = || ReleaseId::random().unwrap();
        let budget = Budget::zcdp(0.5).unwrap();
        let fits = Cost::gaussian(1.0).unwrap();
        assert!(Authorisation::without_ledger(id(), fits, &budget).is_ok());
        let over = Cost::gaussian(1.0 + 1e-6).unwrap();
        assert!(Authorisation::without_ledger(id(), over, &budget).is_err());
        let gdp = Budget::gdp(3.0).unwrap();
        assert!(matches!(
            Authorisation::without_ledger(id(), Cost::other(1e-6).unwrap(), &gdp),
            Err(PrivacyError::NotGaussian)
        ));
    }
}

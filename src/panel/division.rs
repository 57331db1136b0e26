//! How one target's budget is divided: the choice of a penalty, the measure of fit, and the answer itself.
//!
//! Pure shares add up in `epsilon`. Gaussian ones add up in `mu^2` and give a GDP guarantee; where a penalty is chosen, by
//! the exponential mechanism, there is none, and everything is accounted by zCDP, with `mu^2 = 2 rho`.

use super::PanelError;
use super::channel::Share;
use crate::privacy::{AccountantKind, Budget, Cost};
use crate::workload::{DpscMethod, DpscWorkload};

/// What one target may spend, and on what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Division {
    /// The accountant that the whole is under.
    pub accountant: AccountantKind,
    /// The choice of the ridge penalty, where there is one.
    pub choice: Option<Share>,
    /// The measure of fit, where there is one.
    pub fit: Option<Share>,
    /// The method.
    pub method: Share,
}

impl Division {
    /// Divides a budget equally over the targets and by the workload's shares: pure for `index`, and for the others
    /// where there is no delta.
    ///
    /// # Errors
    /// Where method and budget do not go together.
    pub fn new(
        method: DpscMethod,
        workload: &DpscWorkload,
        budget: &Budget,
        targets: usize,
    ) -> Result<Division, PanelError> {
        let grid = workload.grid.as_ref().filter(|_| method.is_ridge());
        let is_pure = matches!(budget, Budget::Pure { .. });
        if method == DpscMethod::Balance && is_pure {
            return Err(configuration(
                "the method balance is Gaussian and needs a delta; add --delta, well below one over the number of donors, \
                 or choose `method: index`",
            ));
        }
        if method == DpscMethod::Balance && workload.fit_share > 0.0 {
            return Err(configuration(
                "the method balance chooses its weights so that they follow the past, so its fit there tells nothing; \
                 leave `fit_share` out, or choose `method: index`",
            ));
        }
        let accountant = match grid {
            _ if method == DpscMethod::Index || is_pure => AccountantKind::Pure,
            Some(_) => AccountantKind::Zcdp,
            None => AccountantKind::Gdp,
        };
        if accountant == AccountantKind::Zcdp && matches!(budget, Budget::Gdp { .. }) {
            return Err(configuration(
                "the choice of lambda from a grid is accounted by zCDP, for which a --mu budget has no room; give --rho, \
                 or --epsilon and --delta, or a fixed lambda",
            ));
        }
        let total = budget.total(accountant)?;
        let whole = match accountant {
            AccountantKind::Pure => Share::Pure(total.pure_epsilon()),
            _ => Share::Gaussian(total.gaussian_mu_squared()),
        };
        let whole = whole.part(1.0 / targets.max(1) as f64);
        let choice = grid.map_or(0.0, |grid| grid.share);
        let part = |share: f64| (share > 0.0).then(|| whole.part(share));
        Ok(Division {
            accountant,
            choice: part(choice),
            fit: part(workload.fit_share),
            method: whole.part(1.0 - choice - workload.fit_share),
        })
    }
}

/// A share's cost, of whatever it is spent on.
pub fn cost_of(share: Share) -> Cost {
    let cost = match share {
        Share::Pure(epsilon) => Cost::pure(epsilon),
        Share::Gaussian(mu_squared) => Cost::gaussian(mu_squared),
    };
    // A share is a part of a checked budget: finite and positive.
    cost.unwrap_or(Cost::ZERO)
}

fn configuration(message: &str) -> PanelError {
    PanelError::Configuration(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(text: &str) -> DpscWorkload {
        let text = format!("format: dpcausal.workload/1\nmechanism: dpsc\n{text}");
        DpscWorkload::parse(&text, "w.yaml").unwrap().0
    }

    #[test]
    fn the_parts_add_up_to_the_budget() {
        let grid =
            workload("method: direct\nlambda: {grid: [10, 20], share: 0.2}\nfit_share: 0.1\n");
        let pure = Budget::pure(3.0).unwrap();
        let parts = Division::new(DpscMethod::Direct, &grid, &pure, 2).unwrap();
        let sum = |parts: Division| {
            [parts.choice, parts.fit, Some(parts.method)]
                .into_iter()
                .flatten()
                .fold(Cost::ZERO, |sum, share| sum.plus(&cost_of(share)))
        };
        assert!((sum(parts).pure_epsilon() - 1.5).abs() < 1e-12);
        assert_eq!(parts.choice, Some(Share::Pure(1.5 * 0.2)));
        let rho = Budget::zcdp(0.5).unwrap();
        let parts = Division::new(DpscMethod::Direct, &grid, &rho, 1).unwrap();
        assert_eq!(parts.accountant, AccountantKind::Zcdp);
        assert!((sum(parts).rho() - 0.5).abs() < 1e-12);
        // Without a choice, the tighter accountant.
        let plain = workload("method: direct\n");
        let parts = Division::new(DpscMethod::Direct, &plain, &rho, 1).unwrap();
        assert_eq!(
            (parts.accountant, parts.choice, parts.fit),
            (AccountantKind::Gdp, None, None)
        );
    }

    #[test]
    fn what_can_not_be_accounted_is_refused() {
        let fit = workload("fit_share: 0.1\n");
        let approximate = Budget::approximate(1.0, 1e-6).unwrap();
        let refused = Division::new(DpscMethod::Balance, &fit, &approximate, 1);
        assert!(refused.unwrap_err().to_string().contains("fit_share"));
        let grid = workload("method: output\nlambda: {grid: [10, 20]}\n");
        let mu = Budget::gdp(1.0).unwrap();
        let refused = Division::new(DpscMethod::Output, &grid, &mu, 1);
        assert!(refused.unwrap_err().to_string().contains("--rho"));
    }
}

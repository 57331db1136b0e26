//! The plan of a panel's release: method, shares and cost, from public quantities only.

use super::PanelError;
use super::channel::Share;
use super::method::{Method, Setting};
use crate::privacy::{AccountantKind, Budget, Cost};
use crate::schema::{PanelFrame, PanelSchema};
use crate::workload::{DpscMethod, DpscWorkload};

/// From this number of donors times epsilon on, weights that balance the past are worth their noise (measured on
/// panels of counties and on factor models).
pub const BALANCE_FROM: f64 = 300.0;

/// A plan.
#[derive(Debug, Clone)]
pub struct PanelPlan {
    /// The schema.
    pub schema: PanelSchema,
    /// The workload.
    pub workload: DpscWorkload,
    /// The public part of the table.
    pub frame: PanelFrame,
    /// The budget that is asked for.
    pub budget: Budget,
    /// The method, never `auto`.
    pub method: DpscMethod,
    /// Every target's part of the budget.
    pub share: Share,
    /// What all of it costs.
    pub cost: Cost,
}

impl PanelPlan {
    /// Divides a budget equally over the targets. Touches no donor's values.
    ///
    /// # Errors
    /// Where method, budget and panel do not go together.
    pub fn new(
        schema: PanelSchema,
        workload: DpscWorkload,
        frame: PanelFrame,
        budget: Budget,
    ) -> Result<PanelPlan, PanelError> {
        frame.check().map_err(PanelError::Configuration)?;
        let method = match workload.method {
            DpscMethod::Auto => automatic(&budget, frame.donors.len()),
            method => method,
        };
        let share = share(method, &budget, frame.targets.len())?;
        let mut plan = PanelPlan {
            schema,
            workload,
            frame,
            budget,
            method,
            share,
            cost: Cost::ZERO,
        };
        for target in 0..plan.frame.targets.len() {
            let cost = plan.method_of(target)?.cost();
            plan.cost = plan.cost.plus(&cost);
        }
        Ok(plan)
    }

    /// The accountant.
    pub fn accountant(&self) -> AccountantKind {
        match self.share {
            Share::Pure(_) => AccountantKind::Pure,
            Share::Gaussian(_) => AccountantKind::Gdp,
        }
    }

    /// The public side of one target's analysis.
    pub fn setting(&self, target: usize) -> Setting<'_> {
        Setting {
            schema: &self.schema,
            workload: &self.workload,
            frame: &self.frame,
            target,
            share: self.share,
        }
    }

    /// The method of one target.
    ///
    /// # Errors
    /// Where the share is too small.
    pub fn method_of(&self, target: usize) -> Result<Box<dyn Method + '_>, PanelError> {
        self.setting(target).method(self.method)
    }

    /// The epsilon of a cost, and the delta that it holds at; a pure one has none.
    ///
    /// # Errors
    /// Where the cost is too large to convert.
    pub fn epsilon(&self, cost: Cost) -> Result<(Option<f64>, Option<f64>), PanelError> {
        if cost.is_pure() {
            return Ok((Some(cost.pure_epsilon()), None));
        }
        let delta = self.budget.delta();
        let epsilon = delta.map(|delta| cost.epsilon(delta)).transpose()?;
        Ok((epsilon, delta))
    }
}

/// What `auto` stands for: a function of public numbers.
pub fn automatic(budget: &Budget, donors: usize) -> DpscMethod {
    let epsilon = match *budget {
        Budget::Pure { .. } => return DpscMethod::Index,
        Budget::Gdp { .. } => return DpscMethod::Balance,
        Budget::Approximate { epsilon, .. } => epsilon,
        Budget::Zcdp { rho } => (2.0 * rho).sqrt(),
    };
    match donors as f64 * epsilon >= BALANCE_FROM {
        true => DpscMethod::Balance,
        false => DpscMethod::Index,
    }
}

/// One target's part of the budget: pure for `index`, and for the others where there is no delta.
pub fn share(method: DpscMethod, budget: &Budget, targets: usize) -> Result<Share, PanelError> {
    let part = 1.0 / targets.max(1) as f64;
    let is_pure = matches!(budget, Budget::Pure { .. });
    if method == DpscMethod::Balance && is_pure {
        return Err(PanelError::Configuration(
            "the method balance is Gaussian and needs a delta; add --delta, well below one over the number of donors, \
             or choose `method: index`"
                .into(),
        ));
    }
    if method == DpscMethod::Index || is_pure {
        let total = budget.total(AccountantKind::Pure)?;
        return Ok(Share::Pure(total.pure_epsilon() * part));
    }
    let total = budget.total(AccountantKind::Gdp)?;
    Ok(Share::Gaussian(total.gaussian_mu_squared() * part))
}

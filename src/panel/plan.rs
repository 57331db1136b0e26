//! The plan of a panel's release: method, shares and cost, from public quantities only.

use super::PanelError;
use super::blocks::Blocks;
use super::channel::Channel;
use super::division::{Division, cost_of};
use super::fit::FIT;
use super::method::{Method, Setting};
use super::penalty::PenaltySelection;
use crate::privacy::{AccountantKind, Budget, Cost};
use crate::schema::{PanelFrame, PanelSchema};
use crate::workload::{DpscMethod, DpscWorkload};

/// From this number of donors times epsilon on, the moments of `balance` are worth their noise (measured on
/// factor models of 100 to 800 donors, where the two methods meet between 100 and 200), given so many periods before the
/// intervention; of fewer, whose features are mostly the noise of single periods, more is asked in proportion.
pub const BALANCE_FROM: f64 = 200.0;
const BALANCE_PERIODS: f64 = 16.0;

/// A plan.
#[derive(Debug, Clone)]
pub struct PanelPlan {
    /// The schema.
    pub schema: PanelSchema,
    /// The workload.
    pub workload: DpscWorkload,
    /// The public part of the table, in blocks where the workload asks for them.
    pub frame: PanelFrame,
    /// How the table's periods become the frame's.
    pub blocks: Blocks,
    /// The budget that is asked for.
    pub budget: Budget,
    /// The method, never `auto`.
    pub method: DpscMethod,
    /// How every target's part of the budget is divided.
    pub division: Division,
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
        let blocks = Blocks::new(&schema, &frame, workload.block)?;
        let frame = blocks.frame(frame);
        let method = match workload.method {
            DpscMethod::Auto => automatic(&budget, frame.donors.len(), frame.pre_periods),
            method => method,
        };
        let division = Division::new(method, &workload, &budget, frame.targets.len())?;
        let mut plan = PanelPlan {
            schema,
            workload,
            frame,
            blocks,
            budget,
            method,
            division,
            cost: Cost::ZERO,
        };
        for target in 0..plan.frame.targets.len() {
            plan.cost = plan.cost.plus(&plan.cost_of(target)?);
        }
        Ok(plan)
    }

    /// What one target costs.
    fn cost_of(&self, target: usize) -> Result<Cost, PanelError> {
        let fit = self
            .fit_channel(target)?
            .map_or(Cost::ZERO, |channel| channel.cost());
        let rest = match self.selection(target)? {
            // Whatever is chosen, the method costs no more than its share.
            Some(selection) => selection.cost().plus(&cost_of(self.division.method)),
            None => self.method_of(target, None)?.cost(),
        };
        Ok(fit.plus(&rest))
    }

    /// The choice of one target's ridge penalty, where the workload has a grid.
    ///
    /// # Errors
    /// Where a share is too small, or a penalty.
    pub fn selection(&self, target: usize) -> Result<Option<PenaltySelection<'_>>, PanelError> {
        let (Some(grid), Some(share)) = (&self.workload.grid, self.division.choice) else {
            return Ok(None);
        };
        let setting = self.setting(target, None);
        PenaltySelection::new(&setting, self.method, &grid.candidates, share).map(Some)
    }

    /// The channel of one target's measure of fit, where a share is for it. A penalty that is yet to be chosen does not
    /// change its cost.
    ///
    /// # Errors
    /// Where the share is too small, or the method has no such measure.
    pub fn fit_channel(&self, target: usize) -> Result<Option<Channel>, PanelError> {
        let Some(share) = self.division.fit else {
            return Ok(None);
        };
        let method = self.method_of(target, None)?;
        let fit = method.fit().ok_or_else(no_fit)?;
        fit.channel(share).map(Some)
    }

    /// The statistics of one target that are fixed beforehand: of the method, and of the fit.
    ///
    /// # Errors
    /// As [`PanelPlan::method_of`].
    pub fn channels(
        &self,
        target: usize,
    ) -> Result<Vec<(&'static str, usize, Channel)>, PanelError> {
        let mut channels = self.method_of(target, None)?.channels();
        channels.extend(self.fit_channel(target)?.map(|channel| (FIT, 1, channel)));
        Ok(channels)
    }

    /// The accountant.
    pub fn accountant(&self) -> AccountantKind {
        self.division.accountant
    }

    /// The public side of one target's analysis, with the ridge penalty that was chosen for it, if one was.
    pub fn setting(&self, target: usize, penalty: Option<f64>) -> Setting<'_> {
        Setting {
            schema: &self.schema,
            workload: &self.workload,
            frame: &self.frame,
            target,
            share: self.division.method,
            penalty,
        }
    }

    /// The method of one target.
    ///
    /// # Errors
    /// Where the share is too small.
    pub fn method_of(
        &self,
        target: usize,
        penalty: Option<f64>,
    ) -> Result<Box<dyn Method + '_>, PanelError> {
        self.setting(target, penalty).method(self.method)
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

/// What is said where a method has no measure of fit.
pub fn no_fit() -> PanelError {
    PanelError::Configuration("this method has no measure of fit; leave `fit_share` out".into())
}

/// What `auto` stands for: a function of public numbers.
pub fn automatic(budget: &Budget, donors: usize, pre_periods: usize) -> DpscMethod {
    let epsilon = match *budget {
        Budget::Pure { .. } => return DpscMethod::Index,
        Budget::Gdp { .. } => return DpscMethod::Balance,
        Budget::Approximate { epsilon, .. } => epsilon,
        Budget::Zcdp { rho } => (2.0 * rho).sqrt(),
    };
    let scarce = (BALANCE_PERIODS / pre_periods as f64).max(1.0);
    match donors as f64 * epsilon >= BALANCE_FROM * scarce {
        true => DpscMethod::Balance,
        false => DpscMethod::Index,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_automatic_method_follows_donors_budget_and_periods() {
        let budget = |epsilon| Budget::approximate(epsilon, 1e-6).unwrap();
        for (epsilon, donors, pre_periods, expected) in [
            (0.5, 600, 28, DpscMethod::Balance),
            (0.5, 604, 10, DpscMethod::Index),
            (1.0, 200, 16, DpscMethod::Balance),
            (1.0, 199, 16, DpscMethod::Index),
            (1.0, 604, 10, DpscMethod::Balance),
            (5.0, 38, 19, DpscMethod::Index),
        ] {
            assert_eq!(automatic(&budget(epsilon), donors, pre_periods), expected);
        }
        let pure = Budget::pure(5.0).unwrap();
        assert_eq!(automatic(&pure, 3000, 28), DpscMethod::Index);
    }
}

//! What every method is asked: its cost, to measure, and what its measurements say.

use super::blocks::season;
use super::channel::{Channel, Share};
use super::control::Control;
use super::fit::FitMeasure;
use super::forecast::Forecast;
use super::{PanelError, balance, direct, index, means, objective, output};
use crate::privacy::{Accountant, Confidential, Cost, NoiseSource};
use crate::release::PanelMeasurement;
use crate::schema::{PanelFrame, PanelSchema, TargetSeries, Transform};
use crate::table::DonorRows;
use crate::workload::{DpscMethod, DpscWorkload, PenaltyGrid};

/// A step that changes nothing has at least this standard deviation: of logarithms, and of levels as a part of the
/// distance between the bounds. Smaller ones would make of a constant series a forecast without error.
const LEAST_LOG_STEP: f64 = 0.005;
const LEAST_LEVEL_STEP: f64 = 0.001;

/// The largest condition of a ridge system.
const LARGEST_CONDITION: f64 = 1e5;

/// A method with everything public that it depends on.
pub trait Method: Sync {
    /// The statistics to be released, in the order in which they are drawn, as far as they are fixed beforehand.
    fn channels(&self) -> Vec<(&'static str, usize, Channel)>;

    /// What all of it costs.
    fn cost(&self) -> Cost {
        let costs = self
            .channels()
            .into_iter()
            .map(|(_, _, channel)| channel.cost());
        costs.fold(Cost::ZERO, |sum, cost| sum.plus(&cost))
    }

    /// Charges and draws.
    ///
    /// # Errors
    /// Where the accountant refuses; nothing more is drawn then.
    fn measure(
        &self,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<PanelMeasurement>, PanelError>;

    /// The counterfactual, and the law of its error.
    ///
    /// # Errors
    /// [`PanelError::Release`] where the measurements are not this method's.
    fn control(&self, measurements: &[PanelMeasurement]) -> Result<Control, PanelError>;

    /// The standard deviation that privacy noise, and what is held back because of it, will give each period, on the
    /// path's scale; from public numbers.
    fn expected_deviation(&self) -> Vec<f64>;

    /// What the donors can say of the model's error, where they can.
    fn fit(&self) -> Option<Box<dyn FitMeasure + '_>> {
        None
    }

    /// Of its channels, whether the expectation is a bound that holds whatever the donors are, and usually far above
    /// the truth.
    fn is_worst_case(&self) -> bool {
        false
    }
}

/// The public side of one target's analysis.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The schema.
    pub schema: &'a PanelSchema,
    /// The workload.
    pub workload: &'a DpscWorkload,
    /// The public part of the table.
    pub frame: &'a PanelFrame,
    /// The target's position among the frame's.
    pub target: usize,
    /// What of the budget the method has.
    pub share: Share,
    /// The ridge penalty where it was chosen from the workload's grid.
    pub penalty: Option<f64>,
}

impl<'a> Setting<'a> {
    /// The method by its name, which is not `auto`.
    ///
    /// # Errors
    /// Where method, budget and panel do not go together.
    pub fn method(&self, method: DpscMethod) -> Result<Box<dyn Method + 'a>, PanelError> {
        Ok(match method {
            DpscMethod::Auto | DpscMethod::Index => Box::new(index::Index::new(self)?),
            DpscMethod::Balance => Box::new(balance::Balance::new(self)?),
            DpscMethod::Output => Box::new(output::Output::new(self)?),
            DpscMethod::Objective => Box::new(objective::Objective::new(self)?),
            DpscMethod::Direct => Box::new(direct::Direct::new(self)?),
            DpscMethod::DifferenceInDifferences => Box::new(means::Means::differences(self)?),
            DpscMethod::Uniform => Box::new(means::Means::levels(self)?),
        })
    }

    /// The target.
    pub fn series(&self) -> &'a TargetSeries {
        &self.frame.targets[self.target]
    }

    /// The number of donors.
    pub fn donors(&self) -> usize {
        self.frame.donors.len()
    }

    /// The target on the unit scale: all periods.
    pub fn unit_series(&self) -> Vec<f64> {
        let values = self.series().values.iter();
        values.map(|&value| self.schema.to_unit(value)).collect()
    }

    /// The target before the intervention on the scale on which series are compared.
    pub fn transformed_past(&self) -> Vec<f64> {
        let past = &self.series().values[..self.frame.pre_periods];
        past.iter()
            .map(|&value| transformed(self.schema, value))
            .collect()
    }

    /// The forecast of the target by its own past, on the scale on which series are compared.
    pub fn forecast(&self) -> Forecast {
        let least_step = match self.schema.transform() {
            Transform::Log => LEAST_LOG_STEP,
            Transform::Level => LEAST_LEVEL_STEP * (self.schema.bounds[1] - self.schema.bounds[0]),
        };
        let horizon = self.frame.post_periods();
        Forecast::new(&self.transformed_past(), horizon, self.season(), least_step)
    }

    /// The same on the unit scale.
    pub fn unit_forecast(&self) -> Forecast {
        let past = &self.unit_series()[..self.frame.pre_periods];
        let horizon = self.frame.post_periods();
        Forecast::new(past, horizon, self.season(), 2.0 * LEAST_LEVEL_STEP)
    }

    /// The number of the frame's periods, which are blocks of the table's, in a season.
    fn season(&self) -> usize {
        // A plan refuses blocks that cut through seasons.
        season(self.schema.season, self.workload.block).unwrap_or(1)
    }

    /// The ridge penalty: the one chosen, the workload's, or four times the number of donors. Before the choice, the
    /// middle of the grid stands for it.
    ///
    /// # Errors
    /// Where it is so small that floating-point errors in the weights could exceed what the
    /// [lattice](super::channel) allows for them: `n T0 / mu`, which bounds the system's condition, times 2e-16 times
    /// weights of half the sensitivity has to stay below 2^-33 of the sensitivity.
    pub fn lambda(&self) -> Result<f64, PanelError> {
        let middle = |grid: &PenaltyGrid| grid.candidates[grid.candidates.len() / 2];
        let chosen = self.penalty.or(self.workload.lambda);
        let lambda = chosen
            .or_else(|| self.workload.grid.as_ref().map(middle))
            .unwrap_or(4.0 * self.donors() as f64);
        let least = 2.0 * (self.donors() * self.frame.pre_periods) as f64 / LARGEST_CONDITION;
        match lambda >= least {
            true => Ok(lambda),
            false => Err(PanelError::Configuration(format!(
                "lambda = {lambda} is too small to be solved exactly enough for the guarantee; with these donors and \
                 periods take at least {least:.3}"
            ))),
        }
    }
}

/// A value within the bounds, on the scale on which series are compared.
pub fn transformed(schema: &PanelSchema, value: f64) -> f64 {
    let [lower, upper] = schema.bounds;
    schema.transform().apply(value.clamp(lower, upper))
}

/// The measurements of a method, by number and with so many values each.
///
/// # Errors
/// [`PanelError::Release`] where they are others.
pub fn expect<'m, const N: usize>(
    measurements: &'m [PanelMeasurement],
    names: [(&str, usize); N],
) -> Result<[&'m PanelMeasurement; N], PanelError> {
    let all: [&PanelMeasurement; N] = measurements
        .iter()
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| PanelError::Release(format!("{N} measurements are expected")))?;
    for (measurement, (name, cells)) in all.iter().zip(names) {
        if measurement.name != name || measurement.values.len() != cells {
            return Err(PanelError::Release(format!(
                "{name:?} with {cells} values is expected"
            )));
        }
    }
    Ok(all)
}

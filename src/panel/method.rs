//! What every method is asked: its cost, to measure, and what its measurements say.

use super::channel::{Channel, Share};
use super::control::Control;
use super::forecast::Forecast;
use super::{PanelError, balance, direct, index, means, objective, output};
use crate::privacy::{Accountant, Confidential, Cost, NoiseSource};
use crate::release::PanelMeasurement;
use crate::schema::{PanelFrame, PanelSchema, TargetSeries, Transform};
use crate::table::DonorRows;
use crate::workload::{DpscMethod, DpscWorkload};

/// A step that changes nothing has at least this standard deviation: of logarithms, and of levels as a part of the
/// distance between the bounds. Smaller ones would make of a constant series a forecast without error.
const LEAST_LOG_STEP: f64 = 0.005;
const LEAST_LEVEL_STEP: f64 = 0.001;

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
    /// Its part of the budget.
    pub share: Share,
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
        Forecast::new(
            &self.transformed_past(),
            horizon,
            self.schema.season,
            least_step,
        )
    }

    /// The same on the unit scale.
    pub fn unit_forecast(&self) -> Forecast {
        let past = &self.unit_series()[..self.frame.pre_periods];
        let horizon = self.frame.post_periods();
        Forecast::new(past, horizon, self.schema.season, 2.0 * LEAST_LEVEL_STEP)
    }

    /// The ridge penalty: the workload's, or four times the number of donors.
    pub fn lambda(&self) -> f64 {
        self.workload.lambda.unwrap_or(4.0 * self.donors() as f64)
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

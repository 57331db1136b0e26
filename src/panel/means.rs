//! `difference-in-differences` and `uniform`: donors with equal weights, as baselines.
//!
//! On the unit scale, donor `i` has `d_it = x_it - mean of x_i before the intervention` (difference in differences) or
//! `d_it = x_it` (uniform); the counterfactual is the target's own past mean plus the mean of `d_it`, or that mean.
//!
//! **Adjacency.** One donor's whole row is replaced; the target is public. **Sensitivity.** `|d_it| <= 2` or `1`, so
//! per period the mean moves by at most `4 / n` or `2 / n`, in the norm of the largest coordinate. **Charge.** The
//! whole share: pure `epsilon` by the K-norm mechanism of that norm, or Gaussian noise of L2 sensitivity `sqrt(R)`
//! times that.

use super::PanelError;
use super::channel::{Channel, Lattice, Rounding};
use super::control::{Control, NoiseTerm, PathScale};
use super::linear::{Spectrum, mean};
use super::method::{Method, Setting, expect};
use crate::privacy::{Accountant, Confidential, NoiseSource, Norm};
use crate::release::PanelMeasurement;
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use faer::Mat;

/// The measurement's name.
const NAME: &str = "donors' mean";

/// The method for one target.
pub struct Means<'a> {
    schema: &'a PanelSchema,
    donors: usize,
    pre_periods: usize,
    periods: usize,
    differences: bool,
    /// The target's own past mean, or zero.
    base: f64,
    channel: Channel,
    departure: Spectrum,
}

impl<'a> Means<'a> {
    /// Difference in differences.
    ///
    /// # Errors
    /// Where the share is too small.
    pub fn differences(setting: &Setting<'a>) -> Result<Means<'a>, PanelError> {
        Means::new(setting, true)
    }

    /// The donors' mean.
    ///
    /// # Errors
    /// Where the share is too small.
    pub fn levels(setting: &Setting<'a>) -> Result<Means<'a>, PanelError> {
        Means::new(setting, false)
    }

    fn new(setting: &Setting<'a>, differences: bool) -> Result<Means<'a>, PanelError> {
        let frame = setting.frame;
        let reach = if differences { 2.0 } else { 1.0 };
        let channel = Channel::new(
            setting.share,
            Norm::LInfinity,
            frame.post_periods(),
            2.0 * reach,
            Rounding::Sum,
        )?;
        let past = mean(&setting.unit_series()[..frame.pre_periods]);
        Ok(Means {
            schema: setting.schema,
            donors: setting.donors(),
            pre_periods: frame.pre_periods,
            periods: frame.post_periods(),
            differences,
            base: if differences { past } else { 0.0 },
            channel,
            departure: Control::unit_departure(setting, false),
        })
    }
}

/// The public question to the donors.
struct Question<'a> {
    schema: &'a PanelSchema,
    pre_periods: usize,
    differences: bool,
    lattice: Lattice,
}

fn sum(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let periods = rows
        .first()
        .map_or(0, |row| row.len() - question.pre_periods);
    let mut sum = vec![0; periods];
    for row in rows {
        let series: Vec<f64> = row.iter().map(|&x| question.schema.to_unit(x)).collect();
        let (before, after) = series.split_at(question.pre_periods);
        let base = if question.differences {
            mean(before)
        } else {
            0.0
        };
        let deviations: Vec<f64> = after.iter().map(|x| x - base).collect();
        question.lattice.add(&mut sum, &deviations);
    }
    sum
}

impl Method for Means<'_> {
    fn channels(&self) -> Vec<(&'static str, usize, Channel)> {
        vec![(NAME, self.periods, self.channel)]
    }

    fn measure(
        &self,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<PanelMeasurement>, PanelError> {
        let question = Question {
            schema: self.schema,
            pre_periods: self.pre_periods,
            differences: self.differences,
            lattice: self.channel.lattice(),
        };
        let exact = donors.ask(&question, sum);
        let measured = self.channel.release(NAME, exact, 0, accountant, noise)?;
        Ok(vec![measured])
    }

    fn control(&self, measurements: &[PanelMeasurement]) -> Result<Control, PanelError> {
        let [measured] = expect(measurements, [(NAME, self.periods)])?;
        let n = self.donors as f64;
        let numbers = measured.numbers();
        let path = numbers.iter().map(|sum| self.base + sum / n);
        let loadings = Mat::from_fn(self.periods, self.periods, |i, k| match i == k {
            true => 1.0 / n,
            false => 0.0,
        });
        Ok(Control {
            path: path.collect(),
            scale: PathScale::unit(self.schema),
            noise: vec![NoiseTerm::of(measured, loadings)],
            held_back: None,
            departure: Some(self.departure.clone()),
            is_worst_case: false,
        })
    }

    fn expected_deviation(&self) -> Vec<f64> {
        let deviation = self.channel.deviation(self.periods) / self.donors as f64;
        vec![deviation; self.periods]
    }
}

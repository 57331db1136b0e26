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
use super::control::{Control, NoiseTerm};
use super::fit::{Factor, FitMeasure, held_out_factor};
use super::holdout::{HoldOut, root_mean_square};
use super::linear::mean;
use super::method::{Method, Setting, expect};
use crate::privacy::{Accountant, Confidential, NoiseSource, Norm};
use crate::release::PanelMeasurement;
use crate::schema::PanelSchema;
use crate::table::DonorRows;

/// The measurement's name.
const NAME: &str = "donors' mean";

/// The method for one target.
pub struct Means<'a> {
    setting: Setting<'a>,
    differences: bool,
    /// The target's own past mean, or zero.
    base: f64,
    channel: Channel,
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
            setting: *setting,
            differences,
            base: if differences { past } else { 0.0 },
            channel,
        })
    }

    /// How far a donor's `d_t` can be from zero.
    fn reach(&self) -> f64 {
        if self.differences { 2.0 } else { 1.0 }
    }

    fn question(&self, pre_periods: usize, lattice: Lattice) -> Question<'_> {
        Question {
            schema: self.setting.schema,
            pre_periods,
            differences: self.differences,
            lattice,
        }
    }
}

/// The public question to the donors.
struct Question<'a> {
    schema: &'a PanelSchema,
    pre_periods: usize,
    differences: bool,
    lattice: Lattice,
}

impl Question<'_> {
    /// A donor's `d_t` from period `pre_periods` on.
    fn deviations(&self, row: &[f64]) -> Vec<f64> {
        let series: Vec<f64> = row.iter().map(|&x| self.schema.to_unit(x)).collect();
        let (before, after) = series.split_at(self.pre_periods);
        let base = if self.differences { mean(before) } else { 0.0 };
        after.iter().map(|x| x - base).collect()
    }
}

fn sum(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let periods = rows
        .first()
        .map_or(0, |row| row.len() - question.pre_periods);
    let mut sum = vec![0; periods];
    for row in rows {
        question.lattice.add(&mut sum, &question.deviations(row));
    }
    sum
}

/// The question that is asked of the held-out periods.
struct HeldOut<'a> {
    question: Question<'a>,
    past: &'a [f64],
}

fn held_out_error(rows: &DonorRows, of: &HeldOut<'_>) -> Vec<i64> {
    let (out, question) = (HoldOut::of(of.past.len()), &of.question);
    let base = match question.differences {
        true => mean(&of.past[..out.fitted]),
        false => 0.0,
    };
    let mut path = vec![base; out.held];
    for row in rows {
        let deviations = question.deviations(row);
        let parts = path.iter_mut().zip(deviations);
        parts.for_each(|(p, d)| *p += d / rows.len() as f64);
    }
    let errors = out.errors(of.past, path.into_iter());
    question.lattice.nearest(&[root_mean_square(&errors)])
}

/// The error on the held-out periods. **Sensitivity.** That of the mean per period, `4 / n` or `2 / n`: the root mean square
/// moves by no more than the largest of its terms.
struct HeldOutMean<'m, 'a>(&'m Means<'a>);

impl FitMeasure for HeldOutMean<'_, '_> {
    fn sensitivity(&self) -> f64 {
        self.0.reach() * 2.0 / self.0.setting.donors() as f64
    }

    fn rounding(&self) -> Rounding {
        Rounding::Nearest
    }

    fn ask(&self, donors: &Confidential<DonorRows>, lattice: Lattice) -> Confidential<Vec<i64>> {
        let means = self.0;
        let past = &means.setting.unit_series()[..means.setting.frame.pre_periods];
        let of = HeldOut {
            question: means.question(HoldOut::of(past.len()).fitted, lattice),
            past,
        };
        donors.ask(&of, held_out_error)
    }

    fn factor(&self, _: &[PanelMeasurement]) -> Result<Factor, PanelError> {
        Ok(held_out_factor(&self.0.setting))
    }
}

impl Method for Means<'_> {
    fn channels(&self) -> Vec<(&'static str, usize, Channel)> {
        vec![(NAME, self.setting.frame.post_periods(), self.channel)]
    }

    fn measure(
        &self,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<PanelMeasurement>, PanelError> {
        let asked = (
            donors,
            &self.question(self.setting.frame.pre_periods, self.channel.lattice()),
        );
        let measured = self.channel.answer(NAME, asked, sum, accountant, noise)?;
        Ok(vec![measured])
    }

    fn control(&self, measurements: &[PanelMeasurement]) -> Result<Control, PanelError> {
        let periods = self.setting.frame.post_periods();
        let [measured] = expect(measurements, [(NAME, periods)])?;
        let part = 1.0 / self.setting.donors() as f64;
        let path = measured
            .numbers()
            .iter()
            .map(|sum| self.base + part * sum)
            .collect();
        Ok(Control::on_unit_scale(
            &self.setting,
            path,
            NoiseTerm::each(measured, part),
        ))
    }

    fn fit(&self) -> Option<Box<dyn FitMeasure + '_>> {
        Some(Box::new(HeldOutMean(self)))
    }

    fn expected_deviation(&self) -> Vec<f64> {
        let periods = self.setting.frame.post_periods();
        let deviation = self.channel.deviation(periods) / self.setting.donors() as f64;
        vec![deviation; periods]
    }
}

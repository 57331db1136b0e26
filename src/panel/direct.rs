//! `direct`: the ridge counterfactual with noise added.
//!
//! Ridge weights on donors give the same counterfactual as ridge coefficients on periods, `C (K + mu I)^-1 y` with `K` the
//! donors' Gram matrix over the periods before and `C` their products with later ones: sums over donors, which one
//! donor moves little where there are many. The counterfactual is clipped to the unit scale and released.
//!
//! **Adjacency.** One donor's whole row is replaced; the target is public. **Sensitivity.** Per period that of
//! [the counterfactual](super::sensitivity), at most 2, so the same in the norm of the largest coordinate; it falls as
//! `1 / n` where the penalty grows with `n`. Clipping brings no two values apart. **Charge.** The whole share: pure by
//! the K-norm mechanism, or Gaussian of L2 sensitivity `sqrt(R)` times as much. With `stage2: att` the mean over the
//! periods is released instead, of the same sensitivity.

use super::PanelError;
use super::channel::{Channel, Lattice, Rounding};
use super::control::{Control, NoiseTerm};
use super::fit::{FitMeasure, RidgeFit};
use super::linear::{length, mean};
use super::method::{Method, Setting, expect};
use super::ridge::{Ridge, weighted_sum};
use super::second_stage::unit_rows;
use super::sensitivity;
use crate::privacy::{Accountant, Confidential, NoiseSource, Norm};
use crate::release::PanelMeasurement;
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use crate::workload::SecondStage;

/// The measurement's name.
const NAME: &str = "counterfactual";

/// The method for one target.
pub struct Direct<'a> {
    setting: Setting<'a>,
    past: Vec<f64>,
    lambda: f64,
    is_mean: bool,
    channel: Channel,
}

impl<'a> Direct<'a> {
    /// # Errors
    /// Where the share is too small.
    pub fn new(setting: &Setting<'a>) -> Result<Direct<'a>, PanelError> {
        let pre = setting.frame.pre_periods;
        let past = setting.unit_series()[..pre].to_vec();
        let lambda = setting.lambda()?;
        let is_mean = setting.workload.stage2 == SecondStage::Att;
        let sensitivity = sensitivity::counterfactual(length(&past), setting.donors(), pre, lambda);
        let cells = if is_mean {
            1
        } else {
            setting.frame.post_periods()
        };
        let channel = Channel::new(
            setting.share,
            Norm::LInfinity,
            cells,
            sensitivity.max(f64::MIN_POSITIVE.sqrt()),
            Rounding::Nearest,
        )?;
        Ok(Direct {
            setting: *setting,
            past,
            lambda,
            is_mean,
            channel,
        })
    }

    fn cells(&self) -> usize {
        match self.is_mean {
            true => 1,
            false => self.setting.frame.post_periods(),
        }
    }
}

/// The public question to the donors.
struct Question<'a> {
    schema: &'a PanelSchema,
    past: &'a [f64],
    lambda: f64,
    is_mean: bool,
    lattice: Lattice,
}

fn counterfactual(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let rows = unit_rows(rows, question.schema);
    let pre = question.past.len();
    let weights = Ridge::new(&rows, pre).weights(question.past, question.lambda);
    let mut path = weighted_sum(&rows, &weights, pre);
    path.iter_mut()
        .for_each(|value| *value = value.clamp(-1.0, 1.0));
    match question.is_mean {
        true => question.lattice.nearest(&[mean(&path)]),
        false => question.lattice.nearest(&path),
    }
}

impl Method for Direct<'_> {
    fn channels(&self) -> Vec<(&'static str, usize, Channel)> {
        vec![(NAME, self.cells(), self.channel)]
    }

    fn measure(
        &self,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<PanelMeasurement>, PanelError> {
        let question = Question {
            schema: self.setting.schema,
            past: &self.past,
            lambda: self.lambda,
            is_mean: self.is_mean,
            lattice: self.channel.lattice(),
        };
        let asked = (donors, &question);
        let measured = (self.channel).answer(NAME, asked, counterfactual, accountant, noise)?;
        Ok(vec![measured])
    }

    fn control(&self, measurements: &[PanelMeasurement]) -> Result<Control, PanelError> {
        let [measured] = expect(measurements, [(NAME, self.cells())])?;
        let noise = NoiseTerm::each(measured, 1.0);
        Ok(Control::on_unit_scale(
            &self.setting,
            measured.numbers(),
            noise,
        ))
    }

    fn fit(&self) -> Option<Box<dyn FitMeasure + '_>> {
        Some(Box::new(RidgeFit::new(
            &self.setting,
            &self.past,
            self.lambda,
        )))
    }

    fn expected_deviation(&self) -> Vec<f64> {
        vec![self.channel.deviation(self.cells()); self.cells()]
    }
}

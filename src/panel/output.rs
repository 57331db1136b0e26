//! `output`: ridge weights with noise added, then a [second stage](super::second_stage). Algorithm 2 of Rho, Cummings
//! and Misra (2023), with the length of the noise of the law that their proof needs.
//!
//! **Adjacency.** One donor's whole row is replaced; the target is public. **Sensitivity.** That of the weights in
//! Euclid's norm, [exact or the paper's](super::sensitivity). **Charge.** The weights' share, pure by the K-norm
//! mechanism in `n` dimensions or Gaussian, plus the second stage's share.
//!
//! The interval's account of the first stage's noise is a bound: noise `v` moves a period's counterfactual by `x' v`
//! with `|x| <= sqrt(n)`, the donors' values being confidential, in all periods alike at worst.

use super::PanelError;
use super::channel::{Channel, Lattice, Rounding, Share};
use super::control::{Control, NoiseTerm, PathScale};
use super::division::cost_of;
use super::fit::{FitMeasure, RidgeFit};
use super::linear::length;
use super::method::{Method, Setting};
use super::ridge::Ridge;
use super::second_stage::{Stage, unit_rows};
use super::sensitivity;
use crate::privacy::{Accountant, Confidential, Cost, NoiseSource, Norm};
use crate::release::PanelMeasurement;
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use crate::workload::{SecondStage, WeightSensitivity};
use faer::Mat;

/// The first measurement's name, here and in [`objective`](super::objective).
pub const WEIGHTS: &str = "weights";

/// The method for one target.
pub struct Output<'a> {
    setting: Setting<'a>,
    past: Vec<f64>,
    lambda: f64,
    channel: Channel,
    rest: Share,
}

impl<'a> Output<'a> {
    /// # Errors
    /// Where the share is too small.
    pub fn new(setting: &Setting<'a>) -> Result<Output<'a>, PanelError> {
        let pre = setting.frame.pre_periods;
        let past = setting.unit_series()[..pre].to_vec();
        let lambda = setting.lambda()?;
        let sensitivity = match setting.workload.sensitivity {
            WeightSensitivity::Exact => sensitivity::weights(length(&past), pre, lambda),
            WeightSensitivity::Paper => {
                sensitivity::weights_of_paper(setting.donors(), pre, lambda)
            }
        };
        let share = setting.workload.weights_share;
        let channel = Channel::new(
            setting.share.part(share),
            Norm::L2,
            setting.donors(),
            // A target of zeros has weights of zeros, and noise all the same.
            sensitivity.max(f64::MIN_POSITIVE.sqrt()),
            Rounding::Nearest,
        )?;
        Ok(Output {
            setting: *setting,
            past,
            lambda,
            channel,
            rest: setting.share.part(1.0 - share),
        })
    }
}

/// The public question to the donors.
struct Question<'a> {
    schema: &'a PanelSchema,
    past: &'a [f64],
    lambda: f64,
    lattice: Lattice,
}

fn weights(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let rows = unit_rows(rows, question.schema);
    let ridge = Ridge::new(&rows, question.past.len());
    question
        .lattice
        .nearest(&ridge.weights(question.past, question.lambda))
}

/// The second stage of a setting, for released weights.
fn stage<'a>(
    setting: &Setting<'a>,
    weights: Vec<f64>,
    share: Share,
) -> Result<Stage<'a>, PanelError> {
    let (pre, periods) = (setting.frame.pre_periods, setting.frame.post_periods());
    Stage::new(
        setting.schema,
        setting.workload.stage2,
        pre,
        periods,
        weights,
        share,
    )
}

/// Released weights and the second stage that follows them, which is charged and drawn.
///
/// # Errors
/// Where the accountant refuses.
pub fn with_second_stage(
    setting: &Setting<'_>,
    rest: Share,
    first: PanelMeasurement,
    donors: &Confidential<DonorRows>,
    (accountant, noise): (&mut Accountant, &mut NoiseSource),
) -> Result<Vec<PanelMeasurement>, PanelError> {
    let stage = stage(setting, first.numbers(), rest)?;
    let second = stage.measure(donors, accountant, noise)?;
    Ok(vec![first, second])
}

/// The counterfactual of released weights and a second stage.
///
/// # Errors
/// Where the measurements are others.
pub fn control_of(
    setting: &Setting<'_>,
    measurements: &[PanelMeasurement],
    rest: Share,
) -> Result<Control, PanelError> {
    let n = setting.donors();
    let [first, second] = measurements else {
        return Err(PanelError::Release("two measurements are expected".into()));
    };
    if first.name != WEIGHTS || first.values.len() != n {
        return Err(PanelError::Release(format!(
            "{WEIGHTS:?} with {n} values is expected"
        )));
    }
    let projected = stage(setting, first.numbers(), rest)?.project(second)?;
    let length = projected.path.len();
    let worst = NoiseTerm {
        law: first.law,
        scale: first.noise_scale(),
        dimension: n,
        loadings: Mat::from_fn(length, 1, |_, _| (n as f64).sqrt()),
    };
    Ok(Control {
        path: projected.path,
        scale: PathScale::unit(setting.schema),
        noise: vec![worst, projected.noise],
        held_back: None,
        departure: Some(Control::unit_departure(
            setting,
            setting.workload.stage2 == SecondStage::Att,
        )),
        fit: None,
        is_worst_case: true,
    })
}

impl Method for Output<'_> {
    fn channels(&self) -> Vec<(&'static str, usize, Channel)> {
        vec![(WEIGHTS, self.setting.donors(), self.channel)]
    }

    fn cost(&self) -> Cost {
        self.channel.cost().plus(&cost_of(self.rest))
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
            lattice: self.channel.lattice(),
        };
        let asked = (donors, &question);
        let first = (self.channel).answer(WEIGHTS, asked, weights, accountant, noise)?;
        with_second_stage(&self.setting, self.rest, first, donors, (accountant, noise))
    }

    fn control(&self, measurements: &[PanelMeasurement]) -> Result<Control, PanelError> {
        control_of(&self.setting, measurements, self.rest)
    }

    fn fit(&self) -> Option<Box<dyn FitMeasure + '_>> {
        Some(Box::new(RidgeFit::new(
            &self.setting,
            &self.past,
            self.lambda,
        )))
    }

    fn expected_deviation(&self) -> Vec<f64> {
        let n = self.setting.donors();
        let one = self.channel.deviation(n);
        expected(&self.setting, one, self.rest)
    }

    fn is_worst_case(&self) -> bool {
        true
    }
}

/// The deviation per period of weights whose noise has this deviation each, and of the second stage: `F` is about the
/// noise's largest part, since the weights themselves are small.
pub fn expected(setting: &Setting<'_>, of_weight: f64, rest: Share) -> Vec<f64> {
    let (n, periods) = (setting.donors(), setting.frame.post_periods());
    let largest = of_weight * (2.0 * (n as f64).ln().max(1.0)).sqrt();
    let second = match setting.workload.stage2 {
        SecondStage::Matrix => {
            rest.deviation(n * periods, 2.0 * (periods as f64).sqrt())
                * of_weight
                * (n as f64).sqrt()
        }
        SecondStage::Projected => match rest {
            Share::Pure(epsilon) => {
                let r = periods as f64;
                2.0 * largest / epsilon * ((r + 1.0) * (r + 2.0) / 3.0).sqrt()
            }
            gaussian @ Share::Gaussian(_) => {
                gaussian.deviation(periods, 2.0 * largest * (periods as f64).sqrt())
            }
        },
        SecondStage::Att => rest.deviation(1, 2.0 * largest),
    };
    let first = of_weight * (n as f64).sqrt();
    vec![
        first.hypot(second);
        if setting.workload.stage2 == SecondStage::Att {
            1
        } else {
            periods
        }
    ]
}

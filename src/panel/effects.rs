//! Effects of the intervention, with intervals: per period, cumulative, and the mean (ATT).
//!
//! An effect is what was observed less the private counterfactual. Two errors separate it from the truth, and they are
//! stated apart: the **privacy** error, noise of a known law, and the target's own **departure** from its donors, whose
//! covariance the target's past gives (a synthetic control without privacy has it too, and it is what placebos show),
//! with what shrinkage held back because of the noise. Where a share of the budget went to a [fit](super::fit), the
//! departure is what that says. Intervals come from draws of both laws, so they hold at any
//! level and need not be symmetric; the part for privacy alone, where the same estimate without noise lies, stands
//! beside.

use super::PanelError;
use super::control::Control;
use super::fit::ReleasedFit;
use super::linear::mean;
use super::method::Setting;
use super::released::{controls, setting};
use crate::impute::{Purpose, stream};
use crate::release::CheckedPanelRelease;
use crate::workload::DpscMethod;
use rand::Rng;
use serde::Serialize;

/// The draws behind an interval: its ends at level .95 are then within some 2 % of their own standard deviation.
const DRAWS: usize = 20_000;

/// The draws behind the interval of a fit.
const FIT_DRAWS: usize = 4_000;

/// An effect with its errors, in the outcome's units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectEstimate {
    /// The estimate.
    pub estimate: f64,
    /// The interval for the effect: privacy and departure.
    pub interval: [f64; 2],
    /// The interval for the estimate without noise: privacy alone.
    pub privacy_interval: [f64; 2],
    /// The standard deviation by privacy.
    pub privacy_deviation: f64,
    /// The standard deviation by departure and by what was held back.
    pub departure_deviation: f64,
}

/// The effect in one period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeriodEffect {
    /// The period.
    pub period: String,
    /// The target's outcome.
    pub observed: f64,
    /// The private counterfactual.
    pub counterfactual: f64,
    /// The effect.
    #[serde(flatten)]
    pub effect: EffectEstimate,
}

/// The forecast of a target from its own past alone, which costs nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForecastEffect {
    /// The mean effect by that forecast.
    pub estimate: f64,
    /// The forecast's own standard deviation, of the mean.
    pub deviation: f64,
}

/// What the donors said of the model's error, where a share of the budget was for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitEstimate {
    /// The departure's standard deviation, over the one that the target's own past alone gives.
    pub ratio: f64,
    /// Where the same ratio without noise lies, at the level of the intervals.
    pub interval: [f64; 2],
    /// The root mean square error of the counterfactual over the last periods before the intervention, fitted to the
    /// earlier ones, in the outcome's units; of methods that have one.
    pub held_out_error: Option<f64>,
}

/// What an analysis says of one target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetEffects {
    /// The unit.
    pub unit: String,
    /// Whether it was not treated.
    pub placebo: bool,
    /// The method.
    pub method: DpscMethod,
    /// The ridge penalty, of methods that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// The level of the intervals.
    pub level: f64,
    /// By period, where the path was released.
    pub periods: Vec<PeriodEffect>,
    /// The mean over the periods from the intervention on.
    pub att: EffectEstimate,
    /// The sum over the same.
    pub cumulative: EffectEstimate,
    /// The answer without any budget.
    pub forecast: ForecastEffect,
    /// Whether the privacy error is a bound that holds whatever the donors are.
    pub is_worst_case: bool,
    /// What the donors said of the model's error, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<FitEstimate>,
}

/// The effects on every target.
///
/// # Errors
/// Where the release's measurements are not those of its workload.
pub fn effects(
    release: &CheckedPanelRelease,
    level: f64,
    seed: u64,
) -> Result<Vec<TargetEffects>, PanelError> {
    let all = controls(release)?.into_iter().enumerate();
    all.map(|(target, control)| {
        let setting = setting(release, target)?;
        let method = release.document.controls[target].method;
        Ok(of_target(&setting, &control, method, level, (seed, DRAWS)))
    })
    .collect()
}

/// The effects on one target, from a seed and a number of draws.
pub fn of_target(
    setting: &Setting<'_>,
    control: &Control,
    method: DpscMethod,
    level: f64,
    (seed, draws): (u64, usize),
) -> TargetEffects {
    let series = setting.series();
    let pre = setting.frame.pre_periods;
    let observed = &series.values[pre..];
    let truth = |path: &[f64]| effects_of(observed, control, path);
    let estimates = truth(&control.path);
    let mut rng = stream(seed, Purpose::Posterior, setting.target as u64);
    let mut privacy = Columns::new(estimates.len());
    let mut whole = Columns::new(estimates.len());
    for _ in 0..draws {
        let mut path = control.draw(&mut rng);
        privacy.push(truth(&path));
        control.add_departure(&mut path, &mut rng);
        whole.push(truth(&path));
    }
    let summary = |k: usize| {
        let (private, both) = (privacy.summary(k, level), whole.summary(k, level));
        let departure = (both.variance - private.variance).max(0.0);
        EffectEstimate {
            estimate: estimates[k],
            interval: both.interval,
            privacy_interval: private.interval,
            privacy_deviation: private.variance.sqrt(),
            departure_deviation: departure.sqrt(),
        }
    };
    let att = summary(estimates.len() - 1);
    let periods = (0..estimates.len() - 1).map(|k| PeriodEffect {
        period: setting.frame.periods[pre + k].clone(),
        observed: observed[k],
        counterfactual: observed[k] - estimates[k],
        effect: summary(k),
    });
    TargetEffects {
        unit: series.unit.clone(),
        placebo: series.placebo,
        method,
        level,
        periods: periods.collect(),
        // A value stands for as many periods as a block has.
        cumulative: times(&att, (observed.len() * setting.workload.block) as f64),
        att,
        forecast: forecast_effect(setting),
        is_worst_case: control.is_worst_case,
        fit: control
            .fit
            .map(|fit| fit_estimate(&fit, control, level, rng)),
        lambda: setting.lambda().ok().filter(|_| method.is_ridge()),
    }
}

fn fit_estimate<R: Rng>(
    fit: &ReleasedFit,
    control: &Control,
    level: f64,
    mut rng: R,
) -> FitEstimate {
    let mut draws = Columns::new(1);
    for _ in 0..FIT_DRAWS {
        draws.push(vec![fit.draw(&mut rng).sqrt()]);
    }
    FitEstimate {
        ratio: fit.factor().sqrt(),
        interval: draws.summary(0, level).interval,
        held_out_error: fit
            .held_out_error()
            .map(|error| error * control.scale.slope(0.0)),
    }
}

/// Effects by period, where the path has periods, and last their mean.
fn effects_of(observed: &[f64], control: &Control, path: &[f64]) -> Vec<f64> {
    let outcome = |value: &f64| control.scale.outcome(*value);
    if path.len() < observed.len() {
        return vec![mean(observed) - path.first().map_or(0.0, outcome)];
    }
    let mut effects: Vec<f64> = observed
        .iter()
        .zip(path)
        .map(|(y, p)| y - outcome(p))
        .collect();
    effects.push(mean(&effects));
    effects
}

fn times(effect: &EffectEstimate, factor: f64) -> EffectEstimate {
    EffectEstimate {
        estimate: effect.estimate * factor,
        interval: effect.interval.map(|end| end * factor),
        privacy_interval: effect.privacy_interval.map(|end| end * factor),
        privacy_deviation: effect.privacy_deviation * factor,
        departure_deviation: effect.departure_deviation * factor,
    }
}

/// The answer without any budget.
pub fn forecast_effect(setting: &Setting<'_>) -> ForecastEffect {
    let forecast = setting.forecast();
    let transform = setting.schema.transform();
    let observed = &setting.series().values[setting.frame.pre_periods..];
    let expected: Vec<f64> = forecast
        .path
        .iter()
        .map(|&value| transform.invert(value))
        .collect();
    let scale = super::control::PathScale::compared(setting.schema);
    let slopes: Vec<f64> = forecast
        .path
        .iter()
        .map(|&value| scale.slope(value))
        .collect();
    let r = slopes.len();
    let variance: f64 = (0..r * r)
        .map(|at| slopes[at / r] * forecast.covariance[(at / r, at % r)] * slopes[at % r])
        .sum();
    ForecastEffect {
        estimate: mean(observed) - mean(&expected),
        deviation: variance.sqrt() / r as f64,
    }
}

/// Draws of several quantities.
struct Columns(Vec<Vec<f64>>);

struct Summary {
    interval: [f64; 2],
    variance: f64,
}

impl Columns {
    fn new(count: usize) -> Columns {
        Columns(vec![Vec::new(); count])
    }

    fn push(&mut self, values: Vec<f64>) {
        self.0
            .iter_mut()
            .zip(values)
            .for_each(|(column, value)| column.push(value));
    }

    fn summary(&self, k: usize, level: f64) -> Summary {
        let mut sorted = self.0[k].clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len() - 1;
        let at = |p: f64| {
            let place = p * last as f64;
            let (low, part) = (place.floor() as usize, place.fract());
            sorted[low] + part * (sorted[(low + 1).min(last)] - sorted[low])
        };
        let centre = mean(&sorted);
        let squares: f64 = sorted.iter().map(|x| (x - centre).powi(2)).sum();
        Summary {
            interval: [at((1.0 - level) / 2.0), at(f64::midpoint(1.0, level))],
            variance: squares / last as f64,
        }
    }
}

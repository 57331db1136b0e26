//! What a budget would buy, from public numbers: the noise of every method, and whether spending is worth it.
//!
//! The forecast of the target by its own past costs nothing and has a known error. What a release adds is what the
//! donors' errors have in common with the target's; whatever that is, the part of the forecast's variance that privacy
//! leaves unexplained, `remaining`, bounds from below what is left of the error. Where it is most of it, the budget buys
//! next to nothing. What the donors explain is not public, so the part of it from which on a release does better than the
//! forecast stands beside.

use super::PanelError;
use super::control::PathScale;
use super::division::Division;
use super::linear::{length, mean};
use super::method::Setting;
use super::plan::PanelPlan;
use crate::workload::DpscMethod;
use serde::Serialize;

/// A budget that leaves more than this part of the forecast's standard deviation is hardly worth spending.
const HARDLY_WORTH: f64 = 0.5;

/// One method's expected noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodExpectation {
    /// The method.
    pub method: DpscMethod,
    /// The root mean square over the periods of the privacy error, in the outcome's units.
    pub deviation: f64,
    /// Whether that is a bound, usually far above the truth.
    pub is_worst_case: bool,
    /// The ridge penalty, where the method has one.
    pub lambda: Option<f64>,
}

/// What is expected of one target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetExpectation {
    /// The unit.
    pub unit: String,
    /// The root mean square error of the forecast by its own past, in the outcome's units.
    pub forecast_deviation: f64,
    /// The part of that which the planned method's privacy error amounts to.
    pub remaining: f64,
    /// The part of the forecast's error variance that the donors have to explain for the planned method to do better
    /// than the forecast alone; above 1 where nothing could.
    pub break_even: f64,
    /// Whether spending is worth it.
    pub is_worth_it: bool,
    /// The methods that the budget allows.
    pub methods: Vec<MethodExpectation>,
}

/// What is expected of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expectation {
    /// By target.
    pub targets: Vec<TargetExpectation>,
}

/// The methods that are compared.
const METHODS: [DpscMethod; 7] = [
    DpscMethod::Index,
    DpscMethod::Balance,
    DpscMethod::Direct,
    DpscMethod::Output,
    DpscMethod::Objective,
    DpscMethod::DifferenceInDifferences,
    DpscMethod::Uniform,
];

/// Ridge penalties per donor that are tried for `direct`.
const PENALTIES: [f64; 5] = [0.5, 2.0, 4.0, 16.0, 64.0];

/// What is expected of a plan. Touches no donor's values.
///
/// # Errors
/// Where the plan's own method can't be made.
pub fn expectation(plan: &PanelPlan) -> Result<Expectation, PanelError> {
    let targets = (0..plan.frame.targets.len()).map(|target| of_target(plan, target));
    Ok(Expectation {
        targets: targets.collect::<Result<_, _>>()?,
    })
}

fn of_target(plan: &PanelPlan, target: usize) -> Result<TargetExpectation, PanelError> {
    let setting = plan.setting(target, None);
    let forecast = setting.forecast();
    let own: Vec<f64> = (0..forecast.path.len())
        .map(|h| forecast.covariance[(h, h)].sqrt())
        .collect();
    let compared = PathScale::compared(setting.schema);
    let forecast_deviation = in_outcome(&own, &forecast.path, compared);
    let planned = of_method(&setting, plan.method)?.deviation;
    let mut methods = Vec::new();
    for method in METHODS {
        let targets = plan.frame.targets.len();
        let Ok(division) = Division::new(method, &plan.workload, &plan.budget, targets) else {
            continue;
        };
        let setting = Setting {
            share: division.method,
            ..setting
        };
        // What the budget does not allow has no noise to show.
        if let Ok(expected) = of_method(&setting, method) {
            methods.push(expected);
        }
    }
    let remaining = planned / forecast_deviation;
    Ok(TargetExpectation {
        unit: setting.series().unit.clone(),
        forecast_deviation,
        remaining,
        break_even: break_even(remaining, plan.method),
        is_worth_it: remaining <= HARDLY_WORTH,
        methods,
    })
}

/// What the donors have to explain, `s`, as a part of the forecast's error variance `V`. A method whose noise has the
/// variance `p V` leaves `(1 - s) + p` of it: less than one where `s > p`. One that shrinks what it releases by `g`, the
/// posterior mean's factor, with `p = 1 - g`, leaves `(1 - s) + (1 - g)^2 s + g (1 - g)`: less than one where `s > p / (1 +
/// p)`.
fn break_even(remaining: f64, method: DpscMethod) -> f64 {
    let part = remaining * remaining;
    match method {
        DpscMethod::Index | DpscMethod::Balance => part / (1.0 + part),
        _ => part,
    }
}

fn of_method(setting: &Setting<'_>, method: DpscMethod) -> Result<MethodExpectation, PanelError> {
    let is_free = setting.workload.lambda.is_none() && setting.workload.grid.is_none();
    if method == DpscMethod::Direct && is_free {
        return best_penalty(setting);
    }
    let made = setting.method(method)?;
    let compared = matches!(method, DpscMethod::Index | DpscMethod::Balance);
    let forecast = setting.forecast();
    let scale = match compared {
        true => PathScale::compared(setting.schema),
        false => PathScale::unit(setting.schema),
    };
    Ok(MethodExpectation {
        method,
        deviation: in_outcome(&made.expected_deviation(), &forecast.path, scale),
        is_worst_case: made.is_worst_case(),
        lambda: method.is_ridge().then(|| setting.lambda()).transpose()?,
    })
}

/// `direct` at the penalty with the least noise per unit of what shrinkage leaves of the weights: penalties are compared
/// by noise and by the pull of the counterfactual towards the middle of the bounds, a worst case of which is the target's
/// own distance from there.
fn best_penalty(setting: &Setting<'_>) -> Result<MethodExpectation, PanelError> {
    let mut best: Option<(f64, MethodExpectation)> = None;
    for per_donor in PENALTIES {
        let workload = crate::workload::DpscWorkload {
            lambda: Some(per_donor * setting.donors() as f64),
            ..setting.workload.clone()
        };
        let tried = of_method(
            &Setting {
                workload: &workload,
                ..*setting
            },
            DpscMethod::Direct,
        )?;
        // Donors that all stood where the target stands would give n T0 / (mu + n T0) of it.
        let sum = 2.0 * setting.frame.pre_periods as f64 / per_donor;
        let away = mean(&setting.unit_series()[..setting.frame.pre_periods]).abs();
        let pull = PathScale::unit(setting.schema).slope(0.0) * away / (1.0 + sum);
        let error = tried.deviation.hypot(pull);
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, tried));
        }
    }
    best.map(|(_, expected)| expected)
        .ok_or_else(|| PanelError::Configuration("no penalty can be tried".into()))
}

/// Deviations on a path's scale, in the outcome's units about a path on the compared scale: their root mean square.
fn in_outcome(deviations: &[f64], path: &[f64], scale: PathScale) -> f64 {
    let middle = mean(path);
    let scaled = deviations
        .iter()
        .enumerate()
        .map(|(h, deviation)| deviation * scale.slope(path.get(h).copied().unwrap_or(middle)));
    let scaled: Vec<f64> = scaled.collect();
    length(&scaled) / (scaled.len() as f64).sqrt()
}

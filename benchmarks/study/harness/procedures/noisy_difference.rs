//! The noisy difference in means: the whole budget on the arms' sizes and sums. A comparator: no
//! adjustment, and the least noise.
//!
//! Per arm `t` the sums `A = sum (1 - Y)`, `B = sum Y` with noise of variance `s^2` give `N = A + B` and
//! `ybar = B / N`, whose noise variance is `s^2 (ybar^2 + (1 - ybar)^2) / N^2` to first order. Of a numeric
//! outcome a twentieth of the budget goes to `sum Y (1 - Y)`, from which the outcome's variance follows.

use super::measuring;
use super::{Findings, Input, Procedure, Settings, normal};
use anyhow::{Context, Result, ensure};
use dpcausal::privacy::{Cost, GaussianMechanism};
use dpcausal::release::Measurement;

const WORKLOAD: &str = "
format: dpcausal.workload/1
mechanism: causal
blocks:
  hub: {share: 0.95}
  spread: {share: 0.05}
";

/// The share of the outcome's spread, of a numeric outcome.
const SPREAD: f64 = 0.05;

/// A variance below this, of an outcome in [0, 1], is noise: the variance of one record in a thousand
/// at the other end.
const LEAST_VARIANCE: f64 = 0.001;

/// The procedure.
pub struct NoisyDifference;

impl Procedure for NoisyDifference {
    fn run(&self, input: &Input, _: &Settings) -> Result<Findings> {
        let measured = measure(input)?;
        let find = |name: &str| measured.iter().find(|m| m.name == name);
        let moments = find("hub:moments").context("no moments")?;
        let values = moments.records();
        let noise = moments.sigma_records().powi(2);
        let spread = find("spread").map(Measurement::records);
        let (mut value, mut variance) = (0.0, 0.0);
        for (arm, sign) in [(0, -1.0), (1, 1.0)] {
            let (a, b) = (values[2 * arm], values[2 * arm + 1]);
            let n = a + b;
            ensure!(n > 1.0, "the noisy size of an arm is below 2");
            let mean = b / n;
            let spread = spread.as_ref().map_or(0.0, |spread| spread[arm] / n);
            // E Y^2 = E Y - E Y(1 - Y); no outcome in [0, 1] has a variance beyond m (1 - m) <= 1/4.
            let of_outcome = (mean - spread - mean * mean).clamp(LEAST_VARIANCE, 0.25);
            value += sign * mean;
            variance += of_outcome / n + noise * (mean * mean + (1.0 - mean).powi(2)) / (n * n);
        }
        let (_, width) = input.schema.outcome_range();
        Ok(Findings::from(vec![normal(
            "difference-in-means",
            input.main_question(),
            width * value,
            width * width * variance,
        )]))
    }
}

/// The moments, and the spread of a numeric outcome, at the whole budget.
fn measure(input: &Input) -> Result<Vec<Measurement>> {
    let (mut plan, file) = measuring::plan(input, WORKLOAD)?;
    let total = plan
        .guarantee
        .budget
        .total(plan.workload.accountant)?
        .gaussian_mu_squared();
    // The workload's hub spends half on a histogram of numeric outcomes; here it goes to the moments.
    plan.measurements
        .retain(|m| m.query.name != "hub:histogram");
    let has_spread = plan.measurements.len() > 1;
    for m in &mut plan.measurements {
        let share = match (has_spread, m.query.name.as_str()) {
            (false, _) => 1.0,
            (true, "spread") => SPREAD,
            (true, _) => 1.0 - SPREAD,
        };
        m.mechanism = GaussianMechanism::new(m.mechanism.sensitivity(), total * share)?;
    }
    let costs = plan.measurements.iter().map(|m| m.mechanism.cost());
    plan.cost = costs.fold(Cost::ZERO, |sum, cost| sum.plus(&cost));
    Ok(measuring::release(input, &plan, file)?.measurements)
}

//! How near the optimum a fit comes, and at what cost: with the entropy term of releases, and without any.
//!
//! The least of `1/2 sum ((q - n Q p) / sigma)^2` alone is what the published mechanisms look for. It is reached by fits
//! with an entropy term whose reference measure is the fit before (a proximal point method: the term vanishes at the
//! optimum), and whose weight falls from fit to fit.

use crate::meter::cpu_seconds;
use dpcausal::model::{Calibration, Calibrator, LeastMisfit, Problem, ReferenceFactor, Settings};
use serde_json::{Value, json};

/// The weights of the entropy terms.
#[derive(Clone, Copy)]
pub struct Schedule {
    /// The first.
    pub first: f64,
    /// The next, relative to the one before.
    pub factor: f64,
    /// The relative duality gap of each fit.
    pub tolerance: f64,
    /// Whether the path is run at all.
    pub by_entropy: bool,
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule {
            first: 1e-2,
            factor: 0.5,
            tolerance: 1e-6,
            by_entropy: false,
        }
    }
}

/// Fits of a release's kind take a weight of this many times `1 / sigma`, so that values are pulled by a tenth of their
/// noise.
const RELEASE_PULL: f64 = 0.1;
/// Fits, each from the one before, until the loss moves by less than [`STILL`] of itself.
const MOST_FITS: usize = 40;
const STILL: f64 = 1e-9;
/// Below this weight a fit takes more evaluations than several of a larger one.
const LEAST_WEIGHT: f64 = 1e-3;
/// The gap to which the least loss is found.
const LEAST_GAP: f64 = 1e-9;
/// What counts as the optimum, relative to the long run's loss.
const REACHED: f64 = 1e-6;

/// Lines of results for one problem.
pub fn compare(name: &str, problem: &Problem, schedule: Schedule) -> Vec<Value> {
    let mut lines = Vec::new();
    let sigma = problem
        .measurements
        .iter()
        .map(|m| m.sigma)
        .fold(0.0, f64::max);
    let weight = RELEASE_PULL / sigma;
    let start = cpu_seconds();
    let fit = calibrate(problem, weight, 1e-6);
    lines.push(json!({
        "problem": name, "fit": "with the entropy term of a release", "weight": weight, "loss": loss(&fit),
        "relative_gap": fit.diagnostics.relative_gap, "evaluations": fit.diagnostics.evaluations,
        "cpu": cpu_seconds() - start,
    }));
    let start = cpu_seconds();
    let exact = LeastMisfit::find(problem.clone(), LEAST_GAP, f64::INFINITY).expect("a fit");
    lines.push(json!({
        "problem": name, "fit": "the least loss, to a certified 1e-9", "loss": exact.misfit, "bound": exact.bound,
        "relative_gap": exact.relative_gap(), "evaluations": exact.steps, "cpu": cpu_seconds() - start,
    }));
    let start = cpu_seconds();
    let near = LeastMisfit::find(problem.clone(), REACHED, f64::INFINITY).expect("a fit");
    lines.push(json!({
        "problem": name, "fit": "the least loss, to a certified 1e-6", "loss": near.misfit, "bound": near.bound,
        "relative_gap": near.relative_gap(), "evaluations": near.steps, "cpu": cpu_seconds() - start,
    }));
    if !schedule.by_entropy {
        return lines;
    }
    let path = long_run(problem, schedule);
    let least = path
        .iter()
        .map(|step| step.loss)
        .fold(f64::INFINITY, f64::min);
    let reached = path
        .iter()
        .find(|step| step.loss <= least * (1.0 + REACHED));
    let steps: Vec<Value> = path
        .iter()
        .map(|s| json!([s.loss / least - 1.0, s.evaluations, s.cpu]))
        .collect();
    lines.push(json!({
        "problem": name, "fit": "without, to 1e-6 of the long run", "least": least,
        "loss": reached.map(|s| s.loss), "evaluations": reached.map(|s| s.evaluations),
        "cpu": reached.map(|s| s.cpu), "path": steps,
    }));
    lines
}

struct Step {
    loss: f64,
    /// Belief propagations so far.
    evaluations: u64,
    /// Processor seconds so far.
    cpu: f64,
}

fn long_run(problem: &Problem, schedule: Schedule) -> Vec<Step> {
    let start = cpu_seconds();
    let mut problem = problem.clone();
    let mut weight = schedule.first;
    let mut path: Vec<Step> = Vec::new();
    for measurement in &problem.measurements {
        problem.reference.push(ReferenceFactor {
            variables: measurement.variables(),
            log_weights: vec![0.0; measurement.values.len()],
        });
    }
    let mut evaluations = 0;
    for _ in 0..MOST_FITS {
        let fit = calibrate(&problem, weight, schedule.tolerance);
        evaluations += fit.diagnostics.evaluations;
        let mut parameters = fit.parameters.iter();
        for weight in problem
            .reference
            .iter_mut()
            .flat_map(|factor| &mut factor.log_weights)
        {
            *weight += parameters.next().expect("a parameter per value");
        }
        let (last, loss) = (path.last().map_or(f64::INFINITY, |s| s.loss), loss(&fit));
        path.push(Step {
            loss,
            evaluations,
            cpu: cpu_seconds() - start,
        });
        if (last - loss).abs() <= STILL * loss && path.len() > 3 {
            break;
        }
        weight = (weight * schedule.factor).max(LEAST_WEIGHT);
    }
    path
}

fn calibrate(problem: &Problem, weight: f64, tolerance: f64) -> Calibration {
    let problem = Problem {
        entropy_weight: weight,
        ..problem.clone()
    };
    let calibrator = Calibrator::new(problem).expect("a problem");
    let settings = Settings {
        tolerance,
        max_evaluations: 20_000,
    };
    calibrator
        .calibrate(&calibrator.targets(), &settings, &mut |_, _| ())
        .expect("a fit")
}

/// Half the sum of squared residuals in standard deviations.
fn loss(fit: &Calibration) -> f64 {
    fit.diagnostics.chi_square / 2.0
}

//! The smallest budget that does: by bracketing and bisection over the budget's amount, delta fixed.
//!
//! Every candidate is simulated on the same few tables with the same seeds, so that differences between
//! candidates are not differences between tables.

use serde::Serialize;

use super::mechanism::{Answer, Mechanism, amount};
use super::simulation::Tables;
use crate::estimate::EstimateError;
use crate::estimate::quantile::median;

/// Repetitions per candidate: the median of 24 privacy variances is within about 10 % at the spread that
/// posteriors have, which is 5 % of a budget.
pub(super) const REPETITIONS: usize = 24;

/// Of microdata, each of which is calibrated with all its draws.
pub(super) const MICRODATA_REPETITIONS: usize = 8;

/// Candidates that a search is likely to look at, for a bar.
pub(super) const CANDIDATES: usize = 9;

/// The bracket's ends are this close in the end: below what so few repetitions can tell apart.
const CLOSE: f64 = 1.05;

/// A budget that was searched for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SmallestBudget {
    /// `epsilon`, `rho` or `mu`.
    pub parameter: &'static str,
    /// What it has to achieve.
    pub goal: String,
    /// The smallest amount that does, within 5 % and the simulation's error; `None` where none does.
    pub value: Option<f64>,
    /// Why none does.
    pub reason: Option<String>,
    /// Repetitions per candidate.
    pub repetitions: usize,
}

/// A search's means.
pub(super) struct Search<'a> {
    pub mechanism: &'a Mechanism<'a>,
    pub tables: &'a Tables<'a>,
    pub repetitions: usize,
    pub done: &'a (dyn Fn() + Sync),
}

impl Search<'_> {
    /// The smallest budget whose privacy variance is at most the sampling variance.
    pub fn below_sampling(&self, sampling: f64) -> SmallestBudget {
        let goal = "privacy variance at or below sampling variance".to_string();
        self.found(goal, |answers| {
            median(answers.iter().map(|a| a.privacy)) <= sampling
        })
    }

    /// The smallest budget whose median interval is at most `width` wide; `floor` is the width without noise.
    pub fn width(&self, width: f64, floor: f64) -> SmallestBudget {
        let goal = format!("median 95 % interval no wider than {width}");
        if width <= floor {
            return SmallestBudget {
                parameter: self.parameter().0,
                goal,
                value: None,
                reason: Some(
                    "no budget reaches it: sampling alone makes the interval wider; only more rows would do".into(),
                ),
                repetitions: 0,
            };
        }
        self.found(goal, |answers| {
            median(answers.iter().map(Answer::width)) <= width
        })
    }

    fn parameter(&self) -> (&'static str, f64) {
        amount(&self.mechanism.plan.guarantee.budget)
    }

    fn found(&self, goal: String, does: impl Fn(&[Answer]) -> bool) -> SmallestBudget {
        let (parameter, start) = self.parameter();
        let limits = limits(parameter);
        // A budget too small to convert, or to leave finite numbers, does not do.
        let value = smallest(start, limits, |amount| {
            let answers = self.at(amount);
            answers.is_ok_and(|answers| does(&answers))
        });
        let reason = format!("no {parameter} up to {} reaches it", limits[1]);
        SmallestBudget {
            parameter,
            goal,
            value,
            reason: value.is_none().then_some(reason),
            repetitions: self.repetitions,
        }
    }

    fn at(&self, amount: f64) -> Result<Vec<Answer>, EstimateError> {
        let mechanism = self.mechanism.with_budget(amount)?;
        self.tables.answers(&mechanism, self.repetitions, self.done)
    }
}

/// Amounts far below what informs, and far beyond what protects.
pub(super) fn limits(parameter: &str) -> [f64; 2] {
    match parameter {
        "rho" => [1e-6, 300.0],
        "mu" => [0.001, 25.0],
        _ => [0.01, 100.0],
    }
}

/// The smallest amount that does, if what is larger than one that does, does too.
fn smallest(start: f64, limits: [f64; 2], does: impl Fn(f64) -> bool) -> Option<f64> {
    let start = start.clamp(limits[0], limits[1]);
    let [mut low, mut high] = [start; 2];
    if does(start) {
        while does(low) {
            high = low;
            if low <= limits[0] {
                return Some(low);
            }
            low = (low / 2.0).max(limits[0]);
        }
    } else {
        while !does(high) {
            low = high;
            if high >= limits[1] {
                return None;
            }
            high = (high * 2.0).min(limits[1]);
        }
    }
    while high / low > CLOSE {
        let middle = (low * high).sqrt();
        if does(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_amount_is_bracketed_from_either_side() {
        for start in [0.02, 1.0, 60.0] {
            let found = smallest(start, [0.01, 100.0], |x| x >= 2.7).unwrap();
            assert!((2.7..=2.7 * CLOSE).contains(&found), "{start}: {found}");
        }
        assert_eq!(smallest(1.0, [0.01, 100.0], |_| false), None);
        assert_eq!(smallest(1.0, [0.01, 100.0], |_| true), Some(0.01));
    }
}

//! The verdict: whether the planned intervals will tell anything, what makes them wide, and what to do.

use serde::Serialize;
use std::cmp::Ordering;

use super::{ErrorBudget, WidthLaw};
use crate::estimate::Estimator;

/// An interval wider than this part of the outcome's range tells nothing: an effect of a quarter of the range
/// (a risk of .5 become .75), larger than nearly all that are ever found, could not be told from none.
pub const UNINFORMATIVE_WIDTH: f64 = 0.5;

/// An interval so many times as wide as without noise is not worth the privacy loss: a sixteenth of the
/// records, analysed in a safe place, say as much.
pub const HOPELESS_RATIO: f64 = 4.0;

/// From here on noise is said to cost much: as if three of four records had been thrown away.
pub const WIDE_RATIO: f64 = 2.0;

/// Coverage below this is said to be short of 95 %: the least that is called calibrated.
const LEAST_COVERAGE: f64 = 0.93;

/// What to make of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether the release will tell anything about the effect.
    pub useful: bool,
    /// The largest term.
    pub dominates: &'static str,
    /// Sentences: the verdict, its reason, what to do.
    pub text: Vec<String>,
}

impl Verdict {
    /// Judges the numbers of a budget.
    pub(super) fn new(budget: &ErrorBudget, range: f64) -> Verdict {
        // What has no share does not bear on the estimate.
        let counted = budget.terms.iter().filter(|term| term.share.is_some());
        let largest =
            counted.max_by(|a, b| a.share.partial_cmp(&b.share).unwrap_or(Ordering::Equal));
        let dominates = largest.map_or("sampling", |term| term.source);
        let reasons = useless(budget, range);
        let mut text = Vec::new();
        if !reasons.is_empty() {
            text.push(format!(
                "this will not be useful: {}",
                reasons.join("; and ")
            ));
        }
        text.push(advice(budget, dominates));
        text.extend(coverage(budget));
        Verdict {
            useful: reasons.is_empty(),
            dominates,
            text,
        }
    }
}

/// Why the release would tell nothing.
fn useless(budget: &ErrorBudget, range: f64) -> Vec<String> {
    let mut reasons = Vec::new();
    // What is not a number is no use either.
    if budget.width.is_nan() || budget.width > UNINFORMATIVE_WIDTH * range {
        reasons.push(format!(
            "the interval is wider than {UNINFORMATIVE_WIDTH} of the outcome's whole range, so that an effect of a quarter of \
             the range could not be told from none"
        ));
    }
    let ratio = budget.width / budget.floor_width;
    if ratio > HOPELESS_RATIO {
        reasons.push(format!(
            "the interval is {ratio:.1} times as wide as without noise, as wide as from one record in {:.0} without noise",
            ratio * ratio
        ));
    }
    reasons
}

fn advice(budget: &ErrorBudget, dominates: &str) -> String {
    match dominates {
        "privacy" => privacy(budget),
        "approximation" if budget.estimator == Estimator::Regression => {
            "the model's approximation dominates: its two estimates part by more than noise; list the pairs of covariates that \
             go together, or measure `effects`, which need none"
                .into()
        }
        "approximation" => "the prior's approximation dominates: the two estimates part by more than noise; keep fewer \
                            scores or spend more"
            .into(),
        "monte-carlo" => "the number of posterior draws dominates: draw more, at no cost".into(),
        "calibration" => "the microdata's fit dominates: it shifts the estimate where noise rules many small counts; use fewer or \
                          coarser bins, or more budget"
            .into(),
        _ => "sampling dominates: more budget would narrow the interval little; only more rows would".into(),
    }
}

fn privacy(budget: &ErrorBudget) -> String {
    let wide = budget.width > WIDE_RATIO * budget.floor_width;
    let mut ways = Vec::new();
    if let Some(value) = budget.smallest_budget.value {
        let parameter = budget.smallest_budget.parameter;
        // Three digits.
        let decimals = (2.0 - value.log10().floor()).clamp(0.0, 9.0) as usize;
        ways.push(format!(
            "spend {parameter} {value:.decimals$}, which brings the noise down to sampling"
        ));
    }
    match &budget.width_law {
        Some(law) if !wide || law.largest_scores >= law.scores => {}
        Some(WidthLaw { largest_scores: 0, .. }) => {
            ways.push("get more rows: this n and budget carry no scores".into());
        }
        Some(law) => ways.push(format!(
            "keep fewer scores: the width law carries K = {} at twice the width without noise (`effects: {{keep: {}}}`)",
            law.largest_scores, law.largest_scores
        )),
        None if budget.estimator == Estimator::Regression => {
            ways.push("measure `effects`, which spend nothing on microdata".into());
        }
        None => {}
    }
    if budget.second_estimator.is_some() {
        ways.push("if chance decided on treatment, say `design: randomised` in the schema: nothing is adjusted for then".into());
    }
    let much = if wide {
        "privacy noise dominates by far"
    } else {
        "privacy noise dominates"
    };
    match ways.is_empty() {
        true => format!("{much}: only more rows or more budget would narrow the interval"),
        false => format!("{much}: {}", ways.join("; or ")),
    }
}

/// A caution where intervals cover too little, beyond the simulation's error.
fn coverage(budget: &ErrorBudget) -> Option<String> {
    let short = |share: &super::Share| share.value + 2.0 * share.standard_error < LEAST_COVERAGE;
    if !short(&budget.coverage) {
        return None;
    }
    let percent = 100.0 * budget.coverage.value;
    Some(if short(&budget.floor_coverage) {
        format!(
            "intervals cover {percent:.0} % here, and those of the analysis without noise {:.0} %: the regression does not \
             fit this population",
            100.0 * budget.floor_coverage.value
        )
    } else {
        format!("intervals cover {percent:.0} % here, less than they say: do not rely on this plan")
    })
}

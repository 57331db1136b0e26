//! Effects as functions of covariates: mean squared error, squared bias and variance by learner, beside the best of the
//! published learners.

use super::cate::{AVERAGE, EFFECT, SQUARED_BIAS, VARIANCE};
use super::compare::{Bar, Verdict};
use super::statistics::{Cell, Measured, Statistics};
use super::subject::Kind;
use super::summary::with_error;
use dpcausal::report::numbers::significant;
use std::collections::BTreeMap;

type Cells = BTreeMap<Cell, Statistics>;

/// Of one learner, the ratios of its mean squared errors to the best published ones.
type Ratios = Vec<f64>;

/// The section, if learners were run.
pub fn section(cells: &Cells, bars: Option<&[Bar]>) -> Option<String> {
    let of_effects = (cells.iter())
        .filter(|(cell, _)| Kind::of(&cell.dataset) == Kind::Cate && cell.target == EFFECT);
    let mut lines = String::new();
    let mut ratios: BTreeMap<&str, Ratios> = BTreeMap::new();
    for (cell, found) in of_effects {
        let mse = mean_square(found);
        let of = |target: &str| {
            let mut cell = cell.clone();
            cell.target = target.into();
            let found = cells.get(&cell);
            found.map_or("-".into(), |found| with_error(found.bias))
        };
        let best = best(cell, bars.unwrap_or_default());
        let against = best.map_or("- | - | -".into(), |(best, source)| {
            let ratio = mse.value / best;
            ratios.entry(&cell.mechanism).or_default().push(ratio);
            let verdict = Verdict::of(mse.value - best, mse.error);
            let best = significant(best, 3);
            format!("{source} | {best} | {ratio:.2} {}", verdict.mark())
        });
        lines += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {against} | {} | {:.1} |\n",
            cell.dataset,
            cell.n,
            cell.epsilon().map_or("-".into(), |e| e.to_string()),
            cell.mechanism,
            with_error(mse),
            of(SQUARED_BIAS),
            of(VARIANCE),
            of(AVERAGE),
            found.failures,
            found.seconds,
        );
    }
    if lines.is_empty() {
        return None;
    }
    let counts = ratios
        .iter()
        .map(|(learner, ratios)| count(learner, ratios));
    let counts: String = counts.collect();
    Some(format!(
        "\n## Effects as functions of covariates\n\n\
         The bias of the average is that of the average effect as the release says it. The best published learner is the one \
         with the least mean squared error in the cell; ratio is ours over its. pass: at most 1; ?: above by less than two Monte \
         Carlo standard errors of ours; FAIL: by more.\n\n\
         {counts}{}\
         | dataset | n | eps | learner | mean squared error | squared bias | variance | average's bias | best published | its error | ratio | failures | s |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n{lines}",
        if counts.is_empty() { "" } else { "\n" }
    ))
}

/// An RMSE's square, with its error.
fn mean_square(found: &Statistics) -> Measured {
    let Measured { value, error } = found.rmse;
    Measured {
        value: value * value,
        error: 2.0 * value * error,
    }
}

/// The least published mean squared error of a cell, and whose it is.
fn best<'a>(cell: &Cell, bars: &'a [Bar]) -> Option<(f64, &'a str)> {
    let of_cell = bars.iter().filter(|bar| bar.is_of(cell));
    let published = of_cell.filter_map(|bar| Some((bar.rmse?.powi(2), bar.source.as_str())));
    published.min_by(|a, b| a.0.total_cmp(&b.0))
}

fn count(learner: &str, ratios: &Ratios) -> String {
    let below = ratios.iter().filter(|ratio| **ratio <= 1.0).count();
    let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
    format!(
        "* {learner}: at or below the best published learner in {below} of {} cells; geometric mean of the ratios {:.3}\n",
        ratios.len(),
        mean.exp()
    )
}

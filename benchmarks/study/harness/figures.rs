//! Pictures of a dataset: RMSE, coverage and median width against epsilon, one line per mechanism and
//! estimator, one row of plots per table size.
//!
//! Lines differ by colour, dash and mark, so that none of them is needed alone. Epsilon, RMSE and width
//! have logarithmic axes: they span orders of magnitude, and what matters is ratios.

use super::cate::{SQUARED_BIAS, VARIANCE};
use super::panel::PERIOD;
use super::plot::{PANEL, Panel, mark, stroke};
use super::scale::Scale;
use super::statistics::{Cell, Measured, Statistics};
use super::subject::Kind;
use dpcausal::report::numbers::significant;
use dpcausal::report::svg::{Anchor, Svg};
use std::collections::{BTreeMap, BTreeSet};

const LEFT: f64 = 76.0;
const TOP: f64 = 60.0;
const GAP: (f64, f64) = (80.0, 66.0);
/// The height of a line of the legend.
pub const LEGEND_LINE: f64 = 18.0;

/// What is not private and has a line across: mechanism and estimator, the line's name and stroke.
type Baseline = (&'static str, &'static str, &'static str, &'static str);

const DOTTED: &str = r##"stroke="#555555" stroke-dasharray="2 3""##;
const DASHED: &str = r##"stroke="#555555" stroke-dasharray="8 3""##;
const FLOOR: [Baseline; 1] = [(
    "floor",
    "regression",
    "non-private regression (floor)",
    DOTTED,
)];
const OF_PANELS: [Baseline; 2] = [
    (
        "simplex",
        "counterfactual",
        "synthetic control, not private",
        DOTTED,
    ),
    (
        "forecast",
        "counterfactual",
        "the unit's own past alone",
        DASHED,
    ),
];

/// Targets that are no errors, or as well shown by another.
const NOT_DRAWN: [&str; 3] = [SQUARED_BIAS, VARIANCE, PERIOD];

/// One line: a mechanism's estimator.
type Line = (String, String);

/// The statistics by line, then by epsilon.
type Lines<'a> = BTreeMap<Line, Vec<(f64, &'a Statistics)>>;

/// The picture of a dataset and target, if a private mechanism was run on it.
pub fn figure(cells: &BTreeMap<Cell, Statistics>, dataset: &str, target: &str) -> Option<String> {
    if NOT_DRAWN.contains(&target) {
        return None;
    }
    let of_figure = || {
        cells
            .iter()
            .filter(|(c, _)| c.dataset == dataset && c.target == target)
    };
    let sizes: BTreeSet<usize> = of_figure().map(|(cell, _)| cell.n).collect();
    let mut names: BTreeSet<Line> = of_figure()
        .filter(|(cell, _)| cell.epsilon().is_some())
        .map(|(cell, _)| (cell.mechanism.clone(), cell.estimator.clone()))
        .collect();
    leave_out_readings(&mut names);
    if names.is_empty() {
        return None;
    }
    let names: Vec<Line> = names.into_iter().collect();
    let baselines: &[Baseline] = match Kind::of(dataset) {
        Kind::Table => &FLOOR,
        Kind::Panel => &OF_PANELS,
        Kind::Cate => &[],
    };
    let measures = measures(of_figure().map(|(_, found)| found));
    let rows = sizes.len() as f64;
    let plots = TOP + rows * (PANEL.1 + GAP.1);
    let width = LEFT + 3.0 * PANEL.0 + 2.0 * GAP.0 + 20.0;
    let height = plots + LEGEND_LINE * (names.len() + baselines.len()) as f64 + 10.0;
    let mut svg = Svg::new(width, height);
    let what = if measures.len() == MEASURES.len() {
        "RMSE, coverage and width"
    } else {
        "RMSE"
    };
    let title = format!("{dataset}, target {target}: {what} against epsilon");
    svg.text(LEFT, 20.0, Anchor::Start, r#"font-weight="bold""#, &title);
    for (row, &n) in sizes.iter().enumerate() {
        let top = TOP + row as f64 * (PANEL.1 + GAP.1);
        let mut lines: Lines = BTreeMap::new();
        let mut across: BTreeMap<usize, &Statistics> = BTreeMap::new();
        for (cell, found) in of_figure().filter(|(cell, _)| cell.n == n) {
            for (index, (mechanism, estimator, ..)) in baselines.iter().enumerate() {
                let found = cells.get(&cell.without_privacy(mechanism, estimator));
                across.extend(found.map(|found| (index, found)));
            }
            let line = (cell.mechanism.clone(), cell.estimator.clone());
            if let Some(epsilon) = cell.epsilon().filter(|_| names.contains(&line)) {
                lines.entry(line).or_default().push((epsilon, found));
            }
        }
        let across = across
            .into_iter()
            .map(|(index, found)| (baselines[index].3, found));
        let row = Row {
            names: &names,
            lines,
            across: across.collect(),
        };
        row.plot(&mut svg, top, n, &measures);
    }
    legend(&mut svg, plots, &names, baselines);
    let description = description(&sizes, &names, cells, dataset, target);
    Some(svg.finish(&title, &description))
}

/// Of a mechanism that is read in several ways, the moments of its model are enough, or else its multiple imputation:
/// the others' points are near, and all numbers are in the summary.
fn leave_out_readings(names: &mut BTreeSet<Line>) {
    let having = |reading: &str| -> BTreeSet<String> {
        let found = (names.iter()).filter(|(_, estimator)| estimator.starts_with(reading));
        found.map(|(mechanism, _)| mechanism.clone()).collect()
    };
    let (moments, imputed) = (having("moment-"), having("imputed-"));
    names.retain(|(mechanism, estimator)| {
        if moments.contains(mechanism) {
            estimator.starts_with("moment-")
        } else {
            !imputed.contains(mechanism) || estimator.starts_with("imputed-")
        }
    });
}

/// A measure that is plotted.
struct Measure {
    name: &'static str,
    of: fn(&Statistics) -> Measured,
    logarithmic: bool,
}

const MEASURES: [Measure; 3] = [
    Measure {
        name: "RMSE",
        of: |s| s.rmse,
        logarithmic: true,
    },
    Measure {
        name: "coverage of nominal 95 %",
        of: |s| s.coverage,
        logarithmic: false,
    },
    Measure {
        name: "median width",
        of: |s| s.width,
        logarithmic: true,
    },
];

/// The measures that some cells have.
fn measures<'a>(found: impl Iterator<Item = &'a Statistics>) -> Vec<&'static Measure> {
    let found: Vec<&Statistics> = found.collect();
    let has = |measure: &&Measure| {
        found
            .iter()
            .any(|found| (measure.of)(found).value.is_finite())
    };
    MEASURES.iter().filter(has).collect()
}

/// The plots of one table size.
struct Row<'a> {
    names: &'a [Line],
    lines: Lines<'a>,
    /// What is not private, with its stroke.
    across: Vec<(&'static str, &'a Statistics)>,
}

impl Row<'_> {
    fn plot(&self, svg: &mut Svg, top: f64, n: usize, measures: &[&Measure]) {
        let all = || self.lines.values().flatten();
        let epsilons: BTreeSet<u64> = all().map(|(e, _)| e.to_bits()).collect();
        let epsilons: Vec<f64> = epsilons.into_iter().map(f64::from_bits).collect();
        for (column, measure) in measures.iter().enumerate() {
            let left = LEFT + column as f64 * (PANEL.0 + GAP.0);
            let across = self.across.iter().map(|(_, found)| *found);
            let values = all().map(|(_, found)| *found).chain(across);
            let values: Vec<f64> = values.map(|found| (measure.of)(found).value).collect();
            let panel = Panel {
                left,
                top,
                x: Scale::logarithmic(&epsilons),
                y: if measure.logarithmic {
                    Scale::rounded(&values)
                } else {
                    Scale::coverage(&values)
                },
            };
            panel.frame(
                svg,
                &epsilons,
                &format!("{}, n = {n}", measure.name),
                !measure.logarithmic,
            );
            for (stroke, found) in &self.across {
                let value = (measure.of)(found).value;
                if value.is_finite() {
                    let y = panel.y(value);
                    svg.line((left, y), (left + PANEL.0, y), stroke);
                }
            }
            for (line, points) in &self.lines {
                let style = self.names.iter().position(|name| name == line).unwrap_or(0);
                panel.line(
                    svg,
                    style,
                    points.iter().map(|(e, found)| (*e, (measure.of)(found))),
                );
            }
        }
    }
}

fn legend(svg: &mut Svg, top: f64, names: &[Line], baselines: &[Baseline]) {
    for (style, (mechanism, estimator)) in names.iter().enumerate() {
        let y = top + LEGEND_LINE * style as f64;
        svg.line(
            (LEFT, y),
            (LEFT + 34.0, y),
            &format!(r#"{} stroke-width="1.8""#, stroke(style)),
        );
        mark(svg, style, (LEFT + 17.0, y));
        svg.text(
            LEFT + 42.0,
            y,
            Anchor::Start,
            "",
            &format!("{mechanism}, {estimator}"),
        );
    }
    for (index, (_, _, name, stroke)) in baselines.iter().enumerate() {
        let y = top + LEGEND_LINE * (names.len() + index) as f64;
        svg.line((LEFT, y), (LEFT + 34.0, y), stroke);
        svg.text(LEFT + 42.0, y, Anchor::Start, "", name);
    }
}

/// The numbers of the picture, for those who don't see it.
fn description(
    sizes: &BTreeSet<usize>,
    names: &[Line],
    cells: &BTreeMap<Cell, Statistics>,
    dataset: &str,
    target: &str,
) -> String {
    let mut text = String::from("Vertical bars: two Monte Carlo standard errors each way. ");
    for n in sizes {
        for (mechanism, estimator) in names {
            let of_line = cells.iter().filter(|(cell, _)| {
                cell.dataset == dataset
                    && cell.target == target
                    && cell.n == *n
                    && (&cell.mechanism, &cell.estimator) == (mechanism, estimator)
            });
            text += &format!("n = {n}, {mechanism}, {estimator}:");
            for (cell, found) in of_line {
                let epsilon = cell.epsilon().unwrap_or(f64::INFINITY);
                text += &format!(
                    " epsilon {epsilon} RMSE {}",
                    significant(found.rmse.value, 3)
                );
                if found.coverage.value.is_finite() {
                    text += &format!(
                        " coverage {:.1} % width {}",
                        100.0 * found.coverage.value,
                        significant(found.width.value, 3)
                    );
                }
                text += ";";
            }
            text += " ";
        }
    }
    text
}

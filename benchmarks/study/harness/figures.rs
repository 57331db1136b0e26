//! Pictures of a dataset: RMSE, coverage and median width against epsilon, one line per mechanism and
//! estimator, one row of plots per table size.
//!
//! Lines differ by colour, dash and mark, so that none of them is needed alone. Epsilon, RMSE and width
//! have logarithmic axes: they span orders of magnitude, and what matters is ratios.

use super::scale::Scale;
use super::statistics::{Cell, Measured, Statistics};
use dpcausal::report::numbers::significant;
use dpcausal::report::svg::{Anchor, Svg};
use std::collections::{BTreeMap, BTreeSet};

const PANEL: (f64, f64) = (210.0, 150.0);
const LEFT: f64 = 76.0;
const TOP: f64 = 60.0;
const GAP: (f64, f64) = (80.0, 66.0);
/// The height of a line of the legend.
pub const LEGEND_LINE: f64 = 18.0;

/// The strokes of what is not data.
pub const GRID: &str = r##"stroke="#dddddd""##;
pub const FRAME: &str = r##"fill="none" stroke="#888888""##;
const FLOOR: &str = r##"stroke="#555555" stroke-dasharray="2 3""##;
/// The band of coverage that the bars ask for.
const BAND: (f64, f64) = (0.93, 0.975);

/// Colours that the colour-blind tell apart (Okabe and Ito 2008), without yellow, which white swallows.
const COLOURS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00",
];
const DASHES: [&str; 3] = ["", r#"stroke-dasharray="7 3""#, r#"stroke-dasharray="3 3""#];

/// One line: a mechanism's estimator.
type Line = (String, String);

/// The statistics by line, then by epsilon.
type Lines<'a> = BTreeMap<Line, Vec<(f64, &'a Statistics)>>;

/// The picture of a dataset and target, if a private mechanism was run on it.
pub fn figure(cells: &BTreeMap<Cell, Statistics>, dataset: &str, target: &str) -> Option<String> {
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
    let rows = sizes.len() as f64;
    let plots = TOP + rows * (PANEL.1 + GAP.1);
    let width = LEFT + 3.0 * PANEL.0 + 2.0 * GAP.0 + 20.0;
    let height = plots + LEGEND_LINE * (names.len() as f64 + 1.0) + 10.0;
    let mut svg = Svg::new(width, height);
    let title = format!("{dataset}, target {target}: RMSE, coverage and width against epsilon");
    svg.text(LEFT, 20.0, Anchor::Start, r#"font-weight="bold""#, &title);
    for (row, &n) in sizes.iter().enumerate() {
        let top = TOP + row as f64 * (PANEL.1 + GAP.1);
        let mut lines: Lines = BTreeMap::new();
        let mut floor = None;
        for (cell, found) in of_figure().filter(|(cell, _)| cell.n == n) {
            floor = floor.or_else(|| cells.get(&cell.floor()));
            let line = (cell.mechanism.clone(), cell.estimator.clone());
            if let Some(epsilon) = cell.epsilon().filter(|_| names.contains(&line)) {
                lines.entry(line).or_default().push((epsilon, found));
            }
        }
        plot_row(&mut svg, top, n, &names, &lines, floor);
    }
    legend(&mut svg, plots, &names);
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

fn plot_row(
    svg: &mut Svg,
    top: f64,
    n: usize,
    names: &[Line],
    lines: &Lines,
    floor: Option<&Statistics>,
) {
    let epsilons: BTreeSet<u64> = lines.values().flatten().map(|(e, _)| e.to_bits()).collect();
    let epsilons: Vec<f64> = epsilons.into_iter().map(f64::from_bits).collect();
    for (column, measure) in MEASURES.iter().enumerate() {
        let left = LEFT + column as f64 * (PANEL.0 + GAP.0);
        let values = lines
            .values()
            .flatten()
            .map(|(_, found)| (measure.of)(found).value);
        let values: Vec<f64> = values.chain(floor.map(|f| (measure.of)(f).value)).collect();
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
        if let Some(floor) = floor {
            let y = panel.y((measure.of)(floor).value);
            svg.line((left, y), (left + PANEL.0, y), FLOOR);
        }
        for (line, points) in lines {
            let style = names.iter().position(|name| name == line).unwrap_or(0);
            panel.line(
                svg,
                style,
                points.iter().map(|(e, found)| (*e, (measure.of)(found))),
            );
        }
    }
}

struct Panel {
    left: f64,
    top: f64,
    x: Scale,
    y: Scale,
}

impl Panel {
    fn x(&self, value: f64) -> f64 {
        self.left + PANEL.0 * self.x.share(value)
    }

    fn y(&self, value: f64) -> f64 {
        self.top + PANEL.1 * (1.0 - self.y.share(value))
    }

    fn frame(&self, svg: &mut Svg, epsilons: &[f64], title: &str, band: bool) {
        let bottom = self.top + PANEL.1;
        if band {
            let (upper, lower) = (self.y(BAND.1), self.y(BAND.0));
            let size = (PANEL.0, lower - upper);
            svg.rectangle((self.left, upper), size, r##"fill="#e5f2e5""##);
        }
        for tick in self.y.ticks() {
            let y = self.y(tick);
            svg.line((self.left, y), (self.left + PANEL.0, y), GRID);
            svg.text(
                self.left - 6.0,
                y,
                Anchor::End,
                r#"font-size="11""#,
                &significant(tick, 2),
            );
        }
        for &epsilon in epsilons {
            let x = self.x(epsilon);
            svg.line((x, bottom), (x, bottom + 4.0), FRAME);
            svg.text(
                x,
                bottom + 13.0,
                Anchor::Middle,
                r#"font-size="11""#,
                &epsilon.to_string(),
            );
        }
        svg.rectangle((self.left, self.top), PANEL, FRAME);
        svg.text(
            self.left,
            self.top - 12.0,
            Anchor::Start,
            r#"font-size="12""#,
            title,
        );
        let middle = self.left + PANEL.0 / 2.0;
        svg.text(
            middle,
            bottom + 28.0,
            Anchor::Middle,
            r#"font-size="11""#,
            "epsilon",
        );
    }

    /// A line with its marks; bars of two Monte Carlo standard errors each way.
    fn line(&self, svg: &mut Svg, style: usize, points: impl Iterator<Item = (f64, Measured)>) {
        let points: Vec<(f64, Measured)> = points.filter(|(_, m)| m.value.is_finite()).collect();
        let stroke = stroke(style);
        let places: Vec<(f64, f64)> = points
            .iter()
            .map(|(e, m)| (self.x(*e), self.y(m.value)))
            .collect();
        svg.polyline(&places, &format!(r#"{stroke} stroke-width="1.8""#));
        for ((_, measured), &(x, y)) in points.iter().zip(&places) {
            if measured.error.is_finite() {
                let end = |sign: f64| (x, self.y(measured.value + sign * 2.0 * measured.error));
                svg.line(
                    end(-1.0),
                    end(1.0),
                    &format!("stroke=\"{}\"", colour(style)),
                );
            }
            mark(svg, style, (x, y));
        }
    }
}

/// The colour of a line or mark.
pub fn colour(style: usize) -> &'static str {
    COLOURS[style % COLOURS.len()]
}

fn stroke(style: usize) -> String {
    format!(
        r#"stroke="{}" {}"#,
        colour(style),
        DASHES[style % DASHES.len()]
    )
}

/// A circle, a square or a triangle, so that lines are told apart without colour.
pub fn mark(svg: &mut Svg, style: usize, (x, y): (f64, f64)) {
    let fill = format!(r#"fill="{}""#, colour(style));
    match style % 4 {
        0 => svg.circle((x, y), 3.4, &fill),
        1 => svg.rectangle((x - 3.0, y - 3.0), (6.0, 6.0), &fill),
        2 => svg.polygon(
            &[(x, y - 4.2), (x + 3.8, y + 2.8), (x - 3.8, y + 2.8)],
            &fill,
        ),
        _ => svg.polygon(
            &[(x, y - 4.4), (x + 4.4, y), (x, y + 4.4), (x - 4.4, y)],
            &fill,
        ),
    }
}

fn legend(svg: &mut Svg, top: f64, names: &[Line]) {
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
    let y = top + LEGEND_LINE * names.len() as f64;
    svg.line((LEFT, y), (LEFT + 34.0, y), FLOOR);
    svg.text(
        LEFT + 42.0,
        y,
        Anchor::Start,
        "",
        "non-private regression (floor)",
    );
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
                text += &format!(
                    " epsilon {} RMSE {} coverage {:.1} % width {};",
                    cell.epsilon().unwrap_or(f64::INFINITY),
                    significant(found.rmse.value, 3),
                    100.0 * found.coverage.value,
                    significant(found.width.value, 3)
                );
            }
            text += " ";
        }
    }
    text
}

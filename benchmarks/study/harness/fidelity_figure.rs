//! A picture of marginal fidelity against causal accuracy: one point per mechanism and budget, its distance from
//! the data to the right, the error of its effect upwards. If faithful marginals made good effects, the points would
//! rise along a line.
//!
//! Both axes are logarithmic, for what matters is ratios; points of one mechanism have one colour and mark and are
//! joined in the order of their budgets, and each has its budget beside it.

use super::fidelity_table::{Group, groups};
use super::figures::LEGEND_LINE;
use super::plot::{FRAME, GRID, colour, mark};
use super::scale::Scale;
use super::statistics::{Cell, Statistics};
use dpcausal::report::numbers::significant;
use dpcausal::report::svg::{Anchor, Svg};
use std::collections::BTreeMap;

const PANEL: (f64, f64) = (440.0, 260.0);
const LEFT: f64 = 84.0;
const TOP: f64 = 44.0;
/// Room below the panel, for ticks and the axis' name.
const FOOT: f64 = 58.0;
const SMALL: &str = r#"font-size="11""#;

/// One point: the budget, the mean TV2, the RMSE.
type Point = (f64, f64, f64);

/// The pictures, each with the name of its file: one per dataset and size.
pub fn figures(cells: &BTreeMap<Cell, Statistics>) -> Vec<(String, String)> {
    let mut pictures: BTreeMap<(&str, usize), BTreeMap<&str, Vec<Point>>> = BTreeMap::new();
    for (
        Group {
            dataset,
            n,
            target: _,
            epsilon,
        },
        found,
    ) in groups(cells)
    {
        for (cell, statistics) in found {
            let of_picture = pictures.entry((dataset, n)).or_default();
            let points = of_picture.entry(cell.mechanism.as_str()).or_default();
            let distance = statistics.fidelity[1].value;
            points.push((f64::from_bits(epsilon), distance, statistics.rmse.value));
        }
    }
    let named = pictures.into_iter().map(|((dataset, n), lines)| {
        let name = format!("{dataset}-{n}-fidelity.svg");
        let title = format!("{dataset}, n = {n}: distance of tables against error of effects");
        (name, picture(&title, &lines))
    });
    named.collect()
}

fn picture(title: &str, lines: &BTreeMap<&str, Vec<Point>>) -> String {
    let points = || lines.values().flatten();
    let x = Scale::rounded(&points().map(|p| p.1).collect::<Vec<_>>());
    let y = Scale::rounded(&points().map(|p| p.2).collect::<Vec<_>>());
    let bottom = TOP + PANEL.1;
    let height = bottom + FOOT + LEGEND_LINE * lines.len() as f64;
    let mut svg = Svg::new(LEFT + PANEL.0 + 40.0, height);
    svg.text(LEFT, 16.0, Anchor::Start, r#"font-weight="bold""#, title);
    axes(&mut svg, &x, &y);
    let at = |point: &Point| {
        (
            LEFT + PANEL.0 * x.share(point.1),
            bottom - PANEL.1 * y.share(point.2),
        )
    };
    let mut description = String::new();
    for (style, (name, points)) in lines.iter().enumerate() {
        let places: Vec<(f64, f64)> = points.iter().map(at).collect();
        let stroke = format!(r#"stroke="{}" stroke-opacity="0.5""#, colour(style));
        svg.polyline(&places, &stroke);
        for (place, point) in places.iter().zip(points) {
            mark(&mut svg, style, *place);
            svg.text(
                place.0 + 6.0,
                place.1 - 6.0,
                Anchor::Start,
                r#"font-size="9""#,
                &point.0.to_string(),
            );
        }
        let row = bottom + FOOT + LEGEND_LINE * style as f64;
        mark(&mut svg, style, (LEFT + 6.0, row));
        svg.text(LEFT + 18.0, row, Anchor::Start, "", name);
        description += &format!("{name}:");
        for (epsilon, distance, rmse) in points {
            let [distance, rmse] = [distance, rmse].map(|v| significant(*v, 3));
            description += &format!(" epsilon {epsilon} TV2 {distance} RMSE {rmse};");
        }
        description += " ";
    }
    svg.finish(title, &description)
}

fn axes(svg: &mut Svg, x: &Scale, y: &Scale) {
    let bottom = TOP + PANEL.1;
    for tick in x.ticks() {
        let at = LEFT + PANEL.0 * x.share(tick);
        svg.line((at, TOP), (at, bottom), GRID);
        svg.text(
            at,
            bottom + 12.0,
            Anchor::Middle,
            SMALL,
            &significant(tick, 2),
        );
    }
    for tick in y.ticks() {
        let at = bottom - PANEL.1 * y.share(tick);
        svg.line((LEFT, at), (LEFT + PANEL.0, at), GRID);
        svg.text(LEFT - 6.0, at, Anchor::End, SMALL, &significant(tick, 2));
    }
    svg.rectangle((LEFT, TOP), PANEL, FRAME);
    let middle = LEFT + PANEL.0 / 2.0;
    let name = "mean total variation of the pairs of columns; numbers at marks: epsilon";
    svg.text(middle, bottom + 28.0, Anchor::Middle, SMALL, name);
    svg.text(LEFT, TOP - 10.0, Anchor::Start, SMALL, "RMSE of the effect");
}

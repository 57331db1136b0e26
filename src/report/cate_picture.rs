//! Shape functions as SVG: a small plot per covariate, all on one scale, two in a row.

use super::Outcome;
use super::axis::Axis;
use super::marks::colour;
use super::svg::{Anchor, Svg, shortened, text_width};
use crate::cate::{EffectSummary, Shape};

const GRID: &str = "#e3e3e3";
const MARGIN: f64 = 20.0;
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 150.0;
/// Above a plot: its title; below: labels.
const ABOVE: f64 = 34.0;
const BELOW: f64 = 40.0;
const IN_A_ROW: usize = 2;
/// The least space between two labels below a plot.
const LABEL_SPACE: f64 = 10.0;

/// The shapes of a summary. It holds no font, script or link.
pub fn cate_picture(outcome: &Outcome, summary: &EffectSummary) -> String {
    let values = summary
        .shapes
        .iter()
        .flat_map(|s| s.points.iter().map(|p| p.effect));
    let axis = Axis::holding(values, 2.5 * HEIGHT);
    let labels = axis.ticks().map(|tick| text_width(&axis.label(tick)));
    let left = labels.fold(0.0, f64::max) + MARGIN;
    let (each_width, each_height) = (left + WIDTH + MARGIN, ABOVE + HEIGHT + BELOW);
    let rows = summary.shapes.len().div_ceil(IN_A_ROW);
    let mut svg = Svg::new(
        each_width * IN_A_ROW as f64 + MARGIN,
        MARGIN + each_height * rows as f64,
    );
    for (index, shape) in summary.shapes.iter().enumerate() {
        let corner = (
            left + each_width * (index % IN_A_ROW) as f64,
            MARGIN + ABOVE + each_height * (index / IN_A_ROW) as f64,
        );
        draw(&mut svg, &axis, shape, corner);
    }
    svg.finish(
        &format!("What each covariate adds to the average effect on {}", outcome.description()),
        "One plot per covariate: what its values add to the average effect. No intervals are drawn.",
    )
}

fn draw(svg: &mut Svg, axis: &Axis, shape: &Shape, (left, top): (f64, f64)) {
    let heading = r#"font-weight="bold""#;
    let title = shortened(&shape.column, WIDTH);
    svg.text(left, top - 16.0, Anchor::Start, heading, &title);
    let height = |value: f64| top + HEIGHT * (1.0 - axis.share(value));
    for tick in axis.ticks() {
        let y = height(tick);
        let stroke = if tick == 0.0 { "#9a9a9a" } else { GRID };
        svg.line(
            (left, y),
            (left + WIDTH, y),
            &format!(r#"stroke="{stroke}""#),
        );
        svg.text(left - 8.0, y, Anchor::End, "", &axis.label(tick));
    }
    let count = shape.points.len();
    let place = |index: usize| left + WIDTH * (index as f64 + 0.5) / count as f64;
    let points: Vec<(f64, f64)> = shape
        .points
        .iter()
        .enumerate()
        .map(|(index, point)| (place(index), height(point.effect)))
        .collect();
    let on_line = shape
        .points
        .iter()
        .filter(|point| point.value.is_some())
        .count();
    if shape.numeric {
        let line = format!(r#"stroke="{}" stroke-width="2""#, colour(false));
        svg.polyline(&points[..on_line], &line);
    }
    for &at in &points {
        svg.circle(at, 3.0, &format!(r#"fill="{}""#, colour(false)));
    }
    let mut free = f64::NEG_INFINITY;
    for (point, (x, _)) in shape.points.iter().zip(&points) {
        let half = text_width(&point.label) / 2.0;
        if x - half >= free {
            svg.text(*x, top + HEIGHT + 16.0, Anchor::Middle, "", &point.label);
            free = x + half + LABEL_SPACE;
        }
    }
}

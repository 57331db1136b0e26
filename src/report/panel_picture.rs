//! A target and its private counterfactual over time, as SVG: observed line, counterfactual, bands, intervention.
//!
//! The dark band is the interval by privacy alone, the light one the whole interval. The counterfactual is dashed, so
//! that the two lines are told apart without colour.

use super::axis::Axis;
use super::marks::colour;
use super::panel_text::PanelNames;
use super::svg::{Anchor, INK, Svg, shortened, text_width};
use super::words;
use crate::panel::TargetEffects;
use crate::schema::PanelFrame;

const GRID: &str = "#e3e3e3";
const MARGIN: f64 = 20.0;
const PLOT_WIDTH: f64 = 640.0;
const PLOT_HEIGHT: f64 = 300.0;
/// Above the plot: title and legend; below: tick labels and the axis's name.
const ABOVE: f64 = 64.0;
const BELOW: f64 = 54.0;
/// The least space between two labels of periods.
const LABEL_SPACE: f64 = 16.0;

/// The effects on every target, one plot below the other. It holds no font, script or link.
pub fn panel_picture(
    names: &PanelNames<'_>,
    frame: &PanelFrame,
    targets: &[TargetEffects],
) -> String {
    let plots: Vec<Plot> = targets
        .iter()
        .enumerate()
        .map(|(index, target)| Plot::new(frame, target, index))
        .collect();
    let left = plots.iter().map(Plot::label_width).fold(0.0, f64::max) + 2.0 * MARGIN;
    let each = ABOVE + PLOT_HEIGHT + BELOW;
    let width = left + PLOT_WIDTH + MARGIN;
    let mut svg = Svg::new(width, MARGIN + each * plots.len() as f64);
    for (index, plot) in plots.iter().enumerate() {
        plot.draw(&mut svg, names, (left, MARGIN + each * index as f64));
    }
    let title = names.title.unwrap_or(names.outcome);
    let sentences = targets.iter().map(|target| {
        let level = words::level(target.level);
        format!(
            "{}: {} observed and its private counterfactual from {} on, with {level} bands.",
            target.unit, names.outcome, names.intervention
        )
    });
    svg.finish(title, &sentences.collect::<Vec<_>>().join(" "))
}

/// One target's plot.
struct Plot<'a> {
    frame: &'a PanelFrame,
    target: &'a TargetEffects,
    observed: &'a [f64],
    axis: Axis,
}

/// A value of the counterfactual with its bands.
struct Point {
    period: usize,
    value: f64,
    whole: [f64; 2],
    privacy: [f64; 2],
}

impl<'a> Plot<'a> {
    fn new(frame: &'a PanelFrame, target: &'a TargetEffects, index: usize) -> Plot<'a> {
        let observed = &frame.targets[index].values;
        let points = points(frame, target);
        let ends = points
            .iter()
            .flat_map(|p| p.whole.into_iter().chain(p.privacy));
        let values = observed.iter().copied().chain(ends);
        Plot {
            frame,
            target,
            observed,
            // Outcomes have a meaningful zero; the axis holds it.
            axis: Axis::holding(values, 2.5 * PLOT_HEIGHT),
        }
    }

    fn label_width(&self) -> f64 {
        let widths = self
            .axis
            .ticks()
            .map(|tick| text_width(&self.axis.label(tick)));
        widths.fold(0.0, f64::max)
    }

    fn draw(&self, svg: &mut Svg, names: &PanelNames<'_>, (left, top): (f64, f64)) {
        let heading = r#"font-weight="bold" font-size="15""#;
        let kind = if self.target.placebo {
            " (placebo)"
        } else {
            ""
        };
        let title = format!("{}{kind}: {}", self.target.unit, names.outcome);
        let title = shortened(&title, PLOT_WIDTH);
        svg.text(left, top + 8.0, Anchor::Start, heading, &title);
        let place = Place {
            left,
            top: top + ABOVE,
            periods: self.frame.periods.len(),
        };
        self.draw_axes(svg, names, &place);
        self.draw_intervention(svg, names, &place);
        self.draw_bands(svg, &place);
        self.draw_lines(svg, &place);
        self.draw_legend(svg, left, top + 32.0);
    }

    fn draw_axes(&self, svg: &mut Svg, names: &PanelNames<'_>, place: &Place) {
        for tick in self.axis.ticks() {
            let y = place.y(self.axis.share(tick));
            let grid = format!(r#"stroke="{GRID}""#);
            svg.line((place.left, y), (place.left + PLOT_WIDTH, y), &grid);
            svg.text(place.left - 8.0, y, Anchor::End, "", &self.axis.label(tick));
        }
        let bottom = place.top + PLOT_HEIGHT;
        let mut free = f64::NEG_INFINITY;
        for (t, period) in self.frame.periods.iter().enumerate() {
            let (x, half) = (place.x(t), text_width(period) / 2.0);
            if x - half >= free {
                svg.text(x, bottom + 16.0, Anchor::Middle, "", period);
                free = x + half + LABEL_SPACE;
            }
        }
        let middle = place.left + PLOT_WIDTH / 2.0;
        svg.text(middle, bottom + 38.0, Anchor::Middle, "", names.time);
    }

    fn draw_intervention(&self, svg: &mut Svg, names: &PanelNames<'_>, place: &Place) {
        let x = place.x(self.frame.pre_periods) - place.step() / 2.0;
        let dashes = format!(r#"stroke="{INK}" stroke-dasharray="2 3""#);
        svg.line((x, place.top), (x, place.top + PLOT_HEIGHT), &dashes);
        let text = format!("from {}", names.intervention);
        svg.text(x + 5.0, place.top + 8.0, Anchor::Start, "", &text);
    }

    fn draw_bands(&self, svg: &mut Svg, place: &Place) {
        let points = points(self.frame, self.target);
        let band = |of: fn(&Point) -> [f64; 2]| {
            let at =
                |p: &Point, end: usize| (place.x(p.period), place.y(self.axis.share(of(p)[end])));
            let there = points.iter().map(|p| at(p, 0));
            let back = points.iter().rev().map(|p| at(p, 1));
            there.chain(back).collect::<Vec<_>>()
        };
        for (shape, opacity) in [(band(|p| p.whole), 0.15), (band(|p| p.privacy), 0.3)] {
            let fill = format!(r#"fill="{}" fill-opacity="{opacity}""#, colour(false));
            svg.polygon(&shape, &fill);
        }
    }

    fn draw_lines(&self, svg: &mut Svg, place: &Place) {
        let at = |t: usize, value: f64| (place.x(t), place.y(self.axis.share(value)));
        let points = points(self.frame, self.target);
        let path: Vec<(f64, f64)> = points.iter().map(|p| at(p.period, p.value)).collect();
        svg.polyline(&path, &dashed());
        let observed: Vec<(f64, f64)> = self
            .observed
            .iter()
            .enumerate()
            .map(|(t, &v)| at(t, v))
            .collect();
        svg.polyline(&observed, &solid());
    }

    fn draw_legend(&self, svg: &mut Svg, left: f64, y: f64) {
        let level = words::level(self.target.level);
        let mut x = left;
        let band = |opacity: f64| format!(r#"fill="{}" fill-opacity="{opacity}""#, colour(false));
        let entries = [
            ("observed".to_string(), Mark::Line(solid())),
            ("private counterfactual".into(), Mark::Line(dashed())),
            (format!("{level}, privacy"), Mark::Band(band(0.45))),
            (format!("{level}, all"), Mark::Band(band(0.15))),
        ];
        for (text, mark) in entries {
            match mark {
                Mark::Line(stroke) => svg.line((x, y), (x + 26.0, y), &stroke),
                Mark::Band(fill) => svg.rectangle((x, y - 6.0), (26.0, 12.0), &fill),
            }
            svg.text(x + 32.0, y, Anchor::Start, "", &text);
            x += 32.0 + text_width(&text) + 18.0;
        }
    }
}

enum Mark {
    Line(String),
    Band(String),
}

fn solid() -> String {
    format!(r#"stroke="{INK}" stroke-width="2""#)
}

fn dashed() -> String {
    format!(
        r#"stroke="{}" stroke-width="2" stroke-dasharray="6 4""#,
        colour(false)
    )
}

/// The counterfactual with its bands: the observed value less effect and interval; of a mean, the same in all periods.
fn points(frame: &PanelFrame, target: &TargetEffects) -> Vec<Point> {
    let point = |period: usize, observed: f64, effect: &crate::panel::EffectEstimate| Point {
        period,
        value: observed - effect.estimate,
        whole: effect.interval.map(|end| observed - end),
        privacy: effect.privacy_interval.map(|end| observed - end),
    };
    let pre = frame.pre_periods;
    if target.periods.is_empty() {
        // Only the mean was released: the counterfactual's mean, drawn as a level.
        let own = frame.targets.iter().find(|own| own.unit == target.unit);
        let after = own.map_or(&[][..], |own| &own.values[pre..]);
        let mean = after.iter().sum::<f64>() / after.len().max(1) as f64;
        return (pre..frame.periods.len())
            .map(|t| point(t, mean, &target.att))
            .collect();
    }
    let periods = target.periods.iter().enumerate();
    periods
        .map(|(h, period)| point(pre + h, period.observed, &period.effect))
        .collect()
}

/// Where a plot stands.
struct Place {
    left: f64,
    top: f64,
    periods: usize,
}

impl Place {
    fn step(&self) -> f64 {
        PLOT_WIDTH / self.periods as f64
    }

    fn x(&self, period: usize) -> f64 {
        self.left + (period as f64 + 0.5) * self.step()
    }

    fn y(&self, share: f64) -> f64 {
        self.top + PLOT_HEIGHT * (1.0 - share)
    }
}

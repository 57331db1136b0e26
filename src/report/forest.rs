//! A forest plot: every effect as a point with its interval on one axis, as SVG.
//!
//! Rows that share estimand, contrast and population stand under one heading. A private row is a blue
//! disc; the thick part of its interval is as long as the interval would be without the privacy noise.
//! A row that is not private is a red hollow diamond on a dashed line: shapes and dashes tell the two
//! apart without colour.

use super::numbers;
use super::svg::{Anchor, Svg, shortened, text_width};
use super::words::{self, NOT_PRIVATE, Outcome};
use crate::estimate::Effect;

const PRIVATE: &str = "#1f5fa8";
const OPEN: &str = "#b5401b";
const GRID: &str = "#e3e3e3";
const ZERO: &str = "#6b6b6b";

/// Distances in pixels.
const MARGIN: f64 = 20.0;
const ROW: f64 = 24.0;
const INDENT: f64 = 14.0;
const GAP: f64 = 22.0;
const PLOT_WIDTH: f64 = 360.0;
const WIDEST_LABEL: f64 = 340.0;

/// About how many ticks an axis of [`PLOT_WIDTH`] has room for.
const TICKS: f64 = 5.0;

/// Values beyond this are drawn at it, so that differences on the axis stay finite.
const LARGEST: f64 = 1e300;

/// The effects as a forest plot in SVG: labels to the left, points and intervals on an axis in the
/// outcome's own units, numbers to the right, a legend beneath. It holds no font, script or link.
pub fn forest(outcome: &Outcome, effects: &[Effect]) -> String {
    let plot = Plot::new(effects);
    let mut svg = Svg::new(plot.width, plot.height);
    let title = format!("Effects on {}", outcome.name);
    let bold = r#"font-weight="bold""#;
    let heading = r#"font-weight="bold" font-size="15""#;
    svg.text(MARGIN, MARGIN + 8.0, Anchor::Start, heading, &title);
    let x = plot.width - MARGIN;
    svg.text(x, plot.headers, Anchor::End, bold, &plot.numbers_header);
    plot.draw_axis(&mut svg, &outcome.description());
    for line in &plot.lines {
        match line {
            Line::Heading { y, text } => {
                let text = shortened(text, plot.left - MARGIN - GAP);
                svg.text(MARGIN, *y, Anchor::Start, bold, &text);
            }
            Line::Row { y, effect, numbers } => plot.draw_row(&mut svg, *y, effect, numbers),
        }
    }
    plot.draw_legend(&mut svg, effects);
    let rows = effects.iter().map(|effect| plot.sentence(effect));
    svg.finish(&title, &rows.collect::<Vec<_>>().join(" "))
}

/// One line of the plot, with the height of its middle.
enum Line<'a> {
    Heading {
        y: f64,
        text: String,
    },
    Row {
        y: f64,
        effect: &'a Effect,
        numbers: String,
    },
}

/// The layout.
struct Plot<'a> {
    lines: Vec<Line<'a>>,
    axis: Axis,
    decimals: usize,
    numbers_header: String,
    /// The left edge of the plotting area.
    left: f64,
    /// The heights of the column headers and of the axis.
    headers: f64,
    bottom: f64,
    width: f64,
    height: f64,
}

impl<'a> Plot<'a> {
    fn new(effects: &'a [Effect]) -> Plot<'a> {
        let decimals = numbers::decimals_for(effects.iter().map(|effect| effect.standard_error));
        let levels: Vec<String> = effects.iter().map(|e| words::level(e.level)).collect();
        let numbers_header = match levels.first() {
            Some(first) if levels.iter().all(|level| level == first) => {
                format!("Estimate [{first} interval]")
            }
            _ => "Estimate [interval]".into(),
        };
        let headers = MARGIN + 8.0 + ROW;
        let mut lines = Vec::new();
        let mut y = headers;
        let mut labels: f64 = 0.0;
        let mut widest_numbers = text_width(&numbers_header);
        let mut current = None;
        for effect in effects {
            let heading = format!("{}, {}", words::effect(effect), effect.population);
            if current.as_ref() != Some(&heading) {
                y += ROW;
                // Bold letters are wider.
                labels = labels.max(1.1 * text_width(&heading));
                lines.push(Line::Heading {
                    y,
                    text: heading.clone(),
                });
                current = Some(heading);
            }
            y += ROW;
            let numbers = interval_text(effect, decimals);
            labels = labels.max(INDENT + text_width(&label(effect)));
            widest_numbers = widest_numbers.max(text_width(&numbers));
            lines.push(Line::Row { y, effect, numbers });
        }
        let left = MARGIN + labels.min(WIDEST_LABEL) + GAP;
        let bottom = y + ROW;
        Plot {
            lines,
            axis: Axis::of(effects),
            decimals,
            numbers_header,
            left,
            headers,
            bottom,
            width: left + PLOT_WIDTH + GAP + widest_numbers + MARGIN,
            height: bottom + 4.0 * ROW + MARGIN,
        }
    }

    /// The place of a value on the axis. Infinite ones stand at the axis's ends.
    fn x(&self, value: f64) -> f64 {
        let value = value.clamp(self.axis.lower, self.axis.upper);
        let share = (value - self.axis.lower) / (self.axis.upper - self.axis.lower);
        self.left + PLOT_WIDTH * share
    }

    fn draw_axis(&self, svg: &mut Svg, label: &str) {
        let top = self.headers + 0.5 * ROW;
        for tick in self.axis.ticks() {
            let x = self.x(tick);
            let (colour, width) = if tick == 0.0 {
                (ZERO, 1.2)
            } else {
                (GRID, 1.0)
            };
            let stroke = format!(r#"stroke="{colour}" stroke-width="{width}""#);
            svg.line((x, top), (x, self.bottom), &stroke);
            svg.line(
                (x, self.bottom),
                (x, self.bottom + 5.0),
                &format!(r#"stroke="{ZERO}""#),
            );
            let text = numbers::fixed(tick, self.axis.decimals());
            svg.text(
                x,
                self.bottom + 15.0,
                Anchor::Middle,
                r#"font-size="12""#,
                &text,
            );
        }
        let ends = (
            (self.left, self.bottom),
            (self.left + PLOT_WIDTH, self.bottom),
        );
        svg.line(ends.0, ends.1, &format!(r#"stroke="{ZERO}""#));
        // As wide as the picture allows on both sides of the axis's middle.
        let middle = self.left + 0.5 * PLOT_WIDTH;
        let room = 2.0 * (middle.min(self.width - middle) - MARGIN);
        let label = shortened(label, room);
        svg.text(middle, self.bottom + 15.0 + ROW, Anchor::Middle, "", &label);
    }

    fn draw_row(&self, svg: &mut Svg, y: f64, effect: &Effect, numbers: &str) {
        svg.open_group(&self.sentence(effect));
        let room = self.left - MARGIN - INDENT - GAP;
        let text = shortened(&label(effect), room);
        svg.text(MARGIN + INDENT, y, Anchor::Start, "", &text);
        svg.text(self.width - MARGIN, y, Anchor::End, "", numbers);
        let [lower, upper] = effect.interval;
        if !lower.is_nan() && !upper.is_nan() {
            let share = words::privacy_share(effect).filter(|_| !effect.not_private);
            let ends = [self.x(lower), self.x(upper)];
            let inner = share.map(|share| {
                // The half-width is a quantile times the root of the variance: its part without the
                // noise has the root of the remaining share.
                let part = (1.0 - share).sqrt();
                let estimate = effect.estimate;
                [lower, upper].map(|end| self.x(estimate + part * (end - estimate)))
            });
            interval(svg, y, ends, inner, effect.not_private);
            for (end, x, direction) in [(lower, ends[0], -1.0), (upper, ends[1], 1.0)] {
                if end.is_infinite() {
                    arrow(svg, (x, y), direction, colour(effect.not_private));
                } else {
                    cap(svg, (x, y), colour(effect.not_private));
                }
            }
        }
        if effect.estimate.is_finite() {
            marker(svg, (self.x(effect.estimate), y), effect.not_private);
        }
        svg.close_group();
    }

    /// What the marks mean: only those that occur.
    fn draw_legend(&self, svg: &mut Svg, effects: &[Effect]) {
        let y = self.bottom + 15.0 + 2.4 * ROW;
        let noisy = |e: &Effect| !e.not_private && words::privacy_share(e).is_some_and(|s| s > 0.0);
        let private = effects.iter().any(|effect| !effect.not_private);
        let open = effects.iter().any(|effect| effect.not_private);
        let mut entries = Vec::new();
        if private {
            entries.push((false, false, "private"));
        }
        if effects.iter().any(noisy) {
            entries.push((false, true, "part without privacy noise"));
        }
        if open {
            entries.push((true, false, "NOT PRIVATE, not for release"));
        }
        const SAMPLE: f64 = 36.0;
        let widths = entries
            .iter()
            .map(|(_, _, text)| SAMPLE + 8.0 + text_width(text));
        let total = widths.sum::<f64>() + GAP * entries.len().saturating_sub(1) as f64;
        let middle = self.left + 0.5 * PLOT_WIDTH;
        let rightmost = (self.width - MARGIN - total).max(MARGIN);
        let mut x = (middle - 0.5 * total).clamp(MARGIN, rightmost);
        for (open, part, text) in entries {
            let ends = [x, x + SAMPLE];
            if part {
                interval(svg, y, ends, Some([x + 6.0, x + SAMPLE - 6.0]), open);
            } else {
                interval(svg, y, ends, None, open);
                marker(svg, (x + 0.5 * SAMPLE, y), open);
            }
            for end in ends {
                cap(svg, (end, y), colour(open));
            }
            svg.text(
                x + SAMPLE + 8.0,
                y,
                Anchor::Start,
                r#"font-size="12""#,
                text,
            );
            x += SAMPLE + 8.0 + text_width(text) + GAP;
        }
    }

    /// A row in words, for tooltips and for the picture's description.
    fn sentence(&self, effect: &Effect) -> String {
        format!(
            "{}, {}, {}: {}.",
            words::effect(effect),
            effect.population,
            label(effect),
            interval_text(effect, self.decimals)
        )
    }
}

fn label(effect: &Effect) -> String {
    if effect.not_private {
        format!("{} ({NOT_PRIVATE})", words::method(effect))
    } else {
        words::method(effect)
    }
}

fn interval_text(effect: &Effect, decimals: usize) -> String {
    let [lower, upper] = effect.interval.map(|end| numbers::fixed(end, decimals));
    format!(
        "{} [{lower}, {upper}]",
        numbers::fixed(effect.estimate, decimals)
    )
}

fn colour(not_private: bool) -> &'static str {
    if not_private { OPEN } else { PRIVATE }
}

/// An interval's line with its thick inner part.
fn interval(svg: &mut Svg, y: f64, ends: [f64; 2], inner: Option<[f64; 2]>, not_private: bool) {
    let colour = colour(not_private);
    let dashes = if not_private {
        r#" stroke-dasharray="5 3""#
    } else {
        ""
    };
    let stroke = format!(r#"stroke="{colour}" stroke-width="1.6"{dashes}"#);
    svg.line((ends[0], y), (ends[1], y), &stroke);
    if let Some([from, to]) = inner {
        let stroke = format!(r#"stroke="{colour}" stroke-width="5""#);
        svg.line((from, y), (to, y), &stroke);
    }
}

fn cap(svg: &mut Svg, (x, y): (f64, f64), colour: &str) {
    let stroke = format!(r#"stroke="{colour}" stroke-width="1.6""#);
    svg.line((x, y - 4.0), (x, y + 4.0), &stroke);
}

/// The head of an interval that has no end.
fn arrow(svg: &mut Svg, (x, y): (f64, f64), direction: f64, colour: &str) {
    let back = x - 8.0 * direction;
    let fill = format!(r#"fill="{colour}""#);
    svg.polygon(&[(x, y), (back, y - 4.5), (back, y + 4.5)], &fill);
}

/// The point estimate.
fn marker(svg: &mut Svg, (x, y): (f64, f64), not_private: bool) {
    let colour = colour(not_private);
    if not_private {
        let corners = [(x, y - 6.0), (x + 6.0, y), (x, y + 6.0), (x - 6.0, y)];
        let attributes = format!(r##"fill="#ffffff" stroke="{colour}" stroke-width="1.8""##);
        svg.polygon(&corners, &attributes);
    } else {
        let attributes = format!(r##"fill="{colour}" stroke="#ffffff" stroke-width="1.2""##);
        svg.circle((x, y), 5.5, &attributes);
    }
}

/// An axis from `lower` to `upper`, both multiples of `step`, holding zero.
#[derive(Debug, PartialEq)]
struct Axis {
    lower: f64,
    upper: f64,
    step: f64,
}

impl Axis {
    fn of(effects: &[Effect]) -> Axis {
        let values = effects
            .iter()
            .flat_map(|effect| [effect.estimate, effect.interval[0], effect.interval[1]])
            .filter(|value| value.is_finite())
            .map(|value| value.clamp(-LARGEST, LARGEST));
        let (lowest, highest) = values.fold((0.0f64, 0.0f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if highest - lowest < f64::MIN_POSITIVE / f64::EPSILON {
            return Axis {
                lower: -1.0,
                upper: 1.0,
                step: 0.5,
            };
        }
        let step = nice_step((highest - lowest) / TICKS);
        Axis {
            lower: (lowest / step).floor() * step,
            upper: (highest / step).ceil() * step,
            step,
        }
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let first = (self.lower / self.step).round() as i64;
        let last = (self.upper / self.step).round() as i64;
        let step = self.step;
        (first..=last).map(move |tick| tick as f64 * step)
    }

    /// The decimals that tell ticks apart.
    fn decimals(&self) -> usize {
        (-self.step.log10().floor()).clamp(0.0, 12.0) as usize
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `step`.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|nice| *nice >= step)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Estimand, Estimator, Route};
    use crate::report::words::examples::{earnings, lalonde};

    #[test]
    fn look() {
        let mut rows = vec![
            lalonde(Route::Moment, Estimator::Model, 1794.34),
            lalonde(Route::Imputation, Estimator::DifferenceInMeans, 1620.9),
            lalonde(Route::Imputation, Estimator::Aipw, 1320.9),
            lalonde(Route::Naive, Estimator::DifferenceInMeans, 1794.34),
            lalonde(Route::Moment, Estimator::Model, 1400.0),
            lalonde(Route::Imputation, Estimator::Ipw, -120.9),
        ];
        for r in &mut rows[4..] {
            r.estimand = Estimand::Att;
            r.population = "units with treat = 1".into();
        }
        rows[1].privacy_variance *= 6.0;
        rows[1].interval = [1620.9 - 2500.0, 1620.9 + 2500.0];
        std::fs::write("/tmp/kuva_a6/f.svg", forest(&earnings(), &rows)).unwrap();
        std::fs::write("/tmp/kuva_a6/g.svg", forest(&earnings(), &rows[..1])).unwrap();
        rows[1].interval = [f64::NEG_INFINITY, f64::INFINITY];
        rows[2].estimate = f64::NAN;
        rows[2].interval = [f64::NAN; 2];
        rows[0].population = "people with a very long description & more than fits in <b>this</b> picture, which must be cut".into();
        std::fs::write("/tmp/kuva_a6/h.svg", forest(&earnings(), &rows)).unwrap();
        std::fs::write("/tmp/kuva_a6/i.svg", forest(&earnings(), &[])).unwrap();
    }
}

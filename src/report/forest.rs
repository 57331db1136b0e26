//! A forest plot: every effect as a point with its interval on one axis, as SVG.
//!
//! Rows that share estimand, contrast and population stand under one heading. A private row is a blue
//! disc; the thick part of its interval is as long as the interval would be without the privacy noise.
//! A row that is not private is a red hollow diamond on a dashed line: shapes and dashes tell the two
//! apart without colour.

use super::axis::Axis;
use super::marks::{arrow, cap, colour, interval, marker};
use super::numbers;
use super::svg::{Anchor, Svg, shortened, text_width};
use super::words::{self, NOT_PRIVATE, Outcome};
use crate::estimate::Effect;

const GRID: &str = "#e3e3e3";
const ZERO: &str = "#6b6b6b";

/// Distances in pixels.
const MARGIN: f64 = 20.0;
const ROW: f64 = 24.0;
const BETWEEN_GROUPS: f64 = 8.0;
const INDENT: f64 = 14.0;
/// From the axis down to the legend, past tick labels and the axis's label.
const LEGEND: f64 = 72.0;
const GAP: f64 = 22.0;
/// How much wider bold letters are.
const BOLD: f64 = 1.1;
const PLOT_WIDTH: f64 = 360.0;
const WIDEST_LABEL: f64 = 340.0;

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
                let text = shortened(text, (plot.left - MARGIN - GAP) / BOLD);
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
        let mut widest_numbers = BOLD * text_width(&numbers_header);
        let mut current = None;
        for effect in effects {
            let heading = format!("{}, {}", words::effect(effect), effect.population);
            if current.as_ref() != Some(&heading) {
                y += if current.is_some() {
                    ROW + BETWEEN_GROUPS
                } else {
                    ROW
                };
                labels = labels.max(BOLD * text_width(&heading));
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
        let values = effects
            .iter()
            .flat_map(|effect| [effect.estimate, effect.interval[0], effect.interval[1]]);
        let left = MARGIN + labels.min(WIDEST_LABEL) + GAP;
        let bottom = y + ROW;
        Plot {
            lines,
            axis: Axis::holding(values, PLOT_WIDTH),
            decimals,
            numbers_header,
            left,
            headers,
            bottom,
            width: left + PLOT_WIDTH + GAP + widest_numbers + MARGIN,
            height: bottom + LEGEND + 0.5 * ROW + MARGIN,
        }
    }

    /// The place of a value on the axis. Infinite ones stand at the axis's ends.
    fn x(&self, value: f64) -> f64 {
        self.left + PLOT_WIDTH * self.axis.share(value)
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
            let text = self.axis.label(tick);
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
            let finite = lower.is_finite() && upper.is_finite();
            let inner = share.filter(|_| finite).map(|share| {
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
        let y = self.bottom + LEGEND;
        let noisy = |e: &Effect| !e.not_private && words::privacy_share(e).is_some_and(|s| s > 0.0);
        let private = effects.iter().any(|effect| !effect.not_private);
        let open = effects.iter().any(|effect| effect.not_private);
        let mut entries = Vec::new();
        if private {
            entries.push((false, false, "private"));
        }
        if effects.iter().any(noisy) {
            entries.push((false, true, "interval without privacy noise"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Estimand, Estimator, Route};
    use crate::report::words::examples::{earnings, lalonde};
    use proptest::prelude::*;

    fn sample() -> Vec<Effect> {
        let mut treated = lalonde(Route::Imputation, Estimator::Ipw, -120.9);
        treated.estimand = Estimand::Att;
        treated.population = "units with treat = 1".into();
        vec![
            lalonde(Route::Moment, Estimator::Model, 1794.34),
            lalonde(Route::Naive, Estimator::DifferenceInMeans, 1794.34),
            treated,
        ]
    }

    /// The value of an attribute in the first element that begins with `start`, at or after `from`.
    fn attribute(svg: &str, from: usize, start: &str, name: &str) -> f64 {
        let element = &svg[from..][svg[from..].find(start).unwrap()..];
        let value = &element[element.find(&format!(" {name}=\"")).unwrap() + name.len() + 3..];
        value[..value.find('"').unwrap()].parse().unwrap()
    }

    #[test]
    fn marks_stand_where_the_axis_says() {
        let svg = forest(&earnings(), &sample());
        let tick = |label: &str| {
            let end = svg.find(&format!(">{label}</text>")).unwrap();
            let start = svg[..end].rfind("<text").unwrap();
            attribute(&svg, start, "<text", "x")
        };
        let (zero, thousand) = (tick("0"), tick("1,000"));
        let expected = |value: f64| zero + (thousand - zero) * value / 1000.0;
        let row = svg.find("<g>").unwrap();
        // Coordinates are rounded to tenths of a pixel; a tick's error grows with the distance.
        let close = |x: f64, value: f64| (x - expected(value)).abs() < 0.5;
        assert!(close(attribute(&svg, row, "<circle", "cx"), 1794.34));
        assert!(close(attribute(&svg, row, "<line", "x1"), 479.34));
        assert!(close(attribute(&svg, row, "<line", "x2"), 3109.34));
        // The thick part: 1315 times the root of the sampling share .88.
        let thick = row + svg[row..].find("<line").unwrap() + 1;
        assert!(close(
            attribute(&svg, thick, "<line", "x1"),
            1794.34 - 1233.6
        ));
    }

    #[test]
    fn rows_that_are_not_private_look_and_read_differently() {
        let svg = forest(&earnings(), &sample());
        let row = svg
            .find("<g><title>ATE (1 - 0), all 445 rows, naive")
            .unwrap();
        let row = &svg[row..row + svg[row..].find("</g>").unwrap()];
        assert!(row.contains("NOT PRIVATE") && row.contains("stroke-dasharray"));
        assert!(row.contains("<polygon") && !row.contains("<circle"));
        let private = forest(&earnings(), &sample()[..1]);
        assert!(!private.contains("NOT PRIVATE") && !private.contains("stroke-dasharray"));
    }

    #[test]
    fn rows_stand_under_their_headings_and_the_axis_names_the_outcome() {
        let svg = forest(&earnings(), &sample());
        assert_eq!(svg.matches(">ATE (1 - 0), all 445 rows</text>").count(), 1);
        assert_eq!(
            svg.matches(">ATT (1 - 0), units with treat = 1</text>")
                .count(),
            1
        );
        assert!(svg.contains(">re78: earnings in 1978, US dollars</text>"));
        assert!(svg.contains(">-121 [-1,436, 1,194]</text>"));
        assert!(svg.contains(">Estimate [95 % interval]</text>"));
    }

    #[test]
    fn intervals_without_ends_have_arrows() {
        let mut effects = sample()[..1].to_vec();
        effects[0].interval = [f64::NEG_INFINITY, f64::INFINITY];
        let svg = forest(&earnings(), &effects);
        assert_eq!(svg.matches("<polygon").count(), 2);
        assert!(svg.contains("1,794 [-∞, ∞]"));
    }

    proptest! {
        #[test]
        fn any_effects_make_a_well_formed_picture(
            values in prop::collection::vec(any::<[f64; 5]>(), 0..4),
            text in any::<String>(),
        ) {
            let effects: Vec<Effect> = values.iter().map(|&[estimate, low, high, error, noise]| {
                let mut effect = lalonde(Route::Moment, Estimator::Model, estimate);
                effect.interval = [low, high];
                effect.standard_error = error;
                effect.privacy_variance = noise;
                effect.population = text.clone();
                effect
            }).collect();
            let outcome = Outcome { name: text.clone(), label: Some(text) };
            let svg = forest(&outcome, &effects);
            prop_assert!(!svg.contains("=\"NaN") && !svg.contains("=\"inf") && !svg.contains("=\"-inf"));
            prop_assert_eq!(svg.matches("<g>").count(), effects.len());
            prop_assert_eq!(svg.matches("</g>").count(), effects.len());
            // Every `<` opens a tag of ours: texts have none.
            let opened = svg.matches('<').count();
            prop_assert_eq!(opened, svg.matches('>').count());
        }
    }
}

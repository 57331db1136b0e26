//! One column's marginal on both tables: a pair of bars per level.

use crate::evaluate::ColumnComparison;
use crate::report::marks::colour;
use crate::report::numbers::{fixed, percentage};
use crate::report::svg::{Anchor, Svg, shortened, text_width};

const MARGIN: f64 = 10.0;
const ROW: f64 = 22.0;
const BAR: f64 = 8.0;
const GAP: f64 = 8.0;
const PLOT_WIDTH: f64 = 180.0;
const NUMBERS: f64 = 64.0;
const WIDEST_LABEL: f64 = 120.0;
const BOLD: &str = r#"font-weight="bold""#;
const SMALL: &str = r#"font-size="12""#;

/// Levels beyond these are summed up in the description only.
const MOST_LEVELS: usize = 30;

/// The picture of the column with this number. The confidential bar is hollow, the synthetic one full, so
/// that they differ without colour; the shares stand beside them.
pub(super) fn overlay(number: usize, column: &ColumnComparison) -> String {
    let drawn = drawn(column);
    let widths = drawn.iter().map(|&level| text_width(&column.levels[level]));
    let label = widths.fold(0.0, f64::max).min(WIDEST_LABEL);
    let left = MARGIN + label + GAP;
    let shares = column.confidential.iter().chain(&column.synthetic);
    let largest = shares.copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let headers = MARGIN + ROW;
    let width = left + PLOT_WIDTH + GAP + NUMBERS + MARGIN;
    let bottom = headers + ROW * (drawn.len() as f64 + 1.0);
    let mut svg = Svg::new(width, bottom + ROW);
    let title = format!("{}: TV {}", column.name, fixed(column.total_variation, 4));
    let heading = shortened(&title, 0.9 * (width - 2.0 * MARGIN));
    svg.text(MARGIN, headers - 0.5 * ROW, Anchor::Start, BOLD, &heading);
    for (row, &level) in drawn.iter().enumerate() {
        let y = headers + ROW * (row as f64 + 0.5);
        svg.open_group(&sentence(column, level));
        let text = shortened(&column.levels[level], label);
        svg.text(left - GAP, y, Anchor::End, SMALL, &text);
        let [real, synthetic] =
            [column.confidential[level], column.synthetic[level]].map(|share| share / largest);
        bar(&mut svg, (left, y - BAR), PLOT_WIDTH * real, true);
        bar(&mut svg, (left, y), PLOT_WIDTH * synthetic, false);
        let share = percentage(column.synthetic[level]);
        svg.text(width - MARGIN, y, Anchor::End, SMALL, &share);
        svg.close_group();
    }
    let y = bottom - 0.25 * ROW;
    bar(&mut svg, (MARGIN, y - 0.5 * BAR), 20.0, true);
    svg.text(MARGIN + 28.0, y, Anchor::Start, SMALL, "confidential");
    bar(&mut svg, (MARGIN + 120.0, y - 0.5 * BAR), 20.0, false);
    let text = "synthetic, with its share";
    svg.text(MARGIN + 148.0, y, Anchor::Start, SMALL, text);
    svg.figure(
        &format!("column-{number}"),
        &title,
        &description(column, &drawn),
    )
}

/// The levels that are drawn, in their order: the most frequent ones where there are too many.
fn drawn(column: &ColumnComparison) -> Vec<usize> {
    let mut levels: Vec<usize> = (0..column.levels.len()).collect();
    let size = |level: &usize| column.confidential[*level] + column.synthetic[*level];
    levels.sort_by(|a, b| size(b).total_cmp(&size(a)));
    levels.truncate(MOST_LEVELS);
    levels.sort_unstable();
    levels
}

fn bar(svg: &mut Svg, corner: (f64, f64), width: f64, confidential: bool) {
    let colour = colour(confidential);
    let attributes = if confidential {
        format!(r##"fill="#ffffff" stroke="{colour}""##)
    } else {
        format!(r#"fill="{colour}""#)
    };
    svg.rectangle(corner, (width.max(0.0), BAR), &attributes);
}

fn sentence(column: &ColumnComparison, level: usize) -> String {
    format!(
        "{}: {} confidential, {} synthetic.",
        column.levels[level],
        percentage(column.confidential[level]),
        percentage(column.synthetic[level])
    )
}

fn description(column: &ColumnComparison, drawn: &[usize]) -> String {
    let mut sentences: Vec<String> = drawn.iter().map(|&l| sentence(column, l)).collect();
    let rest = column.levels.len() - drawn.len();
    if rest > 0 {
        sentences.push(format!("{rest} rarer levels are not drawn."));
    }
    sentences.join(" ")
}

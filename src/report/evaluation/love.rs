//! A love plot: the standardised differences between arms, on both tables, a row per covariate.

use crate::evaluate::BalanceComparison;
use crate::report::axis::Axis;
use crate::report::marks::marker;
use crate::report::numbers::fixed;
use crate::report::svg::{Anchor, Svg, shortened, text_width};

const MARGIN: f64 = 16.0;
const ROW: f64 = 22.0;
const GAP: f64 = 14.0;
const PLOT_WIDTH: f64 = 420.0;
const WIDEST_LABEL: f64 = 260.0;
const GRID: &str = "#e3e3e3";
const ZERO: &str = "#6b6b6b";

/// Beyond this size a difference is usually called imbalance (Austin 2009).
const IMBALANCE: f64 = 0.1;

/// The plot: a hollow diamond for the confidential table, a disc for the synthetic one, a line between them.
pub(super) fn love_plot(balance: &[BalanceComparison]) -> String {
    let labels: Vec<String> = balance.iter().map(|row| label(row, balance)).collect();
    let widest = labels.iter().map(|label| text_width(label));
    let left = MARGIN + widest.fold(0.0, f64::max).min(WIDEST_LABEL) + GAP;
    let values = balance
        .iter()
        .flat_map(|row| [row.confidential, row.synthetic]);
    let axis = Axis::holding(values.chain([-IMBALANCE, IMBALANCE]), PLOT_WIDTH);
    let x = |value: f64| left + PLOT_WIDTH * axis.share(value);
    let bottom = MARGIN + ROW * (balance.len() as f64 + 0.5);
    let mut svg = Svg::new(left + PLOT_WIDTH + MARGIN, bottom + 76.0);
    for tick in axis.ticks() {
        let colour = if tick == 0.0 { ZERO } else { GRID };
        let stroke = format!(r#"stroke="{colour}""#);
        svg.line((x(tick), MARGIN), (x(tick), bottom), &stroke);
        let text = axis.label(tick);
        svg.text(
            x(tick),
            bottom + 12.0,
            Anchor::Middle,
            r#"font-size="12""#,
            &text,
        );
    }
    for end in [-IMBALANCE, IMBALANCE] {
        let dashes = format!(r#"stroke="{ZERO}" stroke-dasharray="4 4""#);
        svg.line((x(end), MARGIN), (x(end), bottom), &dashes);
    }
    for (index, (row, label)) in balance.iter().zip(&labels).enumerate() {
        let y = MARGIN + ROW * (index as f64 + 0.5);
        svg.open_group(&sentence(row));
        let text = shortened(label, left - MARGIN - GAP);
        svg.text(MARGIN, y, Anchor::Start, "", &text);
        let ends = [row.confidential, row.synthetic];
        if ends.iter().all(|end| end.is_finite()) {
            let stroke = format!(r#"stroke="{ZERO}""#);
            svg.line((x(ends[0]), y), (x(ends[1]), y), &stroke);
        }
        for (value, not_private) in [(row.synthetic, false), (row.confidential, true)] {
            if value.is_finite() {
                marker(&mut svg, (x(value), y), not_private);
            }
        }
        svg.close_group();
    }
    draw_legend(&mut svg, left, bottom + 34.0);
    let rows: Vec<String> = balance.iter().map(sentence).collect();
    svg.figure("balance", "Covariate balance", &rows.join(" "))
}

/// The covariate, and the arms where there are several contrasts.
fn label(row: &BalanceComparison, all: &[BalanceComparison]) -> String {
    if all.iter().all(|other| other.contrast == row.contrast) {
        row.covariate.clone()
    } else {
        format!("{}, {}", row.covariate, row.contrast)
    }
}

fn sentence(row: &BalanceComparison) -> String {
    format!(
        "{}, {}: {} confidential, {} synthetic.",
        row.covariate,
        row.contrast,
        fixed(row.confidential, 3),
        fixed(row.synthetic, 3)
    )
}

fn draw_legend(svg: &mut Svg, left: f64, y: f64) {
    let small = r#"font-size="12""#;
    marker(svg, (left + 6.0, y), true);
    svg.text(left + 18.0, y, Anchor::Start, small, "confidential");
    marker(svg, (left + 126.0, y), false);
    svg.text(left + 138.0, y, Anchor::Start, small, "synthetic");
    let about = "standardised difference between arms; dashes at 0.1";
    svg.text(left, y + 20.0, Anchor::Start, small, about);
}

//! A heat map of the total variation of pairs of columns: a triangle with a cell per pair.

use crate::evaluate::{ColumnComparison, Variation};
use crate::report::numbers::fixed;
use crate::report::svg::{Anchor, INK, Svg, shortened, text_width};

const MARGIN: f64 = 16.0;
const WIDEST_LABEL: f64 = 160.0;

/// The side of the triangle that cells share, and what a cell is at most and at least.
const SIDE: f64 = 640.0;
const LARGEST_CELL: f64 = 44.0;
const SMALLEST_CELL: f64 = 6.0;

/// From this size on a cell has room for its number.
const NUMBER_CELL: f64 = 34.0;

/// The height of the legend.
const LEGEND: f64 = 56.0;

/// Both ends of the colour scale, red, green and blue: light to dark, so that it reads in black and white too.
const LIGHT: [f64; 3] = [247.0, 247.0, 242.0];
const DARK: [f64; 3] = [124.0, 20.0, 24.0];

/// The pairs' total variation. Pairs that were not compared are left blank.
pub(super) fn heat_map(columns: &[ColumnComparison], pairs: &[Variation]) -> String {
    let count = columns.len();
    let cell = (SIDE / count.max(1) as f64).clamp(SMALLEST_CELL, LARGEST_CELL);
    let widths = columns.iter().map(|column| text_width(&column.name));
    let label = widths.fold(0.0, f64::max).min(WIDEST_LABEL) + 8.0;
    let side = cell * count as f64;
    let (left, top) = (MARGIN + label, MARGIN);
    let largest = pairs.iter().map(|p| p.total_variation).fold(0.0, f64::max);
    let mut svg = Svg::new(left + side.max(260.0) + MARGIN, top + side + label + LEGEND);
    let place = |name: &String| columns.iter().position(|column| column.name == *name);
    for pair in pairs {
        let [Some(a), Some(b)] = [0, 1].map(|side| place(&pair.columns[side])) else {
            continue;
        };
        let corner = (left + cell * a as f64, top + cell * b as f64);
        draw_cell(&mut svg, corner, cell, pair, largest);
    }
    // Labels closer than their height would overlap; tooltips name every cell.
    if cell >= 12.0 {
        for (index, column) in columns.iter().enumerate() {
            let middle = cell * (index as f64 + 0.5);
            let text = shortened(&column.name, label);
            svg.text(left - 8.0, top + middle, Anchor::End, "", &text);
            let (x, y) = (left + middle, top + side + 8.0);
            // Turned about the point where the text stands: up the page, ending at the triangle.
            let turned = format!(r#"transform="rotate(-90 {x:.1} {y:.1})""#);
            svg.text(x, y, Anchor::End, &turned, &text);
        }
    }
    draw_legend(&mut svg, (left, top + side + label + 12.0), largest);
    let worst = pairs
        .iter()
        .max_by(|a, b| a.total_variation.total_cmp(&b.total_variation));
    let worst = worst.map_or(String::new(), |pair| {
        format!(" Largest: {}", sentence(pair))
    });
    let description = format!(
        "Total variation of {} pairs of columns.{worst}",
        pairs.len()
    );
    svg.figure("pairs", "Total variation of pairs", &description)
}

fn sentence(pair: &Variation) -> String {
    format!(
        "{}: {}.",
        pair.columns.join(" and "),
        fixed(pair.total_variation, 4)
    )
}

fn draw_cell(svg: &mut Svg, corner: (f64, f64), cell: f64, pair: &Variation, largest: f64) {
    let share = share(pair.total_variation, largest);
    let fill = format!(
        r##"fill="{}" stroke="#ffffff" stroke-width="0.5""##,
        colour(share)
    );
    svg.open_group(&sentence(pair));
    svg.rectangle(corner, (cell, cell), &fill);
    if cell >= NUMBER_CELL {
        let ink = if share > 0.5 { "#ffffff" } else { INK };
        let attributes = format!(r#"font-size="10" fill="{ink}""#);
        let middle = (corner.0 + 0.5 * cell, corner.1 + 0.5 * cell);
        let number = fixed(pair.total_variation, 3);
        svg.text(middle.0, middle.1, Anchor::Middle, &attributes, &number);
    }
    svg.close_group();
}

/// Where a value stands between zero and the largest.
fn share(value: f64, largest: f64) -> f64 {
    if largest > 0.0 {
        (value / largest).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

fn colour(share: f64) -> String {
    let [r, g, b] = [0, 1, 2].map(|i| (LIGHT[i] + share * (DARK[i] - LIGHT[i])).round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The colours with the values that they stand for.
fn draw_legend(svg: &mut Svg, (x, y): (f64, f64), largest: f64) {
    const STEPS: usize = 20;
    const WIDTH: f64 = 10.0;
    for step in 0..STEPS {
        let share = step as f64 / (STEPS - 1) as f64;
        let fill = format!(r#"fill="{}""#, colour(share));
        svg.rectangle((x + WIDTH * step as f64, y), (WIDTH, 12.0), &fill);
    }
    let small = r#"font-size="12""#;
    svg.text(x, y + 24.0, Anchor::Start, small, "0");
    let end = x + WIDTH * STEPS as f64;
    svg.text(end, y + 24.0, Anchor::End, small, &fixed(largest, 4));
}

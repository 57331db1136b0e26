//! One plot of a picture: its frame and its lines. Lines differ by colour, dash and mark.

use super::scale::Scale;
use super::statistics::Measured;
use dpcausal::report::numbers::significant;
use dpcausal::report::svg::{Anchor, Svg};

/// The size of a plot.
pub const PANEL: (f64, f64) = (210.0, 150.0);

/// The strokes of what is not data.
pub const GRID: &str = r##"stroke="#dddddd""##;
pub const FRAME: &str = r##"fill="none" stroke="#888888""##;

/// The band of coverage that the bars ask for.
const BAND: (f64, f64) = (0.93, 0.975);

/// Colours that the colour-blind tell apart (Okabe and Ito 2008), without yellow, which white swallows.
const COLOURS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00",
];
const DASHES: [&str; 3] = ["", r#"stroke-dasharray="7 3""#, r#"stroke-dasharray="3 3""#];
/// A plot.
pub struct Panel {
    pub left: f64,
    pub top: f64,
    pub x: Scale,
    pub y: Scale,
}

impl Panel {
    fn x(&self, value: f64) -> f64 {
        self.left + PANEL.0 * self.x.share(value)
    }

    /// Where a value stands.
    pub fn y(&self, value: f64) -> f64 {
        self.top + PANEL.1 * (1.0 - self.y.share(value))
    }

    /// Frame, ticks and title; with the band of coverage.
    pub fn frame(&self, svg: &mut Svg, epsilons: &[f64], title: &str, band: bool) {
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
    pub fn line(&self, svg: &mut Svg, style: usize, points: impl Iterator<Item = (f64, Measured)>) {
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

/// The stroke of a line.
pub fn stroke(style: usize) -> String {
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

//! The marks of a forest plot. Colour, shape and dashes all tell private rows from those that are not,
//! so that the picture reads in black and white too.

use super::svg::Svg;

/// A dark blue and a brick red: apart in hue for every kind of colour vision, and in print.
const PRIVATE: &str = "#1f5fa8";
const OPEN: &str = "#b5401b";

pub(super) fn colour(not_private: bool) -> &'static str {
    if not_private { OPEN } else { PRIVATE }
}

/// An interval's line with its thick inner part.
pub(super) fn interval(
    svg: &mut Svg,
    y: f64,
    ends: [f64; 2],
    inner: Option<[f64; 2]>,
    not_private: bool,
) {
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

pub(super) fn cap(svg: &mut Svg, (x, y): (f64, f64), colour: &str) {
    let stroke = format!(r#"stroke="{colour}" stroke-width="1.6""#);
    svg.line((x, y - 4.0), (x, y + 4.0), &stroke);
}

/// The head of an interval that has no end.
pub(super) fn arrow(svg: &mut Svg, (x, y): (f64, f64), direction: f64, colour: &str) {
    let back = x - 8.0 * direction;
    let fill = format!(r#"fill="{colour}""#);
    svg.polygon(&[(x, y), (back, y - 4.5), (back, y + 4.5)], &fill);
}

/// The point estimate.
pub(super) fn marker(svg: &mut Svg, (x, y): (f64, f64), not_private: bool) {
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

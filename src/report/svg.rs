//! A few shapes of SVG, written as text. Everything is a presentation attribute (no style sheet, font
//! file or script), so that a picture looks the same in a browser, in print and inside a page.

use std::fmt::Write;

/// The size of ordinary text, in pixels.
pub const TEXT: f64 = 13.0;

/// The colour of ordinary text.
pub const INK: &str = "#1a1a1a";

/// Where a text stands relative to its point.
#[derive(Debug, Clone, Copy)]
pub enum Anchor {
    /// The text begins at the point.
    Start,
    /// The text is centred on the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// A picture under construction. Coordinates are pixels from the upper left corner.
pub struct Svg {
    body: String,
    width: f64,
    height: f64,
}

impl Svg {
    /// An empty picture of this size in pixels.
    pub fn new(width: f64, height: f64) -> Svg {
        Svg {
            body: String::new(),
            width,
            height,
        }
    }

    /// Adds one element. Writing to a text can't fail.
    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "{element}");
    }

    /// A text with its middle near `y`.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, attributes: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (baseline, text) = (y + 0.35 * TEXT, escaped(text));
        self.element(format_args!(
            r#"<text x="{x:.1}" y="{baseline:.1}" text-anchor="{anchor}" {attributes}>{text}</text>"#
        ));
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), attributes: &str) {
        self.element(format_args!(
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" {attributes}/>"#,
            from.0, from.1, to.0, to.1
        ));
    }

    /// A closed shape through some points.
    pub fn polygon(&mut self, points: &[(f64, f64)], attributes: &str) {
        let points = coordinates(points);
        self.element(format_args!(r#"<polygon points="{points}" {attributes}/>"#));
    }

    /// An open line through some points.
    pub fn polyline(&mut self, points: &[(f64, f64)], attributes: &str) {
        let points = coordinates(points);
        self.element(format_args!(
            r#"<polyline points="{points}" fill="none" {attributes}/>"#
        ));
    }

    /// A rectangle by its upper left corner, width and height.
    pub fn rectangle(&mut self, corner: (f64, f64), size: (f64, f64), attributes: &str) {
        self.element(format_args!(
            r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" {attributes}/>"#,
            corner.0, corner.1, size.0, size.1
        ));
    }

    /// A circle.
    pub fn circle(&mut self, centre: (f64, f64), radius: f64, attributes: &str) {
        self.element(format_args!(
            r#"<circle cx="{:.1}" cy="{:.1}" r="{radius:.1}" {attributes}/>"#,
            centre.0, centre.1
        ));
    }

    /// Opens a group whose `tooltip` browsers show and screen readers read.
    pub fn open_group(&mut self, tooltip: &str) {
        self.element(format_args!("<g><title>{}</title>", escaped(tooltip)));
    }

    /// Closes the group.
    pub fn close_group(&mut self) {
        self.element(format_args!("</g>"));
    }

    /// The document, with a title and a description for those who don't see it.
    pub fn finish(self, title: &str, description: &str) -> String {
        self.figure("picture", title, description)
    }

    /// As [`Svg::finish`], for a page of several pictures, each of which has a name of its own: letters, digits
    /// and hyphens.
    pub fn figure(self, name: &str, title: &str, description: &str) -> String {
        let Svg {
            body,
            width,
            height,
        } = self;
        let (title, description) = (escaped(title), escaped(description));
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-labelledby="{name}-title {name}-description" font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" font-size="{TEXT}" fill="{INK}">
<title id="{name}-title">{title}</title>
<desc id="{name}-description">{description}</desc>
<rect width="100%" height="100%" fill="#ffffff"/>
{body}</svg>
"##
        )
    }
}

fn coordinates(points: &[(f64, f64)]) -> String {
    let points: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    points.join(" ")
}

/// A text as XML and HTML allow it: markup escaped, control characters (which no XML document may hold)
/// replaced.
pub(super) fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => result.push_str("&amp;"),
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            '"' => result.push_str("&quot;"),
            '\'' => result.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => result.push('\u{fffd}'),
            c => result.push(c),
        }
    }
    result
}

/// About how wide a text is in a sans-serif font of size [`TEXT`], in pixels: rather too wide than too
/// narrow, since the reader's font is not known.
pub fn text_width(text: &str) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 't' | 'f' | 'r' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '!'
            | '(' | ')' | '[' | ']' | '-' => 0.38,
            'm' | 'w' | 'M' | 'W' | '%' => 0.92,
            'A'..='Z' => 0.72,
            '\u{1100}'.. => 1.05,
            _ => 0.6,
        })
        .sum();
    TEXT * ems
}

/// The text, cut with an ellipsis where it is wider than `width` pixels.
pub fn shortened(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.into();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if text_width(&kept) + TEXT > width {
            break;
        }
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_texts_stays_text() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text(0.0, 0.0, Anchor::Start, "", "<script>&\"'\u{1b}");
        let document = svg.finish("a < b", "c > d");
        assert!(document.contains("&lt;script&gt;&amp;&quot;&#39;\u{fffd}</text>"));
        assert!(document.contains(">a &lt; b</title>"));
        assert!(!document.contains("<script"));
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(shortened("short", 100.0), "short");
        let cut = shortened(&"long ".repeat(100), 100.0);
        assert!(cut.ends_with('…') && text_width(&cut) < 110.0, "{cut}");
    }
}

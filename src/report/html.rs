//! A self-contained page: tables and pictures under a banner, without script, font file or link.

use super::svg::{INK, escaped};
use super::table::{Column, Table};
use crate::privacy::Form;
use std::fmt::Write;

/// A page under construction.
pub(super) struct Page {
    title: String,
    body: String,
}

impl Page {
    /// An empty page.
    pub(super) fn new(title: &str) -> Page {
        Page {
            title: title.into(),
            body: String::new(),
        }
    }

    /// Adds a section's heading and a paragraph beneath it.
    pub(super) fn section(&mut self, heading: &str, text: &str) {
        let (heading, text) = (escaped(heading), escaped(text));
        let _ = writeln!(self.body, "<h2>{heading}</h2>\n<p>{text}</p>");
    }

    /// Adds a table, its title as caption and its notes beneath.
    pub(super) fn table(&mut self, table: &Table) {
        let caption = table.title.as_deref().map_or(String::new(), |title| {
            format!("<caption>{}</caption>\n", escaped(title))
        });
        let headers: String = (table.columns.iter())
            .map(|column| cell(column, "th", r#" scope="col""#, &column.header))
            .collect();
        let _ = writeln!(
            self.body,
            "<table>\n{caption}<thead><tr>{headers}</tr></thead>\n<tbody>"
        );
        for row in table.rows.iter().chain(&table.totals) {
            let cells = table.columns.iter().zip(row);
            let cells: String = cells.map(|(c, text)| cell(c, "td", "", text)).collect();
            let _ = writeln!(self.body, "<tr>{cells}</tr>");
        }
        let _ = writeln!(self.body, "</tbody>\n</table>");
        for note in &table.notes {
            let _ = writeln!(self.body, "<p class=\"note\">{}</p>", escaped(note));
        }
    }

    /// Adds pictures that stand side by side where there is room, each with the caption: pictures are what people
    /// copy out of a page, so the caption says under which terms they may be shown.
    pub(super) fn pictures(&mut self, caption: &str, pictures: impl IntoIterator<Item = String>) {
        let caption = escaped(caption);
        self.body.push_str("<div class=\"pictures\">\n");
        for picture in pictures {
            let caption = format!("<figcaption class=\"note\">{caption}</figcaption>");
            let _ = writeln!(self.body, "<figure>\n{picture}{caption}\n</figure>");
        }
        self.body.push_str("</div>\n");
    }
}

/// A cell of a table.
fn cell(column: &Column, tag: &str, attributes: &str, text: &str) -> String {
    let class = if column.numeric {
        r#" class="number""#
    } else {
        ""
    };
    let text = escaped(&text.replace('\n', " "));
    format!("<{tag}{attributes}{class}>{text}</{tag}>")
}

/// The few rules of the page: readable width, tables that scroll for themselves on a narrow screen, and a
/// banner that stays in sight and prints.
const STYLE: &str = "\
body { margin: 0; font: 16px/1.5 Helvetica, Arial, 'Liberation Sans', sans-serif; background: #ffffff; }
main { max-width: 72rem; margin: 0 auto; padding: 0 1rem 3rem; }
[role=note] { position: sticky; top: 0; padding: .6rem 1rem; background: #8c1d18; color: #ffffff; font-weight: bold; text-align: center; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0; }
caption { text-align: left; font-weight: bold; padding: .3rem 0; }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top; }
th { border-bottom: 1px solid #6b6b6b; vertical-align: bottom; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.note { color: #4a4a4a; font-size: .9rem; margin: .2rem 0; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; max-width: 100%; overflow-x: auto; }
";

impl Page {
    /// The document of what may be published.
    pub(super) fn published(self) -> String {
        self.document(None)
    }

    /// The document, with a banner in sight of every part of it.
    pub(super) fn warned(self, banner: &str) -> String {
        self.document(Some(banner))
    }

    fn document(self, banner: Option<&str>) -> String {
        let (mut title, body) = (escaped(&self.title), self.body);
        let heading = title.clone();
        let (mut robots, mut note) = (String::new(), String::new());
        if let Some(banner) = banner.map(escaped) {
            title = format!("{banner}: {title}");
            robots = "<meta name=\"robots\" content=\"noindex, noarchive\">\n".into();
            note = format!("<div role=\"note\">{banner}</div>\n");
        }
        format!(
            r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{robots}<title>{title}</title>
<style>
:root {{ color: {INK}; }}
{STYLE}</style>
</head>
<body>
{note}<main>
<h1>{heading}</h1>
{body}</main>
</body>
</html>
"#
        )
    }
}

impl Form for Page {
    fn stamped(self, stamp: &'static str) -> String {
        self.warned(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts_and_the_stamp_stands_twice() {
        let mut page = Page::new("a < b");
        page.section("x & y", "<script>");
        let mut table = Table::new([Column::text("A"), Column::number("B\nC")]).title("T");
        table.row(["<td>", "1"]);
        table.note("n > m");
        page.table(&table);
        let text = page.stamped("SECRET");
        assert!(text.contains("<title>SECRET: a &lt; b</title>"));
        assert!(text.contains(r#"<div role="note">SECRET</div>"#));
        assert!(text.contains("<h2>x &amp; y</h2>\n<p>&lt;script&gt;</p>"));
        assert!(text.contains(r#"<th scope="col">A</th><th scope="col" class="number">B C</th>"#));
        assert!(text.contains(r#"<tr><td>&lt;td&gt;</td><td class="number">1</td></tr>"#));
        assert!(text.contains(r#"<p class="note">n &gt; m</p>"#));
    }

    #[test]
    fn a_published_page_has_no_banner() {
        let mut page = Page::new("Title");
        page.pictures("shown under <terms>", ["<svg></svg>".to_string()]);
        let text = page.published();
        assert!(text.contains("<title>Title</title>") && !text.contains("role=\"note\">"));
        assert!(!text.contains("noindex"));
        assert!(text.contains(
            "<svg></svg><figcaption class=\"note\">shown under &lt;terms&gt;</figcaption>"
        ));
    }
}

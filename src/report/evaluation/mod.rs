//! The comparison of a synthetic table with the confidential one, as a text and as a page with pictures. Both
//! are forms of an [`Internal`] value, so both carry its stamp.

mod heat_map;
mod love;
mod overlay;
mod tables;
#[cfg(test)]
mod tests;

use super::html::Page;
use super::numbers;
use super::table::{Style, joined, wrapped};
use crate::evaluate::Evaluation;
use crate::privacy::{Form, Internal, STAMP};

/// What every form says beneath its stamp.
const WARNING: &str = "Computed on confidential data without noise, for the staff of the agency that holds them. No part of it is \
                       covered by the privacy guarantee.";

/// The comparison as tables of text; the first line is the stamp.
pub fn evaluation_text(evaluation: &Internal<Evaluation>, style: Style) -> String {
    evaluation.show(&style, text)
}

/// The comparison as one self-contained HTML page: the tables, and pictures of the marginals one over the
/// other, of all pairs' total variation and of covariate balance.
pub fn evaluation_page(evaluation: &Internal<Evaluation>) -> String {
    evaluation.show(&(), page)
}

/// A text whose first line is the stamp.
struct Text(String, Style);

impl Form for Text {
    fn stamped(self, stamp: &'static str) -> String {
        let Text(text, style) = self;
        format!("{}\n{text}", style.warning(stamp))
    }
}

fn text(evaluation: &Evaluation, style: &Style) -> Text {
    let mut parts = vec![
        joined(&wrapped(WARNING, "", *style)),
        format!("{}\n", size(evaluation)),
    ];
    let tables = tables::all(evaluation);
    parts.extend(tables.iter().map(|table| table.render(*style)));
    Text(parts.join("\n"), *style)
}

fn page(evaluation: &Evaluation, (): &()) -> Page {
    let mut page = Page::new("Synthetic and confidential table compared");
    page.section("What this is", &format!("{WARNING} {}", size(evaluation)));
    for table in tables::all(evaluation) {
        page.table(&table);
    }
    if !evaluation.pairs.is_empty() {
        page.section(
            "Pairs of columns",
            "Total variation of every pair's joint table: dark cells are associations that the synthetic table does not keep.",
        );
        page.pictures(
            STAMP,
            [heat_map::heat_map(&evaluation.columns, &evaluation.pairs)],
        );
    }
    if !evaluation.balance.is_empty() {
        page.section(
            "Covariate balance",
            "Standardised differences between arms. Where the marks of a row lie apart, the synthetic table confounds otherwise than the real one.",
        );
        page.pictures(STAMP, [love::love_plot(&evaluation.balance)]);
    }
    page.section(
        "Marginals",
        "Shares of every column's levels, the column with the largest total variation first.",
    );
    let mut columns: Vec<_> = evaluation.columns.iter().enumerate().collect();
    columns.sort_by(|(_, a), (_, b)| b.total_variation.total_cmp(&a.total_variation));
    let overlays = columns.iter();
    page.pictures(
        STAMP,
        overlays.map(|(number, column)| overlay::overlay(*number, column)),
    );
    page
}

/// How large the tables are.
fn size(evaluation: &Evaluation) -> String {
    let [records, rows, tables] = [evaluation.records, evaluation.rows, evaluation.imputations]
        .map(|count| numbers::integer(count as u64));
    let of = match evaluation.imputations {
        1 => String::new(),
        _ => format!(" of {tables} imputations, averaged table by table,"),
    };
    format!("{rows} synthetic rows{of} against {records} confidential ones.")
}

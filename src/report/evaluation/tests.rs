//! What stands in every form of an evaluation.

use super::*;
use crate::evaluate::{Options, Question, evaluate};
use crate::privacy::{Confidential, STAMP};
use crate::report::document;
use crate::schema::{SCALE, Schema};
use crate::table::CodedTable;

const SCHEMA: &str = "
format: dpcausal.schema/1
columns:
  - {name: t, role: treatment, type: boolean}
  - {name: '<x>', type: categorical, levels: [a, b, c]}
  - {name: y, role: outcome, type: boolean}
";

/// Rows that are a pattern of their number, shifted.
fn table(rows: u16, shift: u16) -> CodedTable {
    let column = |levels: u16, by: u16| (0..rows).map(|row| (row / by + shift) % levels).collect();
    let columns: Vec<Vec<u16>> = vec![column(2, 1), column(3, 2), column(2, 5)];
    CodedTable {
        rows: usize::from(rows),
        outcome: columns[2]
            .iter()
            .map(|&y| u32::from(y) * SCALE as u32)
            .collect(),
        codes: columns.into_iter().map(Some).collect(),
        ..CodedTable::default()
    }
}

fn internal(rows: u16) -> Internal<Evaluation> {
    let schema = Schema::parse(SCHEMA, "s.yaml").unwrap().0;
    let question = Question::new(schema, table(40, 1), None, Options::default()).unwrap();
    evaluate(&Confidential::new(table(rows, 0)), &question).unwrap()
}

#[test]
fn every_form_carries_the_stamp() {
    let evaluation = internal(60);
    let text = evaluation_text(&evaluation, Style::plain(100));
    assert!(text.starts_with("INTERNAL, NOT FOR RELEASE\n"), "{text}");
    let json = document("evaluation", &evaluation).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["stamp"], STAMP);
    assert_eq!(json["format"], "dpcausal.evaluation/1");
    let page = evaluation_page(&evaluation);
    assert!(
        page.contains("<title>INTERNAL, NOT FOR RELEASE: "),
        "{page}"
    );
    assert!(page.contains(r#"<div role="note">INTERNAL, NOT FOR RELEASE</div>"#));
}

/// Every picture is named and described, no two of them alike, and nothing is fetched.
#[test]
fn the_page_stands_for_itself() {
    // One row: the regression, the spreads and more are undefined.
    for rows in [60, 1] {
        let page = evaluation_page(&internal(rows));
        let pictures = page.matches("<svg").count();
        // Pairs, balance, three columns.
        assert_eq!(pictures, 5);
        assert_eq!(page.matches("<desc id=").count(), pictures);
        assert_eq!(
            page.matches(&format!(">{STAMP}</figcaption>")).count(),
            pictures
        );
        let mut names: Vec<&str> = (page.split(" id=\"").skip(1))
            .map(|rest| &rest[..rest.find('"').unwrap()])
            .collect();
        assert_eq!(names.len(), 2 * pictures);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * pictures);
        for word in [
            "<script", "<link", "@import", "url(", "src=", "href=", "<x>", "=\"NaN", "=\"inf",
        ] {
            assert!(!page.contains(word), "{word}");
        }
        let links = page.matches("http").count();
        assert_eq!(links, page.matches("http://www.w3.org/2000/svg").count());
    }
}

#[test]
fn tables_of_text_hold_what_was_found() {
    let text = evaluation_text(&internal(60), Style::plain(100));
    for part in [
        "40 synthetic rows against 60 confidential ones.",
        "Total variation of marginals",
        "Worst pairs",
        "workload error",
        "pMSE ratio, sample",
        "Average effects",
        "Covariate balance",
        "<x>=b",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("NaN"), "{text}");
}

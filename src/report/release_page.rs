//! A release's effects as one self-contained page: the key table, the picture, further tables, and the terms under which
//! all of it was released.

use super::cate_picture::cate_picture;
use super::cate_text;
use super::html::Page;
use super::numbers::significant;
use super::panel_picture::panel_picture;
use super::panel_text::{self, PanelNames};
use super::table::{Column, Table};
use super::words::Outcome;
use crate::cate::EffectSummary;
use crate::panel::TargetEffects;
use crate::release::{Accounting, DeploymentCard, Provenance};
use crate::schema::PanelFrame;

/// The banner of a release whose noise was drawn from a known seed.
const SEEDED: &str = "DRAWN FROM A KNOWN SEED, NOT PRIVATE";

/// What a release says of itself.
#[derive(Debug, Clone, Copy)]
pub struct ReleaseTerms<'a> {
    /// The guarantee in words.
    pub card: &'a DeploymentCard,
    /// Budget and spending.
    pub accounting: &'a Accounting,
    /// The program that wrote it, and whether its noise is one.
    pub provenance: &'a Provenance,
}

/// The effects on every target of a panel.
pub fn panel_page(
    names: &PanelNames<'_>,
    frame: &PanelFrame,
    targets: &[TargetEffects],
    terms: ReleaseTerms<'_>,
) -> String {
    let title = names.title.unwrap_or(names.outcome);
    let picture = Picture {
        heading: "Observed and private counterfactual",
        text: "Dark bands hold the error by privacy alone, light ones the target's own departure from its donors, too.",
        drawing: panel_picture(names, frame, targets),
    };
    let tables = panel_text::tables(names, targets, &terms.card.guarantee);
    page(title, tables, targets.len(), picture, terms)
}

/// Conditional effects: the average, and what each covariate adds to it.
pub fn cate_page(outcome: &Outcome, summary: &EffectSummary, terms: ReleaseTerms<'_>) -> String {
    let title = format!("Effect on {}", outcome.description());
    let picture = Picture {
        heading: "What each covariate adds",
        text: "One plot per covariate, all on one scale: what its values add to the average effect.",
        drawing: cate_picture(outcome, summary),
    };
    let tables = cate_text::tables(outcome, summary, &terms.card.guarantee);
    page(&title, tables, 1, picture, terms)
}

/// A picture with what is said of it.
struct Picture {
    heading: &'static str,
    text: &'static str,
    drawing: String,
}

/// A page of tables, the first `keys` of which stand before the picture.
fn page(
    title: &str,
    tables: Vec<Table>,
    keys: usize,
    picture: Picture,
    terms: ReleaseTerms<'_>,
) -> String {
    let mut page = Page::new(title);
    for (index, table) in tables.iter().enumerate() {
        if index == keys {
            add_picture(&mut page, &picture, terms);
        }
        page.table(table);
    }
    if tables.len() <= keys {
        add_picture(&mut page, &picture, terms);
    }
    page.section(
        "Terms of the release",
        "Whom the guarantee protects, what was spent, and why it holds.",
    );
    page.table(&accounting(terms.accounting));
    page.table(&card(terms));
    match terms.provenance.insecure_seed {
        true => page.warned(SEEDED),
        false => page.published(),
    }
}

fn add_picture(page: &mut Page, picture: &Picture, terms: ReleaseTerms<'_>) {
    page.section(picture.heading, picture.text);
    let caption = match terms.provenance.insecure_seed {
        true => SEEDED,
        false => &terms.card.guarantee,
    };
    page.pictures(caption, [picture.drawing.clone()]);
}

fn accounting(accounting: &Accounting) -> Table {
    let mut table = Table::new([Column::text("Spent"), Column::number("Amount")]);
    let spent = &accounting.spent;
    let stated = [
        ("epsilon", accounting.epsilon),
        ("delta", accounting.delta),
        (
            "mu (Gaussian differential privacy)",
            spent.mu().filter(|_| !spent.is_pure()),
        ),
    ];
    for (name, value) in stated {
        if let Some(value) = value.filter(|value| *value > 0.0) {
            table.row([name.to_string(), significant(value, 6)]);
        }
    }
    table.row(["rho (zCDP)".to_string(), significant(spent.rho(), 6)]);
    table
}

fn card(terms: ReleaseTerms<'_>) -> Table {
    let card = terms.card;
    let mut table = Table::new([Column::text("Term"), Column::text("Here")]);
    let list = |items: &[String]| items.join("; ");
    let rows = [
        ("Guarantee", card.guarantee.clone()),
        ("Privacy unit", card.privacy_unit.clone()),
        ("Adjacency", card.adjacency.clone()),
        ("Domain", card.domain.clone()),
        (
            "Not protected, since public",
            list(&card.unprotected_quantities),
        ),
        ("Composition", card.composition.clone()),
        ("Before the noise", list(&card.preprocessing)),
        ("After the noise, at no cost", list(&card.postprocessing)),
        ("Mechanisms", list(&card.mechanisms)),
        ("Why it holds", card.justification.clone()),
        (
            "Written by",
            format!("{} {}", terms.provenance.program, terms.provenance.version),
        ),
    ];
    for (name, text) in rows {
        table.row([name.to_string(), text]);
    }
    table
}

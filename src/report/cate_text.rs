//! Conditional effects as text tables: the average, shapes, pairs, and effects at given rows.

use super::numbers::{decimals_for, fixed, integer};
use super::{Column, Outcome, Style, Table};
use crate::cate::{EffectSummary, Projection, RowEffects, Shape};

/// The most pairs and rows that are printed; JSON has all.
const MOST_PAIRS: usize = 5;
const MOST_ROWS: usize = 20;

/// What is said of intervals wherever effects are printed.
const NO_INTERVALS: &str = "No intervals: the learner's own are too narrow in simulation, since they leave out what the basis can't express and the propensity's error.";

/// What is said of intervals of the learners that split the sample.
const NO_SPLIT_INTERVALS: &str = "No intervals: they are known for `learner: dr` with `base: second-moment` and a `linear` or `one-hot` basis, where the schema's design states the propensity.";

/// What is said where there are intervals.
const PROJECTION: &str = "Intervals below are of the projection of the effect onto the basis, the best sum of such functions, which is the effect only where that is such a sum; the average is the average effect in any case. They count the noise and the sampling error.";

/// What is said of the learner `s`.
const CONSTANT: &str = "The learner s adds up functions of single covariates and the treatment's: its effect is the same for everyone whatever the truth, so it is an average effect and has no shapes.";

/// A release's effects.
pub fn cate_text(
    outcome: &Outcome,
    summary: &EffectSummary,
    guarantee: &str,
    style: Style,
) -> String {
    let tables = tables(outcome, summary, guarantee);
    let texts: Vec<String> = tables
        .into_iter()
        .map(|table| table.render(style))
        .collect();
    texts.join("\n")
}

/// The tables of a release's effects, the average first.
pub(super) fn tables(outcome: &Outcome, summary: &EffectSummary, guarantee: &str) -> Vec<Table> {
    let sizes = summary
        .shapes
        .iter()
        .flat_map(|s| s.points.iter().map(|p| p.effect.abs()));
    // A hundredth of the largest effect is more than is known of any.
    let largest = sizes.fold(summary.average.abs(), f64::max);
    let decimals = decimals_for([largest / 100.0]).saturating_sub(1);
    let mut tables = vec![average(outcome, summary, guarantee, decimals)];
    tables.extend(
        summary
            .projection
            .iter()
            .map(|p| of_projection(p, decimals)),
    );
    if let Some(rows) = &summary.rows {
        tables.push(of_rows(rows, decimals));
        if !rows.groups.is_empty() {
            tables.push(of_groups(rows, decimals));
        }
    }
    tables.extend(summary.shapes.iter().map(|shape| of_shape(shape, decimals)));
    if !summary.interactions.is_empty() {
        tables.push(of_pairs(summary, decimals));
    }
    tables
}

fn average(outcome: &Outcome, summary: &EffectSummary, guarantee: &str, decimals: usize) -> Table {
    let columns = [Column::text("Effect"), Column::number("Estimate")];
    let title = format!("Effect on {}", outcome.description());
    let mut table = Table::new(columns).title(title);
    table.row([
        format!("average ({})", summary.contrast),
        fixed(summary.average, decimals),
    ]);
    table.note(format!("Learner {}; {guarantee}.", summary.learner));
    if summary.not_private.is_none() {
        summary
            .composition
            .iter()
            .for_each(|statement| table.note(statement));
    }
    if summary.is_constant {
        table.note(CONSTANT);
    }
    match (&summary.projection, summary.learner.as_str()) {
        (Some(_), _) => table.note(PROJECTION),
        (None, "adaptive") => table.note(NO_INTERVALS),
        (None, _) => table.note(NO_SPLIT_INTERVALS),
    }
    table
}

fn of_projection(projection: &Projection, decimals: usize) -> Table {
    let columns = [
        Column::text("Projection of the effect"),
        Column::number("Estimate"),
        Column::number("From"),
        Column::number("To"),
    ];
    let title = format!(
        "Intervals at {} %, of the projection onto the basis",
        100.0 * projection.level
    );
    let mut table = Table::new(columns).title(title);
    for point in std::iter::once(&projection.average).chain(&projection.points) {
        let name = match (&point.column, &point.label) {
            (Some(column), Some(label)) => format!("{column} = {label} adds"),
            _ => "average".into(),
        };
        let numbers = [point.estimate, point.lower, point.upper];
        let [estimate, lower, upper] = numbers.map(|number| fixed(number, decimals));
        table.row([name, estimate, lower, upper]);
    }
    if let Some(reason) = &projection.without_points {
        table.note(format!("No intervals by covariate: {reason}."));
    }
    table
}

fn of_rows(rows: &RowEffects, decimals: usize) -> Table {
    let mut table = Table::new([Column::number("Row"), Column::number("Effect")])
        .title("Effects at the rows given");
    for (row, effect) in rows.effects.iter().take(MOST_ROWS).enumerate() {
        table.row([integer(row as u64 + 1), fixed(*effect, decimals)]);
    }
    table.total(["mean".to_string(), fixed(rows.average, decimals)]);
    if rows.effects.len() > MOST_ROWS {
        table.note(format!(
            "{} more rows; --json has them all.",
            integer((rows.effects.len() - MOST_ROWS) as u64)
        ));
    }
    table
}

fn of_groups(rows: &RowEffects, decimals: usize) -> Table {
    let columns = [
        Column::text("Subgroup"),
        Column::number("Rows"),
        Column::number("Mean effect"),
    ];
    let mut table = Table::new(columns).title("Mean effects by subgroup of the rows given");
    for group in &rows.groups {
        table.row([
            format!("{} = {}", group.column, group.level),
            integer(group.rows as u64),
            fixed(group.average, decimals),
        ]);
    }
    table
}

fn of_shape(shape: &Shape, decimals: usize) -> Table {
    let columns = [Column::text(shape.column.clone()), Column::number("Adds")];
    let title = format!("What {} adds to the average effect", shape.column);
    let mut table = Table::new(columns).title(title);
    for point in &shape.points {
        table.row([point.label.clone(), fixed(point.effect, decimals)]);
    }
    table
}

fn of_pairs(summary: &EffectSummary, decimals: usize) -> Table {
    let mut table = Table::new([Column::text("Pair"), Column::number("Adds")])
        .title("What pairs add together, both one standard deviation above their means");
    for pair in summary.interactions.iter().take(MOST_PAIRS) {
        table.row([pair.features.join(" x "), fixed(pair.effect, decimals)]);
    }
    if summary.interactions.len() > MOST_PAIRS {
        table.note("The largest; --json has them all.");
    }
    table
}

//! The effects of an intervention as text tables: one per target.

use super::numbers::{decimals_for, fixed, significant};
use super::{Column, Style, Table, words};
use crate::panel::{EffectEstimate, TargetEffects};

/// What texts and pictures call things.
#[derive(Debug, Clone, Copy)]
pub struct PanelNames<'a> {
    /// The panel's title.
    pub title: Option<&'a str>,
    /// The outcome.
    pub outcome: &'a str,
    /// The periods' column.
    pub time: &'a str,
    /// The first period with the intervention.
    pub intervention: &'a str,
}

/// The effects on every target: by period, their mean and their sum, with both errors apart, and the answer that costs
/// nothing beside them.
pub fn panel_text(
    names: &PanelNames<'_>,
    targets: &[TargetEffects],
    guarantee: &str,
    style: Style,
) -> String {
    let tables = tables(names, targets, guarantee);
    let tables = tables.into_iter().map(|table| table.render(style));
    tables.collect::<Vec<String>>().join("\n")
}

/// The tables of a panel's effects, one per target.
pub(super) fn tables(
    names: &PanelNames<'_>,
    targets: &[TargetEffects],
    guarantee: &str,
) -> Vec<Table> {
    let table = |target| table(names, target, guarantee);
    targets.iter().map(table).collect()
}

fn table(names: &PanelNames<'_>, target: &TargetEffects, guarantee: &str) -> Table {
    let level = words::level(target.level);
    let kind = if target.placebo {
        ", a placebo (not treated)"
    } else {
        ""
    };
    let title = format!("Effects on {} in {}{kind}", names.outcome, target.unit);
    let columns = [
        Column::text(names.time),
        Column::number("Observed"),
        Column::number("Counterfactual"),
        Column::number("Effect"),
        Column::number(format!("{level} interval")),
        Column::number("SD privacy"),
        Column::number("SD departure"),
    ];
    let mut table = Table::new(columns).title(title);
    let errors = target
        .periods
        .iter()
        .map(|period| whole_deviation(&period.effect));
    let decimals = decimals_for(errors.chain([whole_deviation(&target.att)]));
    for period in &target.periods {
        let mut row = vec![
            period.period.clone(),
            fixed(period.observed, decimals),
            fixed(period.counterfactual, decimals),
        ];
        row.extend(cells(&period.effect, decimals));
        table.row(row);
    }
    for (name, effect) in [
        ("mean (ATT)", &target.att),
        ("cumulative", &target.cumulative),
    ] {
        let mut row = vec![name.to_string(), String::new(), String::new()];
        row.extend(cells(effect, decimals));
        table.total(row);
    }
    for note in notes(target, guarantee, decimals, &level) {
        table.note(note);
    }
    table
}

fn notes(target: &TargetEffects, guarantee: &str, decimals: usize, level: &str) -> Vec<String> {
    let [low, high] = target.att.privacy_interval.map(|end| fixed(end, decimals));
    let bound = match target.is_worst_case {
        true => {
            " Its law depends on the donors' values; the one used here is a bound, usually far too wide."
        }
        false => "",
    };
    let penalty = target.lambda.map_or(String::new(), |lambda| {
        format!(" with lambda {}", significant(lambda, 4))
    });
    let mut notes = vec![
        format!("Method {}{penalty}; {guarantee}.", target.method.name()),
        format!(
            "SD privacy: the noise, whose law is known; the same estimate without noise has its mean between {low} and \
             {high} ({level}).{bound}"
        ),
        departure(target, decimals, level),
        format!(
            "Without any budget, the forecast of {} from its own past alone gives a mean effect of {}, SD {}.",
            target.unit,
            fixed(target.forecast.estimate, decimals),
            fixed(target.forecast.deviation, decimals)
        ),
    ];
    if target.periods.is_empty() {
        notes.push("The mean alone was released; there is no path.".into());
    }
    notes
}

/// What the model's error is taken from.
fn departure(target: &TargetEffects, decimals: usize, level: &str) -> String {
    let Some(fit) = &target.fit else {
        return "SD departure: how far the target may stray from its donors, by the record of its own past (public), and \
                what was held back because of the noise; a synthetic control without privacy has the first of them too."
            .into();
    };
    let [low, high] = fit.interval.map(|end| significant(end, 2));
    let error = fit.held_out_error.map_or(String::new(), |error| {
        let error = fixed(error, decimals);
        format!(" Over the last periods before the intervention, held out, the counterfactual erred by {error}.")
    });
    format!(
        "SD departure: the model's error, from the released fit, {} times what the target's own past would suggest (its \
         noise leaves {low} to {high}, {level}), and what was held back because of the noise.{error}",
        significant(fit.ratio, 2)
    )
}

fn whole_deviation(effect: &EffectEstimate) -> f64 {
    effect.privacy_deviation.hypot(effect.departure_deviation)
}

fn cells(effect: &EffectEstimate, decimals: usize) -> [String; 4] {
    let [low, high] = effect.interval.map(|end| fixed(end, decimals));
    [
        fixed(effect.estimate, decimals),
        format!("{low} to {high}"),
        fixed(effect.privacy_deviation, decimals),
        fixed(effect.departure_deviation, decimals),
    ]
}

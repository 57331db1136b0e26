//! Effects as a text for people: what was found, how it was found, and what to know about it.

use super::numbers;
use super::table::{Column, Style, Table, joined, wrapped};
use super::words::{self, NOT_PRIVATE, Outcome};
use crate::estimate::{Effect, NotEstimated};

/// The effects as a table of estimates, a second table of how they were made, a third of their variances'
/// parts where those are known, the combining rules' formulas, and the notes.
///
/// Numbers are in the outcome's own units, all with as many decimals as their standard errors support.
/// Rows that are not private are marked in capitals (and in red, with colour).
pub fn effects_text(outcome: &Outcome, effects: &[Effect], style: Style) -> String {
    if effects.is_empty() {
        return format!("No effects on {}.\n", outcome.name);
    }
    let notes = distinct(effects.iter().flat_map(|effect| &effect.notes));
    let estimates = estimates(outcome, effects)
        .render(style)
        .replace(NOT_PRIVATE, &style.warning(NOT_PRIVATE));
    let mut how = how(effects, &notes).render(style);
    if let Some(terms) = variance_terms(effects) {
        how = format!("{how}\n{}", terms.render(style));
    }
    let beneath = joined(&beneath(effects, &notes, style));
    format!("{estimates}\n{how}\n{beneath}")
}

/// What was found.
fn estimates(outcome: &Outcome, effects: &[Effect]) -> Table {
    let decimals = numbers::decimals_for(effects.iter().map(|effect| effect.standard_error));
    let number = |value: f64| numbers::fixed(value, decimals);
    let levels = distinct(effects.iter().map(|effect| words::level(effect.level)));
    let interval_header = match levels.as_slice() {
        [level] => format!("{level} interval"),
        _ => "Interval".into(),
    };
    // Rows of one subgroup stand together: its name stands once, before them.
    let by_subgroup = effects.iter().any(|effect| effect.subgroup.is_some());
    let subgroup = by_subgroup.then(|| Column::text("Subgroup"));
    let mut columns = vec![Column::number("")];
    columns.extend(subgroup);
    columns.extend([
        Column::text("Effect"),
        Column::text("Route, estimator"),
        Column::number("Estimate"),
        Column::number("SE"),
        Column::number(interval_header),
        Column::number("Variance\nfrom noise"),
    ]);
    let mut table = Table::new(columns).title(format!("Effects on {}", outcome.description()));
    let ends: Vec<[String; 2]> = effects.iter().map(|e| e.interval.map(number)).collect();
    let widest = [0, 1].map(|end| {
        let lengths = ends.iter().map(|ends| ends[end].chars().count());
        lengths.max().unwrap_or(0)
    });
    for (index, (effect, [lower, upper])) in effects.iter().zip(&ends).enumerate() {
        let level = if levels.len() > 1 {
            format!("{} ", words::level(effect.level))
        } else {
            String::new()
        };
        let privacy = match words::privacy_share(effect) {
            _ if effect.not_private => NOT_PRIVATE.into(),
            Some(share) => numbers::percentage(share),
            None => "-".into(),
        };
        let mut cells = vec![(index + 1).to_string()];
        if by_subgroup {
            let before = index.checked_sub(1).map(|i| &effects[i].subgroup);
            let named = before != Some(&effect.subgroup);
            cells.push(if named {
                words::subgroup(effect)
            } else {
                String::new()
            });
        }
        cells.extend([
            words::effect(effect),
            words::method(effect),
            number(effect.estimate),
            number(effect.standard_error),
            format!(
                "{level}[{lower:>low$}, {upper:>high$}]",
                low = widest[0],
                high = widest[1]
            ),
            privacy,
        ]);
        table.row(cells);
    }
    table
}

/// What was asked for and not estimated, with the reason; rows that share population, estimator and reason
/// stand in one line. Nothing where everything was estimated.
pub fn not_estimated_text(rows: &[NotEstimated], style: Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |row: &NotEstimated| {
        let subgroup = row.subgroup.as_ref().map(ToString::to_string);
        let whom = subgroup.unwrap_or_else(|| row.population.clone());
        let how = format!(
            "{}, {}",
            words::route(row.route),
            words::estimator(row.estimator)
        );
        (whom, how, row.reason.clone())
    };
    let mut lines = vec![String::new(), "Not estimated:".to_string()];
    for key in distinct(rows.iter().map(line)) {
        let same = rows.iter().filter(|row| line(row) == key);
        let effects = distinct(
            same.map(|row| format!("{} ({})", words::estimand(row.estimand), row.contrast)),
        );
        let (whom, how, reason) = &key;
        let text = format!("{} by {how}: {reason}", effects.join(", "));
        lines.extend(wrapped(&text, &format!("{whom}:"), style));
    }
    joined(&lines)
}

/// How it was found: for each row the population and the combining rule with its quantities.
fn how(effects: &[Effect], notes: &[&String]) -> Table {
    let mut columns = vec![
        Column::number(""),
        Column::text("Population"),
        Column::number("n"),
        Column::text("Rule"),
        Column::number("m"),
        Column::number("r"),
        Column::number("kappa"),
        Column::number("df"),
        Column::number("Clipped"),
    ];
    if !notes.is_empty() {
        columns.push(Column::number("Notes"));
    }
    let mut table = Table::new(columns);
    for (index, effect) in effects.iter().enumerate() {
        let naive = effect.m.is_none();
        let r = match effect.r {
            Some(r) => numbers::significant(r, 3),
            None if naive => "-".into(),
            None => "∞".into(),
        };
        let marks: Vec<String> = notes
            .iter()
            .enumerate()
            .filter(|(_, note)| effect.notes.contains(note))
            .map(|(number, _)| (number + 1).to_string())
            .collect();
        table.row([
            (index + 1).to_string(),
            effect.population.clone(),
            numbers::fixed(effect.n, 0),
            effect.rule.clone(),
            effect.m.map_or("-".into(), |m| m.to_string()),
            r,
            effect.kappa.map_or("-".into(), |kappa| kappa.to_string()),
            degrees_of_freedom(effect.degrees_of_freedom),
            numbers::significant(effect.clipped_propensities, 3),
            marks.join(", "),
        ]);
    }
    table
}

/// Where the variance of each estimate comes from, of those whose route tells: shares of its square
/// root's square, the squared standard error.
fn variance_terms(effects: &[Effect]) -> Option<Table> {
    let sources = distinct(
        (effects.iter().flat_map(|effect| &effect.variance_terms)).map(|term| &term.source),
    );
    if sources.is_empty() {
        return None;
    }
    let mut columns = vec![Column::number("")];
    columns.extend(sources.iter().map(|source| Column::number(broken(source))));
    let mut table = Table::new(columns).title("Where the variance comes from");
    for (index, effect) in effects.iter().enumerate() {
        let total: f64 = effect.variance_terms.iter().map(|t| t.variance).sum();
        if total <= 0.0 {
            continue;
        }
        let mut cells = vec![(index + 1).to_string()];
        cells.extend(sources.iter().map(|source| {
            let term = effect.variance_terms.iter().find(|t| t.source == **source);
            term.map_or("-".into(), |t| numbers::percentage(t.variance / total))
        }));
        table.row(cells);
    }
    Some(table)
}

/// A column's head on two lines, broken at its first space.
fn broken(text: &str) -> String {
    text.replacen(' ', "\n", 1)
}

/// Degrees of freedom: beyond a thousand the t quantile is the normal one to three digits.
fn degrees_of_freedom(value: f64) -> String {
    numbers::fixed(value, usize::from(value < 100.0))
}

/// The formulas, what the columns mean, the warning, and the notes.
fn beneath(effects: &[Effect], notes: &[&String], style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    let rules = distinct(effects.iter().map(|effect| (&effect.rule, &effect.formula)));
    for (rule, formula) in rules.into_iter().filter(|(_, formula)| !formula.is_empty()) {
        lines.extend(wrapped(formula, &format!("{rule}:"), style));
    }
    if effects.iter().any(|effect| effect.m.is_some()) {
        let meaning = "Variance from noise: the part that privacy adds; m draws or imputations; r rows per imputation over records; kappa 1: draws carry \
                       privacy noise only, 0: sampling too; clipped: propensities, mean over draws.";
        lines.extend(wrapped(meaning, "", style));
    }
    if effects.iter().any(|effect| effect.not_private) {
        let warning = "computed on a table that may be confidential: not for release.";
        lines.push(format!("{}: {warning}", style.warning(NOT_PRIVATE)));
    }
    if !notes.is_empty() {
        lines.push(String::new());
    }
    for (index, note) in notes.iter().enumerate() {
        lines.extend(wrapped(note, &format!("[{}]", index + 1), style));
    }
    lines
}

/// The distinct values in order of appearance.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Estimand, Estimator, Route, Subgroup};
    use crate::report::words::examples::{earnings, lalonde};

    fn sample() -> Vec<Effect> {
        let mut moment = lalonde(Route::Moment, Estimator::Model, 1794.34);
        moment.notes = vec!["Two routes agree within their joint standard error.".into()];
        let mut imputed = lalonde(Route::Imputation, Estimator::DifferenceInMeans, -120.9);
        imputed.estimand = Estimand::Att;
        imputed.population = "units with treat = 1".into();
        imputed.notes = vec![
            "Two routes agree within their joint standard error.".into(),
            "Fewer draws than the default.".into(),
        ];
        let naive = lalonde(Route::Naive, Estimator::Regression, 1794.34);
        vec![moment, imputed, naive]
    }

    #[test]
    fn parts_of_the_variance_are_shares() {
        let mut effect = lalonde(Route::Effects, Estimator::Adjusted, 1794.34);
        let term = |source: &str, variance| crate::estimate::VarianceTerm {
            source: source.into(),
            variance,
        };
        effect.variance_terms = vec![term("sampling", 300.0), term("noise of arm means", 100.0)];
        let text = effects_text(&earnings(), &[effect], Style::plain(80));
        let expected = "\
Where the variance comes from

                    noise
   sampling  of arm means
─────────────────────────
1      75 %          25 %
";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn eighty_columns() {
        let expected = "\
Effects on re78: earnings in 1978, US dollars

                                                                        Variance
   Effect       Route, estimator     Estimate   SE    95 % interval   from noise
────────────────────────────────────────────────────────────────────────────────
1  ATE (1 - 0)  moment, model           1,794  671  [   479, 3,109]         12 %
2  ATT (1 - 0)  imputation,              -121  671  [-1,436, 1,194]         12 %
                difference in means
3  ATE (1 - 0)  naive, regression       1,794  671  [   479, 3,109]  NOT PRIVATE

   Population              n  Rule      m  r  kappa   df  Clipped  Notes
────────────────────────────────────────────────────────────────────────
1  all 445 rows          445  unified  50  ∞      1    ∞      0.4      1
2  units with treat = 1  445  unified  50  1      1    ∞      0.4   1, 2
3  all 445 rows          445  none      -  -      -  443        0

unified: T = (1 + 1/m) B + (kappa r - 1) U
Variance from noise: the part that privacy adds; m draws or imputations; r rows
per imputation over records; kappa 1: draws carry privacy noise only, 0:
sampling too; clipped: propensities, mean over draws.
NOT PRIVATE: computed on a table that may be confidential: not for release.

[1] Two routes agree within their joint standard error.
[2] Fewer draws than the default.
";
        assert_eq!(
            effects_text(&earnings(), &sample(), Style::plain(80)),
            expected
        );
    }

    #[test]
    fn subgroups_stand_together_and_what_is_missing_beneath() {
        let mut effects = sample();
        let married = Subgroup {
            column: "married".into(),
            level: "1".into(),
        };
        effects[1].subgroup = Some(married.clone());
        effects[2].subgroup = Some(married.clone());
        let text = effects_text(&earnings(), &effects, Style::plain(100));
        assert!(text.contains("1  all "), "{text}");
        assert!(text.contains("2  married = 1 "), "{text}");
        // Named once for both of its rows.
        assert_eq!(text.matches("married = 1").count(), 1, "{text}");

        let missing = |estimand| NotEstimated {
            estimand,
            contrast: "1 - 0".into(),
            population: "rows with married = 1".into(),
            subgroup: Some(married.clone()),
            route: Route::Moment,
            estimator: Estimator::Regression,
            reason: "arm `1` is empty: nobody to compare".into(),
        };
        let rows = [missing(Estimand::Ate), missing(Estimand::Atc)];
        assert_eq!(
            not_estimated_text(&rows, Style::plain(100)),
            "\nNot estimated:\nmarried = 1: ATE (1 - 0), ATC (1 - 0) by moment, regression: arm `1` is empty: nobody to compare\n"
        );
        assert_eq!(not_estimated_text(&[], Style::plain(100)), "");
    }

    #[test]
    fn no_effects_is_said_in_words() {
        let text = effects_text(&earnings(), &[], Style::plain(80));
        assert_eq!(text, "No effects on re78.\n");
    }

    #[test]
    fn colour_marks_what_is_not_private() {
        let style = Style {
            width: 80,
            colour: true,
        };
        let text = effects_text(&earnings(), &sample(), style);
        assert_eq!(text.matches("\u{1b}[1;31mNOT PRIVATE\u{1b}[0m").count(), 2);
        assert_eq!(text.matches(NOT_PRIVATE).count(), 2);
    }

    #[test]
    fn levels_stand_in_the_rows_where_they_differ() {
        let mut effects = sample();
        effects[0].level = 0.9;
        let text = effects_text(&earnings(), &effects, Style::plain(100));
        assert!(text.contains(" Interval "), "{text}");
        assert!(text.contains("90 % [   479, 3,109]"), "{text}");
    }

    #[test]
    fn undefined_numbers_are_words() {
        let mut effects = sample();
        effects[0].standard_error = f64::NAN;
        effects[0].privacy_variance = f64::NAN;
        effects[0].interval = [f64::NEG_INFINITY, f64::INFINITY];
        let text = effects_text(&earnings(), &effects, Style::plain(100));
        assert!(text.contains("undefined"), "{text}");
        assert!(text.contains("[    -∞,     ∞]"), "{text}");
    }
}

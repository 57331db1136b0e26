//! The comparison's tables, for text and page alike.

use crate::evaluate::{
    BalanceComparison, EffectComparison, Evaluation, Found, PropensityUtility, Variation,
};
use crate::report::numbers::{decimals_for, fixed, integer, significant};
use crate::report::table::{Column, Table};
use crate::report::words;

/// Digits of a total variation: thousandths tell mechanisms apart, a further one shows where they are near.
const DECIMALS: usize = 4;

/// Rows of covariate balance beyond these are in the picture and in the JSON document.
const BALANCE_ROWS: usize = 20;

/// Every table that has rows.
pub(super) fn all(evaluation: &Evaluation) -> Vec<Table> {
    let mut tables = vec![marginals(evaluation), worst(evaluation)];
    tables.push(overall(evaluation));
    tables.extend(effects(&evaluation.effects));
    tables.extend(balance(&evaluation.balance));
    tables
}

fn marginals(evaluation: &Evaluation) -> Table {
    let columns = [
        Column::number("Columns"),
        Column::number("Marginals"),
        Column::number("Mean TV"),
        Column::number("Largest TV"),
        Column::text("Worst"),
    ];
    let mut table = Table::new(columns).title("Total variation of marginals");
    for degree in &evaluation.marginals {
        table.row([
            degree.degree.to_string(),
            integer(degree.compared as u64),
            fixed(degree.mean, DECIMALS),
            fixed(degree.max, DECIMALS),
            degree.worst.first().map_or(String::new(), named),
        ]);
    }
    table.note("TV: half the L1 distance of the shares; 0 the same, 1 no cell in common.");
    for note in &evaluation.notes {
        table.note(note);
    }
    table
}

fn named(variation: &Variation) -> String {
    variation.columns.join(", ")
}

/// The worst pairs; the worst columns where there are no pairs.
fn worst(evaluation: &Evaluation) -> Table {
    let pairs = evaluation.marginals.iter().find(|d| d.degree == 2);
    let (title, degree) = match pairs {
        Some(pairs) => ("Worst pairs", Some(pairs)),
        None => ("Worst columns", evaluation.marginals.first()),
    };
    let mut table = Table::new([Column::text("Columns"), Column::number("TV")]).title(title);
    for variation in degree.iter().flat_map(|degree| &degree.worst) {
        table.row([named(variation), fixed(variation.total_variation, DECIMALS)]);
    }
    table
}

fn overall(evaluation: &Evaluation) -> Table {
    let columns = [
        Column::text("Measure"),
        Column::number("Value"),
        Column::text(""),
    ];
    let mut table = Table::new(columns).title("Over all columns");
    let error = &evaluation.workload_error;
    table.row([
        "workload error".into(),
        fixed(error.error, DECIMALS),
        format!(
            "{} arrays, {}",
            integer(error.arrays as u64),
            error.workload
        ),
    ]);
    propensity(&evaluation.propensity, &mut table);
    table.note("Workload error: sum w |p - q| / sum w, the L1 distance over the workload's arrays; twice the mean TV where all weigh alike.");
    table.note(
        "pMSE: mean of (p - c)^2, p the probability of being synthetic by logistic regression on all columns' levels, c the share of synthetic \
         rows. Ratios to (k - 1)(1 - c)^2 c / N (same law; Snoke et al. 2018) and to (k - 1)(1 - c) c / N (sample). They see single columns; \
         associations show in the marginals.",
    );
    table
}

fn propensity(propensity: &PropensityUtility, table: &mut Table) {
    let Some(utility) = propensity.utility else {
        let reason = propensity.reason.clone().unwrap_or_default();
        table.row(["propensity pMSE".into(), "-".into(), reason]);
        return;
    };
    table.row([
        "propensity pMSE".into(),
        significant(utility.pmse, 4),
        format!(
            "k = {} parameters, c = {}",
            significant(utility.parameters, 4),
            significant(utility.synthetic_share, 3)
        ),
    ]);
    let spread = utility.null_standard_deviation / utility.null_expectation;
    let spread = significant(spread, 2);
    table.row([
        "pMSE ratio, same law".into(),
        significant(utility.ratio, 3),
        format!("1 +- {spread} for rows drawn from the real rows' own law"),
    ]);
    table.row([
        "pMSE ratio, sample".into(),
        significant(utility.sample_ratio, 3),
        format!("1 +- {spread} for another sample of the population"),
    ]);
}

fn effects(effects: &[EffectComparison]) -> Option<Table> {
    if effects.is_empty() {
        return None;
    }
    let columns = [
        Column::text("Effect"),
        Column::text("Estimator"),
        Column::number("Confidential (SE)"),
        Column::number("Synthetic (SE)"),
        Column::number("Difference\nin SE"),
    ];
    let mut table = Table::new(columns).title("Average effects");
    let errors = effects.iter().map(|e| e.confidential.standard_error);
    let decimals = decimals_for(errors);
    let cell = |found: &Found| match found.reason {
        Some(_) => "-".into(),
        None => {
            let [estimate, error] =
                [found.estimate, found.standard_error].map(|value| fixed(value, decimals));
            format!("{estimate} ({error})")
        }
    };
    for effect in effects {
        let difference = effect.standardised_difference;
        table.row([
            format!("{} ({})", words::estimand(effect.estimand), effect.contrast),
            words::estimator(effect.estimator).into(),
            cell(&effect.confidential),
            cell(&effect.synthetic),
            if difference.is_nan() {
                "-".into()
            } else {
                fixed(difference, 2)
            },
        ]);
    }
    table.note(
        "Each table read as if it were the sample: the synthetic one's SE leaves out the privacy noise. Analyze the release for intervals.",
    );
    for effect in effects {
        for (which, found) in [
            ("confidential", &effect.confidential),
            ("synthetic", &effect.synthetic),
        ] {
            if let Some(reason) = &found.reason {
                let estimator = words::estimator(effect.estimator);
                table.note(format!(
                    "{} by {estimator}, {which}: {reason}",
                    effect.contrast
                ));
            }
        }
    }
    Some(table)
}

/// The rows whose balance differs most, with that on either table.
fn balance(balance: &[BalanceComparison]) -> Option<Table> {
    if balance.is_empty() {
        return None;
    }
    let columns = [
        Column::text("Covariate"),
        Column::text("Arms"),
        Column::number("Confidential"),
        Column::number("Synthetic"),
    ];
    let mut table =
        Table::new(columns).title("Covariate balance: standardised differences of means");
    let mut rows: Vec<&BalanceComparison> = balance.iter().collect();
    let apart = |row: &BalanceComparison| {
        let gap = (row.synthetic - row.confidential).abs();
        if gap.is_nan() { -1.0 } else { gap }
    };
    rows.sort_by(|a, b| apart(b).total_cmp(&apart(a)));
    for row in rows.iter().take(BALANCE_ROWS) {
        table.row([
            row.covariate.clone(),
            row.contrast.clone(),
            fixed(row.confidential, 3),
            fixed(row.synthetic, 3),
        ]);
    }
    table.note("Largest disagreement first. Both in standard deviations of the confidential table; beyond 0.1 in size is usually called imbalance.");
    if rows.len() > BALANCE_ROWS {
        let more = rows.len() - BALANCE_ROWS;
        table.note(format!(
            "{more} more in the JSON document and in the picture."
        ));
    }
    Some(table)
}

//! Marginal fidelity against causal accuracy: does the mechanism whose tables look most like the data also give
//! the best effects?

use super::statistics::{Cell, Statistics};
use super::summary::with_error;
use std::collections::BTreeMap;

/// The reading whose RMSE stands beside the distance of the tables.
const READING: &str = "imputed-regression";

/// What mechanisms are compared on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group<'a> {
    pub dataset: &'a str,
    pub n: usize,
    pub target: &'a str,
    /// The bits of epsilon, which sort as the numbers do.
    pub epsilon: u64,
}

/// The mechanisms with microdata, where there is more than one, each with its reading by multiple imputation.
pub fn groups(
    cells: &BTreeMap<Cell, Statistics>,
) -> BTreeMap<Group<'_>, Vec<(&Cell, &Statistics)>> {
    let with_tables = cells.iter().filter(|(cell, found)| {
        cell.estimator == READING && cell.is_of_main_target() && found.fidelity[1].value.is_finite()
    });
    let mut groups: BTreeMap<Group, Vec<(&Cell, &Statistics)>> = BTreeMap::new();
    for (cell, found) in with_tables {
        let group = Group {
            dataset: &cell.dataset,
            n: cell.n,
            target: &cell.target,
            epsilon: cell.epsilon().map_or(0, f64::to_bits),
        };
        groups.entry(group).or_default().push((cell, found));
    }
    groups.retain(|_, found| found.len() > 1);
    groups
}

/// The section, if mechanisms with microdata were run.
pub fn section(cells: &BTreeMap<Cell, Statistics>) -> Option<String> {
    let groups = groups(cells);
    if groups.is_empty() {
        return None;
    }
    let mut text = String::from(
        "\n## Marginal fidelity against causal accuracy\n\n\
         TV1 and TV2: total variation between one synthetic table and the data, the mean over all columns and all pairs \
         of columns. RMSE of the effect by multiple imputation. Mechanisms in the order of their TV2, the most faithful \
         first; in the last column their places by RMSE.\n\n\
         | dataset | n | target | eps | mechanism | TV1 | TV2 | RMSE | place by RMSE |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for (group, mut found) in groups {
        let Group {
            dataset,
            n,
            target,
            epsilon,
        } = group;
        found.sort_by(|(_, a), (_, b)| a.fidelity[1].value.total_cmp(&b.fidelity[1].value));
        for (cell, statistics) in &found {
            let better =
                |(_, other): &&(&Cell, &Statistics)| other.rmse.value < statistics.rmse.value;
            let [one_way, two_way] = statistics.fidelity;
            text += &format!(
                "| {dataset} | {n} | {target} | {} | {} | {} | {} | {} | {} |\n",
                f64::from_bits(epsilon),
                cell.mechanism,
                with_error(one_way),
                with_error(two_way),
                with_error(statistics.rmse),
                1 + found.iter().filter(better).count(),
            );
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::super::record::Record;
    use super::super::statistics::cells;
    use super::*;

    #[test]
    fn the_order_is_by_distance_and_the_place_by_error() {
        let record = |mechanism: &str, repetition: usize, distance: f64, error: f64| {
            let mut record = Record::empty();
            record.key.dataset = "d".into();
            record.key.epsilon = "1".into();
            record.key.mechanism = mechanism.into();
            record.key.repetition = repetition;
            record.estimator = READING.into();
            record.target = "population".into();
            record.truth = 0.0;
            record.estimate = error;
            record.interval = [-1.0, 1.0];
            record.fidelity = [0.01, distance];
            record
        };
        let records: Vec<Record> = (0..4)
            .flat_map(|k| [record("far", k, 0.3, 0.1), record("near", k, 0.1, 0.2)])
            .collect();
        let text = section(&cells(&records)).unwrap();
        let near = text
            .find("| near | 0.01 (0) | 0.1 (0) | 0.2 (0) | 2 |")
            .unwrap();
        let far = text
            .find("| far | 0.01 (0) | 0.3 (0) | 0.1 (0) | 1 |")
            .unwrap();
        assert!(near < far);
        assert_eq!(section(&cells(&records[..1])), None);
    }
}

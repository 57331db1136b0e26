//! A cell's statistics over its repetitions, each with its Monte Carlo standard error.
//!
//! Where a repetition has several rows (a panel's placebo units), each of what follows is first averaged over them: what
//! varies between repetitions is the noise or the table, and the units are always the same.
//!
//! With errors `e_i` of `R` repetitions: bias `mean(e)`, error `sd(e) / sqrt(R)`; RMSE `sqrt(mean(e^2))`,
//! error `sd(e^2) / (2 RMSE sqrt(R))` (delta method); coverage `c`, error `sqrt(c (1 - c) / R)` (of several rows, `sd / sqrt(R)` of
//! their shares); median width, error from the order statistics at `R/2 -+ sqrt(R)/2`, one standard deviation of the count of
//! widths below the median apart from it.

use super::record::Record;
use std::collections::BTreeMap;

/// A number and its Monte Carlo standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    pub value: f64,
    pub error: f64,
}

/// What a cell is about. Cells sort by dataset, size, target, epsilon (none first), mechanism, estimator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub dataset: String,
    pub n: usize,
    pub target: String,
    /// The bits of a positive number, which sort as the numbers do; 0 for none.
    epsilon_bits: u64,
    pub mechanism: String,
    pub estimator: String,
}

impl Cell {
    /// Of an estimator of a mechanism at a budget; `epsilon` 0 for what is not private.
    pub fn new(
        dataset: &str,
        n: usize,
        target: &str,
        epsilon: f64,
        mechanism: &str,
        estimator: &str,
    ) -> Cell {
        Cell {
            dataset: dataset.into(),
            n,
            target: target.into(),
            epsilon_bits: epsilon.to_bits(),
            mechanism: mechanism.into(),
            estimator: estimator.into(),
        }
    }

    /// Epsilon; none of what is not private.
    pub fn epsilon(&self) -> Option<f64> {
        (self.epsilon_bits != 0).then(|| f64::from_bits(self.epsilon_bits))
    }

    /// Whether it is about the dataset's own target, the first of those that every table has.
    pub fn is_of_main_target(&self) -> bool {
        ["population", "functional"].contains(&self.target.as_str())
    }

    /// The cell of the non-private regression on the same tables.
    pub fn floor(&self) -> Cell {
        self.without_privacy("floor", "regression")
    }

    /// The cell of what is not private, on the same data.
    pub fn without_privacy(&self, mechanism: &str, estimator: &str) -> Cell {
        Cell {
            epsilon_bits: 0,
            mechanism: mechanism.into(),
            estimator: estimator.into(),
            ..self.clone()
        }
    }
}

/// The statistics of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// Repetitions with an estimate.
    pub repetitions: usize,
    /// Repetitions without one.
    pub failures: usize,
    pub rmse: Measured,
    pub bias: Measured,
    /// Share of intervals that hold the target; NaN where there are none at all.
    pub coverage: Measured,
    /// Median width; NaN where there are no intervals at all.
    pub width: Measured,
    /// Mean total variation of the synthetic tables' marginals of one and of two columns; NaN where there are none.
    pub fidelity: [Measured; 2],
    /// The RMSE of answering 0 whatever the data.
    pub zero: f64,
    /// Mean seconds per run of the mechanism.
    pub seconds: f64,
}

/// The statistics of all cells in some rows.
pub fn cells(records: &[Record]) -> BTreeMap<Cell, Statistics> {
    let mut groups: BTreeMap<Cell, Vec<&Record>> = BTreeMap::new();
    let (failed, estimated): (Vec<&Record>, Vec<&Record>) = records
        .iter()
        .partition(|record| record.estimator.is_empty());
    for record in estimated {
        groups.entry(cell(record)).or_default().push(record);
    }
    // A failed run has no estimator: it counts for all of them.
    for record in failed {
        let of_run = cell(record);
        let mut counted = false;
        for (cell, group) in &mut groups {
            let same = cell.dataset == of_run.dataset
                && cell.n == of_run.n
                && cell.epsilon_bits == of_run.epsilon_bits
                && cell.mechanism == of_run.mechanism;
            if same {
                group.push(record);
                counted = true;
            }
        }
        if !counted {
            groups.insert(of_run, vec![record]);
        }
    }
    groups
        .into_iter()
        .map(|(cell, group)| (cell, statistics(&group)))
        .collect()
}

fn cell(record: &Record) -> Cell {
    let epsilon: Option<f64> = record.key.epsilon.parse().ok();
    Cell {
        dataset: record.key.dataset.clone(),
        n: record.key.n,
        target: record.target.clone(),
        epsilon_bits: epsilon.map_or(0, f64::to_bits),
        mechanism: record.key.mechanism.clone(),
        estimator: record.estimator.clone(),
    }
}

fn statistics(group: &[&Record]) -> Statistics {
    let (valid, failed): (Vec<&Record>, Vec<&Record>) =
        group.iter().partition(|record| record.failure.is_empty());
    let repetitions = by_repetition(&valid);
    let r = repetitions.len() as f64;
    let averaged = |of: &dyn Fn(&Record) -> f64| -> Vec<f64> {
        let average =
            |rows: &Vec<&Record>| mean(&rows.iter().map(|row| of(row)).collect::<Vec<_>>());
        repetitions.values().map(average).collect()
    };
    let squares = averaged(&|row| (row.estimate - row.truth).powi(2));
    let rmse = mean(&squares).sqrt();
    let has_intervals = valid.iter().any(|row| !row.interval[0].is_nan());
    let of_intervals = |values: Vec<f64>| if has_intervals { values } else { vec![] };
    let held = of_intervals(averaged(&|row| {
        let [lower, upper] = row.interval;
        f64::from(u8::from((lower..=upper).contains(&row.truth)))
    }));
    let mut widths = of_intervals(averaged(&|row| row.interval[1] - row.interval[0]));
    widths.sort_by(f64::total_cmp);
    let covered = mean(&held);
    let seconds: Vec<f64> = group.iter().map(|record| record.seconds).collect();
    Statistics {
        repetitions: repetitions.len(),
        failures: by_repetition(&failed).len(),
        rmse: Measured {
            value: rmse,
            error: standard_deviation(&squares) / (2.0 * rmse * r.sqrt()),
        },
        bias: mean_of(&averaged(&|row| row.estimate - row.truth)),
        coverage: if valid.len() > repetitions.len() {
            mean_of(&held)
        } else {
            Measured {
                value: covered,
                error: (covered * (1.0 - covered) / r).sqrt(),
            }
        },
        width: median(&widths),
        fidelity: [0, 1].map(|ways| mean_of(&averaged(&|row| row.fidelity[ways]))),
        zero: mean(&averaged(&|row| row.truth * row.truth)).sqrt(),
        seconds: mean(&seconds),
    }
}

/// The rows of each repetition.
fn by_repetition<'a>(rows: &[&'a Record]) -> BTreeMap<usize, Vec<&'a Record>> {
    let mut repetitions: BTreeMap<usize, Vec<&Record>> = BTreeMap::new();
    for &row in rows {
        repetitions.entry(row.key.repetition).or_default().push(row);
    }
    repetitions
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A mean with its error.
fn mean_of(values: &[f64]) -> Measured {
    Measured {
        value: mean(values),
        error: standard_deviation(values) / (values.len() as f64).sqrt(),
    }
}

fn standard_deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let sum = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>();
    (sum / (values.len() as f64 - 1.0)).sqrt()
}

/// The median of ascending values.
fn median(ascending: &[f64]) -> Measured {
    if ascending.is_empty() {
        let nothing = f64::NAN;
        return Measured {
            value: nothing,
            error: nothing,
        };
    }
    let last = ascending.len() - 1;
    let at = |position: f64| ascending[(position.max(0.0).round() as usize).min(last)];
    let middle = last as f64 / 2.0;
    let step = (ascending.len() as f64).sqrt() / 2.0;
    Measured {
        value: f64::midpoint(at(middle.floor()), at(middle.ceil())),
        error: (at(middle + step) - at(middle - step)) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(repetition: usize, estimate: f64, half: f64) -> Record {
        let mut record = Record::empty();
        record.key.repetition = repetition;
        record.key.epsilon = "0.5".into();
        record.estimator = "e".into();
        record.target = "t".into();
        record.truth = 1.0;
        record.estimate = estimate;
        record.interval = [estimate - half, estimate + half];
        record
    }

    #[test]
    fn statistics_by_hand() {
        let mut records = vec![
            record(0, 1.0, 1.0),
            record(1, 2.0, 0.5),
            record(2, 0.0, 1.0),
            record(3, 3.0, 3.0),
        ];
        let mut failure = Record::empty();
        failure.key.epsilon = "0.5".into();
        failure.failure = "no".into();
        records.push(failure);
        let cells = cells(&records);
        let (cell, found) = cells.first_key_value().unwrap();
        assert_eq!((cells.len(), cell.epsilon()), (1, Some(0.5)));
        assert_eq!((found.repetitions, found.failures), (4, 1));
        // Errors 0, 1, -1, 2: squares 0, 1, 1, 4.
        assert_eq!(found.bias.value, 0.5);
        assert!((found.bias.error - (5.0f64 / 3.0).sqrt() / 2.0).abs() < 1e-12);
        assert!((found.rmse.value - 1.5f64.sqrt()).abs() < 1e-12);
        assert!((found.rmse.error - 3f64.sqrt() / (4.0 * 1.5f64.sqrt())).abs() < 1e-12);
        assert_eq!(found.coverage.value, 0.75);
        assert_eq!(found.width.value, 2.0);
        assert_eq!(found.zero, 1.0);
    }

    /// Two units per repetition: what is averaged over them is what varies.
    #[test]
    fn rows_of_a_repetition_are_averaged_first() {
        let records = [
            record(0, 2.0, 1.5),
            record(0, 4.0, 0.5),
            record(1, 1.0, 1.0),
            record(1, 1.0, 3.0),
        ];
        let cells = cells(&records);
        let found = cells.first_key_value().unwrap().1;
        // Errors 1, 3 and 0, 0: squares 5 and 0 on average.
        assert_eq!(found.repetitions, 2);
        assert_eq!(
            found.bias,
            Measured {
                value: 1.0,
                error: 1.0
            }
        );
        assert!((found.rmse.value - 2.5f64.sqrt()).abs() < 1e-12);
        assert!((found.rmse.error - 2.5 / (2.0 * 2.5f64.sqrt())).abs() < 1e-12);
        // Half of the first's intervals hold the target, both of the second's; widths 2 and 4 on average.
        assert_eq!(found.coverage.value, 0.75);
        assert!((found.coverage.error - 0.25).abs() < 1e-12);
        assert_eq!(found.width.value, 3.0);
    }

    #[test]
    fn no_interval_is_not_an_interval_that_misses() {
        let mut without = record(0, 1.0, f64::NAN);
        let found = |records: &[Record]| *cells(records).first_key_value().unwrap().1;
        assert!(found(&[without.clone()]).coverage.value.is_nan());
        // Beside others it is one that is lacking.
        without.key.repetition = 1;
        assert_eq!(found(&[without, record(0, 1.0, 1.0)]).coverage.value, 0.5);
    }

    /// The errors themselves: over 400 studies of 100 normal estimates the spread of RMSE, bias and
    /// median width is what the errors say, within 4.5 of its own standard errors (sd / sqrt(2 400)), and
    /// a tenth for the median's, whose error is itself an estimate.
    #[test]
    fn monte_carlo_errors_are_the_spread_over_studies() {
        use rand_distr::{Distribution, StandardNormal};
        let mut random = super::super::seeds::generator(11);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        let studies: Vec<Statistics> = (0..400)
            .map(|_| {
                let rows: Vec<Record> = (0..100)
                    .map(|i| record(i, 1.0 + normal(), (0.2 * normal()).exp()))
                    .collect();
                *cells(&rows).first_key_value().unwrap().1
            })
            .collect();
        let spread = |of: fn(&Statistics) -> Measured| {
            let values: Vec<f64> = studies.iter().map(|s| of(s).value).collect();
            let errors: Vec<f64> = studies.iter().map(|s| of(s).error).collect();
            mean(&errors) / standard_deviation(&values)
        };
        let bound = 4.5 / (2.0f64 * 400.0).sqrt();
        for (of, slack) in [
            (spread(|s| s.rmse), 0.0),
            (spread(|s| s.bias), 0.0),
            (spread(|s| s.coverage), 0.0),
            (spread(|s| s.width), 0.1),
        ] {
            assert!((of - 1.0).abs() < bound + slack, "{of}");
        }
    }
}

//! The main table: RMSE, coverage and width by dataset, budget and mechanism; and the causal mechanisms against
//! the better of MST and AIM.
//!
//! A mechanism stands with the interval that is right for it: of adjusted effects their own, of the causal workload
//! that of its model's moments, of other microdata multiple imputation. Coverage and width also have, after a bar, what reading one synthetic table as the data gives. The
//! baselines' RMSE in the comparison is the smaller of those two readings'.

use super::compare::Verdict;
use super::statistics::{Cell, Measured, Statistics};
use super::summary::with_error;
use dpcausal::report::numbers::significant;
use std::collections::{BTreeMap, BTreeSet};

type Cells = BTreeMap<Cell, Statistics>;

/// A mechanism's own estimator: the first of these that it has.
const OWN: [&str; 5] = [
    "adjusted",
    "moment-regression",
    "imputed-regression",
    "regression",
    "difference-in-means",
];

/// Reading one synthetic table as the data.
const NAIVE: &str = "naive-regression";

/// The mechanisms made for causal answers, in the order of their columns.
const CAUSAL: [&str; 3] = ["effects", "causal-aim", "causal"];

/// The ones that they are held against.
const RIVALS: [&str; 2] = ["mst", "aim"];

/// The largest budget at which the causal mechanisms may not be worse at all.
const STRICT_EPSILON: f64 = 1.0;

/// How much worse they may be beyond it.
const SLACK: f64 = 1.05;

/// What a row is about: dataset, size, target, epsilon (its bits, which sort as the numbers).
type Row = (String, usize, String, u64);

/// The section, if a rival was run.
pub fn section(cells: &Cells) -> Option<String> {
    let table = Table::new(cells);
    if !table.mechanisms.iter().any(|m| RIVALS.contains(&base(m))) {
        return None;
    }
    let mut text = String::from(
        "\n## Main table\n\n\
         By mechanism: the interval that is right for it (of `effects` its own, of the causal workloads that of the \
         model's moments, of other microdata multiple imputation by the unified rule). After a bar: one synthetic table \
         read as if it were the data. The answer 0 is the same whatever the data.\n",
    );
    for measure in [
        Measure {
            name: "RMSE",
            show: |s| with_error(s.rmse) + &failed(s),
            of_errors: true,
        },
        Measure {
            name: "Coverage, %",
            show: |s| percent(s.coverage),
            of_errors: false,
        },
        Measure {
            name: "Median width",
            show: |s| with_error(s.width),
            of_errors: false,
        },
    ] {
        text += &table.measure(&measure);
    }
    Some(text + &table.comparison())
}

/// What a table shows.
struct Measure {
    name: &'static str,
    show: fn(&Statistics) -> String,
    /// Of errors, which both readings share nearly, and which the answer 0 has too.
    of_errors: bool,
}

struct Table<'a> {
    cells: &'a Cells,
    rows: BTreeSet<Row>,
    /// By their names in full, in the order of the columns.
    mechanisms: Vec<String>,
}

impl<'a> Table<'a> {
    fn new(cells: &'a Cells) -> Table<'a> {
        let of_table = cells.keys().filter(|cell| cell.is_of_main_target());
        let private = of_table.filter(|cell| cell.epsilon().is_some());
        let mut mechanisms = BTreeSet::new();
        let mut rows = BTreeSet::new();
        for cell in private {
            let epsilon = cell.epsilon().map_or(0, f64::to_bits);
            rows.insert((cell.dataset.clone(), cell.n, cell.target.clone(), epsilon));
            mechanisms.insert(cell.mechanism.clone());
        }
        let mut mechanisms: Vec<String> = mechanisms.into_iter().collect();
        let place = |name: &String| {
            let order = CAUSAL.iter().chain(&RIVALS);
            order.clone().position(|known| *known == base(name))
        };
        mechanisms.sort_by_key(|name| place(name).unwrap_or(usize::MAX));
        Table {
            cells,
            rows,
            mechanisms,
        }
    }

    /// The statistics of a mechanism's estimator in a row.
    fn find(&self, row: &Row, mechanism: &str, estimator: &str) -> Option<&'a Statistics> {
        let cell = Cell::new(
            &row.0,
            row.1,
            &row.2,
            f64::from_bits(row.3),
            mechanism,
            estimator,
        );
        self.cells.get(&cell)
    }

    fn own(&self, row: &Row, mechanism: &str) -> Option<&'a Statistics> {
        OWN.iter()
            .find_map(|estimator| self.find(row, mechanism, estimator))
    }

    fn floor(&self, row: &Row) -> Option<&'a Statistics> {
        let cell = Cell::new(&row.0, row.1, &row.2, 0.0, "floor", "regression");
        self.cells.get(&cell)
    }

    /// The name of a mechanism in a heading: without its settings where it is the only one of its kind.
    fn heading<'m>(&self, mechanism: &'m str) -> &'m str {
        let same = |other: &&String| base(other) == base(mechanism);
        match self.mechanisms.iter().filter(same).count() {
            1 => base(mechanism),
            _ => mechanism,
        }
    }

    /// One measure as a table.
    fn measure(&self, measure: &Measure) -> String {
        let show = measure.show;
        let mut headings = vec!["not private"];
        headings.extend(measure.of_errors.then_some("0"));
        headings.extend(self.mechanisms.iter().map(|m| self.heading(m)));
        let mut text = format!(
            "\n### {}\n\n| dataset | n | eps | {} |\n|---|---|---|{}\n",
            measure.name,
            headings.join(" | "),
            "---|".repeat(headings.len())
        );
        for row in &self.rows {
            let floor = self.floor(row);
            let of_floor = |show: &dyn Fn(&Statistics) -> String| floor.map_or("-".into(), show);
            let mut entries = vec![of_floor(&show)];
            if measure.of_errors {
                entries.push(of_floor(&|floor| significant(floor.zero, 3)));
            }
            entries.extend(self.mechanisms.iter().map(|mechanism| {
                let own = self.own(row, mechanism).map_or("-".into(), show);
                match self.find(row, mechanism, NAIVE) {
                    Some(naive) if !measure.of_errors => format!("{own} / {}", show(naive)),
                    _ => own,
                }
            }));
            text += &format!("{} {} |\n", head(row), entries.join(" | "));
        }
        text
    }

    /// The causal mechanisms' RMSE as multiples of the better rival's.
    fn comparison(&self) -> String {
        let ours: Vec<&String> = (self.mechanisms.iter())
            .filter(|m| CAUSAL.contains(&base(m)))
            .collect();
        let headings: Vec<&str> = ours.iter().map(|m| self.heading(m)).collect();
        let mut text = format!(
            "\n### Against the better of MST and AIM\n\n\
             RMSE as a multiple of the better one's. pass: at most 1 up to eps {STRICT_EPSILON}, at most {SLACK} beyond; \
             ?: missed by less than two Monte Carlo standard errors; FAIL: missed by more.\n\n\
             | dataset | n | eps | the better one | its RMSE | {} |\n|---|---|---|---|---|{}\n",
            headings.join(" | "),
            "---|".repeat(headings.len())
        );
        for row in &self.rows {
            let Some((name, rival)) = self.better_rival(row) else {
                continue;
            };
            let entry = |mechanism: &&String| {
                let Some(found) = self.own(row, mechanism) else {
                    return "-".into();
                };
                let ratio = found.rmse.value / rival.value;
                format!("{ratio:.2} {}", verdict(row, found.rmse, rival).mark())
            };
            let entries: Vec<String> = ours.iter().map(entry).collect();
            let rival = with_error(rival);
            text += &format!(
                "{} {name} | {rival} | {} |\n",
                head(row),
                entries.join(" | ")
            );
        }
        text
    }

    /// The smallest RMSE of the rivals, by either reading, and whose it is.
    fn better_rival(&self, row: &Row) -> Option<(&str, Measured)> {
        let rivals = self.mechanisms.iter().filter(|m| RIVALS.contains(&base(m)));
        let readings = rivals.flat_map(|mechanism| {
            let found = [self.own(row, mechanism), self.find(row, mechanism, NAIVE)];
            let name = self.heading(mechanism);
            found.into_iter().flatten().map(move |s| (name, s.rmse))
        });
        readings
            .filter(|(_, rmse)| rmse.value.is_finite())
            .min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))
    }
}

/// The mechanism of a name with settings.
fn base(mechanism: &str) -> &str {
    mechanism.split('+').next().unwrap_or_default()
}

fn verdict(row: &Row, ours: Measured, rival: Measured) -> Verdict {
    let epsilon = f64::from_bits(row.3);
    let slack = if epsilon <= STRICT_EPSILON {
        1.0
    } else {
        SLACK
    };
    // Both see the same tables, so that the error of their difference is smaller, if anything.
    let error = ours.error.hypot(slack * rival.error);
    Verdict::of(ours.value - slack * rival.value, error)
}

fn head((dataset, n, _, epsilon): &Row) -> String {
    format!("| {dataset} | {n} | {} |", f64::from_bits(*epsilon))
}

fn percent(share: Measured) -> String {
    format!("{:.0} ({:.0})", 100.0 * share.value, 100.0 * share.error)
}

fn failed(found: &Statistics) -> String {
    match found.failures {
        0 => String::new(),
        count => format!("; {count} of {} failed", count + found.repetitions),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Record;
    use super::super::statistics::cells;
    use super::*;

    /// Ten repetitions of a mechanism whose estimates err by this much.
    fn repetitions(mechanism: &str, estimator: &str, epsilon: &str, error: f64) -> Vec<Record> {
        (0..10)
            .map(|repetition| {
                let mut record = Record::empty();
                record.key.dataset = "d".into();
                record.key.n = 100;
                record.key.epsilon = epsilon.into();
                record.key.mechanism = mechanism.into();
                record.key.repetition = repetition;
                record.estimator = estimator.into();
                record.target = "population".into();
                record.truth = 0.0;
                record.estimate = error * (1.0 + repetition as f64 / 100.0);
                record.interval = [-1.0, 1.0];
                record
            })
            .collect()
    }

    #[test]
    fn the_better_rival_is_the_one_to_beat() {
        let mut records = repetitions("effects", "adjusted", "1", 0.2);
        records.extend(repetitions("mst", "imputed-regression", "1", 0.5));
        records.extend(repetitions("aim+rounds=3", "imputed-regression", "1", 0.4));
        records.extend(repetitions("aim+rounds=3", "naive-regression", "1", 0.25));
        records.extend(repetitions("causal", "imputed-regression", "1", 0.5));
        records.extend(repetitions("effects", "adjusted", "2", 0.51));
        records.extend(repetitions("mst", "imputed-regression", "2", 0.5));
        records.extend(repetitions("floor", "regression", "none", 0.1));
        let text = section(&cells(&records)).unwrap();
        assert!(text.contains("| 0.80 pass | 2.00 FAIL |"), "{text}");
        assert!(text.contains("| 1 | aim | 0.261"), "{text}");
        // Within the slack that eps 2 has; nothing of `causal` was run there.
        assert!(text.contains("| 1.02 pass | - |"), "{text}");
        assert!(
            text.contains("| not private | 0 | effects | causal | mst | aim |"),
            "{text}"
        );
        assert!(text.contains("| 100 (0) / 100 (0) |"), "{text}");
    }

    #[test]
    fn there_is_no_table_without_rivals() {
        assert_eq!(
            section(&cells(&repetitions("effects", "adjusted", "1", 1.0))),
            None
        );
    }
}

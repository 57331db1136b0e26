//! The placebo tables: the path's error by method and epsilon, beside what needs no budget and what is not private; and
//! what the intervals hold.

use super::panel::{MEAN, PATH, PERIOD};
use super::statistics::{Cell, Measured, Statistics};
use super::subject::Kind;
use super::summary::{percent, with_error};
use std::collections::{BTreeMap, BTreeSet};

type Cells = BTreeMap<Cell, Statistics>;

/// The sections, if panels were run.
pub fn section(cells: &Cells) -> Option<String> {
    let of_paths = (cells.iter())
        .filter(|(cell, _)| Kind::of(&cell.dataset) == Kind::Panel && cell.target == PATH);
    let (private, known): (Vec<_>, Vec<_>) =
        of_paths.partition(|(cell, _)| cell.epsilon().is_some());
    if private.is_empty() && known.is_empty() {
        return None;
    }
    let table = Table {
        cells,
        epsilons: private.iter().map(|(cell, _)| bits(cell)).collect(),
        rows: private.iter().map(|(cell, _)| Row::of(cell)).collect(),
        panels: known
            .iter()
            .map(|(cell, _)| Row {
                method: "",
                ..Row::of(cell)
            })
            .collect(),
    };
    Some(table.errors() + &table.intervals())
}

/// The bits of a cell's epsilon, which sort as the numbers do.
fn bits(cell: &Cell) -> u64 {
    cell.epsilon().map_or(0, f64::to_bits)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row<'a> {
    dataset: &'a str,
    donors: usize,
    method: &'a str,
}

impl<'a> Row<'a> {
    fn of(cell: &'a Cell) -> Row<'a> {
        Row {
            dataset: &cell.dataset,
            donors: cell.n,
            method: &cell.mechanism,
        }
    }
}

struct Table<'a> {
    cells: &'a Cells,
    epsilons: BTreeSet<u64>,
    rows: BTreeSet<Row<'a>>,
    /// Panels on which something was run that spends nothing.
    panels: BTreeSet<Row<'a>>,
}

impl Table<'_> {
    fn find(&self, row: &Row, target: &str, epsilon: f64, method: &str) -> Option<&Statistics> {
        let cell = Cell::new(
            row.dataset,
            row.donors,
            target,
            epsilon,
            method,
            "counterfactual",
        );
        self.cells.get(&cell)
    }

    fn head(&self, first: &str) -> String {
        let epsilons: Vec<String> = (self.epsilons.iter())
            .map(|&bits| f64::from_bits(bits).to_string())
            .collect();
        let columns = first.matches('|').count() - 1 + epsilons.len();
        format!(
            "{first} {} |\n|{}\n",
            epsilons.join(" | "),
            "---|".repeat(columns)
        )
    }

    /// The columns of a row, epsilon by epsilon.
    fn by_epsilon(&self, show: impl Fn(f64) -> Option<String>) -> String {
        let shown = (self.epsilons.iter())
            .map(|&bits| show(f64::from_bits(bits)).unwrap_or_else(|| "-".into()));
        shown.map(|cell| format!(" {cell} |")).collect()
    }

    fn errors(&self) -> String {
        let head = self.head("| panel | donors | forecast | simplex, not private | method |");
        let mut text = format!(
            "\n## Placebo errors\n\n\
             Root mean square error of the path over units, periods and repetitions, in the outcome's units, by epsilon. \
             The forecast is by the unit's own past, which costs nothing; simplex is synthetic control without privacy.\n\n{head}"
        );
        let alone = (self.panels.iter())
            .filter(|panel| !self.rows.iter().any(|row| row.dataset == panel.dataset));
        for row in self.rows.iter().chain(alone) {
            let known = ["forecast", "simplex"].map(|method| {
                let found = self.find(row, PATH, 0.0, method);
                found.map_or("-".into(), |found| with_error(found.rmse))
            });
            let shown = self.by_epsilon(|epsilon| {
                let found = self.find(row, PATH, epsilon, row.method)?;
                Some(failed(found).unwrap_or_else(|| with_error(found.rmse)))
            });
            text += &format!(
                "| {} | {} | {} | {} |{shown}\n",
                row.dataset,
                row.donors,
                known.join(" | "),
                row.method,
            );
        }
        text
    }

    fn intervals(&self) -> String {
        let has_intervals = |row: &&Row| {
            let of_row = |(cell, found): (&Cell, &Statistics)| {
                Row::of(cell) == **row && cell.target == MEAN && found.coverage.value.is_finite()
            };
            self.cells.iter().any(of_row)
        };
        let rows: Vec<&Row> = self.rows.iter().filter(has_intervals).collect();
        if rows.is_empty() {
            return String::new();
        }
        let head = self.head("| panel | method |");
        let mut text = format!(
            "\n## Placebo intervals\n\n\
             Of intervals of nominal 95 %: the share of periods, and of mean effects, that they hold, in percent; the median \
             width of the mean's. The errors are over the noise: units of one panel are few and alike, and a share of the \
             means of 37 units varies by 4 points between panels of the same law.\n\n{head}"
        );
        for row in rows {
            let shown = self.by_epsilon(|epsilon| {
                let periods = self.find(row, PERIOD, epsilon, row.method);
                let periods = periods.map_or("-".into(), |found| percent(found.coverage));
                let Measured { value, .. } = self.find(row, MEAN, epsilon, row.method)?.width;
                let mean = percent(self.find(row, MEAN, epsilon, row.method)?.coverage);
                let width = dpcausal::report::numbers::significant(value, 3);
                Some(format!("{periods}, {mean}; {width}"))
            });
            text += &format!("| {} | {} |{shown}\n", row.dataset, row.method);
        }
        text
    }
}

/// What stands in the place of an error where nothing was found.
fn failed(found: &Statistics) -> Option<String> {
    (found.repetitions == 0).then(|| "failed".into())
}

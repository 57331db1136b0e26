//! Ours beside the published numbers, with the bars of the study.
//!
//! | role | what it demands of the answer that we recommend, in its cell |
//! |---|---|
//! | `bar` | coverage (below), width at most 1.03 times the number, RMSE at most the number |
//! | `comparator` | RMSE at most the number |
//! | `floor-ratio` | width at most so many times the floor's |
//! | `limit` | width at most the number |
//!
//! Coverage of nominal 95 %: between 93 and 97.5 % where the floor covers 93 % or more, else at most 2
//! points below the floor. A demand that is missed by less than two Monte Carlo standard errors is not
//! decided by so many repetitions, and is marked `?`. Panels have bars of their path's RMSE alone. The bars of effects as
//! functions of covariates are held against ours in a table of their own ([`super::effects_table`]).

use super::panel;
use super::statistics::{Cell, Measured, Statistics};
use super::subject::Kind;
use super::summary::{percent, with_error};
use anyhow::{Context, Result};
use dpcausal::report::numbers::significant;
use std::collections::BTreeMap;
use std::path::Path;

/// The slack of widths against a bar.
const WIDTH_SLACK: f64 = 1.03;

/// The band of coverage, where the floor reaches its lower end.
pub const BAND: (f64, f64) = (0.93, 0.975);

/// How far coverage may stay below a floor that doesn't.
const BELOW_FLOOR: f64 = 0.02;

/// Monte Carlo standard errors within which a miss is not decided.
const UNDECIDED: f64 = 2.0;

/// What a published number demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Bar,
    Comparator,
    FloorRatio,
    Limit,
}

/// A published row.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub role: Role,
    /// Whose number it is.
    pub source: String,
    pub dataset: String,
    /// None for any size.
    pub n: Option<usize>,
    pub epsilon: f64,
    pub rmse: Option<f64>,
    /// In percent.
    pub coverage: Option<f64>,
    pub width: Option<f64>,
}

/// Reads the table: a header, then `role,source,dataset,n,epsilon,rmse,coverage,width`; lines that begin
/// with `#` are comments, empty cells have no number.
///
/// # Errors
/// Where a line is no such row.
pub fn read(path: &Path) -> Result<Vec<Bar>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    parse(&text).with_context(|| format!("{}", path.display()))
}

fn parse(text: &str) -> Result<Vec<Bar>> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let bar = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [role, source, dataset, n, epsilon, rmse, coverage, width] = fields[..] else {
            anyhow::bail!("eight fields are wanted");
        };
        let number = |text: &str| -> Result<Option<f64>> {
            if text.is_empty() {
                Ok(None)
            } else {
                Ok(Some(text.parse()?))
            }
        };
        Ok(Bar {
            role: match role {
                "bar" => Role::Bar,
                "comparator" => Role::Comparator,
                "floor-ratio" => Role::FloorRatio,
                "limit" => Role::Limit,
                _ => anyhow::bail!("there is no role {role:?}"),
            },
            source: source.into(),
            dataset: dataset.into(),
            n: if n.is_empty() { None } else { Some(n.parse()?) },
            epsilon: epsilon.parse()?,
            rmse: number(rmse)?,
            coverage: number(coverage)?,
            width: number(width)?,
        })
    };
    lines
        .skip(1)
        .map(|line| bar(line).with_context(|| line.to_owned()))
        .collect()
}

/// Whether a demand is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Pass,
    Undecided,
    Fail,
}

impl Verdict {
    /// By how much a demand is missed (not positive if it is met), and the Monte Carlo error of that.
    pub fn of(miss: f64, error: f64) -> Verdict {
        if miss <= 0.0 {
            Verdict::Pass
        } else if miss <= UNDECIDED * error {
            Verdict::Undecided
        } else {
            // A miss that is not a number is a failure too.
            Verdict::Fail
        }
    }

    /// As tables show it.
    pub fn mark(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Undecided => "?",
            Verdict::Fail => "FAIL",
        }
    }
}

/// Coverage against the band, or against a floor that doesn't reach it.
pub fn coverage_verdict(ours: Measured, floor: Measured) -> Verdict {
    let miss = if floor.value >= BAND.0 {
        (BAND.0 - ours.value).max(ours.value - BAND.1)
    } else {
        floor.value - BELOW_FLOOR - ours.value
    };
    Verdict::of(
        miss,
        ours.error.hypot(if floor.value >= BAND.0 {
            0.0
        } else {
            floor.error
        }),
    )
}

/// The section of the summary.
pub fn section(cells: &BTreeMap<Cell, Statistics>, bars: &[Bar]) -> String {
    let mut lines = Vec::new();
    let mut counts = [0; 3];
    for bar in bars {
        for (cell, ours) in cells.iter().filter(|(cell, _)| applies(bar, cell)) {
            let floor = cells.get(&cell.floor());
            let [rmse, coverage, width] = verdicts(bar, ours, floor);
            for verdict in [rmse, coverage, width].into_iter().flatten() {
                counts[verdict as usize] += 1;
            }
            lines.push(line(bar, cell, ours, [rmse, coverage, width]));
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let [pass, undecided, fail] = counts;
    let mut text = format!(
        "\n## Against the published numbers\n\n\
         Ours first, then theirs. pass: met; ?: missed by less than two Monte Carlo standard errors; FAIL: missed by more. \
         {pass} pass, {undecided} ?, {fail} FAIL.\n",
    );
    text += "\n| dataset | n | eps | theirs | ours | RMSE | coverage % | median width |\n|---|---|---|---|---|---|---|---|\n";
    text + &lines.concat()
}

/// Bars are for what we recommend, on the first target of a dataset.
fn applies(bar: &Bar, cell: &Cell) -> bool {
    let is_of_target = match Kind::of(&cell.dataset) {
        Kind::Table => cell.is_of_main_target(),
        Kind::Panel => cell.target == panel::PATH,
        Kind::Cate => false,
    };
    is_of_target && is_ours(cell) && bar.is_of(cell)
}

/// Whether a cell is of the answer that we recommend: of tables, the effects release's by the estimator of the schema's
/// design (a randomised one has no `adjusted`, an observational one no difference in means); of panels, `auto`.
pub fn is_ours(cell: &Cell) -> bool {
    match Kind::of(&cell.dataset) {
        Kind::Table => {
            cell.mechanism == "effects"
                && ["adjusted", "difference-in-means"].contains(&cell.estimator.as_str())
        }
        Kind::Panel => cell.mechanism == "auto",
        Kind::Cate => cell.mechanism == "adaptive",
    }
}

impl Bar {
    /// Whether it speaks of a cell's dataset, size and budget.
    pub fn is_of(&self, cell: &Cell) -> bool {
        cell.dataset == self.dataset
            && self.n.is_none_or(|n| n == cell.n)
            && cell.epsilon() == Some(self.epsilon)
    }
}

fn verdicts(bar: &Bar, ours: &Statistics, floor: Option<&Statistics>) -> [Option<Verdict>; 3] {
    let at_most = |ours: Measured, limit: f64| Verdict::of(ours.value - limit, ours.error);
    let rmse = bar.rmse.map(|rmse| at_most(ours.rmse, rmse));
    match bar.role {
        Role::Comparator => [rmse, None, None],
        Role::Limit => [
            None,
            None,
            bar.width.map(|width| at_most(ours.width, width)),
        ],
        Role::FloorRatio => {
            let limit = bar
                .width
                .zip(floor)
                .map(|(ratio, floor)| ratio * floor.width.value);
            [None, None, limit.map(|limit| at_most(ours.width, limit))]
        }
        Role::Bar => [
            rmse,
            floor.map(|floor| coverage_verdict(ours.coverage, floor.coverage)),
            bar.width
                .map(|width| at_most(ours.width, WIDTH_SLACK * width)),
        ],
    }
}

fn line(bar: &Bar, cell: &Cell, ours: &Statistics, verdicts: [Option<Verdict>; 3]) -> String {
    let column = |ours: String, theirs: Option<f64>, verdict: Option<Verdict>| {
        let theirs = theirs.map_or("-".into(), |value| significant(value, 3));
        match verdict {
            Some(verdict) => format!("{ours} / {theirs} {}", verdict.mark()),
            None => format!("{ours} / {theirs}"),
        }
    };
    format!(
        "| {} | {} | {} | {} | {}, {} | {} | {} | {} |\n",
        cell.dataset,
        cell.n,
        bar.epsilon,
        bar.source,
        cell.mechanism,
        cell.estimator,
        column(with_error(ours.rmse), bar.rmse, verdicts[0]),
        column(percent(ours.coverage), bar.coverage, verdicts[1]),
        column(with_error(ours.width), bar.width, verdicts[2]),
    )
}

#[cfg(test)]
mod tests {
    use super::super::study::Study;
    use super::*;

    /// Every published number stands in a cell of the study that its kind of dataset has.
    #[test]
    fn committed_bars_are_valid_and_studied() {
        let [tables, placebo, effects] = [
            include_str!("../default.yaml"),
            include_str!("../placebo.yaml"),
            include_str!("../effects.yaml"),
        ]
        .map(|text| Study::parse(text).unwrap());
        let bars = parse(include_str!("../bars.csv")).unwrap();
        assert!(bars.len() > 50);
        for bar in bars {
            assert!(bar.rmse.is_some() || bar.width.is_some(), "{bar:?}");
            // In percent, not a share.
            assert!(
                bar.coverage
                    .is_none_or(|c| c == 0.0 || (1.0..=100.0).contains(&c)),
                "{bar:?}"
            );
            let (study, repetitions) = match Kind::of(&bar.dataset) {
                Kind::Table => (&tables, 200),
                Kind::Panel => (&placebo, 20),
                Kind::Cate => (&effects, 10),
            };
            let studied = study.cells.iter().any(|cell| {
                cell.dataset == bar.dataset
                    && bar.n.is_none_or(|n| cell.n.contains(&n))
                    && study.epsilons_of(cell).contains(&bar.epsilon)
                    && study.repetitions_of(cell) >= repetitions
            });
            assert!(studied, "{bar:?}");
        }
    }

    #[test]
    fn coverage_has_a_band_or_follows_the_floor() {
        let measured = |value, error| Measured { value, error };
        let verdict = |ours, floor| coverage_verdict(measured(ours, 0.005), measured(floor, 0.005));
        assert_eq!(verdict(0.95, 0.95), Verdict::Pass);
        assert_eq!(verdict(0.925, 0.95), Verdict::Undecided);
        assert_eq!(verdict(0.90, 0.95), Verdict::Fail);
        assert_eq!(verdict(0.99, 0.95), Verdict::Fail);
        assert_eq!(verdict(0.90, 0.91), Verdict::Pass);
        assert_eq!(verdict(0.99, 0.91), Verdict::Pass);
        assert_eq!(verdict(0.85, 0.91), Verdict::Fail);
        assert_eq!(Verdict::of(f64::NAN, 1.0), Verdict::Fail);
    }
}

//! Whether the intervals of the effects release hold what they say: all cells in one count, and those that depart.

use super::compare::{self, BAND, Verdict};
use super::statistics::{Cell, Statistics};
use super::subject::Kind;
use super::summary::percent;
use std::collections::BTreeMap;

/// Cells of fewer repetitions say too little of coverage.
const LEAST_REPETITIONS: usize = 100;

/// Of cells where the non-private floor reaches the band's lower end.
#[derive(Debug, Default)]
struct Count {
    within: usize,
    /// Outside the band, with what the Monte Carlo error says of it.
    above: Vec<Departure>,
    below: Vec<Departure>,
}

#[derive(Debug)]
struct Departure {
    line: String,
    verdict: Verdict,
}

/// The section, if effects were released often enough.
pub fn section(cells: &BTreeMap<Cell, Statistics>) -> Option<String> {
    let (mut band, mut low_floor, mut beneath) = (Count::default(), 0, Vec::new());
    for (cell, ours) in cells {
        let of_effects = Kind::of(&cell.dataset) == Kind::Table
            && cell.is_of_main_target()
            && compare::is_ours(cell)
            && ours.repetitions >= LEAST_REPETITIONS;
        let Some(floor) = cells.get(&cell.floor()).filter(|_| of_effects) else {
            continue;
        };
        let departure = Departure {
            line: line(cell, ours, floor),
            verdict: compare::coverage_verdict(ours.coverage, floor.coverage),
        };
        if floor.coverage.value < BAND.0 {
            low_floor += 1;
            if departure.verdict != Verdict::Pass {
                beneath.push(departure);
            }
        } else if ours.coverage.value < BAND.0 {
            band.below.push(departure);
        } else if ours.coverage.value > BAND.1 {
            band.above.push(departure);
        } else {
            band.within += 1;
        }
    }
    let of_band = band.within + band.above.len() + band.below.len();
    if of_band + low_floor == 0 {
        return None;
    }
    let decided = |departures: &[Departure]| {
        let is_decided = |d: &&Departure| d.verdict == Verdict::Fail;
        departures.iter().filter(is_decided).count()
    };
    let (lowest, highest) = (percent_of(BAND.0), percent_of(BAND.1));
    let mut text = format!(
        "\n## Calibration\n\nThe intervals of `effects`, of nominal 95 %. Of {of_band} cells whose floor covers at least \
         {lowest} %, {} cover {lowest} to {highest} %, {} more ({} by more than two Monte Carlo standard errors) and {} \
         less ({}). Of {low_floor} cells with a lower floor, {} are more than two points below it ({}).\n",
        band.within,
        band.above.len(),
        decided(&band.above),
        band.below.len(),
        decided(&band.below),
        beneath.len(),
        decided(&beneath),
    );
    let all: Vec<Departure> = [band.below, beneath, band.above]
        .into_iter()
        .flatten()
        .collect();
    if !all.is_empty() {
        text += "\n| departs | n | eps | coverage % | floor's | |\n|---|---|---|---|---|---|\n";
        text.extend(all.into_iter().map(|departure| departure.line));
    }
    Some(text)
}

fn percent_of(share: f64) -> f64 {
    (1000.0 * share).round() / 10.0
}

fn line(cell: &Cell, ours: &Statistics, floor: &Statistics) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {} |\n",
        cell.dataset,
        cell.n,
        cell.epsilon()
            .map_or("-".into(), |epsilon| epsilon.to_string()),
        percent(ours.coverage),
        percent(floor.coverage),
        compare::coverage_verdict(ours.coverage, floor.coverage).mark(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Measured;
    use super::*;

    fn statistics(coverage: f64) -> Statistics {
        let measured = |value, error| Measured { value, error };
        Statistics {
            repetitions: 400,
            failures: 0,
            rmse: measured(1.0, 0.1),
            bias: measured(0.0, 0.1),
            coverage: measured(coverage, 0.01),
            width: measured(4.0, 0.1),
            fidelity: [measured(0.0, 0.0); 2],
            zero: 0.0,
            seconds: 0.0,
        }
    }

    #[test]
    fn cells_are_counted_by_their_floor_and_by_what_is_decided() {
        let mut cells = BTreeMap::new();
        // Within, above and decided, below and not decided, below and decided; and two of a floor that covers .8.
        let covered = [
            ("a", 0.95, 0.94),
            ("b", 0.95, 0.999),
            ("c", 0.95, 0.92),
            ("d", 0.93, 0.90),
            ("e", 0.8, 0.79),
            ("f", 0.8, 0.5),
        ];
        for (dataset, floor, ours) in covered {
            let dataset = format!("acs-{dataset}");
            let cell = Cell::new(&dataset, 9, "population", 1.0, "effects", "adjusted");
            cells.insert(cell.floor(), statistics(floor));
            // Neither another estimator nor another target counts.
            for (target, estimator) in [("population", "gram"), ("clipped", "adjusted")] {
                let other = Cell::new(&dataset, 9, target, 1.0, "effects", estimator);
                cells.insert(other, statistics(0.1));
            }
            cells.insert(cell, statistics(ours));
        }
        let text = section(&cells).unwrap();
        let count = "Of 4 cells whose floor covers at least 93 %, 1 cover 93 to 97.5 %, 1 more (1 by more than two Monte \
                     Carlo standard errors) and 2 less (1). Of 2 cells with a lower floor, 1 are more than two points below \
                     it (1).";
        assert!(text.contains(count), "{text}");
        assert_eq!(text.matches("| acs-").count(), 4, "{text}");
        assert_eq!(section(&BTreeMap::new()), None);
    }
}

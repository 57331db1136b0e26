//! Sensitivities of scores, by brute force over neighbouring tables, and the residuals against enumeration.

use super::super::hub::Hub;
use super::super::lipschitz::{self, Expected};
use super::super::pairs::{Bearing, PairCandidate};
use super::super::product::{self, LeafCandidate, Question};
use super::super::residuals::{Residual, Residuals, UNIT};
use super::*;
use crate::measure::causal_aim::answers::Answers;
use crate::privacy::Adjacency;
use crate::workload::leaf_query;

/// Records at the ends of everything: each arm, each level of `c` and `i`, outcomes at 0 and 1.
fn records() -> Vec<([u16; 5], i64)> {
    let mut records = Vec::new();
    for cell in 0..36u16 {
        let (t, c, i) = (cell % 3, cell / 3 % 3, cell / 9 % 2);
        let outcome = if cell / 18 == 0 { 0 } else { SCALE };
        records.push(([t, c, i, 0, 0], outcome));
    }
    records
}

fn table(records: &[([u16; 5], i64)]) -> CodedTable {
    let mut table = empty();
    for &(codes, outcome) in records {
        push(&mut table, codes, outcome);
    }
    table
}

/// The largest change of any score over all tables of up to one further record, and over random ones of up to
/// eight.
fn largest_change(adjacency: Adjacency, scores: &dyn Fn(&CodedTable) -> Vec<i64>) -> u64 {
    let all = records();
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut bases: Vec<Vec<([u16; 5], i64)>> = vec![Vec::new()];
    bases.extend(all.iter().map(|&record| vec![record]));
    for size in 2..9 {
        for _ in 0..4 {
            let picked = (0..size).map(|_| all[random.random_range(0..all.len())]);
            bases.push(picked.collect());
        }
    }
    let mut largest = 0;
    for base in bases {
        let with = |record| scores(&table(&[base.as_slice(), &[record]].concat()));
        let mut sides: Vec<Vec<i64>> = all.iter().map(|&record| with(record)).collect();
        let firsts = match adjacency {
            Adjacency::AddRemove => vec![scores(&table(&base))],
            Adjacency::ReplaceOne => sides.clone(),
        };
        for first in firsts {
            for second in &mut sides {
                let changes = first.iter().zip(second.iter());
                largest = largest.max(changes.map(|(a, b)| a.abs_diff(*b)).max().unwrap());
            }
        }
    }
    largest
}

const BOTH: [Adjacency; 2] = [Adjacency::AddRemove, Adjacency::ReplaceOne];

#[test]
fn products_move_by_their_sensitivity_at_most() {
    let fit = fit();
    let leaf = |column, levels, penalty| LeafCandidate {
        column,
        levels,
        penalties: vec![[penalty, 2 * penalty], [-penalty, 0]],
    };
    let leaves = [leaf(1, 3, 0), leaf(2, 2, 100), leaf(4, 4, 5)];
    let mut found = [0; 2];
    // A bound so small that every residual of the outcome is clipped, and others that clip none.
    for bound in [Some(1e-3), Some(0.3), Some(1.0), None] {
        let residuals = Residuals::new(&fit, bound).unwrap();
        let question = Question {
            residuals: &residuals,
            leaves: &leaves,
            pairs: &[],
            stop: Some(7),
        };
        for (found, adjacency) in found.iter_mut().zip(BOTH) {
            let change = largest_change(adjacency, &|table| product::scores(table, &question));
            *found = change.max(*found);
        }
    }
    for (found, adjacency) in found.into_iter().zip(BOTH) {
        let stated = product::sensitivity(adjacency, 1);
        assert!(found <= stated, "{adjacency}: {found} exceeds {stated}");
        // The treatment's residual is a propensity short of 1.
        assert!(
            found * 10 > stated * 6,
            "{adjacency}: {found} is far from {stated}"
        );
    }
}

#[test]
fn pairs_move_by_their_sensitivity_and_no_further() {
    let residuals = Residuals::new(&fit(), None).unwrap();
    for weight in [UNIT, UNIT / 3] {
        let pair = PairCandidate {
            columns: [1, 2],
            scores: [vec![UNIT, -UNIT, 333], vec![-UNIT, UNIT]],
            expected: 12_345,
            weight,
            penalty: 99,
        };
        let question = Question {
            residuals: &residuals,
            leaves: &[],
            pairs: &[pair],
            stop: None,
        };
        for adjacency in BOTH {
            let found = largest_change(adjacency, &|table| product::scores(table, &question));
            let stated = product::sensitivity(adjacency, 1);
            assert!(found <= stated);
            if weight == UNIT {
                assert_eq!(found, stated, "{adjacency}");
            }
        }
    }
}

#[test]
fn distances_move_by_their_sensitivity_and_no_further() {
    let schema = Schema::parse(SCHEMA, "s.yaml").unwrap().0;
    let queries = [leaf_query(&schema, 0, 5, 1), leaf_query(&schema, 0, 5, 2)];
    let mut found = [0; 2];
    let count = |table: &CodedTable| tabulate(table, &schema, &queries).unwrap();
    let even = |value: i64| {
        count(&empty())
            .iter()
            .map(|c| vec![value; c.len()])
            .collect()
    };
    // Even, and what one of the tables is: the distance of another from it is the whole change.
    let one: Vec<Vec<i64>> = count(&table(&records()[..1]));
    for expected in [even(-SCALE), even(0), even(SCALE / 3), one] {
        let scores = |table: &CodedTable| {
            let expected = |leaf: usize| Expected {
                leaf,
                counts: expected[leaf].clone(),
            };
            lipschitz::scores(&Answers(count(table)), &[expected(0), expected(1)])
        };
        for (found, adjacency) in found.iter_mut().zip(BOTH) {
            *found = largest_change(adjacency, &scores).max(*found);
        }
    }
    for (found, adjacency) in found.into_iter().zip(BOTH) {
        let stated = lipschitz::sensitivity(adjacency, 1).unwrap();
        assert!(found <= stated, "{adjacency}: {found} exceeds {stated}");
        assert!(
            found as f64 > 0.98 * stated as f64,
            "{adjacency}: {found} of {stated}"
        );
    }
}

#[test]
fn units_of_several_rows_move_so_many_times_as_much() {
    assert_eq!(
        product::sensitivity(Adjacency::AddRemove, 5),
        5 * UNIT as u64
    );
    assert_eq!(
        product::sensitivity(Adjacency::ReplaceOne, 5),
        10 * UNIT as u64
    );
    let one = lipschitz::sensitivity(Adjacency::AddRemove, 1).unwrap();
    assert_eq!(one, SCALE as u64);
    let five = lipschitz::sensitivity(Adjacency::AddRemove, 5).unwrap();
    assert_eq!(five, 5 * one);
}

/// Propensities and outcome regressions at every cell of the covariates, from the model's whole table.
#[test]
fn residuals_match_enumeration() {
    for bound in [Some(0.4), None] {
        assert_residuals(&fit(), bound);
    }
}

fn assert_residuals(fit: &Fit, bound: Option<f64>) {
    let residuals = Residuals::new(fit, bound).unwrap();
    let variables = fit.variables();
    let order = [1, 2, 0, 3].map(|v| variables.of_column([0, 1, 2, 5][v]).unwrap());
    let cells = &variables.grid.cells;
    let joint = fit
        .model()
        .marginal(&order)
        .unwrap()
        .values_in_order(&order);
    let mut room = residuals.workspace();
    for ([t, c, i, p, z], outcome) in records() {
        let first = (usize::from(c) * 2 + usize::from(i)) * 3 * cells.len();
        let arm = |t: usize| &joint[first + t * cells.len()..][..cells.len()];
        let mass = |t: usize| arm(t).iter().sum::<f64>();
        let own = usize::from(t);
        let mean: f64 = arm(own)
            .iter()
            .zip(cells)
            .map(|(p, o)| p * o.mean)
            .sum::<f64>()
            / mass(own);
        let y = outcome as f64 / SCALE as f64;
        let mut found = [Residual::default(); 2];
        let table = table(&[([t, c, i, p, z], outcome)]);
        residuals.of(&table, 0, &mut room, &mut found);
        for (contrast, found) in found.into_iter().enumerate() {
            let arm = contrast + 1;
            let expected = match own == 0 || own == arm {
                false => [0.0; 2],
                true => {
                    let propensity = mass(arm) / (mass(0) + mass(arm));
                    let is_treated = f64::from(u8::from(own == arm));
                    let reach = |mean: f64| mean.max(1.0 - mean);
                    [
                        (is_treated - propensity) / reach(propensity),
                        ((y - mean) / bound.unwrap_or(reach(mean))).clamp(-1.0, 1.0),
                    ]
                }
            };
            let found = [found.treatment, found.outcome].map(|units| units as f64 / UNIT as f64);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-3, "{found} {expected}");
            }
        }
    }
}

/// Weight, expectation and penalty of a pair, from the model's whole table.
#[test]
fn a_pair_is_what_the_model_says_of_it() {
    let fit = fit();
    let hub = Hub::of(&fit).unwrap();
    let (bound, sigma) = (0.8, 5.0);
    let bearing = |column| Bearing::of(&fit, &hub, column, bound).unwrap().unwrap();
    let pair = PairCandidate::of(&fit, &bearing(1), &bearing(2), sigma);
    let pair = pair.unwrap().unwrap();
    let variables = fit.variables();
    let order = [0, 5, 1, 2].map(|column| variables.of_column(column).unwrap());
    let joint = fit
        .model()
        .marginal(&order)
        .unwrap()
        .values_in_order(&order);
    let cells = &variables.grid.cells;
    let score = |side: usize, level: usize| pair.scores[side][level] as f64 / UNIT as f64;
    // The mean of a function of arm, outcome and the two scores over the records of some arms.
    let mean = |arms: &[usize], of: &dyn Fn(f64, [f64; 2]) -> f64| {
        let (mut sum, mut mass) = (0.0, 0.0);
        for (cell, p) in joint.iter().enumerate() {
            let (i, c) = (cell % 2, cell / 2 % 3);
            let (o, t) = (cell / 6 % cells.len(), cell / 6 / cells.len());
            if arms.contains(&t) {
                sum += p * of(cells[o].mean, [score(0, c), score(1, i)]);
                mass += p;
            }
        }
        (sum / mass, mass)
    };
    let slopes = |side: usize, t: usize| {
        let within = |of: &dyn Fn(usize) -> f64| {
            let [a, b] = [mean(&[0], &|_, _| 1.0).1, mean(&[t], &|_, _| 1.0).1];
            (a * of(0) + b * of(t)) / (a + b)
        };
        let centre = |arm: usize| mean(&[arm], &|_, s| s[side]).0;
        let variance = within(&|arm| mean(&[arm], &|_, s| (s[side] - centre(arm)).powi(2)).0);
        let covariance = within(&|arm| mean(&[arm], &|y, s| (s[side] - centre(arm)) * y).0);
        [
            (centre(t) - centre(0)) / variance,
            covariance / bound / variance,
        ]
    };
    let weight = (1..3).map(|t| {
        let [[a, b], [c, d]] = [slopes(0, t), slopes(1, t)];
        (a * d + b * c).abs()
    });
    let weight = weight.fold(0.0, f64::max).min(1.0);
    assert!(
        (pair.weight as f64 / UNIT as f64 - weight).abs() < 0.01,
        "{weight} {}",
        pair.weight
    );
    let records = fit.model().total();
    let all = [0, 1, 2];
    let expected = records * mean(&all, &|_, s| s[0] * s[1]).0;
    let squared = (UNIT * UNIT) as f64;
    assert!((pair.expected as f64 / squared - expected).abs() < 1e-3 * records);
    let square = mean(&all, &|_, s| (s[0] * s[1]).powi(2)).0;
    let entries: f64 = (0..6)
        .map(|cell| (score(0, cell / 2) * score(1, cell % 2)).powi(2))
        .sum();
    let noise = 0.797_884_560_8 * (sigma * entries.sqrt() + (records * square).sqrt());
    assert!((pair.penalty as f64 / UNIT as f64 - weight * noise).abs() < 0.01 * noise);
    // As expected: nothing but the penalty. A thousand records more in the sum weigh as much as the pair does.
    assert_eq!(pair.score(pair.expected), -pair.penalty);
    let far = pair.score(pair.expected + 1000 * UNIT * UNIT);
    assert_eq!(far, 1000 * pair.weight - pair.penalty);
}

//! Scores against their definition, however many are worked out at once.

use super::super::candidates::{Candidate, downward_closure};
use super::super::counts::{CountQuestion, count};
use super::super::fit::Fit;
use super::super::gap::{GAP_SCALE, in_gap_units};
use super::super::scoring::{Limits, score_in_batches};
use super::*;
use crate::model::Variables;
use crate::release::MergedLevels;
use crate::workload::WeightedMarginal;

/// The L1 distances of all marginals from a model with two pairs, less a penalty by their cells, times a weight by position: one
/// query at a time, and in batches of every size.
fn assert_scores(merged: &[MergedLevels]) {
    let budget = Budget::zcdp(0.5).unwrap();
    let text = workload("mst", "together: [[a, b], [c, d]]");
    let release = release(SCHEMA, &text, budget, chain(), 3);
    let (plan, _) = plan(SCHEMA, &text, budget);
    // The single columns and the two pairs.
    let known = 6;
    let queries = &release.queries[..known];
    let measurements = &release.document.measurements[..known];
    let variables = Variables::new(&plan.schema, queries, &[]).unwrap();
    let fit = Fit::new(&plan, variables, queries, measurements, &[], None).unwrap();
    let all = WeightedMarginal {
        columns: vec![0, 1, 2, 3],
        weight: 1.0,
    };
    let candidates: Vec<Candidate> = downward_closure(&[all]);
    assert_eq!(candidates.len(), 15);
    let question = CountQuestion {
        schema: &plan.schema,
        candidates: &candidates,
        merged,
    };
    let counts = count(&chain(), &question);
    let listed: Vec<usize> = (0..15).filter(|at| at % 7 != 3).collect();
    let rule = |at: usize, cells: usize| (cells as i64 * 100 * GAP_SCALE, at as i64 + 1);
    let expected: Vec<i64> = listed
        .iter()
        .map(|&at| {
            let mut expected = fit.expected(&plan.schema, merged);
            let records = expected.of(&candidates[at].columns).unwrap();
            let units = in_gap_units(&records);
            let distance: i64 = (counts.of(at).iter().zip(&units))
                .map(|(&count, e)| (i64::from(count) * GAP_SCALE - e).abs())
                .sum();
            let (penalty, weight) = rule(at, units.len());
            (distance - penalty) * weight
        })
        .collect();
    let counts = Confidential::new(counts);
    for cells_at_once in [1, 20, 60, 1 << 18] {
        let scored = score_in_batches(
            &mut fit.expected(&plan.schema, merged),
            &candidates,
            &listed,
            &counts,
            rule,
            Limits {
                work: f64::INFINITY,
                cells_at_once,
            },
        )
        .unwrap();
        assert_eq!(scored.listed, listed);
        // The last of the listed ones: 14, one more.
        assert_eq!(scored.most_weight, 15);
        // Shared tables round differently: a unit or two per cell, times the weight.
        scored
            .scores
            .ask(&expected, |scores: &Vec<i64>, expected: &Vec<i64>| {
                assert_eq!(scores.len(), expected.len());
                for (score, expected) in scores.iter().zip(expected) {
                    assert!(
                        score.abs_diff(*expected) <= 72 * 2 * 15,
                        "{score} {expected}"
                    );
                }
            });
    }
}

#[test]
fn scores_are_those_of_the_definition() {
    assert_scores(&[]);
}

#[test]
fn scores_of_merged_levels_are_too() {
    assert_scores(&[MergedLevels {
        column: "d".into(),
        cells: vec![0, 2, 1, 2],
    }]);
}

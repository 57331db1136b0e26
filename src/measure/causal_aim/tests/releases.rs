//! Charges, what is chosen and what is measured again.

use super::super::pairs::Bearing;
use super::super::product::{LeafCandidate, Question, penalties, scores};
use super::super::residuals::{Residuals, UNIT};
use super::*;
use crate::measure::causal_aim::hub::Hub;
use crate::privacy::Cost;
use crate::workload::Block;

/// A budget at which noise is a small fraction of a record.
fn huge() -> Budget {
    Budget::zcdp(1e4).unwrap()
}

#[test]
fn the_confounder_comes_first() {
    let release = release(&workload(""), huge(), sample(4000, 2), 2);
    let rounds = chosen(&release);
    assert_eq!(rounds[0], "c");
    assert!(release.leaves().contains(&"c".to_owned()));
    // The published score never stops.
    let published = super::release(&workload(", score: lipschitz"), huge(), sample(4000, 2), 2);
    let mut all = chosen(&published);
    all.sort();
    assert_eq!(all, ["c", "i", "p", "z"]);
}

#[test]
fn charges_use_the_budget_up_and_never_exceed_it() {
    for (seed, rho) in [(1, 1e-3), (2, 0.015), (3, 0.5), (4, 30.0)] {
        for more in ["", ", rounds: 1", ", score: lipschitz", ", pairs: none"] {
            let budget = Budget::zcdp(rho).unwrap();
            let release = release(&workload(more), budget, sample(4000, seed), seed);
            let document = &release.document;
            let spent = document.accounting.spent;
            assert!(spent.within(&budget), "{more} {rho}: {}", spent.rho());
            assert!(spent.rho() > rho * 0.999, "{more} {rho}: {}", spent.rho());
            let rounds = document.selection.iter().flat_map(|s| &s.rounds);
            let parts = document.measurements.iter().map(|m| m.cost);
            let sum = parts
                .chain(rounds.map(|round| round.cost))
                .fold(Cost::ZERO, |sum, cost| sum.plus(&cost));
            assert!((sum.rho() / spent.rho() - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn a_seed_repeats_a_release() {
    let draw = |seed| {
        let budget = Budget::approximate(1.0, 1e-6).unwrap();
        let release = release(&workload(""), budget, sample(4000, 5), seed);
        (release.document.measurements, release.document.selection)
    };
    assert_eq!(draw(11), draw(11));
    assert_ne!(draw(11).0, draw(12).0);
}

#[test]
fn an_empty_table_is_released_like_any_other() {
    let budget = Budget::approximate(0.5, 1e-6).unwrap();
    let release = release(&workload(""), budget, empty(), 3);
    assert!(release.document.accounting.epsilon.unwrap() <= 0.5 * (1.0 + 1e-9));
}

/// A table without confounding: after leaves that show nothing the rounds end, and what they left is measured again.
#[test]
fn rounds_end_where_nothing_confounds() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let mut table = empty();
    for _ in 0..4000 {
        let codes = [3, 3, 2, 2, 4].map(|levels| random.random_range(0..levels));
        push(&mut table, codes, random.random_range(0..=SCALE));
    }
    let budget = Budget::zcdp(2.0).unwrap();
    let stops = (0..10).filter(|&seed| {
        let release = release(&workload(", rounds: 12"), budget, table.clone(), seed);
        let rounds = &release.document.selection.as_ref().unwrap().rounds;
        let stopped = rounds.last().unwrap().chosen.is_empty();
        let again = |m: &crate::release::Measurement| m.name.starts_with("again:");
        assert_eq!(stopped, release.document.measurements.iter().any(again));
        stopped
    });
    // Twelve rounds for four covariates: only a chain of leaves that seem to show something gets past the stop.
    assert!(stops.count() >= 5);
}

#[test]
fn effects_that_select_choose_for_the_leaves_too() {
    let text = format!("{}\neffects: {{share: 0.5, keep: 2}}", workload(""));
    let budget = Budget::approximate(3.0, 1e-6).unwrap();
    let table = CodedTable {
        values: vec![None; 6],
        ..sample(4000, 6)
    };
    let release = release(&text, budget, table, 6);
    let document = &release.document;
    assert!(document.selection.as_ref().unwrap().rounds.is_empty());
    let effects = document.effects.as_ref().unwrap();
    assert_eq!(effects.selection.len(), 2);
    let mut columns: Vec<&str> = effects
        .parameters
        .kept
        .iter()
        .map(|&j| effects.scores[j].column.as_str())
        .collect();
    columns.dedup();
    assert_eq!(release.leaves(), columns);
    let charges = document
        .measurements
        .iter()
        .filter(|m| m.block == Block::Leaves);
    let sum: f64 = charges.map(|m| m.cost.rho()).sum();
    // The selection's share of the microdata goes to hub and leaves: .7 / .85 of half of the budget.
    assert!((sum / (0.5 * 0.7 / 0.85 * document.accounting.spent.rho()) - 1.0).abs() < 1e-3);
}

#[test]
fn candidates_keep_to_the_size_of_the_model() {
    // Three arms by 16 cells of the outcome: a hub of 48 cells, and room for leaves of two levels only.
    let text = format!("{}\nmodel: {{max_cells: 145}}", workload(""));
    let release = release(&text, huge(), sample(4000, 7), 7);
    let leaves = release.leaves();
    assert!(!leaves.is_empty() && leaves.len() <= 1, "{leaves:?}");
    let (schema, _) = Schema::parse(SCHEMA, "s.yaml").unwrap();
    let small = format!("{}\nmodel: {{max_cells: 95}}", workload(""));
    let (workload, _) = Workload::parse(&small, "w.yaml", &schema).unwrap();
    let error = Plan::new(schema.clone(), workload, Guarantee::new(huge(), &schema)).unwrap_err();
    assert!(error.to_string().contains("t, y, i"), "{error}");
}

#[test]
fn a_confounder_bears_on_both() {
    let fit = fit();
    let hub = Hub::of(&fit).unwrap();
    let bound = hub.residual_bound(true).unwrap();
    let sd = hub
        .shares
        .iter()
        .zip(&hub.variances)
        .map(|(p, v)| p * v)
        .sum::<f64>()
        .sqrt();
    assert!((bound / sd - 3.0).abs() < 1e-9 && bound < 1.0);
    assert_eq!(hub.residual_bound(false), None);
    assert!(Bearing::of(&fit, &hub, 1, bound).unwrap().is_some());
    // A column that the model does not have.
    assert!(Bearing::of(&fit, &hub, 4, bound).unwrap().is_none());
}

/// `c` goes with treatment and outcome, `i` with the treatment alone, `p` with the outcome alone: of the three, only the first has
/// a score above what noise and sampling would make of it.
#[test]
fn the_score_asks_for_both_associations() {
    let budget = Budget::zcdp(100.0).unwrap();
    let hub = "format: dpcausal.workload/1\nmechanism: causal\nblocks: {hub: {share: 1}}";
    let release = release(hub, budget, sample(4000, 9), 9);
    let (plan, _) = plan(hub, budget);
    let variables = Variables::new(&plan.schema, &release.queries, &[]).unwrap();
    let measurements = &release.document.measurements;
    let fit = Fit::new(&plan, variables, &release.queries, measurements, &[], None).unwrap();
    let hub = Hub::of(&fit).unwrap();
    let bound = hub.residual_bound(true);
    let residuals = Residuals::new(&fit, bound).unwrap();
    let levels = [3, 2, 2, 4];
    let leaves: Vec<LeafCandidate> = (0..4)
        .map(|at| LeafCandidate {
            column: at + 1,
            levels: levels[at],
            penalties: penalties(&hub, levels[at], 2.0, bound),
        })
        .collect();
    let question = Question {
        residuals: &residuals,
        leaves: &leaves,
        pairs: &[],
        stop: None,
    };
    let scores = scores(&sample(4000, 10), &question);
    // A lone association of i or p alone would be hundreds of records.
    assert!(scores[0] > 100 * UNIT, "{scores:?}");
    assert!(
        scores[1..].iter().all(|&score| score < 60 * UNIT),
        "{scores:?}"
    );
}

/// `sqrt(2 / pi) (L sigma + sqrt(L n v))`, by hand: an arm of a fifth among 1000 records, means .1 and .6.
#[test]
fn penalties_are_the_mean_norm_of_noise_and_sampling() {
    let hub = Hub {
        records: 1000.0,
        shares: vec![0.8, 0.2],
        means: vec![0.1, 0.6],
        variances: vec![0.09, 0.24],
    };
    let by_hand = |sigma: f64, variance: f64| {
        let norm = 0.797_884_560_8 * (3.0 * sigma + (3000.0 * variance).sqrt());
        (norm * UNIT as f64).round() as i64
    };
    let treatment = by_hand(7.0 / 0.8, 0.16 / 0.64);
    let binary = by_hand(
        0.8 * 7.0 / 0.9 + 0.2 * 7.0 / 0.6,
        0.8 * 0.09 / 0.81 + 0.2 * 0.24 / 0.36,
    );
    let numeric = by_hand(7.0 / 0.5, (0.8 * 0.09 + 0.2 * 0.24) / 0.25);
    assert_eq!(penalties(&hub, 3, 7.0, None), [[treatment, binary]]);
    assert_eq!(penalties(&hub, 3, 7.0, Some(0.5)), [[treatment, numeric]]);
}

/// Without confounding, a leaf that shows nothing quadruples the next charge.
#[test]
fn noise_adapts_to_leaves_that_show_nothing() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut table = empty();
    for _ in 0..4000 {
        let codes = [3, 3, 2, 2, 4].map(|levels| random.random_range(0..levels));
        push(&mut table, codes, random.random_range(0..=SCALE));
    }
    let doubled = (0..8).filter(|&seed| {
        let release = release(
            &workload(", rounds: 12"),
            Budget::zcdp(2.0).unwrap(),
            table.clone(),
            seed,
        );
        let rounds = &release.document.selection.as_ref().unwrap().rounds;
        rounds.len() > 1 && (rounds[1].epsilon / rounds[0].epsilon - 2.0).abs() < 1e-9
    });
    // One leaf in 40 seems to show something.
    assert!(doubled.count() >= 6);
}

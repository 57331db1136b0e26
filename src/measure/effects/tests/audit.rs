//! A distinguishing attack on the whole effects release.

use super::*;

/// A distinguishing attack on the whole sequence: the neighbours differ in one record at the far corner of
/// everything, and the attacker adds up what that record would add to each stage, in units of the stage's noise.
/// From 3000 runs each, no threshold may give a lower bound on epsilon (Clopper-Pearson at 1e-4, 40
/// thresholds) above the stated one. The attack is a simple sum, so it sees a fraction of what is spent; that it sees
/// anything is shown on a release that spends sixteen times the epsilon, where it must exceed the one stated.
#[test]
fn an_attack_on_the_sequence_finds_no_more_than_the_stated_epsilon() {
    let found = |epsilon: f64| -> f64 {
        let scores = |with: bool| -> Vec<f64> {
            let runs = 0..3000;
            runs.map(|seed| attack(epsilon, with, seed * 2 + u64::from(with)))
                .collect()
        };
        lower_bound(&scores(true), &scores(false), 1e-5)
    };
    let stated = found(1.0);
    assert!(stated <= 1.0, "{stated}");
    let louder = found(16.0);
    assert!(louder > 1.0, "the attack is blind: {louder}");
}

/// The attacker's score of one release of a small table, with or without the record.
fn attack(epsilon: f64, with: bool, seed: u64) -> f64 {
    let mut table = table(30, 11);
    let last = table.rows - 1;
    for (column, code) in [(0, 1), (2, 1), (3, 1)] {
        table.codes[column].as_mut().unwrap()[last] = code;
    }
    table.values[1].as_mut().unwrap()[last] = u16::MAX;
    table.outcome[last] = SCALE as u32;
    if !with {
        table.rows -= 1;
    }
    let schema = schema("observational");
    let text = "format: dpcausal.workload/1\nmechanism: causal\neffects: {share: 1}";
    let (workload, _) = Workload::parse(text, "w.yaml", &schema).unwrap();
    let budget = Budget::approximate(epsilon, 1e-5).unwrap();
    let guarantee = Guarantee::new(budget, &schema);
    let plan = Plan::new(schema, workload, guarantee).unwrap();
    let id = ReleaseId::random().unwrap();
    let authorisation = Authorisation::without_ledger(id, plan.cost, &budget).unwrap();
    let mut accountant = crate::privacy::Accountant::new(authorisation);
    let mut noise = NoiseSource::insecure_seed(seed);
    let effects = crate::measure::effects::run(
        plan.effects.as_ref().unwrap(),
        &plan.schema,
        Adjacency::AddRemove,
        &Confidential::new(table),
        &mut accountant,
        &mut noise,
    )
    .unwrap();
    // What the record adds: itself and its outcome, a residual, scores, and products, all positive.
    let positive = [
        (Stage::Arms, vec![2, 3]),
        (Stage::OutcomeMeans, vec![1]),
        (Stage::ScoreMeans, vec![0, 2, 3]),
        (Stage::Imbalance, vec![0, 2, 3]),
        (Stage::Cross, vec![5, 7, 8]),
        (Stage::Covariance, vec![21]),
    ];
    positive
        .into_iter()
        .map(|(stage, cells)| {
            let measured = effects.stage(stage).unwrap();
            let sum: f64 = cells.iter().map(|&c| measured.values[c] as f64).sum();
            sum / measured.sigma as f64
        })
        .sum()
}

/// The largest lower bound on epsilon over thresholds, from an attacker's scores with and without a record.
pub(crate) fn lower_bound(with: &[f64], without: &[f64], delta: f64) -> f64 {
    use statrs::distribution::{Beta, ContinuousCDF};
    let runs = with.len() as f64;
    let mut all: Vec<f64> = with.iter().chain(without).copied().collect();
    all.sort_by(f64::total_cmp);
    let above = |scores: &[f64], at: f64| scores.iter().filter(|s| **s > at).count() as f64;
    let bound = |k: f64, upper: bool| match (upper, k) {
        (true, k) if k >= runs => 1.0,
        (true, k) => Beta::new(k + 1.0, runs - k)
            .unwrap()
            .inverse_cdf(1.0 - 1e-4),
        (false, 0.0) => 0.0,
        (false, k) => Beta::new(k, runs - k + 1.0).unwrap().inverse_cdf(1e-4),
    };
    let at_threshold = |step: usize| {
        let at = all[step * (all.len() - 1) / 41];
        let (hits, alarms) = (above(with, at), above(without, at));
        let power = bound(hits, false) - delta;
        let level = bound(alarms, true);
        let (miss, quiet) = (
            bound(runs - hits, true),
            bound(runs - alarms, false) - delta,
        );
        (power / level).ln().max((quiet / miss).ln())
    };
    (1..41)
        .map(at_threshold)
        .fold(f64::NEG_INFINITY, |a, b| if b > a { b } else { a })
}

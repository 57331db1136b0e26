//! Effects as functions of covariates.

use crate::{harness, of_target, run_and_resume};

const EFFECTS: &str = "
format: dpcausal.study/1
title: test
seed: 8
repetitions: 3
epsilons: [2, 16]
delta: 1e-5
test_rows: 400
mechanisms: [adaptive, dr-linear]
cells:
  - {dataset: cate-a, n: [500, 2000]}
";

#[test]
fn effects_as_functions_of_covariates_are_studied() {
    let (records, page) = run_and_resume(EFFECTS);
    // Two sizes, two learners, two budgets, three repetitions of two tables.
    assert_eq!(records.len(), 2 * 2 * 2 * 3 * 5);
    for mechanism in ["adaptive", "dr-linear"] {
        let of = |target: &str| of_target(&records, mechanism, target);
        let (effect, bias, variance) = (of("effect"), of("squared-bias"), of("variance"));
        for ((effect, bias), variance) in effect.iter().zip(bias).zip(variance) {
            assert_eq!(effect.key, bias.key);
            let sum = bias.estimate + variance.estimate;
            assert!((effect.estimate.powi(2) - sum).abs() < 1e-12 * sum.max(1.0));
            assert!(variance.estimate > 0.0);
        }
        // The two tables and their noise differ.
        let average = of("average");
        assert_eq!(average.len(), 2 * effect.len());
        assert!(
            average
                .chunks(2)
                .all(|pair| pair[0].estimate != pair[1].estimate)
        );
    }
    // The best of the public learners at epsilon 2, 2000 records.
    let line = page
        .lines()
        .find(|l| l.starts_with("| cate-a | 2000 | 2 | adaptive |"));
    let line = line.unwrap();
    assert!(line.contains("| EBM078-S | 0.0599 |"), "{line}");
    assert!(
        page.contains("* adaptive: at or below the best published learner in "),
        "{page}"
    );
    // No cell of it is asked what only tables of units are.
    assert!(!page.contains("## Against the published numbers"));
    let cells = harness::statistics::cells(&records);
    assert!(harness::figures::figure(&cells, "cate-a", "effect").is_some());
    assert!(harness::figures::figure(&cells, "cate-a", "squared-bias").is_none());
}

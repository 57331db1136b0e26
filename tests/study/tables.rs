//! Tables of units: a study that was killed, and mechanisms that join one.

use crate::harness::{self, record::Record, study::Study};
use crate::{rows, run_study};
use std::path::Path;

const STUDY: &str = "
format: dpcausal.study/1
title: test
seed: 5
repetitions: 6
epsilons: [1, 2]
mechanisms: [floor, noisy-difference]
draws: 3
cells:
  - {dataset: simulated-binary-30, n: [300]}
  - {dataset: simulated-lognormal-0, n: [200], repetitions: 3, mechanisms: [floor, star], epsilons: [1]}
";

fn run_on(threads: usize, path: &Path) {
    run_study(STUDY, threads, path);
}

#[test]
fn a_killed_study_goes_on_to_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.csv");
    run_on(2, &whole);
    let expected = rows(&whole);
    // 6 x (2 floor estimators + 2 budgets) + 3 x (2 floor + 3 star estimators).
    assert_eq!(expected.len(), 6 * 4 + 3 * 5);
    assert!(
        expected
            .iter()
            .all(|row| Record::parse(row).unwrap().failure.is_empty())
    );
    let text = std::fs::read_to_string(&whole).unwrap();
    for share in [0.0, 0.3, 0.71, 1.0] {
        let path = folder.path().join("cut.csv");
        std::fs::write(&path, &text[..(text.len() as f64 * share) as usize]).unwrap();
        run_on(1, &path);
        assert_eq!(rows(&path), expected, "cut at {share}");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap().lines().count(),
            expected.len() + 1
        );
    }
}
/// Mechanisms that release microdata, on one cell whose tables are asked for four effects.
const MICRODATA: &str = "
format: dpcausal.study/1
title: test
seed: 6
repetitions: 2
epsilons: [3]
mechanisms: [floor, mst, independent]
estimators: [regression, imputed-regression, moment-regression, naive-regression]
draws: 3
cells:
  - {dataset: simulated-normal-30, n: [600], further: [att, b1]}
";

#[test]
fn mechanisms_with_microdata_are_studied_and_joined_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.csv");
    run_study(MICRODATA, 2, &path);
    let before = std::fs::read_to_string(&path).unwrap();
    let further = MICRODATA.replace(
        "independent]",
        "independent, mst+bins=4+ratio=2, causal, mwem+rounds=3, \"causal+blocks.leaves.columns=[b1]\", aim+marginals.degree=2+model.max_cells=3000+rounds=30]",
    );
    run_study(&further, 2, &path);
    let after = std::fs::read_to_string(&path).unwrap();
    assert!(after.starts_with(&before));
    let records = harness::log::read(&path).unwrap();
    for record in &records {
        assert_eq!(record.failure, "", "{record:?}");
        assert!(
            record.interval[0] < record.estimate && record.estimate < record.interval[1],
            "{record:?}"
        );
        // Columns that nothing was measured of are drawn evenly: such a table has a distance too.
        let has_distance = record.key.mechanism != "floor";
        let [one_way, two_way] = record.fidelity;
        assert_eq!(
            0.0 < one_way && one_way <= two_way,
            has_distance,
            "{record:?}"
        );
    }
    // Two repetitions; ATE, ATT and two subgroups; two readings, with leaves three, of the floor one.
    assert_eq!(records.len(), 2 * 4 * (1 + 5 * 2 + 2 * 3));
    let estimates = |mechanism: &str, estimator: &str, target: &str| -> Vec<f64> {
        let of = records.iter().filter(|r| {
            r.key.mechanism == mechanism && r.estimator == estimator && r.target == target
        });
        of.map(|r| r.estimate).collect()
    };
    // Columns without association have no effect, up to sampling of the outcomes within their bins: the mean of
    // two has a standard deviation below .15 here (sd 1.5, 600 rows), and the true effect is .3.
    let nothing = estimates("independent", "imputed-regression", "population");
    assert!(
        nothing.iter().sum::<f64>().abs() / 2.0 < 0.15 * 4.5,
        "{nothing:?}"
    );
    // Other questions have other answers.
    let answers = ["population", "att", "b1=0", "b1=1"]
        .map(|target| estimates("causal", "imputed-regression", target));
    assert!((0..3).all(|k| answers[k] != answers[k + 1]), "{answers:?}");
    let cells = harness::statistics::cells(&records);
    let study = Study::parse(&further).unwrap();
    let page = harness::summary::page(&study, Path::new(""), &cells, None).unwrap();
    for heading in [
        "## Main table",
        "### Against the better of MST and AIM",
        "## Marginal fidelity",
    ] {
        assert!(page.contains(heading), "{heading}");
    }
}

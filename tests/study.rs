//! The study harness: its own tests, and a small study run, killed, and gone on with.
//!
//! What needs the datasets is skipped, aloud, unless the environment variable `DPCAUSAL_DATA` names
//! their folder.

#[allow(
    dead_code,
    reason = "the harness's command uses what these tests do not"
)]
#[path = "../benchmarks/study/harness/mod.rs"]
mod harness;

use dpcausal::schema::{PanelSchema, Schema};
use harness::{datasets, log::Log, record::Record, run::run, study::Study};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn every_schema_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.display().to_string();
        if text.contains("dpcausal.panel/") {
            PanelSchema::parse(&text, &file).unwrap();
        } else {
            let (schema, _) = Schema::parse(&text, &file).unwrap();
            assert!(
                schema.treatment().is_some() && schema.outcome().is_some(),
                "{path:?}"
            );
        }
        count += 1;
    }
    assert!(count >= 7);
}

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

/// The rows of a results file but for the times.
fn rows(path: &Path) -> BTreeSet<String> {
    let records = harness::log::read(path).unwrap();
    let timeless = |record: Record| {
        Record {
            seconds: 0.0,
            ..record
        }
        .line()
    };
    records.into_iter().map(timeless).collect()
}

fn run_on(threads: usize, path: &Path) {
    run_study(STUDY, threads, path);
}

fn run_study(text: &str, threads: usize, path: &Path) {
    let study = Study::parse(text).unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    let log = Log::open(path).unwrap();
    pool.install(|| run(&study, Path::new(""), &log)).unwrap();
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

/// Rows by target, of one mechanism.
fn of_target<'a>(records: &'a [Record], mechanism: &str, target: &str) -> Vec<&'a Record> {
    let of = |r: &&Record| r.key.mechanism == mechanism && r.target == target;
    records.iter().filter(of).collect()
}

/// A study, run whole, and gone on with after a cut; its rows and its page.
fn run_and_resume(text: &str) -> (Vec<Record>, String) {
    let folder = tempfile::tempdir().unwrap();
    let [whole, cut] = ["whole.csv", "cut.csv"].map(|name| folder.path().join(name));
    run_study(text, 2, &whole);
    let written = std::fs::read_to_string(&whole).unwrap();
    std::fs::write(&cut, &written[..written.len() * 6 / 10]).unwrap();
    run_study(text, 1, &cut);
    assert_eq!(rows(&cut), rows(&whole));
    let records = harness::log::read(&whole).unwrap();
    for record in &records {
        assert_eq!(record.failure, "", "{record:?}");
    }
    let bars = Path::new(env!("CARGO_MANIFEST_DIR")).join("benchmarks/study/bars.csv");
    let bars = harness::compare::read(&bars).unwrap();
    let cells = harness::statistics::cells(&records);
    let study = Study::parse(text).unwrap();
    let page = harness::summary::page(&study, Path::new(""), &cells, Some(&bars)).unwrap();
    (records, page)
}

const PLACEBO: &str = "
format: dpcausal.study/1
title: test
seed: 7
repetitions: 3
interval_repetitions: 1
epsilons: [2, 20]
delta: 1e-6
mechanisms: [forecast, simplex, index]
cells:
  - {dataset: panel-factor40}
";

/// 40 units, 12 periods.
#[test]
fn placebo_units_of_a_panel_are_studied() {
    let (records, page) = run_and_resume(PLACEBO);
    let count = |mechanism: &str| -> [usize; 3] {
        ["path", "mean", "period"].map(|target| of_target(&records, mechanism, target).len())
    };
    // What draws no noise runs once.
    for mechanism in ["forecast", "simplex"] {
        assert_eq!(count(mechanism), [40, 40, 0], "{mechanism}");
    }
    let with_intervals = 2 * 40;
    let expected = [2 * 3 * 40, with_intervals, 12 * with_intervals];
    assert_eq!(count("index"), expected);
    // A path's error is that of its periods, and the mean effect is theirs.
    for epsilon in ["2", "20"] {
        let of = |target: &str| -> Vec<f64> {
            let rows = of_target(&records, "index", target).into_iter();
            let rows = rows.filter(|r| r.key.epsilon == epsilon && r.key.repetition == 0);
            rows.map(|r| r.estimate).collect()
        };
        let (paths, means, periods) = (of("path"), of("mean"), of("period"));
        for unit in 0..40 {
            let effects = &periods[12 * unit..12 * (unit + 1)];
            let square = effects.iter().map(|e| e * e).sum::<f64>() / 12.0;
            assert!((square.sqrt() - paths[unit]).abs() < 1e-9 * paths[unit]);
            let mean = effects.iter().sum::<f64>() / 12.0;
            assert!((mean - means[unit]).abs() < 1e-9 * paths[unit]);
        }
    }
    let cells = harness::statistics::cells(&records);
    let found = |target: &str, epsilon: f64, mechanism: &str| {
        let cell = harness::statistics::Cell::new(
            "panel-factor40",
            40,
            target,
            epsilon,
            mechanism,
            "counterfactual",
        );
        cells[&cell]
    };
    // Noise: it differs between repetitions, falls with epsilon, and is all that separates them.
    let (tight, loose) = (found("path", 2.0, "index"), found("path", 20.0, "index"));
    assert_eq!(
        (tight.repetitions, found("mean", 2.0, "index").repetitions),
        (3, 1)
    );
    assert!(0.0 < loose.rmse.error && loose.rmse.value < tight.rmse.value);
    assert!(tight.coverage.value.is_nan());
    for target in ["mean", "period"] {
        let coverage = found(target, 20.0, "index").coverage.value;
        assert!((0.7..=1.0).contains(&coverage), "{target}: {coverage}");
    }
    for part in [
        "## Placebo errors",
        "## Placebo intervals",
        "| panel-factor40 | 40 |",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let picture = harness::figures::figure(&cells, "panel-factor40", "path").unwrap();
    assert!(picture.contains("synthetic control, not private") && !picture.contains("NaN"));
}

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

/// The folder of the datasets, or a word on what is skipped.
fn data(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("DPCAUSAL_DATA")
        .map(PathBuf::from)
        .filter(|f| f.is_dir());
    if folder.is_none() {
        eprintln!("SKIPPED {test}: DPCAUSAL_DATA names no folder of datasets");
    }
    folder
}

#[test]
fn datasets_have_their_published_truths() {
    let Some(data) = data("datasets_have_their_published_truths") else {
        return;
    };
    let truth = |name: &str, target: usize| {
        let population = datasets::load(name, &data).unwrap();
        population.laws[0].targets[target].value
    };
    assert!((truth("lalonde-dw", 0) - 1794.34).abs() < 0.01);
    assert!((truth("lalonde-cps3", 1) - 1794.34).abs() < 0.01);
    assert!((truth("twins", 0) + 0.0252).abs() < 5e-5);
    assert!((truth("twins-randomised", 0) + 0.0252).abs() < 5e-5);
    // The means of mu1 - mu0 of settings 1 and 7, by another program.
    assert!((truth("acic", 0) - 2.12808).abs() < 1e-5);
    assert!((truth("acic-7", 0) - 3.94875).abs() < 1e-5);
    let ihdp = datasets::load("ihdp-tame", &data).unwrap();
    assert_eq!(ihdp.size(), 747);
    // The number of replications within [-10, 30].
    assert_eq!(ihdp.laws.len(), 66);
    assert_eq!(datasets::load("ihdp", &data).unwrap().laws.len(), 100);
}

#[test]
fn panels_have_their_donors() {
    let Some(data) = data("panels_have_their_donors") else {
        return;
    };
    for (name, donors) in [
        ("prop99", 37),
        ("german", 15),
        ("texas", 41),
        ("geolift", 38),
        ("walmart", 604),
    ] {
        let panel = harness::panel::Placebo::load(&format!("panel-{name}"), &data).unwrap();
        assert_eq!(harness::subject::Subject::size(&panel), donors, "{name}");
    }
}

/// The effect's mean and variance by another program; and in a sample, voters of either arm vote as often as the effect has
/// them, within 4.5 standard errors (a false alarm in 70,000).
#[test]
fn voters_have_their_effect() {
    let Some(data) = data("voters_have_their_effect") else {
        return;
    };
    let voters = harness::cate::gotv::Voters::read(&data).unwrap();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let effects = &voters.effects;
    let average = mean(effects);
    let squares: Vec<f64> = effects.iter().map(|tau| (tau - average).powi(2)).collect();
    assert_eq!(effects.len(), 229_461);
    assert!((average - -0.211752).abs() < 1e-5 && (mean(&squares) - 0.009159).abs() < 1e-6);
    let votes = |table: &dpcausal::table::CodedTable, arm: u16| -> Vec<(usize, f64)> {
        let [arms, votes] = [0, 1].map(|column| table.codes[column].as_ref().unwrap());
        let of = (0..table.rows).filter(|&row| arms[row] == arm);
        of.map(|row| (row, f64::from(votes[row]))).collect()
    };
    let random = &mut harness::seeds::generator(1);
    let sample = voters.sample(20_000, random).unwrap();
    for arm in [0, 1] {
        let expected = votes(&voters.table, arm).into_iter().map(|(row, vote)| {
            let changed = -effects[row];
            changed * f64::from(1 - arm) + (1.0 - changed) * vote
        });
        let expected = mean(&expected.collect::<Vec<f64>>());
        let found: Vec<f64> = votes(&sample, arm)
            .into_iter()
            .map(|(_, vote)| vote)
            .collect();
        let variance = expected * (1.0 - expected) / found.len() as f64;
        assert!(
            (mean(&found) - expected).abs() < 4.5 * variance.sqrt(),
            "arm {arm}"
        );
    }
    assert!(voters.sample(229_462, random).is_err());
}

#[test]
fn acs_forms_have_their_scores() {
    let Some(data) = data("acs_forms_have_their_scores") else {
        return;
    };
    for scores in [5, 10, 20, 40] {
        let population = datasets::load(&format!("acs-binary-{scores}"), &data).unwrap();
        assert_eq!(
            population.schema.covariates().len() + population.squares.len(),
            scores
        );
        assert_eq!(population.size(), 295_243);
    }
}

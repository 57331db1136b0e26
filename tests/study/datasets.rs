//! The datasets, where they are.

use crate::harness::{self, datasets};
use std::path::PathBuf;

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
    for (name, donors, targets) in [
        ("prop99", 37, 38),
        ("german", 15, 16),
        ("texas", 41, 42),
        ("geolift", 38, 39),
        ("walmart", 604, 60),
        ("walmart-others", 604, 545),
    ] {
        let panel = harness::panel::Placebo::load(&format!("panel-{name}"), &data).unwrap();
        let about = harness::subject::Subject::about(&panel);
        let size = harness::subject::Subject::size(&panel);
        assert_eq!(size, donors, "{name}");
        assert!(
            about.contains(&format!("\n{targets} units of {}", donors + 1)),
            "{about}"
        );
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

//! What the mechanisms choose and how well the model then fits.

use super::super::candidates::downward_closure;
use super::super::mst::merge_rare;
use super::*;
use crate::workload::{Block, WeightedMarginal};

/// A budget at which noise is a small fraction of a record.
fn huge() -> Budget {
    Budget::zcdp(1e4).unwrap()
}

fn chosen(release: &CheckedRelease) -> Vec<String> {
    let rounds = &release.document.selection.as_ref().unwrap().rounds;
    rounds.iter().map(|round| round.chosen.join("*")).collect()
}

#[test]
fn mst_finds_the_tree_of_the_strongest_pairs() {
    let table = chain();
    let release = release(SCHEMA, &workload("mst", ""), huge(), table.clone(), 1);
    let mut pairs = chosen(&release);
    pairs.sort();
    assert_eq!(pairs, ["a*b", "b*c", "c*d"]);
    for pair in [[0, 1], [1, 2], [2, 3]] {
        assert!(total_variation(&release, &table, &pair) < 1e-3, "{pair:?}");
    }
    // The chain is what the table is, up to what the counters leave: the tree's model knows the other pairs.
    assert!(total_variation(&release, &table, &[0, 3]) < 5e-3);
}

#[test]
fn pairs_kept_together_are_in_the_tree_without_being_chosen() {
    let text = workload("mst", "together: [[a, d], [a, c]]");
    let release = release(SCHEMA, &text, huge(), chain(), 2);
    assert_eq!(chosen(&release).len(), 1);
    let names: Vec<&str> = release.queries[4..]
        .iter()
        .map(|q| q.name.as_str())
        .collect();
    assert_eq!(names, ["two-way:a*d", "two-way:a*c", "two-way:a*b"]);
}

#[test]
fn aim_reaches_the_tables_marginals() {
    let table = chain();
    let text = workload("aim", "marginals: {degree: 2}");
    let release = release(SCHEMA, &text, huge(), table.clone(), 3);
    for a in 0..4 {
        for b in a + 1..4 {
            let distance = total_variation(&release, &table, &[a, b]);
            assert!(distance < 1e-3, "{a} {b}: {distance}");
        }
    }
}

#[test]
fn aim_of_a_listed_workload_measures_what_matters() {
    let table = chain();
    let text = workload(
        "aim",
        "marginals: [{columns: [b, d, a], weight: 3}, {columns: [c]}]\ntogether: [[c, d]]",
    );
    let release = release(SCHEMA, &text, huge(), table.clone(), 4);
    assert!(total_variation(&release, &table, &[0, 1, 3]) < 1e-3);
    assert_eq!(release.queries[4].name, "together:c*d");
    assert!(
        chosen(&release)
            .iter()
            .all(|name| name == "c" || !name.contains('c'))
    );
}

#[test]
fn the_model_of_aim_stays_within_its_limit() {
    // The widest pair and two single columns: 12 + 3 + 2.
    let text = workload("aim", "model: {max_cells: 17}");
    let release = release(SCHEMA, &text, huge(), chain(), 5);
    let (_, model) = model(&release);
    assert!(model.junction_tree().cells() <= 17);
}

#[test]
fn mwem_holds_its_rounds_and_measures_the_number_of_records() {
    let table = chain();
    let release = release(
        SCHEMA,
        &workload("mwem", "rounds: 3"),
        huge(),
        table.clone(),
        6,
    );
    assert_eq!(chosen(&release).len(), 3);
    let total = &release.document.measurements[0];
    assert_eq!((total.block, total.values.len()), (Block::Total, 1));
    // Noisy: the exact number of records stands nowhere.
    assert_ne!(total.values[0], 6000 * SCALE);
    assert!((release.estimated_rows() - 6000.0).abs() < 1.0);
    let first = &release.queries[1].axes;
    let columns: Vec<usize> = first.iter().map(|axis| axis.column).collect();
    assert!(total_variation(&release, &table, &columns) < 1e-3);
    // Columns that no round chose are in the model all the same, and uniform.
    let one = self::release(SCHEMA, &workload("mwem", "rounds: 1"), huge(), table, 7);
    let (released, model) = model(&one);
    assert_eq!(released.variables.columns, [0, 1, 2, 3]);
    let measured = &one.queries[1].axes;
    let other = (0..4)
        .find(|c| measured.iter().all(|a| a.column != *c))
        .unwrap();
    let marginal = model.marginal(&[other]).unwrap();
    let even = 1.0 / marginal.values().len() as f64;
    assert!(marginal.values().iter().all(|p| (p - even).abs() < 1e-12));
}

#[test]
fn independent_knows_the_columns_and_nothing_between_them() {
    let table = chain();
    let release = release(
        SCHEMA,
        &workload("independent", ""),
        huge(),
        table.clone(),
        8,
    );
    assert!(release.document.selection.is_none());
    assert!(total_variation(&release, &table, &[3]) < 1e-3);
    assert!(total_variation(&release, &table, &[0, 1]) > 0.1);
}

#[test]
fn rare_levels_are_merged_and_spread_evenly() {
    // Two levels of `d` that nobody has, at noise of about 9 records: never 3 standard deviations
    // (a false alarm of .3 %, and the seed is fixed).
    let mut table = chain();
    let d = table.codes[3].as_mut().unwrap();
    d.iter_mut().for_each(|code| *code = (*code % 2) * 3);
    let budget = Budget::zcdp(0.075).unwrap();
    let release = release(SCHEMA, &workload("mst", ""), budget, table, 9);
    let selection = release.document.selection.as_ref().unwrap();
    assert_eq!(selection.merged.len(), 1);
    assert_eq!(selection.merged[0].cells, [0, 2, 2, 1]);
    let of_d = release.document.measurements[4..]
        .iter()
        .filter(|m| m.axes.iter().any(|a| a.column == "d"));
    for measurement in of_d {
        assert_eq!(measurement.shape[1], 3);
        assert!(measurement.axes[1].merged && !measurement.axes[0].merged);
    }
    let (_, model) = model(&release);
    let marginal = model.marginal(&[3]).unwrap();
    assert!((marginal.values()[1] / marginal.values()[2] - 1.0).abs() < 1e-9);
}

#[test]
fn a_single_rare_level_is_left_alone() {
    let release = release(SCHEMA, &workload("independent", ""), huge(), chain(), 10);
    let mut measurement = release.document.measurements[0].clone();
    let sigma = measurement.sigma as i64;
    measurement.values = vec![2 * sigma, 3 * sigma, 100 * sigma];
    assert_eq!(merge_rare(&measurement, 3.0), None);
    measurement.values = vec![2 * sigma, 3 * sigma - 1, 100 * sigma];
    assert_eq!(merge_rare(&measurement, 3.0).unwrap().cells, [1, 1, 0]);
    // A level at the threshold is kept.
    measurement.values = vec![2 * sigma, 3 * sigma, sigma];
    assert_eq!(merge_rare(&measurement, 3.0).unwrap().cells, [1, 0, 1]);
}

#[test]
fn closures_have_all_subsets_with_their_weights() {
    let marginal = |columns: &[usize], weight| WeightedMarginal {
        columns: columns.to_vec(),
        weight,
    };
    let closure = downward_closure(&[marginal(&[0, 1, 3], 2.0), marginal(&[1, 2], 0.5)]);
    let found: Vec<(Vec<usize>, f64)> =
        closure.into_iter().map(|c| (c.columns, c.weight)).collect();
    // By the definition: sum of c_s |r and s|.
    let expected = [
        (vec![0], 2.0),
        (vec![0, 1], 4.5),
        (vec![0, 1, 3], 6.5),
        (vec![0, 3], 4.0),
        (vec![1], 2.5),
        (vec![1, 2], 3.0),
        (vec![1, 3], 4.5),
        (vec![2], 0.5),
        (vec![3], 2.0),
    ];
    assert_eq!(found, expected);
}

//! The propensity score's utility against its law, and where the tables can be told apart for sure.

use crate::evaluate::propensity::{Utility, utility};
use crate::table::CodedTable;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ROWS: usize = 4000;
/// So many that the bound below is narrower than what a forgotten factor `1 - c` = 2/3 makes.
const REPETITIONS: usize = 200;

/// Columns of 4, 3 and 2 levels, the later ones drawn towards the earlier.
fn sample(random: &mut ChaCha8Rng, rows: usize) -> CodedTable {
    let mut columns = [vec![], vec![], vec![]];
    for _ in 0..rows {
        let a: u16 = random.random_range(0..4);
        let b = if random.random_bool(0.5) {
            a % 3
        } else {
            random.random_range(0..3)
        };
        let c = u16::from(random.random_bool(0.2 + 0.2 * f64::from(b)));
        for (column, code) in columns.iter_mut().zip([a, b, c]) {
            column.push(code);
        }
    }
    CodedTable {
        rows,
        codes: columns.map(Some).to_vec(),
        ..CodedTable::default()
    }
}

/// The mean of a ratio over repetitions.
fn mean_ratio(
    ratio: fn(&Utility) -> f64,
    pair: impl Fn(&mut ChaCha8Rng) -> (CodedTable, CodedTable),
) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(20_181);
    let ratios = (0..REPETITIONS).map(|_| {
        let (real, synthetic) = pair(&mut random);
        let utility = utility(&real, &synthetic).unwrap();
        // 3 + 2 + 1 indicators and the intercept.
        assert_eq!(utility.parameters, 7.0);
        ratio(&utility)
    });
    ratios.sum::<f64>() / REPETITIONS as f64
}

/// Five standard deviations of a mean of so many chi-square variables of 6 degrees of freedom over 6: false
/// alarm below 1e-6.
fn bound() -> f64 {
    5.0 * (2.0 / (6.0 * REPETITIONS as f64)).sqrt()
}

/// The null case of Snoke et al.: rows drawn from the law of the real rows.
#[test]
fn the_ratio_is_one_for_rows_of_the_real_rows_law() {
    let pair = |random: &mut ChaCha8Rng| {
        let real = sample(random, ROWS);
        let drawn: Vec<usize> = (0..ROWS / 2)
            .map(|_| random.random_range(0..ROWS))
            .collect();
        let synthetic = real.picked(&drawn);
        (real, synthetic)
    };
    let mean = mean_ratio(|u| u.ratio, pair);
    assert!((mean - 1.0).abs() < bound(), "{mean}");
}

/// Two samples of one population: both vary.
#[test]
fn the_sample_ratio_is_one_for_another_sample() {
    let pair = |random: &mut ChaCha8Rng| (sample(random, ROWS), sample(random, ROWS / 2));
    let mean = mean_ratio(|u| u.sample_ratio, pair);
    assert!((mean - 1.0).abs() < bound(), "{mean}");
}

/// One binary column, saturated: `p` is the share of synthetic rows at either level.
#[test]
fn a_saturated_fit_is_known_in_closed_form() {
    let table = |ones: usize, rows: usize| CodedTable {
        rows,
        codes: vec![Some((0..rows).map(|row| u16::from(row < ones)).collect())],
        ..CodedTable::default()
    };
    let found = utility(&table(30, 100), &table(60, 100)).unwrap();
    // Level 1: 60 of 90 are synthetic; level 0: 40 of 110.
    let expected =
        (90.0 * (60.0 / 90.0 - 0.5_f64).powi(2) + 110.0 * (40.0 / 110.0 - 0.5_f64).powi(2)) / 200.0;
    // The ridge of 0.001 moves a slope of information 12 by a ten-thousandth of itself.
    assert!((found.pmse / expected - 1.0).abs() < 1e-3, "{found:?}");
    // (k - 1) (1 - c)^2 c / N, and sqrt(2 (k - 1)) of the same.
    assert!((found.null_expectation - 0.125 / 200.0).abs() < 1e-15);
    assert!((found.null_standard_deviation - 2.0_f64.sqrt() * 0.125 / 200.0).abs() < 1e-15);
}

/// Levels that one table lacks separate the rows: the fit ends, and finds nearly all there is to find.
#[test]
fn tables_without_a_common_level_are_told_apart() {
    let constant = |code: u16| CodedTable {
        rows: 50,
        codes: vec![
            Some(vec![code; 50]),
            Some((0..50).map(|row| row % 2).collect()),
        ],
        ..CodedTable::default()
    };
    let found = utility(&constant(0), &constant(1)).unwrap();
    // (p - c)^2 is 1/4 where p is 0 or 1.
    assert!(found.pmse > 0.249, "{found:?}");
    let same = CodedTable {
        codes: vec![Some(vec![1; 50])],
        ..constant(1)
    };
    assert_eq!(utility(&same, &same).unwrap_err(), "no column varies");
}

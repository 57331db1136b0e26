//! How rounds adapt to what they find: noise, and the room for candidates.

use super::super::fit::round_work;
use super::super::gap::noise_norm;
use super::*;
use crate::release::MarginalRound;

fn rounds(table: CodedTable, workload: &str, rho: f64, seed: u64) -> Vec<MarginalRound> {
    let budget = Budget::zcdp(rho).unwrap();
    let release = release(SCHEMA, workload, budget, table, seed);
    release.document.selection.unwrap().rounds
}

/// All 72 combinations, a hundred times each: nothing beyond the single columns.
fn factorial() -> CodedTable {
    let column = |step: usize, levels: usize| -> Option<Vec<u16>> {
        Some((0..7200).map(|row| (row / step % levels) as u16).collect())
    };
    CodedTable {
        rows: 7200,
        codes: vec![column(1, 3), column(3, 3), column(9, 2), column(18, 4)],
        ..CodedTable::default()
    }
}

/// There would be 60 rounds of equal charges. A pair that moves the model by no more than noise would (most often
/// less, as the single columns hold it) quadruples the next charge; one that shows something does not.
#[test]
fn noise_adapts_to_what_the_model_learns() {
    let pairs = workload("aim", "marginals: {degree: 2}");
    for seed in 1..4 {
        let of_nothing = rounds(factorial(), &pairs, 0.5, seed);
        assert!(of_nothing.len() <= 12, "{}", of_nothing.len());
        let epsilons = of_nothing.windows(2).map(|w| w[1].epsilon / w[0].epsilon);
        let doubled = epsilons.filter(|ratio| (ratio - 2.0).abs() < 1e-9).count();
        assert!(doubled >= 2, "{doubled}");
        let of_chain = rounds(chain(), &pairs, 0.5, seed);
        assert_eq!(of_chain[0].epsilon, of_chain[1].epsilon);
    }
}

/// The single columns have 12 cells. Of a limit of 120 the first round, at 7 % of the budget, may use 8: nothing new.
#[test]
fn room_grows_with_what_is_spent() {
    let text = workload("aim", "marginals: {degree: 2}\nmodel: {max_cells: 120}");
    let rounds = rounds(chain(), &text, 0.5, 5);
    assert_eq!(rounds[0].candidates, 4);
    assert_eq!(rounds.last().unwrap().candidates, 10);
}

/// The first of four rounds may use 15 of 60 cells: 3 more than the single columns, which `a*d` and `b*d` take.
#[test]
fn room_grows_round_by_round() {
    let text = workload("mwem", "rounds: 4\nmodel: {max_cells: 60}");
    let rounds = rounds(chain(), &text, 0.5, 6);
    assert_eq!(rounds[0].candidates, 4);
    assert_eq!(rounds[3].candidates, 6);
}

/// The model expects every pair as it is. What is left of the score is the number of cells, of which `a*c` and `b*c` have
/// fewest; any pair at all would be one of these each time once in 729.
#[test]
fn cells_count_against_a_marginal() {
    let text = workload("mwem", "rounds: 1");
    for seed in 0..6 {
        let rounds = rounds(factorial(), &text, 1e4, seed);
        let chosen = rounds[0].chosen.join("*");
        assert!(["a*c", "b*c"].contains(&chosen.as_str()), "{chosen}");
    }
}

/// The chain of the strongest pairs has 23 cells: one of them gives way to a pair with fewer, or to none.
#[test]
fn trees_keep_to_the_size_of_the_model() {
    let text = workload("mst", "model: {max_cells: 22}");
    let budget = Budget::zcdp(1e4).unwrap();
    let release = release(SCHEMA, &text, budget, chain(), 7);
    let (_, model) = model(&release);
    assert!(model.junction_tree().cells() <= 22);
}

/// Up to ten thousand candidates have all of it; 166,750 have a seventeenth.
#[test]
fn many_candidates_take_less_work() {
    assert_eq!(round_work(1), round_work(10_000));
    assert!((round_work(166_750) / round_work(1) - 1.0 / 16.675).abs() < 1e-12);
}

/// The mean of the absolute value of a standard normal number is .7978845608.
#[test]
fn the_norm_of_noise_is_its_mean() {
    assert!((noise_norm(10) - 7.978_845_608).abs() < 1e-8);
}

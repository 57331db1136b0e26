use super::*;
use crate::impute::{Purpose, stream};
use crate::panel::tests::panels::{Panel, accountant};
use crate::privacy::mu_from_epsilon_delta;
use rand::RngExt;

const GRID: [f64; 4] = [1.0, 8.0, 40.0, 400.0];

fn selection<'a>(setting: &Setting<'a>, epsilon: f64) -> PenaltySelection<'a> {
    PenaltySelection::new(setting, DpscMethod::Direct, &GRID, Share::Pure(epsilon)).unwrap()
}

fn question<'a>(selection: &'a PenaltySelection<'_>) -> Question<'a> {
    Question {
        schema: selection.schema,
        past: &selection.past,
        candidates: &selection.candidates,
        caution: selection.caution,
    }
}

/// Neighbours of few donors with extreme values, among them the target in small and its opposite: no utility moves by
/// more than the charge is for. The scores are differences of errors in units of both sensitivities, so no pair comes
/// close to the bound for all candidates; one of them at least comes within a third of it.
#[test]
fn utilities_move_by_no_more_than_the_sensitivity() {
    let mut rng = stream(21, Purpose::Simulation, 0);
    let mut most = 0;
    for restart in 0..1500 {
        let (n, pre) = (1 + restart % 3, 3 + restart % 6);
        let mut value = || if rng.random_bool(0.5) { 1.0 } else { -1.0 };
        let target: Vec<f64> = (0..=pre).map(|_| value()).collect();
        let size = [1.0, 0.5, 0.2][restart % 3];
        let mut rows: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let at = |t: usize| {
                    if i == 0 {
                        size * target[t]
                    } else {
                        size * value()
                    }
                };
                (0..=pre).map(at).collect()
            })
            .collect();
        if restart % 2 == 0 {
            rows.iter_mut().skip(1).flatten().for_each(|x| *x = 0.0);
        }
        let panel = Panel::new(
            [-1.0, 1.0],
            pre,
            target.clone(),
            rows.clone(),
            "method: direct\n",
        );
        let setting = panel.setting(Share::Pure(5.0));
        let selection = selection(&setting, 1.0);
        let before = utilities(&rows, &question(&selection));
        let fitted = HoldOut::of(pre).fitted;
        for turned in 0..3 {
            let sign = |t: usize| match (turned, t < fitted) {
                (0, true) | (1, _) => -1.0,
                _ => 1.0,
            };
            rows[0] = match turned {
                2 => (0..=pre).map(|_| value()).collect(),
                _ => (0..=pre).map(|t| sign(t) * size * target[t]).collect(),
            };
            let after = utilities(&rows, &question(&selection));
            for (a, b) in before.iter().zip(&after) {
                most = most.max(a.abs_diff(*b));
            }
        }
    }
    let found = most as f64 / (UNIT + ROUNDING as f64);
    assert!(found <= 1.0 && found > 0.33, "{found}");
}

/// With a large budget the penalty with the least error and noise is chosen, with a tiny one the caution term decides,
/// without looking: the least sensitive.
#[test]
fn large_budgets_choose_the_best_and_small_ones_the_safest() {
    let panel = Panel::factor_model(200, 20, 24, 5);
    let target = panel.frame.targets[0].values.clone();
    let panel = Panel::new([10.0, 1000.0], 20, target, panel.rows, "method: direct\n");
    let choose = |share: f64, of_method: f64, seed: u64| {
        let setting = panel.setting(Share::Pure(of_method));
        let selection = selection(&setting, share);
        let donors = Confidential::new(panel.rows.clone());
        let mut account = accountant(selection.cost());
        let mut noise = NoiseSource::insecure_seed(seed);
        let chosen = selection.choose(&donors, &mut account, &mut noise).unwrap();
        assert_eq!(account.spent(), chosen.cost);
        assert!(chosen.cost.is_pure() && chosen.cost.pure_epsilon() <= share);
        let worth = question(&selection);
        let utilities = utilities(&panel.rows, &worth);
        let at = GRID
            .iter()
            .position(|&lambda| lambda == chosen.lambda)
            .unwrap();
        let best = *utilities.iter().max().unwrap();
        let worst = *utilities.iter().min().unwrap();
        (
            chosen.lambda,
            [best - utilities[at], best - worst].map(|behind| behind as f64 / UNIT),
        )
    };
    for seed in 0..20 {
        // The mechanism misses by more than 2 ln(10^6 k) / epsilon once in a million; some candidate is far behind that.
        let (_, [behind, worst]) = choose(1e4, 1e4, seed);
        let allowed = 2.0 * 4e6f64.ln() / 1e4;
        assert!(
            behind <= allowed && worst > 5.0 * allowed,
            "{behind} {worst}"
        );
    }
    let safest = (0..40).filter(|&seed| choose(0.5, 1.0, 100 + seed).0 == 400.0);
    // Each of the three others has at most exp(-ln(40) 1.7 / 2.3) times its probability: 33 of 40 are expected at the
    // least, and 24 are 4 standard deviations fewer.
    assert!(safest.count() > 24);
}

#[test]
fn a_share_of_zcdp_is_charged_an_eighth_of_its_square() {
    let panel = Panel::factor_model(50, 12, 16, 5);
    let mu = mu_from_epsilon_delta(1.0, 1e-3).unwrap();
    let setting = panel.setting(Share::Gaussian(mu * mu));
    let selection = PenaltySelection::new(
        &setting,
        DpscMethod::Direct,
        &GRID[2..],
        Share::Gaussian(0.02),
    )
    .unwrap();
    let rho = selection.cost().other_rho();
    assert!(rho <= 0.01 && rho > 0.00999, "{rho}");
    assert!((selection.mechanism.epsilon().powi(2) / 8.0 / rho - 1.0).abs() < 1e-9);
}

/// A distinguishing attack on the choice: half a million choices under either of two neighbours, every candidate taken
/// as the event. A constant is added to one utility, so that both candidates come up. By Chernoff's bound no interval misses
/// but once in a million; a mechanism that takes an eighth of the sensitivity is caught.
#[test]
fn choices_keep_their_epsilon() {
    let target = vec![1.0; 9];
    let row = |sign: f64| {
        vec![
            (0..9)
                .map(|t| if t < 6 { sign * 0.4 } else { 1.0 })
                .collect(),
        ]
    };
    let panel = Panel::new([-1.0, 1.0], 8, target, row(1.0), "method: direct\n");
    let setting = panel.setting(Share::Pure(1e3));
    let grid = [1.9, 2000.0];
    let share = Share::Pure(1.0);
    let selection = PenaltySelection::new(&setting, DpscMethod::Direct, &grid, share).unwrap();
    let mut utilities = [row(1.0), row(-1.0)].map(|rows| utilities(&rows, &question(&selection)));
    let middle = (utilities[0][0] + utilities[1][0]) / 2;
    utilities.iter_mut().for_each(|of| of[0] -= middle);
    let weaker = ExponentialMechanism::pure((UNIT / 8.0) as u64, 1.0).unwrap();
    let lower_bound = |mechanism: &ExponentialMechanism| {
        const DRAWS: u64 = 500_000;
        let counts = [0, 1].map(|k: usize| {
            let mut noise = NoiseSource::insecure_seed(k as u64 + 1);
            let budget = Cost::pure(2.0 * DRAWS as f64).unwrap();
            let mut account = accountant(budget);
            let mut count = [0u64; 2];
            for _ in 0..DRAWS {
                let scores = Confidential::new(utilities[k].clone());
                let chosen = mechanism
                    .choose(scores, 1, &mut account, &mut noise)
                    .unwrap();
                count[chosen[0]] += 1;
            }
            count
        });
        let interval =
            |count: u64| crate::panel::tests::audit::interval(count as usize, DRAWS as usize);
        let bound =
            |i: usize, k: usize| (interval(counts[k][i])[0] / interval(counts[1 - k][i])[1]).ln();
        [bound(0, 0), bound(0, 1), bound(1, 0), bound(1, 1)]
            .into_iter()
            .fold(0.0, f64::max)
    };
    let (ours, theirs) = (lower_bound(&selection.mechanism), lower_bound(&weaker));
    assert!(ours < 1.0 && ours > 0.15, "{ours}");
    assert!(theirs > 1.0, "{theirs}");
}

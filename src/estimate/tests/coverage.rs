//! Coverage of the table estimators' intervals on a confounded population whose effects are known.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::estimate::fixtures::{categorical, column, integer, schema, table};
use crate::estimate::{Combined, Estimand, Estimator, Options, Rows, estimate};
use crate::schema::{Kind, Role, Schema};
use crate::table::CodedTable;

const REPETITIONS: u64 = 500;
const ROWS: usize = 500;

/// Coverage of .95 over 500 repetitions has standard error .0097; four of them are .039 (false alarm 6e-5 a
/// case, nineteen cases).
const BAND: f64 = 0.039;

fn propensity(x: u16, g: u16) -> f64 {
    let odds = 0.5 * (f64::from(x) - 2.0) + 0.6 * f64::from(g) - 0.3;
    1.0 / (1.0 + (-odds).exp())
}

/// `E[y | t = 0]`, in units of the outcome's range.
fn baseline(x: u16, g: u16) -> f64 {
    0.2 + 0.08 * f64::from(x) + 0.1 * f64::from(g)
}

/// `E[y | t = 1] - E[y | t = 0]`.
fn effect(x: u16) -> f64 {
    0.05 + 0.03 * f64::from(x)
}

/// `x` uniform on 0..5, `g` on {0, 1}; the mean, by propensity for the ATT, of the effect. With a
/// population that is randomised the ATE and ATT are .11.
fn truth(estimand: Estimand) -> f64 {
    let cells = (0..5).flat_map(|x| (0..2).map(move |g| (x, g)));
    let weighted = cells.map(|(x, g)| {
        let weight = match estimand {
            Estimand::Ate => 1.0,
            Estimand::Att => propensity(x, g),
            Estimand::Atc => 1.0 - propensity(x, g),
            _ => unreachable!("not an average of effects"),
        };
        (weight * effect(x), weight)
    });
    let (sum, weight) = weighted.fold((0.0, 0.0), |(s, w), (a, b)| (s + a, w + b));
    sum / weight
}

fn draw(random: &mut ChaCha8Rng, randomised: bool) -> (Schema, CodedTable) {
    let schema = schema(vec![
        column("t", Role::Treatment, Kind::Boolean),
        column("x", Role::Covariate, integer(4)),
        column("g", Role::Covariate, categorical(&["a", "b"])),
        column("y", Role::Outcome, integer(10)),
    ]);
    let mut codes = vec![Vec::new(), Vec::new(), Vec::new()];
    let mut outcome = Vec::new();
    for _ in 0..ROWS {
        let (x, g) = (random.random_range(0..5u16), random.random_range(0..2u16));
        let chance = if randomised { 0.4 } else { propensity(x, g) };
        let t = u16::from(random.random_bool(chance));
        // Noise uniform on +-.12, wider for the treated: y stays within [0, 1].
        let width = if t == 1 { 0.12 } else { 0.08 };
        let noise = random.random_range(-width..width);
        outcome.push(baseline(x, g) + effect(x) * f64::from(t) + noise);
        for (column, code) in codes.iter_mut().zip([t, x, g]) {
            column.push(code);
        }
    }
    (schema, table(codes, &outcome))
}

/// The outcome's range is 10 units.
fn coverage(estimator: Estimator, estimand: Estimand, randomised: bool) -> f64 {
    let truth = 10.0 * if randomised { 0.11 } else { truth(estimand) };
    let covered = (0..REPETITIONS).filter(|&repetition| {
        let mut random = ChaCha8Rng::seed_from_u64(repetition);
        let (schema, table) = draw(&mut random, randomised);
        let options = Options::default();
        let estimate = estimate(
            &table,
            &Rows::All,
            &schema,
            estimator,
            estimand,
            1,
            &options,
        )
        .unwrap();
        let (lower, upper) = Combined::single(&estimate).interval(0.95).unwrap();
        lower <= truth && truth <= upper
    });
    covered.count() as f64 / REPETITIONS as f64
}

#[test]
fn adjusted_intervals_cover_under_confounding() {
    for estimator in [Estimator::Ipw, Estimator::Aipw, Estimator::Regression] {
        for estimand in [Estimand::Ate, Estimand::Att, Estimand::Atc] {
            let coverage = coverage(estimator, estimand, false);
            assert!(
                (coverage - 0.95).abs() < BAND,
                "{estimator:?} {estimand:?}: {coverage}"
            );
        }
    }
}

#[test]
fn difference_in_means_covers_only_when_randomised() {
    let confounded = coverage(Estimator::DifferenceInMeans, Estimand::Ate, false);
    assert!(confounded < 0.1, "{confounded}");
    let randomised = coverage(Estimator::DifferenceInMeans, Estimand::Ate, true);
    assert!((randomised - 0.95).abs() < BAND, "{randomised}");
}

/// Three arms whose propensities are a softmax, so that logistic regressions of an arm against the rest
/// are a little wrong (doubly robust estimates do not need them). One sample of 20000 rows, within four
/// standard errors of the truth: false alarm 6e-5 a case, nine cases.
#[test]
fn three_arms_are_contrasted_one_at_a_time() {
    let schema = schema(vec![
        column("t", Role::Treatment, categorical(&["none", "half", "full"])),
        column("x", Role::Covariate, integer(4)),
        column("y", Role::Outcome, integer(10)),
    ]);
    let chances = |x: u16| {
        let weights = [
            1.0,
            (0.3 * f64::from(x)).exp(),
            (0.4 * f64::from(x) - 0.5).exp(),
        ];
        weights.map(|w: f64| w / weights.iter().sum::<f64>())
    };
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut codes = vec![Vec::new(), Vec::new()];
    let mut outcome = Vec::new();
    for _ in 0..20_000 {
        let x = random.random_range(0..5u16);
        let u: f64 = random.random_range(0.0..1.0);
        let chances = chances(x);
        let t = u16::from(u > chances[0]) + u16::from(u > chances[0] + chances[1]);
        let noise: f64 = random.random_range(-0.1..0.1);
        outcome.push(0.2 + 0.08 * f64::from(x) + effect(x) * f64::from(t) + noise);
        codes[0].push(t);
        codes[1].push(x);
    }
    let table = table(codes, &outcome);
    for estimand in [Estimand::Ate, Estimand::Att, Estimand::Atc] {
        // Twice the effect of x in arm 2, over everyone, over that arm or over the reference arm.
        let weight = |x| match estimand {
            Estimand::Ate => 1.0,
            Estimand::Att => chances(x)[2],
            Estimand::Atc => chances(x)[0],
            _ => unreachable!("not an average of effects"),
        };
        let truth = 20.0 * (0..5).map(|x| weight(x) * effect(x)).sum::<f64>()
            / (0..5).map(weight).sum::<f64>();
        for estimator in [Estimator::Ipw, Estimator::Aipw, Estimator::Regression] {
            let options = Options::default();
            let ask = estimate(
                &table,
                &Rows::All,
                &schema,
                estimator,
                estimand,
                2,
                &options,
            );
            let estimate = ask.unwrap();
            let distance = (estimate.value - truth).abs() / estimate.variance.sqrt();
            assert!(
                distance < 4.0,
                "{estimator:?} {estimand:?}: {distance} standard errors"
            );
        }
    }
}

/// Arm means over everyone, of the confounded population: with `x` uniform on 0..5 and `g` on {0, 1},
/// `E[Y(0)] = 10 (.2 + .16 + .05)`, and 10 times .11 more for the other arm.
#[test]
fn arm_means_cover_under_confounding() {
    for estimator in [Estimator::Ipw, Estimator::Aipw, Estimator::Regression] {
        for (arm, truth) in [(0, 4.1), (1, 5.2)] {
            let covered = (0..REPETITIONS).filter(|&repetition| {
                let mut random = ChaCha8Rng::seed_from_u64(repetition);
                let (schema, table) = draw(&mut random, false);
                covers(&table, &schema, estimator, Estimand::ArmMean, arm, truth)
            });
            let coverage = covered.count() as f64 / REPETITIONS as f64;
            assert!(
                (coverage - 0.95).abs() < BAND,
                "{estimator:?} {arm}: {coverage}"
            );
        }
    }
}

/// The ratio of `.22 + .06 x + .1 g` to `.12 + .04 x + .1 g`, over everyone `.39 / .25`, whose logarithm is
/// what estimates and intervals are of. Everything is linear or logistic in the scores, as fitted.
#[test]
fn risk_ratios_cover_under_confounding() {
    let schema = schema(vec![
        column("t", Role::Treatment, Kind::Boolean),
        column("x", Role::Covariate, integer(4)),
        column("g", Role::Covariate, categorical(&["a", "b"])),
        column("y", Role::Outcome, Kind::Boolean),
    ]);
    let draw = |random: &mut ChaCha8Rng| {
        let mut codes = vec![Vec::new(), Vec::new(), Vec::new()];
        let mut outcome = Vec::new();
        for _ in 0..ROWS {
            let (x, g) = (random.random_range(0..5u16), random.random_range(0..2u16));
            let t = u16::from(random.random_bool(propensity(x, g)));
            let (x_part, g_part) = (f64::from(x), 0.1 * f64::from(g));
            let risk = match t {
                0 => 0.12 + 0.04 * x_part + g_part,
                _ => 0.22 + 0.06 * x_part + g_part,
            };
            outcome.push(f64::from(u8::from(random.random_bool(risk))));
            for (column, code) in codes.iter_mut().zip([t, x, g]) {
                column.push(code);
            }
        }
        table(codes, &outcome)
    };
    let truth = (0.39f64 / 0.25).ln();
    for estimator in [Estimator::Ipw, Estimator::Aipw, Estimator::Regression] {
        let covered = (0..REPETITIONS).filter(|&repetition| {
            let table = draw(&mut ChaCha8Rng::seed_from_u64(repetition));
            covers(&table, &schema, estimator, Estimand::RiskRatio, 1, truth)
        });
        let coverage = covered.count() as f64 / REPETITIONS as f64;
        assert!((coverage - 0.95).abs() < BAND, "{estimator:?}: {coverage}");
    }
}

fn covers(
    table: &CodedTable,
    schema: &Schema,
    estimator: Estimator,
    estimand: Estimand,
    arm: u16,
    truth: f64,
) -> bool {
    let options = Options::default();
    let ask = estimate(
        table,
        &Rows::All,
        schema,
        estimator,
        estimand,
        arm,
        &options,
    );
    let (lower, upper) = Combined::single(&ask.unwrap()).interval(0.95).unwrap();
    lower <= truth && truth <= upper
}

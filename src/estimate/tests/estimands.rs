//! The estimands against closed forms, and against each other.

use super::reference::small;
use crate::estimate::augmented::augmented;
use crate::estimate::fixtures::{column, schema, table};
use crate::estimate::sample::Sample;
use crate::estimate::{
    Estimand, Estimate, Estimator, Options, Rows, estimate, regression_from_moments,
};
use crate::schema::{Kind, Role, Schema};
use crate::table::CodedTable;

const ADJUSTED: [Estimator; 3] = [Estimator::Ipw, Estimator::Aipw, Estimator::Regression];

fn ask(
    (schema, table): &(Schema, CodedTable),
    estimator: Estimator,
    estimand: Estimand,
    arm: u16,
) -> Estimate {
    let options = Options::default();
    estimate(
        table,
        &Rows::All,
        schema,
        estimator,
        estimand,
        arm,
        &options,
    )
    .unwrap()
}

#[track_caller]
fn close(value: f64, expected: f64, relative: f64) {
    assert!(
        (value - expected).abs() <= relative * expected.abs(),
        "{value} is not {expected}"
    );
}

/// Two strata with rows `(t, x)` of the counts and successes given; `[x][t]`.
fn strata(counts: [[usize; 2]; 2], successes: [[usize; 2]; 2]) -> (Schema, CodedTable) {
    let schema = schema(vec![
        column("t", Role::Treatment, Kind::Boolean),
        column("x", Role::Covariate, Kind::Boolean),
        column("y", Role::Outcome, Kind::Boolean),
    ]);
    let (mut arms, mut levels, mut outcome) = (Vec::new(), Vec::new(), Vec::new());
    for x in 0..2 {
        for t in 0..2 {
            for row in 0..counts[x][t] {
                arms.push(t as u16);
                levels.push(x as u16);
                outcome.push(f64::from(u8::from(row < successes[x][t])));
            }
        }
    }
    (schema, table(vec![arms, levels], &outcome))
}

/// With one boolean covariate regression and propensity are saturated: both are the standardisation
/// `mu_t = sum_x P(x) ybar_{t x}`. Strata of 50 and 80 rows, of them 20 and 50 treated.
#[test]
fn saturated_estimates_are_standardisations() {
    let data = strata([[30, 20], [30, 50]], [[6, 8], [12, 35]]);
    let [x0, x1] = [[0.2, 0.4], [0.4, 0.7]];
    let mean = |t: usize, weights: [f64; 2]| {
        (weights[0] * x0[t] + weights[1] * x1[t]) / (weights[0] + weights[1])
    };
    let effect = |weights| mean(1, weights) - mean(0, weights);
    for estimator in [Estimator::Ipw, Estimator::Regression] {
        // The ridge of the propensity moves a weight by about 1e-5 of itself.
        let is = |estimand, arm, expected| {
            close(ask(&data, estimator, estimand, arm).value, expected, 1e-4);
        };
        is(Estimand::Ate, 1, effect([50.0, 80.0]));
        is(Estimand::Att, 1, effect([20.0, 50.0]));
        is(Estimand::Atc, 1, effect([30.0, 30.0]));
        is(Estimand::ArmMean, 0, mean(0, [50.0, 80.0]));
        is(Estimand::ArmMean, 1, mean(1, [50.0, 80.0]));
        let ratio = mean(1, [50.0, 80.0]) / mean(0, [50.0, 80.0]);
        is(Estimand::RiskRatio, 1, ratio.ln());
    }
}

/// The variance of a standardised mean: `sum_x P(x)^2 p (1 - p) / n_{t x}` within strata, and
/// `Var(p_x) / n` between them. HC1 corrects the first by `N_t / (N_t - 2)`.
#[test]
fn the_variance_of_a_standardised_mean() {
    let data = strata([[30, 20], [30, 50]], [[6, 8], [12, 35]]);
    let shares = [50.0 / 130.0, 80.0 / 130.0];
    for (arm, risks, counts) in [(0, [0.2, 0.4], [30.0, 30.0]), (1, [0.4, 0.7], [20.0, 50.0])] {
        let within: f64 = (0..2)
            .map(|x| shares[x] * shares[x] * risks[x] * (1.0 - risks[x]) / counts[x])
            .sum();
        let difference: f64 = risks[0] - risks[1];
        let between = shares[0] * shares[1] * difference * difference / 130.0;
        let rows: f64 = counts.iter().sum();
        let regression = ask(&data, Estimator::Regression, Estimand::ArmMean, arm);
        close(
            regression.variance,
            within * rows / (rows - 2.0) + between,
            1e-6,
        );
        let weighted = ask(&data, Estimator::Ipw, Estimand::ArmMean, arm);
        close(weighted.variance, (within + between) * 130.0 / 129.0, 1e-3);
    }
}

/// Katz et al. (1978): `Var(log RR) = (1 - p_1) / (n_1 p_1) + (1 - p_0) / (n_0 p_0)`, here with `n - 1`.
#[test]
fn an_unadjusted_risk_ratio_is_katz() {
    let data = strata([[30, 20], [30, 50]], [[6, 8], [12, 35]]);
    let ratio = ask(&data, Estimator::DifferenceInMeans, Estimand::RiskRatio, 1);
    let (treated, control): (f64, f64) = (43.0 / 70.0, 18.0 / 60.0);
    close(ratio.value, (treated / control).ln(), 1e-12);
    let variance = (1.0 - treated) / treated / 69.0 + (1.0 - control) / control / 59.0;
    close(ratio.variance, variance, 1e-12);
    let mean = ask(&data, Estimator::DifferenceInMeans, Estimand::ArmMean, 0);
    close(mean.value, control, 1e-12);
    close(mean.variance, control * (1.0 - control) / 59.0, 1e-12);
}

#[test]
fn means_and_effects_agree() {
    let data = small();
    for estimator in ADJUSTED.into_iter().chain([Estimator::DifferenceInMeans]) {
        let of = |estimand, arm| ask(&data, estimator, estimand, arm).value;
        let (treated, control) = (of(Estimand::ArmMean, 1), of(Estimand::ArmMean, 0));
        close(of(Estimand::Ate, 1), treated - control, 1e-6);
        close(of(Estimand::RiskRatio, 1), (treated / control).ln(), 1e-6);
    }
}

/// Each regression is evaluated at a mean of scores, and everyone's is the weighted mean of the arms'.
#[test]
fn the_ate_of_a_regression_is_the_mixture_of_att_and_atc() {
    let data = small();
    let of = |estimand| ask(&data, Estimator::Regression, estimand, 1).value;
    let arms = data.1.codes[0].as_ref().unwrap();
    let share = f64::from(arms.iter().sum::<u16>()) / arms.len() as f64;
    let mixture = share * of(Estimand::Att) + (1.0 - share) * of(Estimand::Atc);
    close(mixture, of(Estimand::Ate), 1e-9);
}

/// With the arms' names exchanged the controls are the treated and the effect changes its sign: value and
/// variance of every estimator.
#[test]
fn the_atc_is_the_att_of_the_exchanged_arms() {
    let data = small();
    let mut exchanged = data.clone();
    for arm in exchanged.1.codes[0].as_mut().unwrap() {
        *arm = 1 - *arm;
    }
    let same = |atc: Estimate, att: Estimate| {
        close(atc.value, -att.value, 1e-6);
        close(atc.variance, att.variance, 1e-6);
        assert_eq!((atc.rows, atc.clipped), (att.rows, att.clipped));
    };
    for estimator in [
        Estimator::DifferenceInMeans,
        Estimator::Ipw,
        Estimator::Regression,
    ] {
        let atc = ask(&data, estimator, Estimand::Atc, 1);
        same(atc, ask(&exchanged, estimator, Estimand::Att, 1));
    }
    // The folds are dealt arm by arm, so they are given here.
    let folds: Vec<usize> = (0..60).map(|row| row % 5).collect();
    let cross_fitted = |data: &(Schema, CodedTable), estimand| {
        let sample = Sample::new(&data.1, &Rows::All, &data.0, None).unwrap();
        augmented(&sample, 1, estimand, &Options::default(), &folds).unwrap()
    };
    same(
        cross_fitted(&data, Estimand::Atc),
        cross_fitted(&exchanged, Estimand::Att),
    );
}

#[test]
fn moments_give_the_table_for_every_estimand() {
    let data = small();
    let sample = Sample::new(&data.1, &Rows::All, &data.0, None).unwrap();
    let arms = [0, 1].map(|t| sample.moments(&sample.rows_of(t, 1).unwrap()));
    for (estimand, arm) in [
        (Estimand::Atc, 1),
        (Estimand::ArmMean, 0),
        (Estimand::ArmMean, 1),
        (Estimand::RiskRatio, 1),
    ] {
        let from_moments = regression_from_moments(&arms, arm, estimand).unwrap();
        let from_table = ask(&data, Estimator::Regression, estimand, arm);
        close(from_moments.value, from_table.value, 1e-9);
        // Homoskedastic and HC1 variances are of one size.
        close(from_moments.variance, from_table.variance, 0.2);
    }
}

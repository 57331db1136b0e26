//! A small table whose answers were computed by public packages: numpy 2.4.6, scikit-learn 1.9.1
//! (`LogisticRegression(C=1/ridge)`, `LinearRegression`), statsmodels 0.15.0 (`OLS` with interactions,
//! HC1 by arm), scipy 1.17.1 (`ttest_ind`); the variance of IPW by inverting a numerical Jacobian of the
//! stacked estimating equations.

use crate::estimate::augmented::augmented;
use crate::estimate::fixtures::{categorical, column, integer, schema, table};
use crate::estimate::sample::Sample;
use crate::estimate::{
    Estimand, Estimate, EstimateError, Estimator, Options, Rows, estimate, estimate_each,
    imputations, regression_from_moments,
};
use crate::schema::{Kind, Role, Schema};
use crate::table::CodedTable;

const X: [u16; 60] = [
    4, 3, 3, 4, 2, 3, 4, 1, 0, 1, 1, 4, 4, 0, 2, 4, 0, 3, 0, 2, 4, 1, 1, 1, 3, 1, 4, 2, 2, 2, 2, 2,
    2, 4, 4, 3, 3, 3, 1, 4, 2, 1, 4, 0, 4, 3, 0, 0, 2, 0, 0, 2, 4, 2, 4, 4, 4, 3, 2, 2,
];
const G: [u16; 60] = [
    0, 1, 1, 0, 2, 0, 0, 0, 2, 2, 2, 0, 2, 1, 1, 0, 1, 2, 1, 0, 1, 0, 2, 2, 0, 1, 2, 2, 2, 1, 0, 2,
    1, 0, 0, 1, 2, 1, 1, 2, 2, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 2, 1, 1, 1, 2, 1, 1,
];
const T: [u16; 60] = [
    1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 0,
    1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0,
];
const Y: [u16; 60] = [
    23, 17, 15, 22, 10, 16, 23, 7, 11, 8, 12, 19, 18, 11, 14, 20, 15, 14, 10, 16, 22, 13, 8, 13,
    12, 11, 18, 20, 16, 22, 16, 10, 18, 20, 22, 16, 18, 18, 14, 27, 10, 10, 26, 15, 12, 18, 9, 6,
    21, 8, 8, 10, 26, 10, 25, 16, 15, 23, 17, 16,
];

pub(super) fn small() -> (Schema, CodedTable) {
    let schema = schema(vec![
        column("t", Role::Treatment, Kind::Boolean),
        column("x", Role::Covariate, integer(4)),
        column("g", Role::Covariate, categorical(&["a", "b", "c"])),
        column("y", Role::Outcome, integer(32)),
    ]);
    // Division by 32 is exact, and so is the fixed-point outcome.
    let outcome: Vec<f64> = Y.iter().map(|&y| f64::from(y) / 32.0).collect();
    let codes = vec![T.to_vec(), X.to_vec(), G.to_vec()];
    (schema, table(codes, &outcome))
}

fn ask(estimator: Estimator, estimand: Estimand, options: &Options) -> Estimate {
    let (schema, table) = small();
    estimate(&table, &Rows::All, &schema, estimator, estimand, 1, options).unwrap()
}

#[track_caller]
fn close(value: f64, expected: f64, relative: f64) {
    assert!(
        (value - expected).abs() <= relative * expected.abs(),
        "{value} is not {expected}"
    );
}

#[test]
fn difference_in_means() {
    for estimand in [Estimand::Ate, Estimand::Att] {
        let estimate = ask(Estimator::DifferenceInMeans, estimand, &Options::default());
        close(estimate.value, 6.300333704115683, 1e-12);
        close(estimate.variance, 1.2254670322758585, 1e-12);
    }
}

#[test]
fn regression() {
    let ate = ask(Estimator::Regression, Estimand::Ate, &Options::default());
    close(ate.value, 3.789675948168517, 1e-8);
    close(ate.variance, 0.7768509887574846, 1e-7);
    let att = ask(Estimator::Regression, Estimand::Att, &Options::default());
    close(att.value, 4.836844195303057, 1e-8);
    close(att.variance, 0.8648875144123089, 1e-7);
}

#[test]
fn inverse_propensity() {
    let ate = ask(Estimator::Ipw, Estimand::Ate, &Options::default());
    close(ate.value, 4.292092178488465, 1e-7);
    // The reference shares the ridge's pull out among the rows; ours leaves it out: 1e-3 / 60.
    close(ate.variance, 0.743811620083843, 1e-4);
    let att = ask(Estimator::Ipw, Estimand::Att, &Options::default());
    close(att.value, 4.445801762687253, 1e-7);
    close(att.variance, 0.9657903231521141, 1e-4);
    assert_eq!((ate.clipped, att.clipped), (0.0, 0.0));
}

#[test]
fn clipped_inverse_propensity() {
    let options = Options {
        clip: 0.3,
        ..Options::default()
    };
    let ate = ask(Estimator::Ipw, Estimand::Ate, &options);
    close(ate.value, 4.644806289706361, 1e-7);
    let att = ask(Estimator::Ipw, Estimand::Att, &options);
    close(att.value, 4.898362818525152, 1e-7);
    assert_eq!((ate.clipped, att.clipped), (29.0, 29.0));
}

#[test]
fn augmented_inverse_propensity() {
    let (schema, table) = small();
    let sample = Sample::new(&table, &Rows::All, &schema, None).unwrap();
    let folds: Vec<usize> = (0..60).map(|row| row % 5).collect();
    let ask = |estimand| augmented(&sample, 1, estimand, &Options::default(), &folds).unwrap();
    let ate = ask(Estimand::Ate);
    close(ate.value, 3.4421178553886786, 1e-7);
    close(ate.variance, 1.3854840007679892, 1e-6);
    let att = ask(Estimand::Att);
    close(att.value, 4.828816914618383, 1e-7);
    close(att.variance, 2.3420550313563173, 1e-6);
}

#[test]
fn moments_give_the_regression_of_the_table() {
    let (schema, table) = small();
    let sample = Sample::new(&table, &Rows::All, &schema, None).unwrap();
    let arms = [0, 1].map(|t| sample.moments(&sample.rows_of(t, 1).unwrap()));
    for (estimand, homoskedastic) in [
        (Estimand::Ate, 0.7433424619762913),
        (Estimand::Att, 0.7945377826168154),
    ] {
        let from_moments = regression_from_moments(&arms, 1, estimand).unwrap();
        let from_table = ask(Estimator::Regression, estimand, &Options::default());
        close(from_moments.value, from_table.value, 1e-9);
        close(from_moments.variance, homoskedastic, 1e-7);
        assert_eq!(from_moments.rows, 60.0);
    }
}

#[test]
fn a_stack_is_split_whatever_the_order_of_its_rows() {
    let (schema, table) = small();
    let repeat = |codes: &Vec<u16>| [codes.as_slice(), codes.as_slice()].concat();
    let mut stack = CodedTable {
        rows: 120,
        codes: (table.codes.iter())
            .map(|c| c.as_ref().map(repeat))
            .collect(),
        outcome: [table.outcome.as_slice(), table.outcome.as_slice()].concat(),
        imputation: Some([[3; 60], [9; 60]].concat()),
        ..CodedTable::default()
    };
    // The second imputation has other outcomes.
    stack.outcome[60..].iter_mut().for_each(|y| *y /= 2);
    assert_eq!(
        imputations(&stack).unwrap(),
        [(3, Rows::Range(0..60)), (9, Rows::Range(60..120))]
    );
    let each = |stack: &CodedTable, estimator| {
        let options = Options::default();
        estimate_each(stack, &schema, estimator, Estimand::Ate, 1, &options).unwrap()
    };
    let estimates = each(&stack, Estimator::Regression);
    let alone = ask(Estimator::Regression, Estimand::Ate, &Options::default());
    assert_eq!(estimates[0], alone);
    close(estimates[1].value, alone.value / 2.0, 1e-9);

    let interleave =
        |values: &[u32]| -> Vec<u32> { (0..120).map(|i| values[(i % 2) * 60 + i / 2]).collect() };
    let mut mixed = stack.clone();
    mixed.outcome = interleave(&stack.outcome);
    mixed.imputation = stack.imputation.as_deref().map(interleave);
    for (mixed, codes) in mixed.codes.iter_mut().zip(&table.codes) {
        let source = codes.as_ref().unwrap();
        *mixed = Some((0..120).map(|i| source[i / 2]).collect());
    }
    assert_eq!(each(&mixed, Estimator::Regression), estimates);
    assert_eq!(each(&mixed, Estimator::Aipw), each(&stack, Estimator::Aipw));
}

#[test]
fn results_do_not_depend_on_threads() {
    let (schema, mut table) = small();
    // Long enough for several blocks.
    for codes in table.codes.iter_mut().flatten() {
        *codes = codes.repeat(80);
    }
    table.outcome = (0..4800)
        .map(|i| table.outcome[i % 60] + (i as u32 * 7919) % 1000)
        .collect();
    table.rows = 4800;
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let options = Options::default();
        pool.build().unwrap().install(|| {
            [Estimator::Ipw, Estimator::Aipw, Estimator::Regression].map(|estimator| {
                let ask = estimate(
                    &table,
                    &Rows::All,
                    &schema,
                    estimator,
                    Estimand::Ate,
                    1,
                    &options,
                );
                ask.unwrap()
            })
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn errors_say_what_is_wrong() {
    let (schema, table) = small();
    let ask = |table: &CodedTable, rows: Rows, estimator, arm| {
        let options = Options::default();
        estimate(
            table,
            &rows,
            &schema,
            estimator,
            Estimand::Ate,
            arm,
            &options,
        )
        .unwrap_err()
    };
    let treated: Vec<usize> = (0..60).filter(|&i| T[i] == 1).collect();
    let all = [
        Estimator::DifferenceInMeans,
        Estimator::Ipw,
        Estimator::Aipw,
        Estimator::Regression,
    ];
    for estimator in all {
        assert_eq!(
            ask(&table, Rows::Indices(treated.clone()), estimator, 1),
            EstimateError::EmptyArm {
                arm: "false".into()
            }
        );
        assert!(matches!(
            ask(&table, Rows::Range(0..2), estimator, 1),
            EstimateError::TooFewRows { .. }
        ));
        assert!(matches!(
            ask(&table, Rows::Range(0..61), estimator, 1),
            EstimateError::Malformed(_)
        ));
        assert!(matches!(
            ask(&table, Rows::All, estimator, 2),
            EstimateError::NotAnArm { .. }
        ));
        let mut without = table.clone();
        without.outcome.clear();
        assert_eq!(
            ask(&without, Rows::All, estimator, 1),
            EstimateError::NoOutcome
        );
        let mut without = table.clone();
        without.codes[0] = None;
        assert_eq!(
            ask(&without, Rows::All, estimator, 1),
            EstimateError::NoTreatment
        );
    }
    // A covariate that is the treatment: no overlap, and Newton's method gets there.
    let mut separated = table.clone();
    separated.codes[1] = Some(T.iter().map(|t| t * 4).collect());
    for estimator in [Estimator::Ipw, Estimator::Aipw] {
        assert!(matches!(
            ask(&separated, Rows::All, estimator, 1),
            EstimateError::NoOverlap { .. }
        ));
    }
}

#[test]
fn a_covariate_that_stands_twice_changes_nothing() {
    let (mut schema, mut table) = small();
    schema
        .columns
        .insert(1, column("again", Role::Covariate, integer(4)));
    table.codes.insert(1, Some(X.to_vec()));
    for estimand in [Estimand::Ate, Estimand::Att] {
        let options = Options::default();
        let regression = Estimator::Regression;
        let twice = estimate(
            &table,
            &Rows::All,
            &schema,
            regression,
            estimand,
            1,
            &options,
        );
        let (twice, once) = (twice.unwrap(), ask(regression, estimand, &options));
        close(twice.value, once.value, 1e-6);
        // The effective number of coefficients does not count the copy.
        close(twice.variance, once.variance, 1e-5);
    }
}

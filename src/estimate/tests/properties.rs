//! Arbitrary small tables: an estimate or an error, never a panic, never a NaN.

use proptest::prelude::*;

use crate::estimate::fixtures::{column, integer, levels, schema, table};
use crate::estimate::{Estimand, Estimator, Options, Rows, Rule, combine, estimate_each};
use crate::impute::Kappa;
use crate::schema::{Bin, Kind, Role};

const ROWS: usize = 24;

const ESTIMANDS: [Estimand; 5] = [
    Estimand::Ate,
    Estimand::Att,
    Estimand::Atc,
    Estimand::ArmMean,
    Estimand::RiskRatio,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn estimates_are_numbers(
        rows in prop::collection::vec((0u16..3, 0u16..5, 0u16..4, 0u32..=4), 0..ROWS),
        imputations in prop::option::of(1u32..4),
    ) {
        let real = Kind::Real {
            lower: 0.0,
            upper: 2.0,
            bins: vec![
                Bin { lower: 0.0, upper: 0.0 },
                Bin { lower: 0.0, upper: 1.0 },
                Bin { lower: 1.0, upper: 2.0 },
            ],
        };
        let arms = Kind::Categorical { levels: levels(&["a", "b", "c"]), other: None, ordered: false };
        let group = Kind::Categorical {
            levels: levels(&["p", "q", "r"]),
            other: levels(&["else"]).pop(),
            ordered: true,
        };
        let mut earnings = column("x", Role::Covariate, real);
        earnings.missing = vec![String::new(), "NA".into()];
        let schema = schema(vec![
            column("t", Role::Treatment, arms),
            earnings,
            column("g", Role::Covariate, group),
            column("y", Role::Outcome, integer(4)),
        ]);
        let outcome: Vec<f64> = rows.iter().map(|r| f64::from(r.3) / 4.0).collect();
        let codes = vec![
            rows.iter().map(|r| r.0).collect(),
            rows.iter().map(|r| r.1).collect(),
            rows.iter().map(|r| r.2).collect(),
        ];
        let mut table = table(codes, &outcome);
        table.imputation = imputations.map(|m| (0..table.rows as u32).map(|i| i % m).collect());
        for estimator in [
            Estimator::DifferenceInMeans,
            Estimator::Ipw,
            Estimator::Aipw,
            Estimator::Regression,
            Estimator::Model,
        ] {
            for estimand in ESTIMANDS {
                for arm in 0..4 {
                    let options = Options::default();
                    let estimates = estimate_each(&table, &schema, estimator, estimand, arm, &options);
                    let Ok(estimates) = estimates else { continue };
                    for estimate in &estimates {
                        prop_assert!(estimate.value.is_finite());
                        prop_assert!(estimate.variance.is_finite() && estimate.variance >= 0.0);
                    }
                    let rule = Rule::Unified { kappa: Kappa::Posterior, ratio: 1.0 };
                    if let Ok(combined) = combine(&estimates, rule) {
                        let (lower, upper) = combined.interval(0.95).unwrap();
                        prop_assert!(lower <= upper && lower.is_finite() && upper.is_finite());
                    }
                }
            }
        }
    }

    #[test]
    fn any_rows_are_an_answer_or_an_error(start in 0usize..80, end in 0usize..80) {
        let (schema, table) = super::reference::small();
        let rows = Rows::Range(start..end);
        let options = Options::default();
        let ask = crate::estimate::estimate(
            &table, &rows, &schema, Estimator::Regression, Estimand::Att, 1, &options,
        );
        prop_assert!(ask.is_err() || end <= 60);
    }
}

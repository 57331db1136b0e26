//! Sensitivities by brute force: contributions of many records, none longer or further apart than stated, and some
//! nearly so.

use crate::cate::basis::Basis;
use crate::cate::features::{FEATURE_SCALE, Features};
use crate::cate::pseudo::PseudoOutcome;
use crate::cate::statistics::{ArmCross, ArmGrams, HubTotals, PseudoCross, PseudoSpread};
use crate::measure::effects::Statistic;
use crate::measure::effects::tests::reach;
use crate::release::{CateParameters, ReleasedPropensity};
use crate::schema::{SCALE, Schema};
use crate::workload::CateWorkload;

const SCHEMA: &str = "
format: dpcausal.schema/1
columns:
  - {name: t, role: treatment, type: boolean}
  - {name: age, type: real, bounds: [0, 100], bins: 10}
  - {name: sex, type: boolean}
  - {name: y, role: outcome, type: real, bounds: [0, 10], bins: 10}
";

fn features() -> Features {
    let schema = Schema::parse(SCHEMA, "s.yaml").unwrap().0;
    let text = "format: dpcausal.workload/1\nmechanism: cate\n";
    let workload = CateWorkload::parse(text, "w.yaml", &schema).unwrap().0;
    Features::new(&schema, &workload)
}

/// Records of both arms, with outcomes at the ends, in the middle and odd, and features over the whole square: fine
/// enough that some lie where the length is just clipped.
fn records() -> Vec<(usize, i64, [i64; 2])> {
    let mut records = Vec::new();
    for arm in 0..2 {
        for outcome in [-SCALE, -SCALE / 3, 17, SCALE / 2, SCALE] {
            for age in -32..=32 {
                for sex in [-FEATURE_SCALE, 0, FEATURE_SCALE] {
                    records.push((arm, outcome, [age * FEATURE_SCALE / 32, sex]));
                }
            }
            records.push((arm, outcome, [0, 0]));
        }
    }
    records
}

/// The reach of a statistic's contributions, over what is stated.
fn reach_found(statistic: &dyn Statistic, order: Option<usize>) -> [f64; 2] {
    let contributions = reach::contributions(statistic, &records());
    reach::found(&contributions, statistic.reach(), order)
}

#[test]
fn contributions_reach_no_further_than_stated() {
    let features = features();
    // Narrow and far from the middle: standardised features are clipped, and lengths with them.
    for (means, deviations, curve) in [
        (vec![0.0, 0.0], vec![0.5, 1.0], 0.4),
        (vec![0.9, -0.9], vec![0.17, 0.4], 0.4),
        (vec![-0.3, 0.2], vec![1.0, 0.4], 0.15),
    ] {
        let basis = Basis::new(&features, means, deviations, curve);
        let order = basis.size();
        let parameters = CateParameters {
            outcome_mean: 0.2,
            outcome_slopes: [vec![0.3; order], vec![-0.4; order]],
            propensity: ReleasedPropensity {
                share: 0.5,
                weights: vec![0.7; order - 1],
                centre: vec![0.1; order - 1],
                intercept: 0.4,
                slope: 3.0,
                overlap: 0.08,
            },
            ..CateParameters::default()
        };
        let pseudo = PseudoOutcome {
            basis: &basis,
            parameters: &parameters,
        };
        let cross = ArmCross {
            basis: &basis,
            centre: 0.1,
            bound: 0.4,
        };
        let effect = PseudoCross {
            pseudo: &pseudo,
            bound: 0.6,
        };
        let spread = PseudoSpread {
            pseudo: &pseudo,
            range: 2.0,
        };
        let found = [
            reach_found(&HubTotals { features: 2 }, None),
            reach_found(&ArmGrams { basis: &basis }, Some(order)),
            reach_found(&cross, None),
            reach_found(&spread, None),
            reach_found(&effect, None),
        ];
        // The bounds are nearly attained, where they can be: products of basis and outcome need a record of length S
        // that is not clipped, and of a hub squares as long as the values themselves.
        for reach in found.as_flattened() {
            assert!(*reach > 0.9, "{found:?}");
        }
    }
}

/// Parameters that are not numbers, or beyond all measure, can't make a contribution longer.
#[test]
fn no_parameter_breaks_a_bound() {
    let features = features();
    let basis = Basis::new(&features, vec![f64::NAN, 1e300], vec![1e-300, 1.0], 0.4);
    let order = basis.size();
    for wild in [f64::NAN, 1e300, -1e300, f64::INFINITY] {
        let parameters = CateParameters {
            outcome_slopes: [vec![wild; order], vec![wild; order]],
            ..CateParameters::default()
        };
        let pseudo = PseudoOutcome {
            basis: &basis,
            parameters: &parameters,
        };
        reach_found(&ArmGrams { basis: &basis }, Some(order));
        reach_found(
            &PseudoCross {
                pseudo: &pseudo,
                bound: 0.6,
            },
            None,
        );
        reach_found(
            &PseudoSpread {
                pseudo: &pseudo,
                range: 2.0,
            },
            None,
        );
    }
}

/// Without the clip of lengths, what is stated would be exceeded: the test above can fail.
#[test]
fn without_the_clip_lengths_would_be_exceeded() {
    let basis = Basis::new(&features(), vec![0.0, 0.0], vec![0.2, 0.4], 0.4);
    let longest = records()
        .iter()
        .map(|(_, _, features)| basis.phi(features).iter().map(|x| x * x).sum::<f64>())
        .fold(0.0, f64::max);
    assert!(longest > 2.0 * basis.length().powi(2));
}

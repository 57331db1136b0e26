//! Sensitivities by brute force: contributions of many records, none longer or further apart than stated, and some nearly so.

use crate::cate::split::ebm::boost::{self, BoostQuestion, BoostTable, Turn, Update};
use crate::cate::split::ebm::{Feature, bins};
use crate::cate::split::second_moment::{MomentBasis, MomentQuestion, moments, reach};
use crate::cate::split::{Propensity, Targets};
use crate::measure::effects::tests::reach::found;
use crate::release::AdditiveModel;
use crate::schema::{SCALE, Schema};
use crate::table::CodedTable;
use crate::workload::MomentBasisKind;

const SCHEMA: &str = "
format: dpcausal.schema/1
columns:
  - {name: t, role: treatment, type: boolean}
  - {name: age, type: real, bounds: [0, 100], bins: 4, missing: [NA]}
  - {name: sex, type: boolean}
  - {name: region, type: categorical, levels: [a, b, c]}
  - {name: y, role: outcome, type: real, bounds: [900, 1000], bins: 10}
";

const COVARIATES: [usize; 3] = [1, 2, 3];

fn schema() -> Schema {
    Schema::parse(SCHEMA, "s.yaml").unwrap().0
}

/// Tables of one record each: both arms, outcomes at the ends and odd, ages at knots, between them and missing, all levels.
fn records() -> Vec<CodedTable> {
    let mut records = Vec::new();
    let ages = [0, 1, 9000, 16383, 16384, 30_000, 32_768, 65_534, 65_535].map(|age| (0, age));
    for arm in 0..2 {
        for outcome in [0, 17, SCALE / 3, SCALE] {
            for (age, value) in ages.into_iter().chain([(4, 0)]) {
                for sex in 0..2 {
                    for region in 0..3 {
                        let codes = [arm, age, sex, region, 0];
                        records.push(CodedTable {
                            rows: 1,
                            codes: codes.iter().map(|&code| Some(vec![code])).collect(),
                            values: vec![None, Some(vec![value]), None, None, None],
                            outcome: vec![outcome as u32],
                            ..CodedTable::default()
                        });
                    }
                }
            }
        }
    }
    records
}

/// Targets of all kinds; fits that are beyond all measure too.
fn targets() -> Vec<Targets> {
    let model = |intercept: f64, treatment: f64| AdditiveModel {
        intercept,
        treatment,
        terms: Vec::new(),
    };
    let mut targets = vec![
        Targets::Treatment,
        Targets::Outcome {
            with_treatment: true,
        },
        Targets::Outcome {
            with_treatment: false,
        },
    ];
    for wild in [0.4, 1e300, f64::INFINITY, f64::NAN] {
        let fitted = Propensity::Fitted {
            model: model(wild, 0.0),
            overlap: 0.08,
        };
        for propensity in [Propensity::Constant(0.9), fitted] {
            targets.push(Targets::DoublyRobust {
                propensity: propensity.clone(),
                outcome: model(wild, wild),
                clip: 3.0,
            });
            targets.push(Targets::Residual {
                propensity,
                outcome: model(wild, 0.0),
                weight_bound: 0.92,
            });
        }
    }
    targets
}

#[test]
fn moments_reach_no_further_than_stated() {
    let (schema, records) = (schema(), records());
    for (index, targets) in targets().iter().enumerate() {
        for kind in [
            MomentBasisKind::Linear,
            MomentBasisKind::Hat,
            MomentBasisKind::OneHot,
        ] {
            let basis = MomentBasis::new(&schema, &COVARIATES, kind);
            let question = MomentQuestion {
                basis: &basis,
                targets,
                treatment: 0,
            };
            let contributions: Vec<Vec<i64>> = records
                .iter()
                .map(|record| moments(record, &question))
                .collect();
            let [norm, diameter] = found(&contributions, reach(&question), None);
            // Attained with the basis at its corners and the largest targets, but where a wild fit makes all targets
            // alike, or none as large.
            if index < 4 {
                assert!(norm > 0.999, "{index} {kind:?}: {norm}");
            }
            // Weights by a propensity that is not a number are 0.
            assert!(
                norm == 0.0 || diameter > 0.3,
                "{index} {kind:?}: {diameter}"
            );
        }
    }
}

/// Records' sums in a turn, whatever the fit has become, and their counts.
#[test]
fn turns_and_counts_reach_no_further_than_stated() {
    let (schema, records) = (schema(), records());
    let features: Vec<Feature> = [1, 2, 3, 0]
        .iter()
        .map(|&column| Feature::new(&schema, column))
        .collect();
    let sizes: Vec<usize> = features.iter().map(Feature::coarse).collect();
    for targets in &targets() {
        let question = BoostQuestion {
            features: &features,
            targets,
            treatment: 0,
        };
        let table = |record: &CodedTable| BoostTable::new(record, &question);
        let counts: Vec<Vec<i64>> = records.iter().map(|r| table(r).counts(&sizes)).collect();
        let reach = bins::reach(features.len(), targets.weight_bound());
        let [norm, _] = found(&counts, reach, None);
        // Wild propensities can leave weights far below their bound.
        assert!(norm > 0.99 || targets.has_weights(), "{norm}");
        // Fits far away, to either side, at the last turn and at this one.
        for steps in [
            [0; 3],
            [1 << 22; 3],
            [-(1 << 22), 3, 1 << 22],
            [i32::MAX; 3],
        ] {
            let turn = Turn {
                last: Update {
                    feature: 3,
                    cuts: [1, 2],
                    steps,
                },
                feature: 2,
                cuts: [1, 2],
                clips: true,
            };
            let sums: Vec<Vec<i64>> = records.iter().map(|r| table(r).turn(&turn)).collect();
            found(&sums, boost::reach(targets.weight_bound()), None);
        }
    }
}

/// Without the clip, sums of a turn are longer than stated: the test above can fail.
#[test]
fn without_the_clip_turns_would_reach_further() {
    let schema = schema();
    let features = [Feature::new(&schema, 2)];
    let question = BoostQuestion {
        features: &features,
        targets: &Targets::Treatment,
        treatment: 0,
    };
    let turn = Turn {
        last: Update {
            feature: 0,
            cuts: [1, 2],
            steps: [-(1 << 22); 3],
        },
        feature: 0,
        cuts: [1, 2],
        clips: false,
    };
    let sums = BoostTable::new(&records()[0], &question).turn(&turn);
    assert!(
        sums.iter()
            .any(|sum| sum.abs() > 2 * boost::reach(1.0).norm)
    );
}

//! The effects route from end to end: tables drawn from a population, measured, analysed.

use crate::estimate::adjusted::Constants;
use crate::estimate::{Effect, Estimand, Estimator, Request, Route, RuleKind, from_effects};
use crate::measure::{self, Counted, Documents, Guarantee, Plan};
use crate::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use crate::release::CheckedRelease;
use crate::schema::{SCALE, Schema};
use crate::table::CodedTable;
use crate::workload::Workload;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const SCHEMA: &str = "
format: dpcausal.schema/1
design: DESIGN
columns:
  - {name: t, role: treatment, type: categorical, levels: LEVELS}
  - {name: x, type: real, bounds: [-3, 3], bins: 6}
  - {name: b, type: boolean}
  - {name: y, role: outcome, type: real, bounds: [-8, 8], bins: 8}
";

/// The effect of arm `t` against the reference: of everyone `t`, and of nobody the same, for it grows with
/// `x`, so that the treated have more of it.
fn effect(arm: u16, x: f64) -> f64 {
    f64::from(arm) * (1.0 + 0.5 * x)
}

/// Rows whose `x` and `b` raise both the outcome and, in observational designs, the chance of later arms.
fn table(rows: usize, arms: u16, confounded: bool, seed: u64) -> CodedTable {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x: Vec<f64> = (0..rows).map(|_| normal().clamp(-3.0, 3.0)).collect();
    let noise: Vec<f64> = (0..rows).map(|_| normal()).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
    let b: Vec<u16> = (0..rows).map(|_| u16::from(rng.random_bool(0.4))).collect();
    let t: Vec<u16> = (0..rows)
        .map(|i| {
            let lean = if confounded {
                0.6 * x[i] + 0.5 * f64::from(b[i])
            } else {
                0.0
            };
            let later = 1.0 / (1.0 + (-lean).exp());
            if rng.random_bool(later) {
                rng.random_range(1..arms)
            } else {
                0
            }
        })
        .collect();
    let y = (0..rows).map(|i| x[i] + f64::from(b[i]) + effect(t[i], x[i]) + noise[i]);
    let scaled = |y: f64| ((y.clamp(-8.0, 8.0) + 8.0) / 16.0 * SCALE as f64).round() as u32;
    let position = |x: &f64| ((x + 3.0) / 6.0 * 65535.0).round() as u16;
    CodedTable {
        rows,
        outcome: y.map(scaled).collect(),
        values: vec![None, Some(x.iter().map(position).collect()), None, None],
        codes: vec![Some(t), Some(vec![0; rows]), Some(b), Some(vec![0; rows])],
        imputation: None,
    }
}

fn effects(table: CodedTable, arms: u16, design: &str, seed: u64) -> Vec<Effect> {
    let levels = ["[0, 1]", "[0, 1, 2]"][usize::from(arms) - 2];
    let text = SCHEMA.replace("DESIGN", design).replace("LEVELS", levels);
    let (schema, schema_file) = Schema::parse(&text, "s.yaml").unwrap();
    let text = "format: dpcausal.workload/1\nmechanism: causal\neffects: {share: 1}";
    let (workload, workload_file) = Workload::parse(text, "w.yaml", &schema).unwrap();
    let budget = Budget::approximate(2.0, 1e-6).unwrap();
    let plan = Plan::new(schema.clone(), workload, Guarantee::new(budget, &schema)).unwrap();
    let id = ReleaseId::random().unwrap();
    let authorisation = Authorisation::without_ledger(id, plan.cost, &budget).unwrap();
    let counted = Counted {
        answers: Confidential::new(Vec::new()),
        rows: Some(Confidential::new(table)),
    };
    let documents = Documents {
        schema: schema_file,
        workload: workload_file,
    };
    let mut noise = NoiseSource::insecure_seed(seed);
    let release = measure::run(&plan, documents, counted, authorisation, &mut noise).unwrap();
    let release = CheckedRelease::parse(&release.to_json(), "r.json").unwrap();
    let request = Request {
        estimands: vec![
            Estimand::Ate,
            Estimand::Att,
            Estimand::Atc,
            Estimand::ArmMean,
        ],
        estimators: vec![
            Estimator::Adjusted,
            Estimator::Gram,
            Estimator::DifferenceInMeans,
        ],
        rule: RuleKind::Unified,
        level: 0.95,
        groups: vec![],
    };
    from_effects(&release, &request, &Constants::default(), seed)
        .unwrap()
        .effects
}

/// Of 60 releases, an interval of true coverage .95 misses more than 10 with probability 2e-4; six kinds of
/// rows are looked at. The unadjusted difference would miss by .9, many standard errors.
#[test]
fn intervals_cover_every_estimand_of_a_confounded_treatment() {
    const RELEASES: u64 = 60;
    // Given the treatment, E x: from one large table.
    let large = table(200_000, 2, true, 1_000);
    let arm = large.codes[0].as_ref().unwrap();
    let mean_x = |of: u16| {
        let values = large.values[1].as_ref().unwrap();
        let of_arm = arm.iter().zip(values).filter(|(t, _)| **t == of);
        let (sum, count) = of_arm.fold((0.0, 0.0), |(s, n), (_, v)| (s + f64::from(*v), n + 1.0));
        sum / count / 65535.0 * 6.0 - 3.0
    };
    let truth = |effect: &Effect| match (effect.estimand, effect.contrast.as_str()) {
        (Estimand::Att, _) => 1.0 + 0.5 * mean_x(1),
        (Estimand::Atc, _) => 1.0 + 0.5 * mean_x(0),
        (Estimand::ArmMean, "t 0") => 0.4,
        (Estimand::ArmMean, _) => 1.4,
        _ => 1.0,
    };
    let mut missed = std::collections::BTreeMap::new();
    for seed in 0..RELEASES {
        for effect in effects(table(4000, 2, true, seed), 2, "observational", seed) {
            assert_eq!(effect.route, Route::Effects);
            let sum: f64 = effect.variance_terms.iter().map(|t| t.variance).sum();
            assert!((sum.sqrt() / effect.standard_error - 1.0).abs() < 1e-9);
            let [lower, upper] = effect.interval;
            let miss = !(lower..=upper).contains(&truth(&effect));
            let key = format!(
                "{:?} {:?} {}",
                effect.estimand, effect.estimator, effect.contrast
            );
            *missed.entry(key).or_insert(0) += u64::from(miss);
        }
    }
    assert_eq!(missed.len(), 6, "{missed:?}");
    assert!(missed.values().all(|&missed| missed <= 10), "{missed:?}");
}

#[test]
fn a_randomised_design_gives_the_difference_in_means() {
    let rows = effects(table(4000, 2, false, 5), 2, "randomised", 5);
    assert!(
        rows.iter()
            .all(|e| e.estimator == Estimator::DifferenceInMeans)
    );
    let ate = rows.iter().find(|e| e.estimand == Estimand::Ate).unwrap();
    // Four standard errors.
    assert!(
        (ate.estimate - 1.0).abs() < 4.0 * ate.standard_error,
        "{ate:?}"
    );
    assert!(ate.standard_error < 0.3);
}

#[test]
fn each_of_several_arms_is_compared_with_the_reference() {
    let rows = effects(table(9000, 3, true, 6), 3, "observational", 6);
    for (contrast, truth) in [("t 1 - 0", 1.0), ("t 2 - 0", 2.0)] {
        let row = |e: &&Effect| {
            e.estimand == Estimand::Ate
                && e.estimator == Estimator::Adjusted
                && e.contrast == contrast
        };
        let found: Vec<&Effect> = rows.iter().filter(row).collect();
        assert_eq!(found.len(), 1, "{contrast}");
        let arm = &contrast[2..3];
        assert_eq!(found[0].population, format!("rows with t = 0 or {arm}"));
        // The two arms' rows differ from everyone in x by little; five standard errors leave room for it.
        let distance = (found[0].estimate - truth).abs();
        assert!(
            distance < 5.0 * found[0].standard_error + 0.1,
            "{:?}",
            found[0]
        );
    }
    let means = rows.iter().filter(|e| e.estimand == Estimand::ArmMean);
    let names: Vec<&str> = means.map(|e| e.contrast.as_str()).collect();
    assert_eq!(names, ["t 0", "t 1", "t 2"]);
}

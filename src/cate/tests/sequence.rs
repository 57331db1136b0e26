//! The sequence of stages: charges, and what a generous budget finds.

use crate::cate::{CateDocuments, CatePlan, ConditionalEffect, run, summarise};
use crate::measure::Guarantee;
use crate::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use crate::release::{AnyRelease, CateRelease, CheckedCateRelease};
use crate::schema::{SCALE, Schema};
use crate::table::CodedTable;
use crate::workload::{CateStage, CateWorkload};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) const SCHEMA: &str = "
format: dpcausal.schema/1
rows: 20000
design: DESIGN
columns:
  - {name: t, role: treatment, type: boolean}
  - {name: age, type: real, bounds: [0, 100], bins: 10, missing: [NA]}
  - {name: region, type: categorical, levels: [a, b, c]}
  - {name: y, role: outcome, type: real, bounds: [0, 10], bins: 10}
";

/// Effects are `1 + age / 50`, and one more in region c; older people are treated more often, and fare better anyway.
pub(crate) fn table(rows: usize, randomised: bool) -> CodedTable {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut table = CodedTable {
        rows,
        codes: vec![Some(Vec::new()); 4],
        values: vec![None, Some(Vec::new()), None, None],
        ..CodedTable::default()
    };
    for _ in 0..rows {
        let age: f64 = rng.random();
        let region = rng.random_range(0..3u16);
        let chance = if randomised { 0.4 } else { 0.3 + 0.4 * age };
        let treated = rng.random::<f64>() < chance;
        let effect = 1.0 + 2.0 * age + f64::from(u8::from(region == 2));
        let noise: f64 = rng.random::<f64>() - 0.5;
        let y = 2.0 + 2.0 * age + noise + if treated { effect } else { 0.0 };
        let bin = (10.0 * age) as u16;
        for (column, code) in [(0, u16::from(treated)), (1, bin), (2, region), (3, 0)] {
            table.codes[column].as_mut().unwrap().push(code);
        }
        table.values[1]
            .as_mut()
            .unwrap()
            .push((age * 65535.0).round() as u16);
        table.outcome.push((y / 10.0 * SCALE as f64).round() as u32);
    }
    table
}

fn release(design: &str, adjacency: &str, mu: f64) -> CheckedCateRelease {
    let text = SCHEMA.replace("DESIGN", design);
    let rows = table(20_000, design != "observational");
    measured(&text, adjacency, mu, rows)
}

fn measured(schema: &str, adjacency: &str, mu: f64, rows: CodedTable) -> CheckedCateRelease {
    let keys = format!("adjacency: {adjacency}\n");
    measured_with(schema, &keys, Budget::gdp(mu).unwrap(), rows)
}

/// A release with these keys of the workload.
pub(crate) fn measured_with(
    schema: &str,
    keys: &str,
    budget: Budget,
    rows: CodedTable,
) -> CheckedCateRelease {
    let (schema, schema_file) = Schema::parse(schema, "s.yaml").unwrap();
    let text = format!("format: dpcausal.workload/1\nmechanism: cate\n{keys}");
    let (workload, workload_file) = CateWorkload::parse(&text, "w.yaml", &schema).unwrap();
    let plan = CatePlan::new(schema.clone(), workload, Guarantee::new(budget, &schema)).unwrap();
    let documents = CateDocuments {
        schema: schema_file,
        workload: workload_file,
    };
    let id = ReleaseId::random().unwrap();
    let authorised = Authorisation::without_ledger(id, plan.cost, &budget).unwrap();
    let rows = Confidential::new(rows);
    let mut noise = NoiseSource::insecure_seed(3);
    let release = run(&plan, documents, &rows, authorised, &mut noise).unwrap();
    match AnyRelease::parse(&release.to_json(), "r.json").unwrap() {
        AnyRelease::Cate(release) => *release,
        _ => panic!("another kind"),
    }
}

#[test]
fn the_whole_budget_is_spent_and_no_more() {
    for adjacency in ["add-remove", "replace-one"] {
        let release = release("observational", adjacency, 1.5);
        let spent = release.document.accounting.spent.gaussian_mu_squared();
        assert!(
            spent <= 2.25 * (1.0 + 1e-9) && spent > 2.25 * 0.9999,
            "{spent}"
        );
        for (measured, stage) in release.document.measurements.iter().zip(CateStage::ALL) {
            let share = measured.cost.gaussian_mu_squared() / 2.25;
            assert!(
                (share / release.workload.share(stage) - 1.0).abs() < 1e-3,
                "{share}"
            );
            // The noise that the charge and the stated sensitivity imply.
            let implied = measured.sensitivity as f64 / measured.cost.gaussian_mu_squared().sqrt();
            assert!((implied / measured.scale as f64 - 1.0).abs() < 1e-3);
        }
    }
}

/// At a budget whose noise is small beside sampling error, a linear effect is found: within .1 of 1 to 4 everywhere
/// (standard errors are about .01), in both designs and adjacencies.
#[test]
fn a_generous_budget_finds_the_effect() {
    for (design, adjacency) in [
        ("observational", "add-remove"),
        ("observational", "replace-one"),
        ("randomised", "add-remove"),
        ("{propensity: [0.6, 0.4]}", "add-remove"),
    ] {
        let release = release(design, adjacency, 30.0);
        let rows = table(500, false);
        let summary = summarise(&release, Some(&rows), &[2]).unwrap();
        let of_rows = summary.rows.as_ref().unwrap();
        let ages = rows.values[1].as_ref().unwrap();
        let regions = rows.codes[2].as_ref().unwrap();
        for ((effect, &age), &region) in of_rows.effects.iter().zip(ages).zip(regions) {
            let truth = 1.0 + f64::from(age) / 65535.0 * 2.0 + f64::from(u8::from(region == 2));
            assert!(
                (effect - truth).abs() < 0.15,
                "{design}: {effect} for {truth}"
            );
        }
        // 1 + 1 + 1/3.
        assert!(
            (summary.average - 7.0 / 3.0).abs() < 0.05,
            "{design}: {}",
            summary.average
        );
        let [age, region] = &summary.shapes[..] else {
            panic!("two covariates")
        };
        assert!(
            (age.points[0].effect + 1.0).abs() < 0.15 && (age.points[10].effect - 1.0).abs() < 0.15
        );
        assert_eq!(age.points[11].label, "NA");
        assert!(
            (region.points[2].effect - 2.0 / 3.0).abs() < 0.1,
            "{region:?}"
        );
        assert_eq!(of_rows.groups.len(), 3);
    }
}

#[test]
fn shapes_and_pairs_add_up_to_the_effect() {
    let release = release("observational", "add-remove", 2.0);
    let effect = ConditionalEffect::new(&release).unwrap();
    let constant = effect.coefficients[0] * effect.basis.constant;
    let rest: f64 = (1..effect.coefficients.len())
        .map(|k| effect.coefficients[k] * effect.mean_basis[k])
        .sum();
    assert!((constant + rest - effect.average()).abs() < 1e-9);
}

/// Of an outcome with two levels, effects are differences of risks: here .2 + .2 age, of mean .3, by 20 000 records
/// with a standard error below .01.
#[test]
fn effects_on_a_two_level_outcome_are_risk_differences() {
    let text = SCHEMA.replace("DESIGN", "randomised");
    let text = text.replace(
        "type: real, bounds: [0, 10], bins: 10}\n",
        "type: boolean}\n",
    );
    let mut rows = table(20_000, true);
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for row in 0..rows.rows {
        let treated = f64::from(rows.codes[0].as_ref().unwrap()[row]);
        let age = f64::from(rows.values[1].as_ref().unwrap()[row]) / 65535.0;
        let risk = 0.3 + treated * (0.2 + 0.2 * age);
        let y = u16::from(rng.random::<f64>() < risk);
        rows.outcome[row] = u32::from(y) * SCALE as u32;
        rows.codes[3].as_mut().unwrap()[row] = y;
    }
    let summary = summarise(&measured(&text, "add-remove", 30.0, rows), None, &[]).unwrap();
    assert!((summary.average - 0.3).abs() < 0.05, "{}", summary.average);
    let age = &summary.shapes[0].points;
    assert!(
        (age[10].effect - age[0].effect - 0.2).abs() < 0.15,
        "{age:?}"
    );
}

#[test]
fn a_release_whose_parts_do_not_fit_is_refused() {
    let whole = release("observational", "add-remove", 2.0).document;
    let refused = |change: &dyn Fn(&mut CateRelease)| {
        let mut changed = whole.clone();
        change(&mut changed);
        match AnyRelease::parse(&changed.to_json(), "r.json") {
            Err(_) => true,
            Ok(AnyRelease::Cate(release)) => ConditionalEffect::new(&release).is_err(),
            Ok(_) => false,
        }
    };
    assert!(!refused(&|_| ()));
    assert!(refused(&|release| release.measurements.truncate(4)));
    assert!(refused(&|release| release.measurements.swap(0, 1)));
    assert!(refused(&|release| release.measurements[1].scale = 0));
    assert!(refused(&|release| release.measurements[4]
        .values
        .truncate(3)));
    assert!(refused(&|release| release.parameters.means.truncate(1)));
    assert!(refused(&|release| release.parameters.deviations[0] = 0.0));
    assert!(refused(&|release| release.parameters.treated_share = 1.0));
}

//! What the learners find at a generous budget, what they spend, and what they refuse.

use crate::cate::summarise;
use crate::cate::tests::sequence::{SCHEMA, measured_with, table};
use crate::privacy::Budget;
use crate::release::{AnyRelease, CateRelease, CheckedCateRelease, NOT_PRIVATE};
use crate::workload::{CateWorkload, SplitPart};

const KEYS: [&str; 4] = [
    "base: second-moment\nbasis: linear\n",
    "base: second-moment\nbasis: hat\n",
    "base: second-moment\nbasis: one-hot\n",
    "base: ebm\n",
];

fn release(
    learner: &str,
    base: &str,
    design: &str,
    adjacency: &str,
    mu: f64,
) -> CheckedCateRelease {
    let schema = SCHEMA.replace("DESIGN", design);
    let keys = format!("learner: {learner}\nadjacency: {adjacency}\n{base}");
    let rows = table(20_000, design != "observational");
    measured_with(&schema, &keys, Budget::gdp(mu).unwrap(), rows)
}

#[test]
fn every_part_spends_the_whole_budget_and_the_whole_no_more() {
    for learner in ["dr", "r", "s"] {
        for base in [KEYS[1], KEYS[3]] {
            for adjacency in ["add-remove", "replace-one"] {
                let release = release(learner, base, "observational", adjacency, 1.5);
                let spent = release.document.accounting.spent.gaussian_mu_squared();
                assert!(
                    spent <= 2.25 * (1.0 + 1e-9) && spent > 2.25 * 0.999,
                    "{learner} {base}: {spent}"
                );
                let split = release.document.split.as_ref().unwrap();
                assert_eq!(split.parts.len(), if learner == "s" { 1 } else { 3 });
                for part in &split.parts {
                    let own = part.spent.gaussian_mu_squared();
                    assert!(own <= spent && own > 2.25 * 0.999, "{}: {own}", part.name);
                }
                assert!(split.composition.contains("costliest part"));
            }
        }
    }
}

/// Effects are `1 + 2 age`, and one more in region c. At a budget whose noise is small beside sampling error they are found
/// within .3 everywhere: half of the 20 000 records give standard errors of .03 in a tenth of the ages, and 31 steps of
/// random cuts at most .1 of bias within one, .1 beyond the first and last knots.
#[test]
fn a_generous_budget_finds_the_effect() {
    for learner in ["dr", "r"] {
        for base in KEYS {
            for design in ["observational", "randomised", "{propensity: [0.6, 0.4]}"] {
                let release = release(learner, base, design, "add-remove", 60.0);
                let parts = &release.document.split.as_ref().unwrap().parts;
                assert_eq!(parts.len(), if design.contains("0.4") { 2 } else { 3 });
                let rows = table(300, false);
                let summary = summarise(&release, Some(&rows), &[2]).unwrap();
                let name = format!("{learner} {base} {design}");
                let ages = rows.values[1].as_ref().unwrap();
                let regions = rows.codes[2].as_ref().unwrap();
                let found = &summary.rows.as_ref().unwrap().effects;
                let mut squares = 0.0;
                for ((effect, &age), &region) in found.iter().zip(ages).zip(regions) {
                    let age = f64::from(age) / 65535.0;
                    let truth = 1.0 + 2.0 * age + f64::from(u8::from(region == 2));
                    squares += (effect - truth).powi(2) / 300.0;
                }
                assert!(squares < 0.02, "{name}: {squares}");
                assert!(
                    (summary.average - 7.0 / 3.0).abs() < 0.06,
                    "{name}: {}",
                    summary.average
                );
                let [age, region] = &summary.shapes[..] else {
                    panic!("two covariates")
                };
                let ends = age.points.iter().filter(|point| point.label != "NA");
                let ends: Vec<f64> = ends.map(|point| point.effect).collect();
                let rise = ends[ends.len() - 1] - ends[0];
                assert!(rise > 1.4 && rise < 2.4, "{name}: {rise}");
                assert!(
                    (region.points[2].effect - 2.0 / 3.0).abs() < 0.15,
                    "{name}: {region:?}"
                );
            }
        }
    }
}

/// The learner s finds one number, near a weighted mean of the effects: the average, in a randomised design. Boosted, `.99^300 =
/// .049` of it is missing, as only the treatment's own turns lead there.
#[test]
fn the_learner_s_finds_an_average_and_says_so() {
    for base in KEYS {
        let release = release("s", base, "randomised", "add-remove", 60.0);
        let rows = table(100, true);
        let summary = summarise(&release, Some(&rows), &[]).unwrap();
        assert!(summary.is_constant && summary.shapes.is_empty());
        let reached = if base == KEYS[3] { 0.951 } else { 1.0 };
        let expected = reached * 7.0 / 3.0;
        let found = summary.average;
        assert!((found - expected).abs() < 0.06, "{base}: {found}");
        let rows = summary.rows.unwrap();
        assert!(rows.effects.iter().all(|effect| *effect == summary.average));
    }
}

#[test]
fn the_published_code_is_marked_wherever_it_is_read() {
    let schema = SCHEMA.replace("DESIGN", "observational");
    let keys = "learner: dr\nbase: ebm\ncompat: published\n";
    let budget = Budget::approximate(20.0, 1e-5).unwrap();
    let release = measured_with(&schema, keys, budget, table(20_000, false));
    let card = &release.document.deployment_card;
    assert_eq!(card.guarantee, NOT_PRIVATE);
    assert_eq!(release.document.accounting.epsilon, None);
    let summary = summarise(&release, None, &[]).unwrap();
    assert_eq!(summary.not_private.as_deref(), Some(NOT_PRIVATE));
    assert!(
        (summary.average - 7.0 / 3.0).abs() < 0.3,
        "{}",
        summary.average
    );
    // A mark that was taken off is missed.
    let mut unmarked = release.document.clone();
    unmarked.split.as_mut().unwrap().not_private = None;
    assert!(AnyRelease::parse(&unmarked.to_json(), "r.json").is_err());
}

#[test]
fn units_of_several_rows_are_refused_with_a_remedy() {
    let schema = SCHEMA
        .replace("DESIGN", "observational")
        .replace("rows: 20000\n", "")
        .replace(
            "columns:\n",
            "unit: {column: id, max_rows: 3}\ncolumns:\n  - {name: id, role: id}\n",
        );
    let schema = crate::schema::Schema::parse(&schema, "s.yaml").unwrap().0;
    for learner in ["dr", "r", "s"] {
        let text = format!("format: dpcausal.workload/1\nmechanism: cate\nlearner: {learner}\n");
        let message = CateWorkload::parse(&text, "w.yaml", &schema)
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("w.yaml:3:10") && message.contains("learner: adaptive"),
            "{message}"
        );
    }
}

#[test]
fn a_release_whose_parts_do_not_fit_is_refused() {
    for base in [KEYS[1], KEYS[3]] {
        let whole = release("dr", base, "observational", "add-remove", 2.0).document;
        let refused = |change: &dyn Fn(&mut CateRelease)| {
            let mut changed = whole.clone();
            change(&mut changed);
            match AnyRelease::parse(&changed.to_json(), "r.json") {
                Err(_) => true,
                Ok(AnyRelease::Cate(release)) => summarise(&release, None, &[]).is_err(),
                Ok(_) => false,
            }
        };
        assert!(!refused(&|_| ()));
        assert!(refused(&|release| release.measurements.truncate(2)));
        assert!(refused(&|release| release.measurements.swap(0, 2)));
        assert!(refused(&|release| release.measurements[2].scale = 0));
        assert!(refused(&|release| release.split = None));
        assert!(refused(&|release| release
            .split
            .as_mut()
            .unwrap()
            .parts
            .truncate(2)));
        if base == KEYS[1] {
            assert!(refused(&|release| release.measurements[2]
                .values
                .truncate(9)));
        } else {
            let first =
                |release: &mut CateRelease| release.split.as_mut().unwrap().boosted.remove(0);
            assert!(refused(&|release| {
                first(release);
            }));
            for change in [0, 1, 2] {
                assert!(refused(&|release| {
                    let split = release.split.as_mut().unwrap();
                    let effect = split
                        .boosted
                        .iter_mut()
                        .find(|m| m.part == SplitPart::Effect.name());
                    let model = &mut effect.unwrap().model;
                    match change {
                        0 => model.terms[0].codes.truncate(1),
                        1 => model.terms[1].column = 0,
                        _ => model.terms.truncate(1),
                    }
                }));
            }
        }
    }
}

//! Charges, determinism, and what a release says and does not say.

use super::*;
use crate::privacy::{Adjacency, Cost};

const MECHANISMS: [&str; 4] = ["independent", "mst", "aim", "mwem"];

#[test]
fn charges_use_the_budget_up_and_never_exceed_it() {
    let together = ("mst", "together: [[a, d], [a, c]]");
    let documents = MECHANISMS.into_iter().map(|m| (m, "")).chain([together]);
    for (mechanism, more) in documents {
        for (seed, rho) in [(1, 1e-3), (2, 0.0149731), (3, 0.5), (4, 30.0)] {
            let budget = Budget::zcdp(rho).unwrap();
            let text = workload(mechanism, more);
            let release = release(SCHEMA, &text, budget, chain(), seed);
            let spent = release.document.accounting.spent;
            assert!(spent.within(&budget), "{mechanism} {rho}: {}", spent.rho());
            assert!(
                spent.rho() > rho * 0.999,
                "{mechanism} {rho}: {}",
                spent.rho()
            );
            let document = &release.document;
            let rounds = document.selection.iter().flat_map(|s| &s.rounds);
            let parts = document.measurements.iter().map(|m| m.cost);
            let sum = parts
                .chain(rounds.map(|round| round.cost))
                .fold(Cost::ZERO, |sum, cost| sum.plus(&cost));
            assert!((sum.rho() / spent.rho() - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn tight_budgets_in_epsilon_and_delta_are_kept() {
    for mechanism in MECHANISMS {
        let budget = Budget::approximate(0.1, 1e-9).unwrap();
        let release = release(SCHEMA, &workload(mechanism, ""), budget, chain(), 5);
        let accounting = &release.document.accounting;
        // Choices have no GDP guarantee, and the card claims none.
        let card = &release.document.deployment_card;
        assert_eq!(card.guarantee.contains("GDP"), mechanism == "independent");
        assert!(
            accounting.epsilon.unwrap() <= 0.1 * (1.0 + 1e-9),
            "{mechanism}"
        );
    }
}

#[test]
fn a_seed_repeats_a_release() {
    for mechanism in MECHANISMS {
        let draw = |seed| {
            let budget = Budget::zcdp(0.05).unwrap();
            let release = release(SCHEMA, &workload(mechanism, ""), budget, chain(), seed);
            (release.document.measurements, release.document.selection)
        };
        assert_eq!(draw(11), draw(11));
        assert_ne!(draw(11).0, draw(12).0);
    }
}

#[test]
fn rounds_say_what_was_chosen_and_no_scores() {
    let budget = Budget::zcdp(0.05).unwrap();
    let release = release(SCHEMA, &workload("aim", ""), budget, chain(), 13);
    let json: serde_json::Value = serde_json::from_str(&release.document.to_json()).unwrap();
    let rounds = json["selection"]["rounds"].as_array().unwrap();
    assert!(!rounds.is_empty());
    for round in rounds {
        let mut keys: Vec<&str> = round
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        keys.sort_unstable();
        assert_eq!(
            keys,
            ["candidates", "chosen", "cost", "epsilon", "measurement"]
        );
    }
}

#[test]
fn selections_that_do_not_fit_are_refused() {
    let budget = Budget::zcdp(0.05).unwrap();
    let release = release(SCHEMA, &workload("mst", ""), budget, chain(), 14);
    let text = release.document.to_json();
    for (from, to) in [
        ("\"measurement\": \"two-way:", "\"measurement\": \"tow-way:"),
        (
            "\"column\": \"a\",\n          \"feature\": \"levels\"",
            "\"column\": \"a\",\n          \"feature\": \"levels\",\n          \"merged\": true",
        ),
    ] {
        assert!(text.contains(from));
        assert!(CheckedRelease::parse(&text.replacen(from, to, 1), "r.json").is_err());
    }
}

#[test]
fn replacement_of_a_row_doubles_what_choices_are_charged_for() {
    let schema = SCHEMA.replace("columns:", "rows: 6000\ncolumns:");
    let text = workload("mwem", "adjacency: replace-one");
    let budget = Budget::zcdp(0.5).unwrap();
    let (plan, _) = plan(&schema, &text, budget);
    let marginals = plan.marginals.as_ref().unwrap();
    let lines = marginals
        .lines(&plan.schema, Adjacency::ReplaceOne)
        .unwrap();
    assert_eq!(lines[0].sensitivity, 2.0);
    assert!((lines[1].sensitivity - 2.0_f64.sqrt()).abs() < 1e-6);
    let release = release(&schema, &text, budget, chain(), 15);
    // A public number of rows is not measured.
    assert_eq!(release.document.measurements.len(), 4);
    assert_eq!(release.estimated_rows(), 6000.0);
    assert!(release.document.accounting.spent.within(&budget));
}

#[test]
fn roles_do_not_matter_and_structural_zeros_hold() {
    let schema = "\
format: dpcausal.schema/1
columns:
  - {name: a, role: treatment, type: categorical, levels: [x, y, z]}
  - {name: b, role: covariate, type: categorical, levels: [x, y, z]}
  - {name: c, role: covariate, type: boolean}
  - {name: d, role: outcome, type: integer, bounds: [0, 39], bins: 4}
structural_zeros:
  - {a: x, c: false}
";
    let mut table = chain();
    table.outcome = vec![0; table.rows];
    for mechanism in MECHANISMS {
        let budget = Budget::zcdp(0.5).unwrap();
        let release = release(schema, &workload(mechanism, ""), budget, table.clone(), 16);
        let (released, model) = model(&release);
        // Only the histogram of the outcome was measured: one cell a bin.
        assert_eq!(released.variables.domain.sizes(), [3, 3, 2, 4]);
        assert_eq!(model.marginal(&[0, 2]).unwrap().values()[0], 0.0);
    }
}

#[test]
fn plans_are_refused_before_anything_is_measured() {
    let refused = |text: &str| {
        let schema = Schema::parse(SCHEMA, "s.yaml").unwrap().0;
        let workload = Workload::parse(text, "w.yaml", &schema).unwrap().0;
        let guarantee = Guarantee::new(Budget::zcdp(1.0).unwrap(), &schema);
        Plan::new(schema, workload, guarantee)
            .unwrap_err()
            .to_string()
    };
    let error = refused(&workload(
        "aim",
        "together: [[a, b, d]]\nmodel: {max_cells: 20}",
    ));
    assert!(error.contains("a, b, d"), "{error}");
    // A budget in mu has no room for choices.
    let budget = Budget::gdp(1.0).unwrap();
    let (plan, _) = plan(SCHEMA, &workload("mst", ""), budget);
    let id = ReleaseId::random().unwrap();
    assert!(Authorisation::without_ledger(id, plan.cost, &budget).is_err());
}

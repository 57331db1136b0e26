//! Sensitivities by brute force, and the sequence on a table whose sums are known.

pub(crate) mod audit;
pub(crate) mod reach;

use super::outcome_statistics::{
    ArmTotals, ResidualSizes, ResidualSquares, ResidualTotals, Residuals,
};
use super::scale::edges;
use super::score_statistics::{Cross, Grams, Imbalance, ScoreMoments, ScoreTotals};
use super::scorer::{Range, Scorer, clip_norm};
use super::selection::{Association, utilities, utility_sensitivity};
use super::statistic::{ScoreSource, Statistic};
use crate::measure::{Counted, Documents, Guarantee, Plan};
use crate::privacy::{Adjacency, Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use crate::release::{CheckedRelease, Release};
use crate::schema::{SCALE, SCORE_SCALE, Schema};
use crate::table::CodedTable;
use crate::workload::{Stage, Workload};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const RADIUS: i64 = 1200;

/// Records that matter: every arm, outcomes at the ends, in the middle and odd, and scores at the radius in
/// many directions, at the corners of the box, small, and none.
fn records(arms: usize, box_only: bool) -> Vec<(usize, i64, [i64; 2])> {
    let mut scores = vec![[0, 0], [3, -5]];
    for a in [-SCORE_SCALE, -591, 0, 591, SCORE_SCALE] {
        for b in [-SCORE_SCALE, -333, 0, SCORE_SCALE] {
            let mut corner = [a, b];
            if !box_only {
                clip_norm(&mut corner, RADIUS);
            }
            scores.push(corner);
        }
    }
    if !box_only {
        for step in 0..16 {
            let angle = f64::from(step) * std::f64::consts::TAU / 16.0;
            let mut far = [(4096.0 * angle.cos()) as i64, (4096.0 * angle.sin()) as i64];
            clip_norm(&mut far, RADIUS);
            scores.push(far);
        }
    }
    let outcomes = [-SCALE, -SCALE / 3, 17, SCALE / 2, SCALE];
    let mut records = Vec::new();
    for arm in 0..arms {
        for outcome in outcomes {
            records.extend(scores.iter().map(|&s| (arm, outcome, s)));
        }
    }
    records
}

#[test]
fn contributions_reach_as_far_as_stated_and_no_further() {
    for arms in [2, 3] {
        let residuals = || Residuals {
            centres: vec![SCALE / 4, -SCALE / 2, 0][..arms].to_vec(),
            bound: SCALE / 3,
        };
        let weights = vec![2000, 4096, 3000][..arms].to_vec();
        let edges = edges()
            .into_iter()
            .map(|e| (e * SCALE as f64) as i64)
            .collect();
        let scores = 2;
        let radius = RADIUS;
        let statistics: [(&dyn Statistic, Option<usize>, bool); 9] = [
            (&ArmTotals { arms }, None, false),
            (&ScoreMoments { scores }, None, true),
            (
                &ResidualSizes {
                    centres: residuals().centres,
                    edges,
                },
                None,
                false,
            ),
            (&ResidualSquares(residuals()), None, false),
            (&ResidualTotals(residuals()), None, false),
            (&ScoreTotals { scores, radius }, None, false),
            (
                &Imbalance {
                    scores,
                    radius,
                    weights,
                },
                None,
                false,
            ),
            (
                &Cross {
                    scores,
                    radius,
                    residuals: residuals(),
                },
                None,
                false,
            ),
            (
                &Grams {
                    arms,
                    scores,
                    radius,
                    constant: 380,
                },
                Some(3),
                false,
            ),
        ];
        for (index, (statistic, matrix, box_only)) in statistics.into_iter().enumerate() {
            let contributions = reach::contributions(statistic, &records(arms, box_only));
            for found in reach::found(&contributions, statistic.reach(), matrix) {
                // Rounding and the coarse set of records leave a little.
                assert!(found > 0.99, "{index} with {arms} arms is loose: {found}");
            }
        }
    }
}

const SCHEMA: &str = "
format: dpcausal.schema/1
rows: 400
design: DESIGN
columns:
  - {name: t, role: treatment, type: categorical, levels: [0, 1]}
  - {name: age, type: integer, bounds: [0, 100], bins: 10, missing: [NA]}
  - {name: married, type: boolean}
  - {name: region, type: categorical, levels: [a, b, c]}
  - {name: y, role: outcome, type: real, bounds: [0, 10], bins: 10}
";

fn schema(design: &str) -> Schema {
    Schema::parse(&SCHEMA.replace("DESIGN", design), "s.yaml")
        .unwrap()
        .0
}

fn table(rows: usize, seed: u64) -> CodedTable {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut codes = |levels: u16| -> Option<Vec<u16>> {
        Some((0..rows).map(|_| rng.random_range(0..levels)).collect())
    };
    let codes = vec![codes(2), codes(11), codes(2), codes(3), codes(10)];
    CodedTable {
        rows,
        codes,
        values: vec![
            None,
            Some((0..rows).map(|_| rng.random()).collect()),
            None,
            None,
            None,
        ],
        outcome: (0..rows)
            .map(|_| rng.random_range(0..=SCALE as u32))
            .collect(),
        imputation: None,
    }
}

fn row(table: &CodedTable, from: &CodedTable, at: usize, other: usize) -> CodedTable {
    let mut changed = table.clone();
    for (column, source) in changed.codes.iter_mut().zip(&from.codes) {
        column.as_mut().unwrap()[at] = source.as_ref().unwrap()[other];
    }
    changed.values[1].as_mut().unwrap()[at] = from.values[1].as_ref().unwrap()[other];
    changed.outcome[at] = from.outcome[other];
    changed
}

/// What every later statistic's sensitivity takes for granted: no record is longer than the radius once the centre is
/// subtracted, and one that is not keeps its distance from the centre.
#[test]
fn scores_about_a_centre_keep_to_the_radius() {
    let schema = schema("observational");
    let scores = schema.scores(&[1, 2, 3], &[1]);
    let (centre, radius) = ([600, -200, 100, -500, 300, 50], 1300);
    let plain = Scorer::new(&schema, &scores, &vec![Range::WHOLE; scores.len()]);
    let centred = plain.clone().centred(centre.to_vec()).clipped(radius);
    let table = table(300, 8);
    let (mut clipped, mut whole) = (0, 0);
    for row in 0..table.rows {
        let [mut before, mut after] = [vec![0; scores.len()], vec![0; scores.len()]];
        plain.fill(&table, row, &mut before);
        centred.fill(&table, row, &mut after);
        before.iter_mut().zip(centre).for_each(|(s, c)| *s -= c);
        let squared = |s: &[i64]| s.iter().map(|s| s * s).sum::<i64>();
        assert!(squared(&after) <= radius * radius);
        if squared(&before) <= radius * radius {
            assert_eq!(before, after);
            whole += 1;
        } else {
            clipped += 1;
        }
    }
    assert!(clipped > 50 && whole > 5, "{clipped} {whole}");
}

/// Utilities on all neighbours of random tables: tables that lack one row, and tables with one replaced.
#[test]
fn utilities_move_by_their_sensitivity_at_most() {
    let schema = schema("observational");
    let scores = schema.scores(&[1, 2, 3], &[1]);
    let scorer = Scorer::new(&schema, &scores, &vec![Range::WHOLE; scores.len()]);
    let residuals = Residuals {
        centres: vec![0, 0],
        bound: SCALE / 4,
    };
    let association = Association {
        treatment: 0,
        scorer: &scorer,
        shares: &[0.7, 0.3],
        residuals: &residuals,
    };
    let (mut add_remove, mut replace) = (0, 0);
    for seed in 0..40 {
        let base = table(9, seed);
        let of_base = utilities(&base, &association);
        let change = |other: &CodedTable| {
            let utilities = utilities(other, &association);
            utilities
                .iter()
                .zip(&of_base)
                .map(|(u, v)| u.abs_diff(*v))
                .max()
                .unwrap()
        };
        // The last row moves to the row's place: the table without the row.
        for at in 0..9 {
            let mut without = row(&base, &base, at, 8);
            without.rows = 8;
            add_remove = add_remove.max(change(&without));
        }
        let others = table(30, 1000 + seed);
        for other in 0..30 {
            replace = replace.max(change(&row(&base, &others, 0, other)));
        }
    }
    for (found, adjacency) in [
        (add_remove, Adjacency::AddRemove),
        (replace, Adjacency::ReplaceOne),
    ] {
        let stated = utility_sensitivity(adjacency, 1);
        assert!(found <= stated, "{found} exceeds {stated}");
        assert!(found * 10 > stated * 5, "{found} is far from {stated}");
    }
}

fn release(design: &str, effects: &str, budget: Budget, table: CodedTable) -> CheckedRelease {
    let (schema, schema_file) = Schema::parse(&SCHEMA.replace("DESIGN", design), "s.yaml").unwrap();
    let text = format!("format: dpcausal.workload/1\nmechanism: causal\neffects: {effects}");
    let (workload, workload_file) = Workload::parse(&text, "w.yaml", &schema).unwrap();
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
    let mut noise = NoiseSource::insecure_seed(3);
    let release: Release =
        crate::measure::run(&plan, documents, counted, authorisation, &mut noise).unwrap();
    let spent = release.accounting.spent;
    assert!(spent.within(&budget), "{spent:?}");
    // What was planned is what was spent, but for rounding down to whole scales.
    assert!(spent.rho() > 0.99 * plan.cost.rho());
    CheckedRelease::parse(&release.to_json(), "r.json").unwrap()
}

#[test]
fn with_a_huge_budget_the_sums_are_those_of_the_table() {
    let table = table(400, 5);
    let budget = Budget::zcdp(1e4).unwrap();
    let release = release(
        "observational",
        "{share: 1, squares: [age]}",
        budget,
        table.clone(),
    );
    let effects = release.document.effects.unwrap();
    assert_eq!(
        effects.kept_names(),
        [
            "age",
            "age^2",
            "age=NA",
            "married=true",
            "region=b",
            "region=c"
        ]
    );
    let treated = table.codes[0].as_ref().unwrap();
    let count = treated.iter().filter(|t| **t == 1).count() as f64;
    assert!((effects.parameters.counts[1] - count).abs() < 0.5);
    // Rough mean plus mean residual is the mean, whatever the clip: clipping is symmetric enough for a
    // uniform outcome only if nothing is clipped, so the bound is checked first.
    assert!(effects.parameters.residual_bound > SCALE / 2);
    let sum = |arm: u16| -> f64 {
        let outcomes = treated
            .iter()
            .zip(&table.outcome)
            .filter(|(t, _)| **t == arm);
        outcomes
            .map(|(_, y)| 2.0 * f64::from(*y) / SCALE as f64 - 1.0)
            .sum()
    };
    let means = effects.stage(Stage::OutcomeMeans).unwrap().sums();
    let centre = effects.parameters.centres[1] as f64 / SCALE as f64;
    if effects.parameters.residual_excess == 0.0 {
        assert!((centre * count + means[1] - sum(1)).abs() < 1.0);
    }
    // The corner of each Gram is the arm's size times kappa^2.
    let grams = effects.stage(Stage::Covariance).unwrap().sums();
    let kappa = effects.parameters.gram_constant as f64 / SCORE_SCALE as f64;
    assert!((grams[28] / (kappa * kappa) - count).abs() < 0.5);
}

#[test]
fn selection_charges_by_zcdp_and_names_its_choices() {
    let budget = Budget::approximate(1.0, 1e-5).unwrap();
    let release = release(
        "observational",
        "{share: 1, keep: 2}",
        budget,
        table(400, 6),
    );
    let effects = release.document.effects.unwrap();
    assert_eq!(effects.selection.len(), 2);
    assert_eq!(effects.parameters.kept.len(), 2);
    assert!(release.document.accounting.spent.other_rho() > 0.0);
    assert!(release.document.accounting.epsilon.unwrap() <= 1.0 + 1e-6);
}

#[test]
fn a_randomised_design_measures_arms_alone() {
    let budget = Budget::approximate(1.0, 1e-5).unwrap();
    for design in ["randomised", "{propensity: [0.4, 0.6]}"] {
        let release = release(design, "{share: 1}", budget, table(400, 7));
        let effects = release.document.effects.unwrap();
        let stages: Vec<Stage> = effects.measurements.iter().map(|m| m.stage).collect();
        assert_eq!(
            stages,
            [
                Stage::Arms,
                Stage::Scale,
                Stage::Spread,
                Stage::OutcomeMeans
            ]
        );
    }
}

#[test]
fn an_empty_table_is_released_like_any_other() {
    let budget = Budget::approximate(0.5, 1e-5).unwrap();
    let empty = CodedTable {
        codes: vec![Some(Vec::new()); 5],
        values: vec![Some(Vec::new()); 5],
        ..CodedTable::default()
    };
    let release = release("observational", "{share: 1}", budget, empty);
    assert!(release.document.effects.is_some());
}

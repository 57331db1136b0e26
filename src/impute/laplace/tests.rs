//! The law against finite differences and enumeration; draws against the truth of simulated populations.

use super::law::{self, Law};
use super::star::Star;
use super::*;
use crate::estimate::{Estimand, Estimator, Request, RuleKind, from_release};
use crate::impute::Kappa;
use crate::measure::{self, Counted, Documents, Guarantee, Plan};
use crate::model::Released;
use crate::privacy::{Authorisation, Budget, NoiseSource, ReleaseId};
use crate::schema::{SCALE, Schema};
use crate::table::{CodedTable, Counter};
use crate::workload::Workload;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const NUMERIC: &str = "
format: dpcausal.schema/1
columns:
  - {name: t, role: treatment, type: categorical, levels: [none, half, full]}
  - {name: a, type: categorical, levels: [x, y, z]}
  - {name: b, type: categorical, levels: [u, v]}
  - {name: y, role: outcome, type: real, bounds: [0, 1], bins: [0, 0, 1]}
";

const BINARY: &str = "
format: dpcausal.schema/1
rows: 2000
columns:
  - {name: t, role: treatment, type: boolean}
  - {name: a, type: categorical, levels: [x, y, z]}
  - {name: b, type: categorical, levels: [u, v, w]}
  - {name: y, role: outcome, type: boolean}
ZEROS
";

fn workload(adjacency: &str, pairs: &str) -> String {
    format!(
        "format: dpcausal.workload/1\nmechanism: causal\nadjacency: {adjacency}\naccountant: zcdp\nblocks:\n  \
         hub: {{share: 0.2}}\n  leaves: {{share: 0.6, columns: all}}\n  pairs: {{share: 0.2, columns: {pairs}}}\n"
    )
}

/// A release of a table, with seeded noise.
fn release(
    schema: &str,
    workload: &str,
    table: &CodedTable,
    rho: f64,
    seed: u64,
) -> CheckedRelease {
    let (schema, schema_file) = Schema::parse(schema, "schema").unwrap();
    let (workload, workload_file) = Workload::parse(workload, "workload", &schema).unwrap();
    let guarantee = Guarantee::new(Budget::zcdp(rho).unwrap(), &schema);
    let plan = Plan::new(schema, workload, guarantee).unwrap();
    let mut counter = Counter::new(&plan.schema, &plan.queries()).unwrap();
    counter.add(table);
    let id = ReleaseId::random().unwrap();
    let authorisation = Authorisation::without_ledger(id, plan.cost, &guarantee.budget).unwrap();
    let documents = Documents {
        schema: schema_file,
        workload: workload_file,
    };
    let mut noise = NoiseSource::insecure_seed(seed);
    let document = measure::run(
        &plan,
        documents,
        Counted {
            answers: counter.answers(),
            rows: None,
        },
        authorisation,
        &mut noise,
    );
    CheckedRelease::parse(&document.unwrap().to_json(), "release").unwrap()
}

fn fit(release: &CheckedRelease) -> BaseFit {
    BaseFit::new(Released::new(release).unwrap(), &mut |_, _| ()).unwrap()
}

/// What makes a population: `alike` is the chance that `b` copies `a` instead of being drawn for itself.
fn population(rows: usize, alike: f64, seed: u64) -> CodedTable {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut codes = vec![Vec::new(); 4];
    for _ in 0..rows {
        let t = u16::from(random.random_bool(0.4));
        let y = u16::from(random.random_bool(0.3 + 0.2 * f64::from(t)));
        // Covariates independent given (t, y), and depending on both.
        let mut level = || {
            let first = 0.2 + 0.15 * f64::from(t) + 0.2 * f64::from(y);
            let u: f64 = random.random_range(0.0..1.0);
            u16::from(u > first) + u16::from(u > 0.5 + 0.5 * first)
        };
        let (a, b) = (level(), level());
        let b = if random.random_bool(alike) { a } else { b };
        for (column, code) in codes.iter_mut().zip([t, a, b, y]) {
            column.push(code);
        }
    }
    let outcome = codes[3]
        .iter()
        .map(|&y| u32::from(y) * SCALE as u32)
        .collect();
    CodedTable {
        rows,
        codes: codes.into_iter().map(Some).collect(),
        outcome,
        imputation: None,
        ..CodedTable::default()
    }
}

/// A star of three arms, a numeric outcome and an unknown number of records, at some parameters.
fn numeric_star() -> (Star, Vec<f64>) {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let rows = 300;
    let mut codes = vec![Vec::new(); 4];
    let mut outcome = Vec::new();
    for _ in 0..rows {
        let y: f64 = random.random_range(0.0f64..1.0).powi(2);
        let y = if random.random_bool(0.3) { 0.0 } else { y };
        outcome.push((y * SCALE as f64) as u32);
        let drawn = [
            random.random_range(0..3),
            random.random_range(0..3),
            random.random_range(0..2),
        ];
        for (column, code) in codes
            .iter_mut()
            .zip(drawn.into_iter().chain([u16::from(y > 0.0)]))
        {
            column.push(code);
        }
    }
    let table = CodedTable {
        rows,
        codes: codes.into_iter().map(Some).collect(),
        outcome,
        imputation: None,
        ..CodedTable::default()
    };
    let release = release(NUMERIC, &workload("add-remove", "none"), &table, 10.0, 1);
    let fit = fit(&release);
    let covariates = sums::covariates(&release, &fit.released.variables).unwrap();
    let star = Star::new(&fit, &release.schema, &covariates).unwrap();
    let parameters = (0..star.parameters())
        .map(|_| random.random_range(-0.7..0.7))
        .collect();
    (star, parameters)
}

#[test]
fn the_jacobian_is_the_means_derivative() {
    let (star, parameters) = numeric_star();
    let law = Law::new(&star, &star.at(&parameters));
    const STEP: f64 = 1e-5;
    for k in 0..star.parameters() {
        let moved = |by: f64| {
            let mut moved = parameters.clone();
            moved[k] += by;
            law::mean(&star, &star.at(&moved))
        };
        let (above, below) = (moved(STEP), moved(-STEP));
        for i in 0..law.mean.len() {
            // Central differences: error STEP^2 times third derivatives of some hundreds, and rounding.
            let difference = (above[i] - below[i]) / (2.0 * STEP);
            assert!((difference - law.jacobian[(i, k)]).abs() < 1e-5, "{i} {k}");
        }
    }
}

/// One record's statistics over all combinations, with the outcome's second moment within a cell.
#[test]
fn the_covariance_is_that_of_one_record() {
    let (star, parameters) = numeric_star();
    let point = star.at(&parameters);
    let law = Law::new(&star, &point);
    let (rows, cells) = (star.rows(), star.cells.len());
    let mut second = vec![0.0; law.mean.len().pow(2)];
    for (at, hub) in point.hub.iter().enumerate() {
        let (arm, cell) = (at / cells, &star.cells[at % cells]);
        let square = cell.mean - cell.spread;
        let products = [
            [1.0 - 2.0 * cell.mean + square, cell.spread],
            [cell.spread, square],
        ];
        for a in 0..3 {
            for b in 0..2 {
                let mass = hub * point.leaves[0][at * 3 + a] * point.leaves[1][at * 2 + b];
                let on = [0, 1 + a, 4 + b];
                for (s, u) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    for (r, q) in on.iter().flat_map(|r| on.iter().map(move |q| (r, q))) {
                        let (i, j) = ((2 * arm + s) * rows + r, (2 * arm + u) * rows + q);
                        second[i * law.mean.len() + j] += mass * products[s][u];
                    }
                }
            }
        }
    }
    let n = point.total;
    for i in 0..law.mean.len() {
        for j in 0..=i {
            let expected = n * second[i * law.mean.len() + j] - law.mean[i] * law.mean[j] / n;
            assert!(
                (law.covariance[(i, j)] - expected).abs() < 1e-9 * n,
                "{i} {j}"
            );
        }
    }
}

/// A draw as a model has the moments of its point.
#[test]
fn models_have_the_stars_moments() {
    let table = population(2000, 0.0, 1);
    let release = release(
        &BINARY.replace("ZEROS", ""),
        &workload("replace-one", "none"),
        &table,
        0.1,
        1,
    );
    let posterior = LaplacePosterior::new(&release, &fit(&release)).unwrap();
    let point = posterior.draw_point(3, 0);
    let mean = law::mean(&posterior.star, &point);
    let drawn = &posterior.draws(1, 3, &|| ()).unwrap()[0];
    let leaf = drawn
        .model
        .marginal(&[0, 1, 3])
        .unwrap()
        .values_in_order(&[0, 3, 1]);
    for (cell, p) in leaf.iter().enumerate() {
        let (block, level) = (cell / 3, cell % 3);
        let expected = mean[block * posterior.star.rows() + 1 + level];
        assert!((2000.0 * p - expected).abs() < 1e-9, "{cell}");
    }
}

#[test]
fn structural_zeros_hold_in_every_draw() {
    let zeros = "structural_zeros:\n  - {a: [x], b: [v, w]}\n  - {a: [y, z], b: [u]}";
    // `b` repeats `a`, so `a = x` exactly where `b = u`.
    let table = population(2000, 1.0, 2);
    let release = release(
        &BINARY.replace("ZEROS", zeros),
        &workload("replace-one", "none"),
        &table,
        1.0,
        1,
    );
    let posterior = LaplacePosterior::new(&release, &fit(&release)).unwrap();
    for draw in posterior.draws(5, 1, &|| ()).unwrap() {
        assert!(draw.diagnostics.unwrap().converged);
        let joint = draw
            .model
            .marginal(&[1, 2])
            .unwrap()
            .values_in_order(&[1, 2]);
        for cell in [1, 2, 3, 6] {
            assert_eq!(joint[cell], 0.0);
        }
        let first: f64 = draw.model.marginal(&[1]).unwrap().values()[0];
        let share = table.codes[1]
            .as_ref()
            .unwrap()
            .iter()
            .filter(|&&a| a == 0)
            .count() as f64
            / 2000.0;
        // Sampling sd .011, privacy noise sd below .003: five of them.
        assert!((first - share).abs() < 0.06, "{first} {share}");
    }
}

#[test]
fn associated_pairs_are_named_and_independent_ones_are_not() {
    let schema = BINARY.replace("ZEROS", "");
    let caution = |alike: f64, pairs: &str| {
        let table = population(2000, alike, 3);
        let release = release(&schema, &workload("replace-one", pairs), &table, 0.1, 1);
        LaplacePosterior::new(&release, &fit(&release))
            .unwrap()
            .caution()
            .unwrap()
    };
    assert!(caution(0.5, "[[a, b]]").contains("a with b"));
    // A false alarm has a chance of .01 over seeds; this one is fixed.
    assert!(caution(0.0, "[[a, b]]").contains("none of the 1 measured pairs"));
    assert!(caution(0.0, "none").contains("no pairs were measured"));
}

/// `theta = (estimate - truth) / standard error` over 40 releases of fresh populations: the sum of squares is
/// chi-square with 40 degrees of freedom if intervals are calibrated. Its quantiles at 5e-5 and 1 - 5e-5 are
/// 13.0 and 86.5.
#[test]
fn intervals_are_calibrated_over_populations() {
    const RELEASES: u64 = 40;
    let schema = BINARY.replace("ZEROS", "");
    let request = Request {
        estimands: vec![Estimand::Ate],
        estimators: vec![Estimator::Regression],
        rule: RuleKind::Unified,
        level: 0.95,
        groups: vec![],
    };
    let ate = |table: &CodedTable, rho: f64, seed: u64| {
        let release = release(&schema, &workload("replace-one", "none"), table, rho, seed);
        let fit = fit(&release);
        let draws = LaplacePosterior::new(&release, &fit)
            .unwrap()
            .draws(60, seed, &|| ())
            .unwrap();
        let models: Vec<_> = draws.into_iter().map(|draw| draw.model).collect();
        let effects = from_release(
            &fit,
            &models,
            Kappa::Posterior,
            &release.schema,
            &request,
            1,
        )
        .unwrap()
        .effects;
        assert_eq!(
            (effects[0].kappa, effects[0].formula.as_str()),
            (Some(0), "T = (1 + 1/m) B")
        );
        (effects[0].estimate, effects[0].standard_error)
    };
    // The regression functional of the population: from a table so large that neither counts.
    let large = population(400_000, 0.0, 1000);
    let (truth, _) = ate_of_table(&large, &schema);
    let squares: f64 = (0..RELEASES)
        .map(|seed| {
            let (estimate, error) = ate(&population(2000, 0.0, seed), 0.02, seed);
            ((estimate - truth) / error).powi(2)
        })
        .sum();
    assert!((13.0..86.5).contains(&squares), "{squares}");
}

/// The regression estimate on a table itself.
fn ate_of_table(table: &CodedTable, schema: &str) -> (f64, f64) {
    use crate::estimate::{Options, Rows, estimate};
    let (schema, _) = Schema::parse(schema, "schema").unwrap();
    let options = Options::default();
    let found = estimate(
        table,
        &Rows::All,
        &schema,
        Estimator::Regression,
        Estimand::Ate,
        1,
        &options,
    );
    let found = found.unwrap();
    (found.value, found.variance.sqrt())
}

use super::super::ReferenceFactor;
use super::super::solver::Objective;
use super::super::testing::{Joint, close, random_parameters, random_problem};
use super::*;

fn fit(calibrator: &Calibrator) -> Calibration {
    calibrator
        .calibrate(&calibrator.targets(), &Settings::default(), &mut |_, _| {})
        .unwrap()
}

/// log Z, all statistics and all clique marginals on 300 random models.
#[test]
fn belief_propagation_matches_enumeration() {
    for seed in 0..300 {
        let problem = random_problem(seed);
        let parameters = random_parameters(&problem, seed);
        let calibrator = Calibrator::new(problem.clone()).unwrap();
        let mut scratch = calibrator.scratch();
        let log_z = calibrator.evaluate(&parameters, problem.total, &mut scratch);
        let joint = Joint::new(&problem, &parameters);
        let reference = Joint::new(&problem, &vec![0.0; parameters.len()]);
        assert!(
            (log_z - (joint.log_z - reference.log_z)).abs() < 1e-10,
            "{seed}"
        );
        assert!(close(&scratch.answers, &joint.answers(), 1e-9), "{seed}");
        let model = calibrator.model(&parameters, problem.total, &mut scratch);
        for (index, clique) in calibrator.junction_tree().cliques().iter().enumerate() {
            let expected = joint.marginal(clique);
            assert!(
                close(model.clique_marginal(index), &expected, 1e-12),
                "{seed}"
            );
            for (p, q) in model.clique_marginal(index).iter().zip(&expected) {
                assert_eq!(*p == 0.0, *q == 0.0, "structural zeros of {seed}");
            }
        }
    }
}

#[test]
fn gradient_matches_finite_differences() {
    for seed in 0..50 {
        let problem = random_problem(seed);
        let parameters = random_parameters(&problem, seed);
        let calibrator = Calibrator::new(problem).unwrap();
        let mut objective = calibrator.start(&calibrator.targets()).1;
        let mut gradient = vec![0.0; parameters.len()];
        let mut ignored = gradient.clone();
        objective.evaluate(&parameters, &mut gradient);
        for i in 0..parameters.len() {
            let mut at = |step: f64| {
                let mut point = parameters.clone();
                point[i] += step;
                objective.evaluate(&point, &mut ignored)
            };
            // Fourth-order differences: the error is far below the rounding bound used.
            let h = 1e-3;
            let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            let bound = 1e-6 * gradient[i].abs().max(100.0);
            assert!(
                (slope - gradient[i]).abs() < bound,
                "{seed} {slope} {}",
                gradient[i]
            );
        }
    }
}

/// All random problems (negative targets among them) converge, and at the optimum
/// `lambda = residual / sigma^2`, with answers computed by enumeration.
#[test]
fn calibration_reaches_the_optimum() {
    for seed in 0..200 {
        let problem = random_problem(seed);
        let calibrator = Calibrator::new(problem.clone()).unwrap();
        let fit = fit(&calibrator);
        assert!(fit.diagnostics.converged, "{seed} {:?}", fit.diagnostics);
        let answers = Joint::new(&problem, &fit.parameters).answers();
        let mut gap = 0.0;
        for (i, parameter) in fit.parameters.iter().enumerate() {
            let sigma = calibrator.sigma[i];
            let residual = (calibrator.values[i] - answers[i]) / sigma;
            gap += 0.5 * (residual - sigma * parameter).powi(2);
        }
        assert!(
            gap <= 1.1e-8 * fit.diagnostics.dual.max(1.0),
            "{seed} {gap}"
        );
    }
}

/// The full curvature against central differences of the gradient.
#[test]
fn curvature_matches_finite_differences() {
    for seed in 0..60 {
        let problem = random_problem(seed);
        let parameters: Vec<f64> = random_parameters(&problem, seed);
        let calibrator = Calibrator::new(problem.clone()).unwrap();
        let mut scratch = calibrator.scratch();
        let model = calibrator.model(&parameters, problem.total, &mut scratch);
        let curvature = calibrator.statistics.covariance(&model).unwrap();
        let h = 1e-5;
        for i in 0..parameters.len() {
            let mut answers = |step: f64| {
                let mut point = parameters.clone();
                point[i] += step;
                calibrator.evaluate(&point, problem.total, &mut scratch);
                scratch.answers.clone()
            };
            let (above, below) = (answers(h), answers(-h));
            for j in 0..parameters.len() {
                let slope = (above[j] - below[j]) / (2.0 * h);
                let found = curvature[(i.max(j), i.min(j))];
                assert!(
                    (slope - found).abs() < 1e-4,
                    "{seed} {i} {j} {slope} {found}"
                );
            }
        }
    }
}

/// A warm start with the full curvature leads to the same optimum as a cold one, in fewer evaluations.
#[test]
fn warm_starts_reach_the_same_optimum() {
    let (mut warm_evaluations, mut cold_evaluations) = (0, 0);
    for seed in 0..60 {
        let problem = random_problem(seed);
        let calibrator = Calibrator::new(problem.clone()).unwrap();
        let base = fit(&calibrator);
        let warm = calibrator.warm_start(&base);
        let noise = random_parameters(&problem, seed);
        let values: Vec<f64> = (0..noise.len())
            .map(|i| calibrator.values[i] + calibrator.sigma[i] * noise[i])
            .collect();
        let total = 1.01 * problem.total;
        let run = |warm: Option<&WarmStart>| {
            let targets = Targets {
                values: &values,
                total,
                warm,
            };
            calibrator
                .calibrate(&targets, &Settings::default(), &mut |_, _| {})
                .unwrap()
        };
        let (warm, cold) = (run(Some(&warm)), run(None));
        assert!(
            warm.diagnostics.converged && cold.diagnostics.converged,
            "{seed}"
        );
        let (a, b) = (warm.diagnostics.dual, cold.diagnostics.dual);
        assert!((a - b).abs() <= 2e-8 * a.max(1.0), "{seed} {a} {b}");
        assert_eq!(warm.model.total(), total);
        warm_evaluations += warm.diagnostics.evaluations;
        cold_evaluations += cold.diagnostics.evaluations;
    }
    assert!(
        2 * warm_evaluations < cold_evaluations,
        "{warm_evaluations} {cold_evaluations}"
    );
}

/// Noise so small that it all but fixes the values (which some model explains): the case in which the
/// directions that measurements share are millions of times flatter than the others.
#[test]
fn small_noise_converges() {
    for seed in 0..60 {
        let mut problem = random_problem(seed);
        let parameters = random_parameters(&problem, seed);
        let truth = Joint::new(&problem, &parameters).answers();
        let noise = random_parameters(&problem, seed + 1000);
        let mut next = truth.iter().zip(&noise);
        for measurement in &mut problem.measurements {
            measurement.sigma *= 0.01;
            for (value, (answer, z)) in measurement.values.iter_mut().zip(&mut next) {
                *value = answer + measurement.sigma * z;
            }
        }
        let fit = fit(&Calibrator::new(problem).unwrap());
        assert!(fit.diagnostics.converged, "{seed} {:?}", fit.diagnostics);
    }
}

/// Noise far larger than the table, and values to match: no NaN, and a model near the reference.
#[test]
fn large_noise_converges() {
    for seed in 0..60 {
        for scale in [1e3, 1e7] {
            let mut problem = random_problem(seed);
            for measurement in &mut problem.measurements {
                measurement.sigma *= scale;
                for (i, value) in measurement.values.iter_mut().enumerate() {
                    *value += scale * (i as f64 - 2.0);
                }
            }
            let calibrator = Calibrator::new(problem).unwrap();
            let fit = fit(&calibrator);
            assert!(
                fit.diagnostics.converged,
                "{seed} {scale} {:?}",
                fit.diagnostics
            );
            let reference = calibrator.reference_model();
            let (found, expected) = (fit.model.clique_marginal(0), reference.clique_marginal(0));
            // With parameters of order 1 / scale, probabilities move by as much.
            assert!(close(found, expected, 100.0 / scale), "{seed} {scale}");
        }
    }
}

#[test]
fn an_early_stop_is_reported() {
    let calibrator = Calibrator::new(random_problem(3)).unwrap();
    let settings = Settings {
        max_evaluations: 2,
        ..Settings::default()
    };
    let early = calibrator
        .calibrate(&calibrator.targets(), &settings, &mut |_, _| {})
        .unwrap();
    assert!(!early.diagnostics.converged && early.diagnostics.relative_gap > 1e-8);
    assert_eq!(early.diagnostics.evaluations, 2);
}

#[test]
fn impossible_and_oversized_problems_are_refused() {
    let mut problem = random_problem(1);
    let levels = problem.domain.sizes()[0];
    problem.reference.push(ReferenceFactor {
        variables: vec![0],
        log_weights: vec![f64::NEG_INFINITY; levels],
    });
    assert_eq!(
        Calibrator::new(problem).unwrap_err(),
        ModelError::Impossible
    );
    let mut problem = random_problem(1);
    problem.max_cells = 1;
    let error = Calibrator::new(problem).unwrap_err();
    assert!(
        matches!(error, ModelError::TooLarge { limit: 1, .. }),
        "{error}"
    );
}

#[test]
fn wrong_targets_are_refused() {
    let calibrator = Calibrator::new(random_problem(2)).unwrap();
    let try_values = |values: &[f64], total: f64| {
        let targets = Targets {
            values,
            total,
            warm: None,
        };
        calibrator.calibrate(&targets, &Settings::default(), &mut |_, _| {})
    };
    let mut values = calibrator.values.clone();
    assert!(matches!(
        try_values(&values, 0.0),
        Err(ModelError::Total { .. })
    ));
    assert!(matches!(
        try_values(&values, f64::NAN),
        Err(ModelError::Total { .. })
    ));
    values[0] = f64::INFINITY;
    assert!(matches!(
        try_values(&values, 1.0),
        Err(ModelError::NotFinite { .. })
    ));
    values.pop();
    assert!(matches!(
        try_values(&values, 1.0),
        Err(ModelError::Length { .. })
    ));
}

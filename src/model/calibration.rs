//! Calibration: the model closest to the reference that fits the measurements within their noise.
//!
//! See the room's documentation for the problem, its dual and the proof of the certificate.

use std::sync::Arc;

use argmin::core::Executor;

use super::degrees::degrees_of_freedom;
use super::fitted::Structure;
use super::problem::check_total;
use super::projection::Projection;
use super::propagation::{Propagation, Workspace};
use super::solver::{Lbfgs, Objective};
use super::statistics::Statistics;
use super::{JunctionTree, Model, ModelError, Problem};

/// A calibration problem with its junction tree planned and its index maps computed: any number of
/// calibrations to different values, from any number of threads.
#[derive(Debug)]
pub struct Calibrator {
    structure: Arc<Structure>,
    /// The reference measure's log potentials, one array per clique.
    reference: Vec<Vec<f64>>,
    /// The reference measure's log normalising constant.
    reference_log_z: f64,
    statistics: Statistics,
    /// One standard deviation per value.
    sigma: Vec<f64>,
    values: Vec<f64>,
    total: f64,
    degrees_of_freedom: usize,
}

/// What to calibrate to.
#[derive(Debug, Clone, Copy)]
pub struct Targets<'a> {
    /// The values of all measurements, one after the other, in records.
    pub values: &'a [f64],
    /// The number of records.
    pub total: f64,
    /// Parameters to start from, of a calibration to similar targets.
    pub warm: Option<&'a [f64]>,
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The relative duality gap that counts as converged.
    pub tolerance: f64,
    /// The number of evaluations (belief propagations) after which to stop all the same.
    pub max_evaluations: u64,
}

impl Default for Settings {
    /// A relative gap of `1e-8`, a hundredth of what the project promises; and evaluations enough for
    /// any problem seen (tens to hundreds are typical).
    fn default() -> Settings {
        Settings {
            tolerance: 1e-8,
            max_evaluations: 20_000,
        }
    }
}

/// A calibrated model.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// The model.
    pub model: Model,
    /// The dual parameters, one per value; a warm start for similar targets.
    pub parameters: Vec<f64>,
    /// How well it went.
    pub diagnostics: Diagnostics,
}

/// How well a calibration went.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Diagnostics {
    /// Steps of the optimiser.
    pub iterations: u64,
    /// Belief propagations, those of the line searches included.
    pub evaluations: u64,
    /// The dual's value, 0 at the reference measure; a lower bound on the optimum.
    pub dual: f64,
    /// The duality gap: the primal objective is above its optimum by no more than this.
    pub duality_gap: f64,
    /// The gap divided by `max(1, |dual|)`.
    pub relative_gap: f64,
    /// Sum of squared residuals (measured minus fitted), each divided by its standard deviation.
    pub chi_square: f64,
    /// The number of measured values beyond what the model can fit freely, with the total fixed. Where
    /// inequality constraints bind (counts near 0, structural zeros) the model fits less freely, so
    /// this is the least that `chi_square` is expected to be.
    pub degrees_of_freedom: usize,
    /// The largest residual in absolute value, divided by its standard deviation.
    pub max_residual: f64,
    /// Whether the relative gap is within the tolerance.
    pub converged: bool,
    /// The number of cells of the cliques.
    pub cells: u64,
    /// The names of the variables of the clique with the most cells.
    pub largest_clique: Vec<String>,
}

/// The buffers of one calibration.
struct Scratch {
    workspace: Workspace,
    answers: Vec<f64>,
}

impl Calibrator {
    /// Plans the junction tree and computes the index maps.
    ///
    /// # Errors
    /// If the problem is inconsistent (see [`Problem::check`]), larger than its limit (nothing has been
    /// allocated then), or impossible by its structural zeros.
    pub fn new(problem: Problem) -> Result<Calibrator, ModelError> {
        problem.check()?;
        let domain = problem.domain.clone();
        let tree = JunctionTree::plan(&domain, &problem.sets())?;
        let propagation = Propagation::new(&domain, tree, problem.max_cells)?;
        let mut workspace = propagation.workspace();
        for factor in &problem.reference {
            // The tree was planned around every factor's variables: a clique covers them.
            let tree = propagation.tree();
            let clique = tree
                .covering_clique(&domain, &factor.variables)
                .unwrap_or(0);
            let around = &tree.cliques()[clique];
            Projection::new(around, &domain.shape(around), &factor.variables)
                .add_expanded(&factor.log_weights, &mut workspace.cells[clique]);
        }
        let reference = workspace.cells.clone();
        let reference_log_z = propagation.collect(&mut workspace);
        if reference_log_z == f64::NEG_INFINITY {
            return Err(ModelError::Impossible);
        }
        let measurements = &problem.measurements;
        let statistics = Statistics::new(&domain, &propagation, measurements);
        let sigma = measurements
            .iter()
            .flat_map(|m| std::iter::repeat_n(m.sigma, m.values.len()))
            .collect();
        let values = measurements.iter().flat_map(|m| m.values.iter().copied());
        Ok(Calibrator {
            reference,
            reference_log_z,
            statistics,
            sigma,
            values: values.collect(),
            total: problem.total,
            degrees_of_freedom: degrees_of_freedom(&domain, measurements),
            structure: Arc::new(Structure {
                domain,
                propagation,
                max_cells: problem.max_cells,
            }),
        })
    }

    /// The problem's own values and total, without a warm start.
    pub fn targets(&self) -> Targets<'_> {
        Targets {
            values: &self.values,
            total: self.total,
            warm: None,
        }
    }

    /// The standard deviation of each value, in records.
    pub fn sigma(&self) -> &[f64] {
        &self.sigma
    }

    /// The junction tree.
    pub fn junction_tree(&self) -> &JunctionTree {
        self.structure.propagation.tree()
    }

    /// The reference model: no measurement taken into account.
    pub fn reference_model(&self) -> Model {
        let mut scratch = self.scratch();
        self.model(&vec![0.0; self.sigma.len()], self.total, &mut scratch)
    }

    /// Calibrates to the targets. `progress` is called with the number of each iteration and the
    /// relative gap that it reached. A calibration that stops early is not an error: see
    /// [`Diagnostics::converged`].
    ///
    /// # Errors
    /// If there are not as many values (or warm parameters) as the measurements have, a number is not
    /// finite, or the total is not positive.
    pub fn calibrate(
        &self,
        targets: &Targets<'_>,
        settings: &Settings,
        progress: &mut dyn FnMut(u64, f64),
    ) -> Result<Calibration, ModelError> {
        self.check(targets)?;
        let mut scratch = self.scratch();
        let (start, scale) = self.start(targets, &mut scratch);
        let objective = Dual {
            calibrator: self,
            targets: *targets,
            parameters: start.clone(),
            scale: scale.clone(),
            scratch,
        };
        let start = start.iter().zip(&scale).map(|(p, s)| p / s).collect();
        let solver = Lbfgs::new(settings.tolerance, settings.max_evaluations, progress);
        let result = Executor::new(objective, solver)
            .configure(|state| state.param(start))
            .ctrlc(false)
            .timer(false)
            .run()
            .map_err(|error| ModelError::Optimiser(error.to_string()))?;
        let (Some(scaled), Some(objective)) = (result.state.param, result.problem.problem) else {
            return Err(ModelError::Optimiser("the optimiser lost its state".into()));
        };
        let parameters: Vec<f64> = scaled.iter().zip(&scale).map(|(v, s)| v * s).collect();
        let mut scratch = objective.scratch;
        let model = self.model(&parameters, targets.total, &mut scratch);
        let mut diagnostics =
            self.diagnose(targets, &parameters, &scratch.answers, -result.state.cost);
        diagnostics.iterations = result.state.iter;
        diagnostics.evaluations = result.solver.evaluations;
        diagnostics.converged = diagnostics.relative_gap <= settings.tolerance;
        Ok(Calibration {
            model,
            parameters,
            diagnostics,
        })
    }

    fn check(&self, targets: &Targets<'_>) -> Result<(), ModelError> {
        let expected = self.statistics.len();
        let arrays = [
            ("the calibration's targets", Some(targets.values)),
            ("the calibration's warm start", targets.warm),
        ];
        for (context, values) in arrays {
            let Some(values) = values else { continue };
            if values.len() != expected {
                return Err(ModelError::Length {
                    context: context.into(),
                    expected,
                    found: values.len(),
                });
            }
            if values.iter().any(|v| !v.is_finite()) {
                return Err(ModelError::NotFinite {
                    context: context.into(),
                });
            }
        }
        check_total(targets.total)
    }

    fn scratch(&self) -> Scratch {
        Scratch {
            workspace: self.structure.propagation.workspace(),
            answers: vec![0.0; self.statistics.len()],
        }
    }

    /// The starting parameters and the scale of each: `1 / sqrt(sigma^2 + n E[a^2])`, with `a` the
    /// statistic. The dual's second derivative is `sigma^2 + n Var(a)`.
    fn start(&self, targets: &Targets<'_>, scratch: &mut Scratch) -> (Vec<f64>, Vec<f64>) {
        let mut start = vec![0.0; self.sigma.len()];
        if let Some(warm) = targets.warm {
            let dual = self.dual(targets, warm, scratch);
            // The cold start's dual is 0: a warm start below it is worse than none.
            if dual > 0.0 {
                start.copy_from_slice(warm);
            }
        }
        if start.iter().all(|&p| p == 0.0) {
            self.evaluate(&start, targets.total, scratch);
        }
        let mut moments = vec![0.0; self.sigma.len()];
        self.statistics
            .second_moments(&scratch.workspace, targets.total, &mut moments);
        let scale = moments
            .iter()
            .zip(&self.sigma)
            .map(|(moment, sigma)| 1.0 / (sigma * sigma + moment).sqrt())
            .collect();
        (start, scale)
    }

    /// Belief propagation at some parameters: clique marginals and the statistics' answers into the
    /// scratch; returns `log Z` relative to the reference measure's.
    fn evaluate(&self, parameters: &[f64], total: f64, scratch: &mut Scratch) -> f64 {
        let log_z = self.potentials(parameters, scratch);
        self.finish(total, scratch);
        log_z
    }

    fn potentials(&self, parameters: &[f64], scratch: &mut Scratch) -> f64 {
        for (cells, reference) in scratch.workspace.cells.iter_mut().zip(&self.reference) {
            cells.copy_from_slice(reference);
        }
        self.statistics
            .add_potentials(parameters, &mut scratch.workspace);
        let propagation = &self.structure.propagation;
        propagation.collect(&mut scratch.workspace) - self.reference_log_z
    }

    fn finish(&self, total: f64, scratch: &mut Scratch) {
        self.structure
            .propagation
            .distribute(&mut scratch.workspace);
        self.statistics
            .answers(&scratch.workspace, total, &mut scratch.answers);
    }

    /// The dual's value; the statistics' answers into the scratch.
    fn dual(&self, targets: &Targets<'_>, parameters: &[f64], scratch: &mut Scratch) -> f64 {
        let log_z = self.evaluate(parameters, targets.total, scratch);
        let linear: f64 = parameters
            .iter()
            .zip(targets.values)
            .zip(&self.sigma)
            .map(|((p, q), sigma)| p * (q - 0.5 * sigma * sigma * p))
            .sum();
        linear - targets.total * log_z
    }

    fn model(&self, parameters: &[f64], total: f64, scratch: &mut Scratch) -> Model {
        self.potentials(parameters, scratch);
        let conditionals = self.structure.propagation.conditionals(&scratch.workspace);
        self.finish(total, scratch);
        Model::new(
            Arc::clone(&self.structure),
            conditionals,
            scratch.workspace.cells.clone(),
            total,
        )
    }

    fn diagnose(
        &self,
        targets: &Targets<'_>,
        parameters: &[f64],
        answers: &[f64],
        dual: f64,
    ) -> Diagnostics {
        let (mut gap, mut chi_square, mut max_residual) = (0.0, 0.0, 0.0f64);
        for i in 0..parameters.len() {
            let residual = (targets.values[i] - answers[i]) / self.sigma[i];
            gap += 0.5 * (residual - self.sigma[i] * parameters[i]).powi(2);
            chi_square += residual * residual;
            max_residual = max_residual.max(residual.abs());
        }
        let tree = self.junction_tree();
        Diagnostics {
            iterations: 0,
            evaluations: 0,
            dual,
            duality_gap: gap,
            relative_gap: gap / dual.abs().max(1.0),
            chi_square,
            degrees_of_freedom: self.degrees_of_freedom,
            max_residual,
            converged: false,
            cells: u64::try_from(tree.cells()).unwrap_or(u64::MAX),
            largest_clique: self
                .structure
                .domain
                .names_of(&tree.cliques()[tree.largest_clique()]),
        }
    }
}

/// The negative dual as a function of the scaled parameters.
struct Dual<'a> {
    calibrator: &'a Calibrator,
    targets: Targets<'a>,
    parameters: Vec<f64>,
    scale: Vec<f64>,
    scratch: Scratch,
}

impl Objective for Dual<'_> {
    fn evaluate(&mut self, point: &[f64], gradient: &mut [f64]) -> f64 {
        for ((p, v), s) in self.parameters.iter_mut().zip(point).zip(&self.scale) {
            *p = v * s;
        }
        let dual = self
            .calibrator
            .dual(&self.targets, &self.parameters, &mut self.scratch);
        for (i, slope) in gradient.iter_mut().enumerate() {
            let sigma = self.calibrator.sigma[i];
            let residual = self.targets.values[i] - self.scratch.answers[i];
            *slope = -self.scale[i] * (residual - sigma * sigma * self.parameters[i]);
        }
        -dual
    }

    fn gap(&self, value: f64, gradient: &[f64]) -> f64 {
        let gap: f64 = gradient
            .iter()
            .zip(&self.scale)
            .zip(&self.calibrator.sigma)
            .map(|((g, s), sigma)| 0.5 * (g / (s * sigma)).powi(2))
            .sum();
        gap / value.abs().max(1.0)
    }
}

#[cfg(test)]
mod tests {
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
            let mut objective = Dual {
                calibrator: &calibrator,
                targets: calibrator.targets(),
                scale: (0..parameters.len())
                    .map(|i| 0.5 + 0.1 * i as f64)
                    .collect(),
                parameters: parameters.clone(),
                scratch: calibrator.scratch(),
            };
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

    /// The certificate against an optimum found another way: exponentiated-gradient descent on the
    /// primal over the joint table, which never sees the dual.
    #[test]
    fn certificate_bounds_the_distance_to_an_independent_optimum() {
        for seed in 0..12 {
            let problem = random_problem(seed);
            let calibrator = Calibrator::new(problem.clone()).unwrap();
            let early = calibrator
                .calibrate(
                    &calibrator.targets(),
                    &Settings {
                        tolerance: 1e-2,
                        ..Settings::default()
                    },
                    &mut |_, _| {},
                )
                .unwrap();
            let optimum = primal_by_mirror_descent(&problem);
            let diagnostics = &early.diagnostics;
            let primal = diagnostics.dual + diagnostics.duality_gap;
            let slack = 1e-6 * optimum.abs().max(1.0);
            assert!(diagnostics.dual <= optimum + slack, "{seed}");
            assert!(primal >= optimum - slack, "{seed}");
            let exact = fit(&calibrator).diagnostics.dual;
            assert!((exact - optimum).abs() <= slack, "{seed} {exact} {optimum}");
        }
    }

    /// Minimises `n KL + 1/2 |residual / sigma|^2` over the joint table. The step is an estimate of the
    /// inverse Lipschitz constant, halved whenever the objective rises.
    fn primal_by_mirror_descent(problem: &Problem) -> f64 {
        let zero = vec![0.0; problem.measurements.iter().map(|m| m.values.len()).sum()];
        let sigma: Vec<f64> = problem
            .measurements
            .iter()
            .flat_map(|m| vec![m.sigma; m.values.len()])
            .collect();
        let values: Vec<f64> = problem
            .measurements
            .iter()
            .flat_map(|m| m.values.clone())
            .collect();
        let reference = Joint::new(problem, &zero);
        // The iterates stay in the exponential family: a mirror step mixes the parameters with the
        // gradient's, so the state is a parameter vector although no dual is evaluated.
        let primal = |parameters: &[f64]| {
            let joint = Joint::new(problem, parameters);
            let kl: f64 = joint
                .probabilities
                .iter()
                .zip(&reference.probabilities)
                .filter(|(p, _)| **p > 0.0)
                .map(|(p, r)| p * (p / r).ln())
                .sum();
            let residuals: Vec<f64> = joint
                .answers()
                .iter()
                .zip(&values)
                .map(|(a, q)| q - a)
                .collect();
            let fit: f64 = residuals
                .iter()
                .zip(&sigma)
                .map(|(r, s)| 0.5 * (r / s).powi(2))
                .sum();
            (problem.total * kl + fit, residuals)
        };
        let (mut parameters, mut step) = (zero, 1.0);
        let (mut best, mut residuals) = primal(&parameters);
        for _ in 0..3000 {
            let trial: Vec<f64> = (0..sigma.len())
                .map(|i| parameters[i] + step * (residuals[i] / sigma[i].powi(2) - parameters[i]))
                .collect();
            let (value, next) = primal(&trial);
            if value <= best {
                (best, parameters, residuals) = (value, trial, next);
                step *= 1.2;
            } else {
                step *= 0.5;
            }
        }
        best
    }
}

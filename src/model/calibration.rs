//! Calibration: the model closest to the reference that fits the measurements within their noise.
//!
//! See the room's documentation for the problem, its dual and the proof of the certificate.

use std::sync::Arc;

use argmin::core::Executor;

use super::curvature::{Curvature, FullCurvature};
use super::degrees::degrees_of_freedom;
use super::dual::Dual;
use super::fitted::Structure;
use super::problem::check_total;
use super::projection::Projection;
use super::propagation::{Propagation, Workspace};
use super::solver::Lbfgs;
use super::statistics::Statistics;
use super::{Diagnostics, JunctionTree, Model, ModelError, Problem};

/// A calibration problem with its junction tree planned and its index maps computed: any number of
/// calibrations to different values, from any number of threads.
#[derive(Debug)]
pub struct Calibrator {
    structure: Arc<Structure>,
    /// The reference measure's log potentials, one array per clique.
    reference: Vec<Vec<f64>>,
    /// The reference measure's log normalising constant.
    reference_log_z: f64,
    pub(super) statistics: Statistics,
    pub(super) full_curvature: FullCurvature,
    /// `sqrt(g)` times the standard deviation of each value.
    pub(super) sigma: Vec<f64>,
    /// `g`.
    entropy_weight: f64,
    pub(super) values: Vec<f64>,
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
    /// Where to start, from a calibration to similar targets.
    pub warm: Option<&'a WarmStart>,
}

/// Where to start a calibration.
#[derive(Debug, Clone)]
pub struct WarmStart {
    pub(super) parameters: Vec<f64>,
    pub(super) curvature: Option<Arc<Curvature>>,
}

impl WarmStart {
    /// A start from these dual parameters, one per measured value (0 for a new measurement). See
    /// [`Calibrator::warm_start`] for a better one.
    pub fn new(parameters: Vec<f64>) -> WarmStart {
        WarmStart {
            parameters,
            curvature: None,
        }
    }
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

/// The buffers of one calibration.
pub(super) struct Scratch {
    pub(super) workspace: Workspace,
    pub(super) answers: Vec<f64>,
}

impl Calibrator {
    /// Plans the junction tree and computes the index maps.
    ///
    /// # Errors
    /// If the problem is inconsistent (see [`Problem::check`]), larger than its limit (nothing has been
    /// allocated then), or impossible by its structural zeros.
    pub fn new(problem: Problem) -> Result<Calibrator, ModelError> {
        problem.check()?;
        let tree = JunctionTree::within(&problem.domain, &problem.sets(), problem.max_cells)?;
        Calibrator::on_tree(problem, tree)
    }

    /// As [`Self::new`], on a tree that is planned already; each of the problem's sets must lie within one of its
    /// cliques.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn on_tree(problem: Problem, tree: JunctionTree) -> Result<Calibrator, ModelError> {
        problem.check()?;
        let domain = problem.domain.clone();
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
        let full_curvature = FullCurvature::plan(&domain, &propagation, &statistics, measurements);
        let scale = problem.entropy_weight.sqrt();
        let sigma = measurements
            .iter()
            .flat_map(|m| std::iter::repeat_n(m.sigma * scale, m.values.len()))
            .collect();
        let values = measurements.iter().flat_map(|m| m.values.iter().copied());
        Ok(Calibrator {
            reference,
            reference_log_z,
            statistics,
            full_curvature,
            sigma,
            entropy_weight: problem.entropy_weight,
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
    pub fn sigma(&self) -> impl Iterator<Item = f64> + '_ {
        let scale = self.entropy_weight.sqrt();
        self.sigma.iter().map(move |sigma| sigma / scale)
    }

    pub(super) fn structure(&self) -> &Structure {
        &self.structure
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
        let (start, objective) = self.start(targets);
        let solver = Lbfgs::new(settings.tolerance, settings.max_evaluations, progress);
        let result = Executor::new(objective, solver)
            .configure(|state| state.param(start))
            .ctrlc(false)
            .timer(false)
            .run()
            .map_err(|error| ModelError::Optimiser(error.to_string()))?;
        let (Some(parameters), Some(objective)) = (result.state.param, result.problem.problem)
        else {
            return Err(ModelError::Optimiser("the optimiser lost its state".into()));
        };
        let mut scratch = objective.scratch;
        let model = self.model(&parameters, targets.total, &mut scratch);
        let standardised = (0..parameters.len()).map(|i| {
            let residual = targets.values[i] - scratch.answers[i];
            (residual / self.sigma[i], self.sigma[i] * parameters[i])
        });
        let (domain, tree) = (&self.structure.domain, self.junction_tree());
        let mut diagnostics = Diagnostics::new(domain, tree, -result.state.cost, standardised);
        // The residuals were divided by `sqrt(g) sigma`.
        diagnostics.chi_square *= self.entropy_weight;
        diagnostics.max_residual *= self.entropy_weight.sqrt();
        diagnostics.degrees_of_freedom = self.degrees_of_freedom;
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
            (
                "the calibration's warm start",
                targets.warm.map(|w| w.parameters.as_slice()),
            ),
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

    pub(super) fn scratch(&self) -> Scratch {
        Scratch {
            workspace: self.structure.propagation.workspace(),
            answers: vec![0.0; self.statistics.len()],
        }
    }

    /// The starting point, and the objective with its approximate curvature there.
    fn start<'a>(&'a self, targets: &Targets<'a>) -> (Vec<f64>, Dual<'a>) {
        let mut scratch = self.scratch();
        let mut start = vec![0.0; self.sigma.len()];
        let mut curvature = None;
        if let Some(warm) = targets.warm {
            // The cold start's dual is 0: a warm start below it is worse than none.
            if self.dual(targets, &warm.parameters, &mut scratch) > 0.0 {
                start.copy_from_slice(&warm.parameters);
                curvature.clone_from(&warm.curvature);
            }
        }
        let curvature = curvature.unwrap_or_else(|| {
            self.evaluate(&start, targets.total, &mut scratch);
            Arc::new(self.diagonal_curvature(targets.total, &scratch))
        });
        let dual = Dual {
            calibrator: self,
            targets: *targets,
            curvature,
            since_update: 0,
            parameters: start.clone(),
            scratch,
        };
        (start, dual)
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
    pub(super) fn dual(
        &self,
        targets: &Targets<'_>,
        parameters: &[f64],
        scratch: &mut Scratch,
    ) -> f64 {
        let log_z = self.evaluate(parameters, targets.total, scratch);
        let linear: f64 = parameters
            .iter()
            .zip(targets.values)
            .zip(&self.sigma)
            .map(|((p, q), sigma)| p * (q - 0.5 * sigma * sigma * p))
            .sum();
        linear - targets.total * log_z
    }

    pub(super) fn model(&self, parameters: &[f64], total: f64, scratch: &mut Scratch) -> Model {
        self.potentials(parameters, scratch);
        self.collected_model(total, scratch)
    }

    fn collected_model(&self, total: f64, scratch: &mut Scratch) -> Model {
        let conditionals = self.structure.propagation.conditionals(&scratch.workspace);
        self.finish(total, scratch);
        Model::new(
            Arc::clone(&self.structure),
            conditionals,
            scratch.workspace.cells.clone(),
            total,
        )
    }

    /// The model with the log potentials that the scratch holds, and its answers into the scratch.
    pub(super) fn model_of_potentials(&self, scratch: &mut Scratch) -> Model {
        let propagation = &self.structure.propagation;
        propagation.collect(&mut scratch.workspace);
        self.collected_model(self.total, scratch)
    }

    /// The largest `Q' parameters` of a combination that the reference measure does not rule out.
    pub(super) fn highest_potential(&self, parameters: &[f64], scratch: &mut Scratch) -> f64 {
        for (cells, reference) in scratch.workspace.cells.iter_mut().zip(&self.reference) {
            for (cell, weight) in cells.iter_mut().zip(reference) {
                *cell = if weight.is_infinite() { *weight } else { 0.0 };
            }
        }
        self.statistics
            .add_potentials(parameters, &mut scratch.workspace);
        self.structure.propagation.highest(&mut scratch.workspace)
    }
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "optimum_tests.rs"]
mod optimum_tests;

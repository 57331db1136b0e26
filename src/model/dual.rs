//! The dual as the optimiser sees it.

use std::sync::Arc;

use super::Targets;
use super::calibration::{Calibrator, Scratch};
use super::curvature::Curvature;
use super::solver::Objective;

/// The negative dual.
pub(super) struct Dual<'a> {
    pub(super) calibrator: &'a Calibrator,
    pub(super) targets: Targets<'a>,
    pub(super) curvature: Arc<Curvature>,
    /// Evaluations since the full curvature was last computed or considered.
    pub(super) since_update: usize,
    /// The point evaluated last.
    pub(super) parameters: Vec<f64>,
    /// Its clique marginals and answers.
    pub(super) scratch: Scratch,
}

impl Objective for Dual<'_> {
    fn evaluate(&mut self, point: &[f64], gradient: &mut [f64]) -> f64 {
        self.since_update += 1;
        self.parameters.copy_from_slice(point);
        let dual = self
            .calibrator
            .dual(&self.targets, point, &mut self.scratch);
        for (i, slope) in gradient.iter_mut().enumerate() {
            let sigma = self.calibrator.sigma[i];
            let residual = self.targets.values[i] - self.scratch.answers[i];
            *slope = sigma * sigma * point[i] - residual;
        }
        -dual
    }

    fn gap(&self, value: f64, gradient: &[f64]) -> f64 {
        let gap: f64 = gradient
            .iter()
            .zip(&self.calibrator.sigma)
            .map(|(g, sigma)| 0.5 * (g / sigma).powi(2))
            .sum();
        gap / value.abs().max(1.0)
    }

    fn precondition(&self, vector: &mut [f64]) {
        self.curvature.solve(vector);
    }

    fn advance(&mut self) -> bool {
        let total = self.targets.total;
        let due = self
            .calibrator
            .full_curvature
            .due_after(self.calibrator.junction_tree());
        if due.is_some_and(|due| self.since_update >= due) {
            self.since_update = 0;
            let model = self
                .calibrator
                .model(&self.parameters, total, &mut self.scratch);
            if let Some(full) = self.calibrator.full_curvature(&model) {
                self.curvature = Arc::new(full);
                return true;
            }
        }
        if matches!(*self.curvature, Curvature::Diagonal(_)) {
            let diagonal = self.calibrator.diagonal_curvature(total, &self.scratch);
            self.curvature = Arc::new(diagonal);
        }
        false
    }
}

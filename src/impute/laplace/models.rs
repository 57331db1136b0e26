//! From parameters to models.
//!
//! A star is a graphical model as it stands. Where the schema has structural zeros it is not the whole
//! answer: striking combinations out of a law that takes their columns for independent moves its margins.
//! Then the star at hand is the reference measure, and the law closest to it that has the zeros and (within
//! a tenth of the privacy noise) the star's moments is calibrated: where two columns determine each other,
//! their moments are reconciled by their noise.

use super::LaplaceError;
use super::law;
use super::star::{Point, Star};
use super::sums::Sums;
use crate::model::{
    AxisMap, Calibration, Calibrator, Diagnostics, MeasuredAxis, Measurement, Model, Problem,
    ReferenceFactor, Released, Settings, Targets, WarmStart,
};
use ndarray::Array2;

/// The weight of the entropy in calibrations to structural zeros: as if the noise were a tenth.
const ENTROPY_WEIGHT: f64 = 0.01;

/// A model drawn from the posterior.
#[derive(Debug, Clone)]
pub struct StarDraw {
    /// The model.
    pub model: Model,
    /// How well it was calibrated, where structural zeros made that necessary.
    pub diagnostics: Option<Diagnostics>,
}

/// Makes models of parameters.
pub(super) struct ModelMaker {
    problem: Problem,
    zeros: Option<Zeros>,
}

/// What calibrations to structural zeros share.
struct Zeros {
    calibrator: Calibrator,
    warm: WarmStart,
}

impl ModelMaker {
    /// Plans for a star; calibrations start from its law at `mode`.
    pub(super) fn new(
        star: &Star,
        released: &Released,
        sums: &Sums,
        mode: &Point,
    ) -> Result<ModelMaker, LaplaceError> {
        let is_zero = |factor: &&ReferenceFactor| factor.log_weights.contains(&f64::NEG_INFINITY);
        let zeros: Vec<ReferenceFactor> = released
            .problem
            .reference
            .iter()
            .filter(is_zero)
            .cloned()
            .collect();
        let problem = Problem {
            domain: released.variables.domain.clone(),
            reference: factors(star, mode),
            measurements: Vec::new(),
            total: star.total,
            max_cells: released.problem.max_cells,
            entropy_weight: ENTROPY_WEIGHT,
        };
        let mut maker = ModelMaker {
            problem,
            zeros: None,
        };
        if !zeros.is_empty() {
            let mut problem = maker.problem.clone();
            problem.reference.extend(zeros);
            problem.measurements = measurements(star, sums, mode);
            let calibrator = Calibrator::new(problem)?;
            let first = calibrator.calibrate(
                &calibrator.targets(),
                &Settings::default(),
                &mut |_, _| (),
            )?;
            let warm = calibrator.warm_start(&first);
            maker.zeros = Some(Zeros { calibrator, warm });
        }
        Ok(maker)
    }

    /// The model at a point.
    pub(super) fn make(
        &self,
        star: &Star,
        sums: &Sums,
        point: &Point,
    ) -> Result<StarDraw, LaplaceError> {
        let Some(zeros) = &self.zeros else {
            let problem = Problem {
                reference: factors(star, point),
                total: point.total,
                ..self.problem.clone()
            };
            return Ok(StarDraw {
                model: Calibrator::new(problem)?.reference_model(),
                diagnostics: None,
            });
        };
        let values: Vec<f64> = measurements(star, sums, point)
            .into_iter()
            .flat_map(|m| m.values)
            .collect();
        let targets = Targets {
            values: &values,
            total: point.total,
            warm: Some(&zeros.warm),
        };
        let Calibration {
            model, diagnostics, ..
        } = zeros
            .calibrator
            .calibrate(&targets, &Settings::default(), &mut |_, _| ())?;
        Ok(StarDraw {
            model,
            diagnostics: Some(diagnostics),
        })
    }
}

/// The star's law as a product of the hub and the leaves given it.
fn factors(star: &Star, point: &Point) -> Vec<ReferenceFactor> {
    let logs = |law: &[f64]| law.iter().map(|p| p.ln()).collect();
    let hub = ReferenceFactor {
        variables: vec![star.treatment, star.outcome],
        log_weights: logs(&point.hub),
    };
    let leaves = star
        .leaves
        .iter()
        .zip(&point.leaves)
        .map(|(leaf, law)| ReferenceFactor {
            variables: vec![star.treatment, star.outcome, leaf.variable],
            log_weights: logs(law),
        });
    std::iter::once(hub).chain(leaves).collect()
}

/// The star's moments at a point, with the noise of the released ones.
fn measurements(star: &Star, sums: &Sums, point: &Point) -> Vec<Measurement> {
    let mean = law::mean(star, point);
    let rows = star.rows();
    let split = Array2::from_shape_fn((2, star.cells.len()), |(side, cell)| {
        let mean = star.cells[cell].mean;
        if side == 0 { 1.0 - mean } else { mean }
    });
    let axis = |variable, map| MeasuredAxis { variable, map };
    let block = |name: String, row: usize, levels: usize, further: Option<usize>| {
        let mut axes = vec![
            axis(star.treatment, AxisMap::Identity),
            axis(star.outcome, AxisMap::Linear(split.clone())),
        ];
        axes.extend(further.map(|variable| axis(variable, AxisMap::Identity)));
        let values =
            (0..2 * star.arms).flat_map(|b| &mean[b * rows + row..b * rows + row + levels]);
        Measurement {
            name,
            axes,
            values: values.copied().collect(),
            sigma: sums.noise[row].sqrt(),
        }
    };
    let leaves = star.leaves.iter().map(|leaf| {
        block(
            format!("leaf {}", leaf.variable),
            leaf.row,
            leaf.levels,
            Some(leaf.variable),
        )
    });
    std::iter::once(block("hub".into(), 0, 1, None))
        .chain(leaves)
        .collect()
}

//! The conditional effect that a release of these learners implies: an additive function, its average, its shapes.

use super::ebm::{self, term_means};
use super::regression;
use super::second_moment::{self, MomentFit};
use super::sequence::{effect_bound, public_targets};
use crate::cate::shape::{Place, ShapeSource};
use crate::cate::{CateError, half_range};
use crate::release::{AdditiveModel, CheckedCateRelease, PanelMeasurement};
use crate::table::CodedTable;
use crate::workload::{CateLearner, SplitPart, SplitSettings};
use rayon::prelude::*;

/// The conditional effect of a release, in the outcome's units.
#[derive(Debug, Clone)]
pub struct SplitEffect {
    /// The effect by covariates; of the learner `s`, its intercept alone.
    pub model: AdditiveModel,
    /// By term, its mean over the records, as far as the release says where they lie.
    means: Vec<f64>,
}

impl SplitEffect {
    /// Reads a release.
    ///
    /// # Errors
    /// Where the release's parts do not fit each other, or have no fit.
    pub fn new(
        release: &CheckedCateRelease,
        settings: &SplitSettings,
    ) -> Result<SplitEffect, CateError> {
        let workload = &release.workload;
        let unit = half_range(release) * effect_bound(workload, settings);
        let (model, mut means) = match settings.boosts(SplitPart::Effect) {
            true => boosted(release, settings)?,
            false => second_moments(release, settings)?,
        };
        let mut model = model.scaled(unit);
        if workload.learner == CateLearner::S {
            // The covariates' terms are of the outcome, and the treatment's is the effect.
            model = AdditiveModel {
                intercept: model.treatment,
                ..AdditiveModel::default()
            };
            means.clear();
        }
        Ok(SplitEffect {
            means: means.iter().map(|mean| mean * unit).collect(),
            model,
        })
    }

    /// The average effect over the records, as far as the release says where they lie.
    pub fn average(&self) -> f64 {
        self.model.intercept + self.means.iter().sum::<f64>()
    }

    /// The effect at every row of a table of the schema that was read with the values of numeric covariates.
    pub fn at_rows(&self, table: &CodedTable) -> Vec<f64> {
        let rows = (0..table.rows).into_par_iter();
        rows.map(|row| self.model.at(table, row, 0.0)).collect()
    }
}

impl ShapeSource for SplitEffect {
    fn columns(&self) -> Vec<usize> {
        self.model.terms.iter().map(|term| term.column).collect()
    }

    fn is_curve(&self, column: usize) -> bool {
        let mut own = self.model.terms.iter().filter(|term| term.column == column);
        own.any(|term| term.curve.is_some())
    }

    fn addition(&self, column: usize, place: Option<Place>) -> f64 {
        let own = self.model.terms.iter().zip(&self.means);
        own.filter(|(term, _)| term.column == column)
            .map(|(term, mean)| match (place, &term.curve) {
                (None, _) => *mean,
                (Some(Place::Position(position)), Some(curve)) => curve.at(position),
                (Some(Place::Code(code)), _) => term.codes[usize::from(code)],
                // Only curves are asked for at positions.
                (Some(Place::Position(_)), None) => 0.0,
            })
            .sum()
    }
}

fn measured(release: &CheckedCateRelease, name: &str) -> Result<PanelMeasurement, CateError> {
    let found = release
        .document
        .measurements
        .iter()
        .find(|m| m.name == name);
    found
        .cloned()
        .ok_or_else(|| CateError::Release(name.into()))
}

/// The part whose records say where the covariates lie: of `r` the effect's records have weights, and the outcome's have none.
fn unweighted(learner: CateLearner) -> SplitPart {
    match learner {
        CateLearner::R => SplitPart::Outcome,
        _ => SplitPart::Effect,
    }
}

fn boosted(
    release: &CheckedCateRelease,
    settings: &SplitSettings,
) -> Result<(AdditiveModel, Vec<f64>), CateError> {
    let missing = || CateError::Release("effect".into());
    let split = release.document.split.as_ref().ok_or_else(missing)?;
    let model = split.model(SplitPart::Effect).ok_or_else(missing)?.clone();
    if model
        .terms
        .iter()
        .map(|term| term.column)
        .ne(release.workload.columns.iter().copied())
    {
        return Err(missing());
    }
    if settings.published {
        // Centred by its own noisy counts, which are not kept.
        let means = vec![0.0; model.terms.len()];
        return Ok((model, means));
    }
    let counts = measured(
        release,
        &ebm::bins_name(unweighted(release.workload.learner)),
    )?;
    let means = term_means(&model, &release.schema, &counts.numbers());
    Ok((model, means))
}

/// The fit of a part's second moments.
pub fn moment_fit(
    release: &CheckedCateRelease,
    settings: &SplitSettings,
    part: SplitPart,
) -> Result<(second_moment::MomentBasis, MomentFit), CateError> {
    let workload = &release.workload;
    let basis = regression::basis_of(&release.schema, workload, settings, part);
    let targets = public_targets(part, workload, settings);
    let measurement = measured(release, part.name())?;
    let fit = second_moment::fit(&measurement, &basis, &targets)?;
    Ok((basis, fit))
}

fn second_moments(
    release: &CheckedCateRelease,
    settings: &SplitSettings,
) -> Result<(AdditiveModel, Vec<f64>), CateError> {
    let (basis, fit) = moment_fit(release, settings, SplitPart::Effect)?;
    let means = match unweighted(release.workload.learner) {
        SplitPart::Effect => fit.mean_basis(basis.size),
        part => moment_fit(release, settings, part)?
            .1
            .mean_basis(basis.size),
    };
    let of_block = |block: &second_moment::basis::Block| -> f64 {
        let own = block.first..block.first + block.size();
        own.map(|k| means[k] * fit.coefficients[k]).sum()
    };
    let by_term = basis.blocks.iter().map(of_block).collect();
    Ok((fit.model(&basis), by_term))
}

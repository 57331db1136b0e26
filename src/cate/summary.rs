//! What a release says of effects, put together for people and programs.

use super::shape::{ShapeSource, shapes};
use super::split::{Projection, SplitEffect, projection};
use super::{CateError, ConditionalEffect, Interaction, Shape, interactions};
use crate::release::CheckedCateRelease;
use crate::schema::{Role, Schema};
use crate::table::CodedTable;
use crate::workload::{CateBase, CateLearner, CateWorkload, MomentBasisKind};
use serde::Serialize;

/// The level of intervals unless another is asked for.
const DEFAULT_LEVEL: f64 = 0.95;

/// What a release says, in the outcome's units.
#[derive(Debug, Clone, Serialize)]
pub struct EffectSummary {
    /// The learner.
    pub learner: String,
    /// That the release is not private, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_private: Option<String>,
    /// Why the records were divided at no cost, where they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub composition: Option<String>,
    /// Whether the learner's effect is the same for everyone, whatever the truth: an average effect.
    pub is_constant: bool,
    /// The arms compared, `treated - reference`.
    pub contrast: String,
    /// The average effect over the records, as far as the release says where they lie.
    pub average: f64,
    /// The projection of the effect onto the basis, with intervals, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection: Option<Projection>,
    /// What each covariate adds.
    pub shapes: Vec<Shape>,
    /// What pairs of features add, the largest first.
    pub interactions: Vec<Interaction>,
    /// Effects at rows that were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowEffects>,
}

/// Effects at given rows.
#[derive(Debug, Clone, Serialize)]
pub struct RowEffects {
    /// Their mean.
    pub average: f64,
    /// By row.
    pub effects: Vec<f64>,
    /// Means over the rows of a level.
    pub groups: Vec<GroupEffect>,
}

/// The mean effect over the rows of a level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupEffect {
    /// The covariate.
    pub column: String,
    /// The level or bin.
    pub level: String,
    /// The number of rows.
    pub rows: usize,
    /// The mean effect.
    pub average: f64,
}

/// Reads a release; with effects at the rows of a table, and means by level of covariates, where they are given.
///
/// # Errors
/// Where the release's parts do not fit each other.
pub fn summarise(
    release: &CheckedCateRelease,
    table: Option<&CodedTable>,
    by: &[usize],
) -> Result<EffectSummary, CateError> {
    let effect = Effect::new(release)?;
    let treatment = &release.schema.columns[release.workload.treatment];
    let split = release.document.split.as_ref();
    let divided = split.filter(|split| split.parts.len() > 1);
    Ok(EffectSummary {
        learner: learner(&release.workload),
        not_private: split.and_then(|split| split.not_private.clone()),
        composition: divided.map(|split| split.composition.clone()),
        is_constant: release.workload.learner == CateLearner::S,
        contrast: format!("{} - {}", treatment.level_name(1), treatment.level_name(0)),
        average: effect.average(),
        projection: projection(release, DEFAULT_LEVEL)?,
        shapes: shapes(effect.shapes(), &release.schema),
        interactions: effect.interactions(),
        rows: table.map(|table| row_effects(&effect, &release.schema, table, by)),
    })
}

/// The learner in a few words.
fn learner(workload: &CateWorkload) -> String {
    let name = workload.learner.name();
    let Some(settings) = &workload.split else {
        return name.into();
    };
    let base = match (settings.base, settings.basis) {
        (CateBase::Ebm, _) => "boosted step functions",
        (CateBase::SecondMoment, MomentBasisKind::Linear) => "second moments, lines",
        (CateBase::SecondMoment, MomentBasisKind::Hat) => "second moments, hats",
        (CateBase::SecondMoment, MomentBasisKind::OneHot) => "second moments, bins",
    };
    format!("{name} ({base})")
}

/// The effect that a release implies, by any learner.
#[derive(Debug, Clone)]
pub enum Effect {
    /// By `adaptive`.
    Adaptive(Box<ConditionalEffect>),
    /// By a learner that splits the sample.
    Split(SplitEffect),
}

impl Effect {
    /// Reads a release.
    ///
    /// # Errors
    /// Where the release's parts do not fit each other.
    pub fn new(release: &CheckedCateRelease) -> Result<Effect, CateError> {
        Ok(match &release.workload.split {
            None => Effect::Adaptive(Box::new(ConditionalEffect::new(release)?)),
            Some(settings) => Effect::Split(SplitEffect::new(release, settings)?),
        })
    }

    /// The average effect over the records, as far as the release says where they lie.
    pub fn average(&self) -> f64 {
        match self {
            Effect::Adaptive(effect) => effect.average(),
            Effect::Split(effect) => effect.average(),
        }
    }

    /// The effect at every row of a table of the schema that was read with the values of numeric covariates.
    pub fn at_rows(&self, table: &CodedTable) -> Vec<f64> {
        match self {
            Effect::Adaptive(effect) => effect.at_rows(table),
            Effect::Split(effect) => effect.at_rows(table),
        }
    }

    fn shapes(&self) -> &dyn ShapeSource {
        match self {
            Effect::Adaptive(effect) => effect.as_ref(),
            Effect::Split(effect) => effect,
        }
    }

    fn interactions(&self) -> Vec<Interaction> {
        match self {
            Effect::Adaptive(effect) => interactions(effect),
            Effect::Split(_) => Vec::new(),
        }
    }
}

fn row_effects(effect: &Effect, schema: &Schema, table: &CodedTable, by: &[usize]) -> RowEffects {
    let effects = effect.at_rows(table);
    let mut groups = Vec::new();
    for &column in by {
        let description = &schema.columns[column];
        let mut sums = vec![(0usize, 0.0); description.levels()];
        let codes = table.codes[column].iter().flatten();
        for (&code, effect) in codes.zip(&effects) {
            let (rows, sum) = &mut sums[usize::from(code)];
            *rows += 1;
            *sum += effect;
        }
        let present = sums
            .into_iter()
            .enumerate()
            .filter(|(_, (rows, _))| *rows > 0);
        groups.extend(present.map(|(code, (rows, sum))| GroupEffect {
            column: description.name.clone(),
            // Codes are below 65536: see the checks of the schema.
            level: description.level_name(code as u16),
            rows,
            average: sum / rows as f64,
        }));
    }
    RowEffects {
        average: effects.iter().sum::<f64>() / effects.len().max(1) as f64,
        effects,
        groups,
    }
}

/// The schema with its covariates alone: what a table must have for effects at its rows.
pub fn covariates_only(schema: &Schema) -> Schema {
    let mut reduced = schema.clone();
    for column in &mut reduced.columns {
        if column.role != Role::Covariate {
            column.role = Role::Ignored;
        }
    }
    reduced.structural_zeros.clear();
    reduced.unit = crate::schema::PrivacyUnit::Row;
    reduced
}

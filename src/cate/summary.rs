//! What a release says of effects, put together for people and programs.

use super::{CateError, ConditionalEffect, Interaction, Shape, interactions, shapes};
use crate::release::CheckedCateRelease;
use crate::schema::{Role, Schema};
use crate::table::CodedTable;
use serde::Serialize;

/// What a release says, in the outcome's units.
#[derive(Debug, Clone, Serialize)]
pub struct EffectSummary {
    /// The arms compared, `treated - reference`.
    pub contrast: String,
    /// The average effect over the records, as far as the release says where they lie.
    pub average: f64,
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
    let effect = ConditionalEffect::new(release)?;
    let treatment = &release.schema.columns[release.workload.treatment];
    Ok(EffectSummary {
        contrast: format!("{} - {}", treatment.level_name(1), treatment.level_name(0)),
        average: effect.average(),
        shapes: shapes(&effect, &release.schema),
        interactions: interactions(&effect),
        rows: table.map(|table| row_effects(&effect, &release.schema, table, by)),
    })
}

fn row_effects(
    effect: &ConditionalEffect,
    schema: &Schema,
    table: &CodedTable,
    by: &[usize],
) -> RowEffects {
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

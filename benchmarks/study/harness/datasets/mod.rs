//! The datasets by name. Each file here turns data, or a recipe, into a [`Population`].

mod acic;
mod acs;
mod acs_scores;
mod ihdp;
mod lalonde;
mod simulated;
mod twins;

use super::coding::{Cells, CodedRows};
use super::population::Population;
use super::source::DataFile;
use anyhow::{Context, Result, bail, ensure};
use dpcausal::schema::{Role, Schema, SchemaFile};
use std::collections::BTreeMap;
use std::path::Path;

/// What a name may be, for messages.
pub const NAMES: &str = "acs-binary-K and acs-dollars-K (K = 5, 10, 20, 40), ihdp, ihdp-tame, acic, acic-S \
    (S = 1..20), acic-causallib, twins, twins-randomised, lalonde-dw, lalonde-cps3, lalonde-psid3, simulated-binary-R, \
    simulated-normal-R and simulated-lognormal-R (R = 0, 30, 50, the correlation in percent), \
    overlap-binary-S, overlap-normal-S and overlap-lognormal-S (S the strength of assignment in percent; 70 in the \
    simulated ones), tuning-OUTCOME, tuning-strong-OUTCOME and tuning-correlated-OUTCOME \
    (binary, normal, lognormal)";

/// The population of a name.
///
/// # Errors
/// Where there is no such name, or its data are not in the folder.
pub fn load(name: &str, data: &Path) -> Result<Population> {
    let parts: Vec<&str> = name.split('-').collect();
    let population = match parts[..] {
        ["acs", outcome, scores] => acs::population(outcome, scores.parse()?, data),
        ["ihdp"] => ihdp::population(false, data),
        ["ihdp", "tame"] => ihdp::population(true, data),
        ["acic"] => acic::population(acic::Simulations::Settings(1..=20), data),
        ["acic", "causallib"] => acic::population(acic::Simulations::Causallib, data),
        ["acic", setting] => {
            let setting = setting.parse().context("the setting is no number")?;
            acic::population(acic::Simulations::Settings(setting..=setting), data)
        }
        ["twins"] => twins::population(false, data),
        ["twins", "randomised"] => twins::population(true, data),
        ["lalonde", "dw"] => lalonde::experiment(data),
        ["lalonde", controls] => lalonde::observational(controls, data),
        ["simulated", outcome, percent] => {
            let percent: u32 = percent.parse().context("the correlation is no number")?;
            simulated::population(
                outcome,
                simulated::Recipe::study(f64::from(percent) / 100.0),
            )
        }
        ["overlap", outcome, percent] => {
            let percent: u32 = percent.parse().context("the strength is no number")?;
            simulated::population(
                outcome,
                simulated::Recipe::overlap(f64::from(percent) / 100.0),
            )
        }
        ["tuning", "strong", outcome] => {
            simulated::population(outcome, simulated::Recipe::tuning_strong())
        }
        ["tuning", "correlated", outcome] => {
            simulated::population(outcome, simulated::Recipe::tuning_correlated())
        }
        ["tuning", outcome] => simulated::population(outcome, simulated::Recipe::tuning()),
        _ => bail!(
            "there is no dataset {name:?}; there are {NAMES}; {}; {}",
            super::panel::NAMES,
            super::cate::NAMES
        ),
    };
    let mut population = population.with_context(|| format!("dataset {name}"))?;
    population.name = name.into();
    Ok(population)
}

/// A schema that is part of the project, checked.
fn schema(text: &str) -> Result<(Schema, SchemaFile)> {
    Ok(Schema::parse(text, "the dataset's schema")?)
}

/// The schema without all covariates but these.
fn restricted(document: &SchemaFile, covariates: &[&str]) -> Result<(Schema, SchemaFile)> {
    let mut document = document.clone();
    let whole = Schema::from_file(&document)?;
    let roles: BTreeMap<&str, Role> = whole
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.role))
        .collect();
    document.columns.retain(|column| {
        roles[column.name.as_str()] != Role::Covariate || covariates.contains(&column.name.as_str())
    });
    let schema = Schema::from_file(&document)?;
    ensure!(
        schema.covariates().len() == covariates.len(),
        "a covariate that the schema lacks"
    );
    Ok((schema, document))
}

/// The covariates of a file that has them under the schema's names.
fn covariates(schema: &Schema, file: &DataFile) -> Result<CodedRows> {
    let mut cells: BTreeMap<String, Cells> = BTreeMap::new();
    for index in schema.covariates() {
        let column = &schema.columns[index];
        cells.insert(column.name.clone(), file.cells(column)?);
    }
    CodedRows::of_units(schema, &cells)
}

/// 1 / (1 + exp(-x)).
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

//! What a study's cells are about: tables of units, panels, or effects as functions of covariates. Each kind has its
//! datasets, its mechanisms and its records; the runner and the statistics are the same for all.

use super::cate::{self, CatePopulation};
use super::panel::{self, Placebo};
use super::procedures::{self, Budget, Settings};
use super::record::Record;
use super::study::{CellFile, Study};
use super::{datasets, population::Population};
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// A kind of dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Units with treatment, outcome and covariates; average effects.
    Table,
    /// Units over periods, of which some take a treated one's part.
    Panel,
    /// Units again; the effect as a function of covariates.
    Cate,
}

/// What the runner must know of a mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nature {
    /// Whether it spends a budget. One that does not runs once per repetition, not once per epsilon.
    pub is_private: bool,
    /// Whether every repetition finds the same, so that one is enough.
    pub is_fixed: bool,
}

impl Kind {
    /// By a dataset's name.
    pub fn of(dataset: &str) -> Kind {
        match dataset.split_once('-') {
            Some(("panel", _)) => Kind::Panel,
            Some(("cate", _)) => Kind::Cate,
            _ => Kind::Table,
        }
    }

    /// What a mechanism of this kind is.
    ///
    /// # Errors
    /// Where there is none of this name for the dataset.
    pub fn nature(self, dataset: &str, mechanism: &str) -> Result<Nature> {
        ensure!(
            !mechanism.contains(','),
            "{mechanism:?}: a comma would part the fields of the results"
        );
        match self {
            Kind::Table => Ok(Nature {
                is_private: procedures::named(mechanism)?.is_private(),
                is_fixed: false,
            }),
            Kind::Panel => panel::nature(mechanism),
            Kind::Cate => cate::nature(dataset, mechanism),
        }
        .with_context(|| format!("mechanism {mechanism:?} on dataset {dataset}"))
    }
}

/// What one mechanism is told.
pub struct Run<'a> {
    /// Its name.
    pub mechanism: &'a str,
    /// What may be spent; nothing for those that are not private.
    pub budget: Option<Budget>,
    /// The repetition, from 0.
    pub repetition: usize,
    /// Fixes all randomness.
    pub seed: u64,
    pub settings: &'a Settings,
}

/// What a cell is about.
pub trait Subject: Send + Sync {
    /// Its section of the summary.
    fn about(&self) -> String;

    /// The number of rows where a cell says none.
    fn size(&self) -> usize;

    /// The estimand's name in the results.
    fn estimand(&self) -> &'static str;

    /// The data of a repetition.
    ///
    /// # Errors
    /// Where there are no such data.
    fn draw(&self, n: usize, repetition: usize, seed: u64) -> Result<Box<dyn Repetition + '_>>;
}

/// The data of one repetition, on which mechanisms are run.
pub trait Repetition {
    /// The rows of one run, each the template with what was found; at least one.
    ///
    /// # Errors
    /// Where there is no estimate. The study counts it as a failure and goes on.
    fn run(&self, run: &Run, template: &Record) -> Result<Vec<Record>>;
}

/// The subject of a cell.
///
/// # Errors
/// Where there is no such dataset, its data are not in the folder, or it can't answer the cell's further questions.
pub fn load(study: &Study, cell: &CellFile, data: &Path) -> Result<Box<dyn Subject>> {
    let subject = || -> Result<Box<dyn Subject>> {
        Ok(match Kind::of(&cell.dataset) {
            Kind::Table => Box::new(population(cell, data)?),
            Kind::Panel => Box::new(Placebo::load(&cell.dataset, data)?),
            Kind::Cate => {
                let test_rows = study.test_rows_of(cell);
                Box::new(CatePopulation::load(&cell.dataset, data, test_rows)?)
            }
        })
    };
    subject().with_context(|| format!("dataset {}", cell.dataset))
}

/// The population of a cell, with the answers to its further questions.
fn population(cell: &CellFile, data: &Path) -> Result<Population> {
    let mut population = datasets::load(&cell.dataset, data)?;
    population.ask(&cell.further)?;
    Ok(population)
}

//! Study files: which datasets, sizes, budgets, mechanisms and repetitions.

use super::procedures::{self, Settings};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeSet;

/// A study file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The format and its version.
    pub format: Format,
    /// What it is for.
    pub title: String,
    /// Fixes every table and all noise.
    pub seed: u64,
    /// Repetitions per cell, unless a cell says otherwise.
    pub repetitions: usize,
    /// Budgets, unless a cell says otherwise; delta is 1/n^2.
    pub epsilons: Vec<f64>,
    /// Mechanisms, unless a cell says otherwise.
    pub mechanisms: Vec<String>,
    /// The only estimators that are wanted; empty for all.
    #[serde(default)]
    pub estimators: Vec<String>,
    /// Posterior draws of mechanisms that draw.
    pub draws: usize,
    /// The cells.
    pub cells: Vec<CellFile>,
}

/// The formats that this version reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Format {
    /// Version 1.
    #[serde(rename = "dpcausal.study/1")]
    V1,
}

/// A dataset at some sizes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellFile {
    /// The dataset's name.
    pub dataset: String,
    /// Numbers of rows per repetition; none for as many as the population has units.
    #[serde(default)]
    pub n: Vec<usize>,
    /// In the place of the study's.
    pub repetitions: Option<usize>,
    /// In the place of the study's.
    pub epsilons: Option<Vec<f64>>,
    /// In the place of the study's.
    pub mechanisms: Option<Vec<String>>,
    /// What else is asked of each table, and of each release: `att`, or a covariate whose levels are subgroups.
    #[serde(default)]
    pub further: Vec<String>,
}

impl Study {
    /// Reads a study file.
    ///
    /// # Errors
    /// Where it is none, names an unknown mechanism, or has nothing to do.
    pub fn parse(text: &str) -> Result<Study> {
        let study: Study = serde_yaml::from_str(text).context("not a study file")?;
        // There is one version; a second one makes this line fail to compile.
        let Format::V1 = study.format;
        ensure!(!study.cells.is_empty(), "a study without cells");
        ensure!(study.draws >= 2, "a posterior needs two draws at least");
        let mut seen = BTreeSet::new();
        for cell in &study.cells {
            for name in study.mechanisms_of(cell) {
                procedures::named(name)?;
            }
            let epsilons = study.epsilons_of(cell);
            ensure!(
                epsilons.iter().all(|e| e.is_finite() && *e > 0.0),
                "{}: an epsilon that is not positive",
                cell.dataset
            );
            for n in cell
                .n
                .iter()
                .map(Some)
                .chain(cell.n.is_empty().then_some(None))
            {
                let new = seen.insert((cell.dataset.clone(), n.copied()));
                ensure!(new, "{} stands twice with the same n", cell.dataset);
            }
        }
        Ok(study)
    }

    /// The number of repetitions of a cell.
    pub fn repetitions_of(&self, cell: &CellFile) -> usize {
        cell.repetitions.unwrap_or(self.repetitions)
    }

    /// The mechanisms of a cell.
    pub fn mechanisms_of<'a>(&'a self, cell: &'a CellFile) -> &'a [String] {
        cell.mechanisms.as_ref().unwrap_or(&self.mechanisms)
    }

    /// The budgets of a cell.
    pub fn epsilons_of<'a>(&'a self, cell: &'a CellFile) -> &'a [f64] {
        cell.epsilons.as_ref().unwrap_or(&self.epsilons)
    }

    /// What the procedures are told.
    pub fn settings(&self) -> Settings {
        Settings {
            draws: self.draws,
            estimators: self.estimators.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
format: dpcausal.study/1
title: t
seed: 1
repetitions: 10
epsilons: [1]
mechanisms: [floor]
draws: 5
cells:
  - {dataset: ihdp}
";

    #[test]
    fn committed_studies_are_valid() {
        for text in [
            include_str!("../default.yaml"),
            include_str!("../quick.yaml"),
            include_str!("../tuning.yaml"),
            include_str!("../main-table.yaml"),
            include_str!("../ablations.yaml"),
        ] {
            Study::parse(text).unwrap();
        }
    }

    #[test]
    fn mistakes_are_refused() {
        assert!(Study::parse(TEXT).is_ok());
        for (from, to) in [
            ("[floor]", "[flor]"),
            ("[1]", "[-1]"),
            ("{dataset: ihdp}", "{dataset: ihdp}\n  - {dataset: ihdp}"),
            ("draws: 5", "draws: 1"),
            ("study/1", "study/2"),
        ] {
            assert!(Study::parse(&TEXT.replace(from, to)).is_err(), "{to}");
        }
    }
}

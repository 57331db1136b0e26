//! Study files: which datasets, sizes, budgets, mechanisms and repetitions.

use super::procedures::Settings;
use super::subject::Kind;
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
    /// Budgets, unless a cell says otherwise.
    pub epsilons: Vec<f64>,
    /// The delta of every release that has one, unless a cell says otherwise; 1/n^2 if not given.
    pub delta: Option<f64>,
    /// Mechanisms, unless a cell says otherwise.
    pub mechanisms: Vec<String>,
    /// The only estimators that are wanted; empty for all.
    #[serde(default)]
    pub estimators: Vec<String>,
    /// Posterior draws of mechanisms that draw.
    #[serde(default = "default_draws")]
    pub draws: usize,
    /// The rows at which effects as functions of covariates are compared, unless a cell says otherwise.
    #[serde(default = "default_test_rows")]
    pub test_rows: usize,
    /// On panels, the repetitions whose intervals are computed, since they take longer than the releases; all if not
    /// given.
    pub interval_repetitions: Option<usize>,
    /// The cells.
    pub cells: Vec<CellFile>,
}

fn default_draws() -> usize {
    20
}

/// As many as the published comparisons have.
fn default_test_rows() -> usize {
    50_000
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
    pub delta: Option<f64>,
    /// In the place of the study's.
    pub test_rows: Option<usize>,
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
    /// Where it is none, names a mechanism that its dataset does not have, or has nothing to do.
    pub fn parse(text: &str) -> Result<Study> {
        let study: Study = serde_yaml::from_str(text).context("not a study file")?;
        // There is one version; a second one makes this line fail to compile.
        let Format::V1 = study.format;
        ensure!(!study.cells.is_empty(), "a study without cells");
        ensure!(study.draws >= 2, "a posterior needs two draws at least");
        let mut seen = BTreeSet::new();
        for cell in &study.cells {
            let kind = Kind::of(&cell.dataset);
            for name in study.mechanisms_of(cell) {
                kind.nature(&cell.dataset, name)?;
            }
            ensure!(
                kind == Kind::Table || cell.further.is_empty(),
                "{}: further questions are for tables",
                cell.dataset
            );
            ensure!(
                kind != Kind::Panel || cell.n.is_empty(),
                "{}: a panel has the donors that it has, and takes no n",
                cell.dataset
            );
            let delta = cell.delta.or(study.delta).unwrap_or(0.5);
            ensure!(
                0.0 < delta && delta < 1.0,
                "{}: a delta lies between 0 and 1",
                cell.dataset
            );
            ensure!(
                study.test_rows_of(cell) > 0,
                "{}: effects are compared at one row at least",
                cell.dataset
            );
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

    /// The delta of a cell's releases of `n` rows.
    pub fn delta_of(&self, cell: &CellFile, n: usize) -> f64 {
        let given = cell.delta.or(self.delta);
        given.unwrap_or_else(|| (n as f64).powi(-2))
    }

    /// The test rows of a cell.
    pub fn test_rows_of(&self, cell: &CellFile) -> usize {
        cell.test_rows.unwrap_or(self.test_rows)
    }

    /// What the procedures are told.
    pub fn settings(&self) -> Settings {
        Settings {
            draws: self.draws,
            estimators: self.estimators.clone(),
            interval_repetitions: self.interval_repetitions.unwrap_or(usize::MAX),
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
            include_str!("../placebo.yaml"),
            include_str!("../effects.yaml"),
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
            ("draws: 5", "draws: 5\ndelta: 1"),
            ("draws: 5", "draws: 5\ntest_rows: 0"),
            // Mechanisms are those of the dataset's kind.
            ("ihdp", "panel-factor40"),
            ("ihdp", "cate-a"),
            ("[floor]", "[adaptive]"),
            ("[floor]", "[index]"),
        ] {
            assert!(Study::parse(&TEXT.replace(from, to)).is_err(), "{to}");
        }
    }

    #[test]
    fn kinds_have_mechanisms_of_their_own() {
        let study = |dataset: &str, mechanism: &str, more: &str| {
            let text = TEXT.replace("{dataset: ihdp}", &format!("{{dataset: {dataset}{more}}}"));
            Study::parse(&text.replace("[floor]", &format!("[{mechanism}]")))
        };
        for (dataset, mechanism) in [
            ("panel-factor40", "index+fit_share=0.2"),
            ("panel-prop99", "simplex"),
            ("cate-a", "dr-ebm"),
            ("cate-e", "adaptive+overlap=0.1"),
            ("cate-gotv-observational", "s-linear"),
        ] {
            let found = study(dataset, mechanism, "");
            assert!(found.is_ok(), "{dataset}, {mechanism}: {:?}", found.err());
        }
        for (dataset, mechanism, more) in [
            ("panel-prop99", "index+fit_share=2", ""),
            ("panel-prop99", "index+clip", ""),
            ("panel-prop99", "index", ", n: [10]"),
            ("panel-prop99", "index", ", further: [att]"),
            ("cate-a", "dr-nothing", ""),
            ("cate-a", "adaptive+nothing=1", ""),
            ("cate-f", "adaptive", ""),
        ] {
            let found = study(dataset, mechanism, more);
            assert!(found.is_err(), "{dataset}, {mechanism}{more}");
        }
    }
}

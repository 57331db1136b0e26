//! ACIC 2016: real covariates of 4802 pregnancies; treatment and outcome simulated by the challenge.
//!
//! As for IHDP, units are drawn with replacement, and treatment and outcome anew from the setting's own
//! law (propensity `e`; `N(mu_t, 1)`, the challenge's noise). The package causallib carries ten further
//! simulations without the propensities; of those the treatment stays with the unit.

use super::super::population::{Assignment, Law, Outcomes, Population, Target};
use super::super::source::DataFile;
use super::{covariates, schema};
use anyhow::{Context, Result, ensure};
use dpcausal::estimate::Estimand;
use std::ops::RangeInclusive;
use std::path::Path;

const SCHEMA: &str = include_str!("../../../../schemas/acic2016.yaml");
const ABOUT: &str = "4802 units drawn with replacement; treatment and outcome drawn anew from the setting's own law (e; \
    N(mu, 1), clipped to [-60, 60]); repetition k is of the k-th setting in turn; the target is mean(mu1 - mu0) of \
    the setting";

/// Which simulations are studied.
pub enum Simulations {
    /// The settings of the challenge.
    Settings(RangeInclusive<usize>),
    /// Those that the package causallib carries.
    Causallib,
}

/// The population under these simulations.
pub fn population(simulations: Simulations, data: &Path) -> Result<Population> {
    let (schema, document) = schema(SCHEMA)?;
    let folder = data.join("acic2016");
    let units = covariates(
        &schema,
        &DataFile::read(&folder.join("acic2016_covariates.csv"))?,
    )?;
    let file = folder.join(match simulations {
        Simulations::Settings(_) => "acic2016_sims_settings_1_20.csv.gz",
        Simulations::Causallib => "acic2016_sims_causallib.csv",
    });
    let mut laws = laws(&DataFile::read(&file)?, units.table.rows)?;
    if let Simulations::Settings(settings) = simulations {
        let last = *settings.end();
        ensure!(
            *settings.start() >= 1 && last <= laws.len(),
            "there is no setting {last}"
        );
        laws = laws.drain(settings.start() - 1..last).collect();
    }
    Ok(Population {
        name: String::new(),
        about: ABOUT,
        schema,
        document,
        squares: vec![],
        estimand: Estimand::Ate,
        tuning: false,
        units,
        laws,
    })
}

/// The laws of a file whose rows stand by setting, then by unit.
fn laws(file: &DataFile, size: usize) -> Result<Vec<Law>> {
    ensure!(
        file.rows().is_multiple_of(size),
        "the simulations are not of {size} units each"
    );
    let treatment: Vec<u16> = file.column("z", |cell| cell.parse().ok())?;
    let propensity = file.has("e").then(|| file.numbers("e")).transpose()?;
    let (mu0, mu1) = (file.numbers("mu0")?, file.numbers("mu1")?);
    (0..file.rows())
        .step_by(size)
        .map(|start| {
            let rows = start..start + size;
            let means = [mu0[rows.clone()].to_vec(), mu1[rows.clone()].to_vec()];
            let effects = means[1].iter().zip(&means[0]).map(|(one, zero)| one - zero);
            let targets = vec![Target::of_everyone(
                Estimand::Ate,
                "population",
                effects.sum::<f64>() / size as f64,
            )];
            let recorded = treatment
                .get(rows.clone())
                .context("a short file")?
                .to_vec();
            Ok(Law {
                assignment: match &propensity {
                    Some(propensity) => Assignment::Propensity(propensity[rows].to_vec()),
                    None => Assignment::Recorded(recorded),
                },
                outcomes: Outcomes::Normal {
                    means,
                    sd: 1.0,
                    bounds: (-60.0, 60.0),
                },
                targets,
            })
        })
        .collect()
}

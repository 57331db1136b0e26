//! IHDP: real infants and treatment, simulated outcomes (NPCI replications 1-100).
//!
//! Repetition `k` is of replication `1 + k mod 100`. It draws infants with their treatment with
//! replacement, and the outcome anew from the replication's own law, `N(mu_t, 1)`: with the file's one
//! draw of it, the error of that draw would count twice, and no interval could cover as it says.

use super::super::population::{Assignment, Law, Outcomes, Population, Target};
use super::super::source::DataFile;
use super::{covariates, schema};
use anyhow::{Result, ensure};
use dpcausal::estimate::Estimand;
use std::path::Path;

const SCHEMA: &str = include_str!("../../../../schemas/ihdp.yaml");

/// The public bounds of the outcome.
const BOUNDS: (f64, f64) = (-10.0, 40.0);

/// A replication is tame if all its potential outcomes in the file lie here.
const TAME: (f64, f64) = (-10.0, 30.0);

const ABOUT: &str = "747 infants with their treatment, drawn with replacement; outcomes drawn anew from each \
    replication's law N(mu, 1) and clipped to the bounds; repetition k is of replication 1 + k mod their number; \
    target `population` is mean(mu1 - mu0) of the replication, `clipped` the same of the clipped outcome";
const ABOUT_TAME: &str = "as ihdp, of the replications whose potential outcomes all lie within [-10, 30], so that clipping is \
    next to nothing";

/// The population of all replications, or of the tame ones.
pub fn population(tame: bool, data: &Path) -> Result<Population> {
    let (schema, document) = schema(SCHEMA)?;
    let infants = DataFile::read(&data.join("ihdp/ihdp_covariates_raw.csv"))?;
    let outcomes = DataFile::read(&data.join("ihdp/ihdp_outcomes_1_100.csv.gz"))?;
    let units = covariates(&schema, &infants)?;
    let treat = infants.column("treat", |cell| cell.parse().ok())?;
    let laws = laws(&outcomes, &treat, tame)?;
    Ok(Population {
        name: String::new(),
        about: if tame { ABOUT_TAME } else { ABOUT },
        schema,
        document,
        squares: vec![],
        estimand: Estimand::Ate,
        tuning: false,
        units,
        laws,
    })
}

fn laws(file: &DataFile, treat: &[u16], tame: bool) -> Result<Vec<Law>> {
    let size = treat.len();
    ensure!(
        file.rows().is_multiple_of(size),
        "the outcomes are not of {size} infants each"
    );
    // Rows stand by replication, then by unit, as the covariates do.
    let [y0, y1, mu0, mu1] = ["y0", "y1", "mu0", "mu1"].map(|name| file.numbers(name));
    let (y0, y1, mu0, mu1) = (y0?, y1?, mu0?, mu1?);
    let mut laws = Vec::new();
    for start in (0..file.rows()).step_by(size) {
        let rows = start..start + size;
        let within = |values: &[f64]| values.iter().all(|y| (TAME.0..=TAME.1).contains(y));
        if tame && !(within(&y0[rows.clone()]) && within(&y1[rows.clone()])) {
            continue;
        }
        let means = [mu0[rows.clone()].to_vec(), mu1[rows].to_vec()];
        laws.push(law(means, treat));
    }
    ensure!(!laws.is_empty(), "no replication");
    Ok(laws)
}

fn law(means: [Vec<f64>; 2], treat: &[u16]) -> Law {
    let size = treat.len();
    let effects = means[1].iter().zip(&means[0]).map(|(one, zero)| one - zero);
    let unclipped = effects.sum::<f64>() / size as f64;
    let outcomes = Outcomes::Normal {
        means,
        sd: 1.0,
        bounds: BOUNDS,
    };
    let clipped = outcomes.average_effect(size);
    let target = |name, value| Target::of_everyone(Estimand::Ate, name, value);
    Law {
        assignment: Assignment::Recorded(treat.to_vec()),
        outcomes,
        targets: vec![target("population", unclipped), target("clipped", clipped)],
    }
}

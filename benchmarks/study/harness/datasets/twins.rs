//! Twins: pairs of twins under 2000 g. The treatment is being the heavier twin, the outcome death within
//! a year; both twins' outcomes are known, so the truth is. Birth weights are never covariates: they
//! define the treatment.
//!
//! The file's propensity depends on gestation, which is no covariate: no adjustment comes near the truth, and
//! the non-private floor covers nothing. With a fair coin in its place the design is an
//! experiment. The published comparisons are held against that one: their non-private width, .0273, is what
//! a fair coin gives, and not what the file's propensity does (.034).

use super::super::population::{Assignment, Law, Outcomes, Population, Target};
use super::super::source::DataFile;
use super::{covariates, schema};
use anyhow::Result;
use dpcausal::estimate::Estimand;
use dpcausal::schema::Schema;
use dpcausal::schema::file::{DesignFile, Number, PropensityFile};
use std::path::Path;

const SCHEMA: &str = include_str!("../../../../schemas/twins.yaml");
const ABOUT: &str = "11,984 pairs drawn with replacement; which twin is observed is drawn anew by the file's propensity, which \
    depends on gestation, a hidden confounder; the target is mean(y1 - y0) of the file";
const ABOUT_RANDOMISED: &str = "11,984 pairs drawn with replacement; which twin is observed is drawn by a fair coin; the target is \
    mean(y1 - y0) of the file";

/// The population under the file's propensity or a fair coin.
pub fn population(randomised: bool, data: &Path) -> Result<Population> {
    let (mut schema, mut document) = schema(SCHEMA)?;
    if randomised {
        let propensity = vec![Number(0.5), Number(0.5)];
        document.design = DesignFile::Known(PropensityFile { propensity });
        schema = Schema::from_file(&document)?;
    }
    let file = DataFile::read(&data.join("twins/twins_11984.csv.gz"))?;
    let units = covariates(&schema, &file)?;
    let outcomes = Outcomes::Recorded([file.numbers("y0")?, file.numbers("y1")?]);
    let targets = vec![Target::of_everyone(
        Estimand::Ate,
        "population",
        outcomes.average_effect(units.table.rows),
    )];
    let propensity = if randomised {
        vec![0.5; units.table.rows]
    } else {
        file.numbers("propensity")?
    };
    Ok(Population {
        name: String::new(),
        about: if randomised { ABOUT_RANDOMISED } else { ABOUT },
        schema,
        document,
        squares: vec![],
        estimand: Estimand::Ate,
        tuning: false,
        laws: vec![Law {
            assignment: Assignment::Propensity(propensity),
            outcomes,
            targets,
        }],
        units,
    })
}

//! ACS semi-synthetic: real covariates of 295,243 workers; treatment and outcome by public coefficients,
//! so that the truth is known.
//!
//! With `z = (age - 42) / 15`, `s = (schl - 19) / 4` and indicators of being female, married, not white,
//! in government and foreign-born,
//!
//! ```text
//! propensity  logistic(-.4 + .5 z - .2 z^2 + .6 s + .3 married + .4 government - .3 foreign - .2 nonwhite), in [.05, .95]
//! dollars     mu_0 = 40000 + 9000 z - 4000 z^2 + 14000 s - 8000 female + 5000 married - 4000 nonwhite, in [0, 180000]
//!             mu_1 = mu_0 + 3000 + 2500 s - 1500 female + 2000 (age < 35);   y ~ N(mu_t, 15000^2), clipped to [0, 200000]
//! binary      logit_0 = -.6 + .5 z - .25 z^2 + .8 s - .4 female + .3 married - .3 nonwhite
//!             logit_1 = logit_0 + .3 + .15 s - .1 female
//! ```
//!
//! The target is the mean over the file of the difference of the (clipped) conditional means.

use super::super::coding::CodedRows;
use super::super::population::{Assignment, Law, Outcomes, Population, Target};
use super::super::source::DataFile;
use super::{acs_scores, logistic, restricted, schema};
use anyhow::{Result, bail, ensure};
use dpcausal::estimate::Estimand;
use std::path::Path;

const FILE: &str = "acs2018/acs2018_workers_295k.csv.gz";
const BINARY: &str = include_str!("../../../../schemas/acs-binary.yaml");
const DOLLARS: &str = include_str!("../../../../schemas/acs-dollars.yaml");
const ABOUT: &str = "covariates of 295,243 workers (ACS 2018), drawn with replacement; treatment and outcome simulated \
    with public coefficients; the target is the file's mean difference of (clipped) conditional means";

/// Standard deviation of the dollar outcome given covariates, before clipping.
const DOLLARS_SD: f64 = 15_000.0;

/// The population with this outcome, to be adjusted for by so many scores.
pub fn population(outcome: &str, scores: usize, data: &Path) -> Result<Population> {
    ensure!(
        [5, 10, 20, 40].contains(&scores),
        "there are forms of 5, 10, 20 and 40 scores"
    );
    let text = match outcome {
        "binary" => BINARY,
        "dollars" => DOLLARS,
        _ => bail!("the outcome is binary or dollars"),
    };
    let names = acs_scores::names(scores);
    let (schema, document) = restricted(&schema(text)?.1, &names)?;
    let file = DataFile::read(&data.join(FILE))?;
    let cells = names
        .iter()
        .map(|name| Ok(((*name).to_owned(), acs_scores::cells(name, &file)?)))
        .collect::<Result<_>>()?;
    let units = CodedRows::of_units(&schema, &cells)?;
    let law = law(outcome, &Workers::read(&file)?);
    Ok(Population {
        name: String::new(),
        about: ABOUT,
        schema,
        document,
        squares: vec!["age".into()],
        estimand: Estimand::Ate,
        tuning: false,
        units,
        laws: vec![law],
    })
}

/// What the design's coefficients belong to, one number per worker.
struct Workers {
    age: Vec<f64>,
    schl: Vec<f64>,
    female: Vec<f64>,
    married: Vec<f64>,
    nonwhite: Vec<f64>,
    government: Vec<f64>,
    foreign: Vec<f64>,
}

impl Workers {
    fn read(file: &DataFile) -> Result<Workers> {
        let indicator = |column: &str, is: &dyn Fn(&str) -> bool| {
            file.column(column, |cell| Some(f64::from(u8::from(is(cell)))))
        };
        Ok(Workers {
            age: file.numbers("age")?,
            schl: file.numbers("schl")?,
            female: indicator("sex", &|cell| cell == "female")?,
            married: indicator("marital", &|cell| cell == "married")?,
            nonwhite: indicator("race", &|cell| cell != "white")?,
            government: indicator("workclass", &|cell| cell.ends_with("_gov"))?,
            foreign: indicator("foreign_born", &|cell| cell == "1")?,
        })
    }

    fn propensity(&self, i: usize) -> f64 {
        let (z, s) = self.z_and_s(i);
        let logit = -0.4 + 0.5 * z - 0.2 * z * z
            + 0.6 * s
            + 0.3 * self.married[i]
            + 0.4 * self.government[i]
            - 0.3 * self.foreign[i]
            - 0.2 * self.nonwhite[i];
        logistic(logit).clamp(0.05, 0.95)
    }

    /// Means in both arms, before clipping.
    fn dollars(&self, i: usize) -> [f64; 2] {
        let (z, s) = self.z_and_s(i);
        let untreated = 40_000.0 + 9000.0 * z - 4000.0 * z * z + 14_000.0 * s
            - 8000.0 * self.female[i]
            + 5000.0 * self.married[i]
            - 4000.0 * self.nonwhite[i];
        let untreated = untreated.clamp(0.0, 180_000.0);
        let young = f64::from(u8::from(self.age[i] < 35.0));
        let effect = 3000.0 + 2500.0 * s - 1500.0 * self.female[i] + 2000.0 * young;
        [untreated, untreated + effect]
    }

    /// Probabilities in both arms.
    fn binary(&self, i: usize) -> [f64; 2] {
        let (z, s) = self.z_and_s(i);
        let untreated = -0.6 + 0.5 * z - 0.25 * z * z + 0.8 * s - 0.4 * self.female[i]
            + 0.3 * self.married[i]
            - 0.3 * self.nonwhite[i];
        let effect = 0.3 + 0.15 * s - 0.1 * self.female[i];
        [logistic(untreated), logistic(untreated + effect)]
    }

    fn z_and_s(&self, i: usize) -> (f64, f64) {
        ((self.age[i] - 42.0) / 15.0, (self.schl[i] - 19.0) / 4.0)
    }
}

fn law(outcome: &str, workers: &Workers) -> Law {
    let count = workers.age.len();
    let both = |of: &dyn Fn(usize) -> [f64; 2]| {
        let pairs: Vec<[f64; 2]> = (0..count).map(of).collect();
        [0, 1].map(|arm| pairs.iter().map(|pair| pair[arm]).collect())
    };
    let outcomes = if outcome == "binary" {
        Outcomes::Bernoulli(both(&|i| workers.binary(i)))
    } else {
        Outcomes::Normal {
            means: both(&|i| workers.dollars(i)),
            sd: DOLLARS_SD,
            bounds: (0.0, 200_000.0),
        }
    };
    let targets = vec![Target::of_everyone(
        Estimand::Ate,
        "population",
        outcomes.average_effect(count),
    )];
    let propensity = (0..count).map(|i| workers.propensity(i)).collect();
    Law {
        assignment: Assignment::Propensity(propensity),
        outcomes,
        targets,
    }
}

//! LaLonde's job-training data: the experiment (Dehejia and Wahba's sample), and its treated men with
//! controls from a survey (CPS-3, PSID-3), where the experiment tells what the effect is.

use super::super::coding::{Cells, CodedRows};
use super::super::population::{Assignment, Law, Outcomes, Population, Target};
use super::super::procedures::floor;
use super::super::source::DataFile;
use super::schema;
use anyhow::{Context, Result, ensure};
use dpcausal::estimate::Estimand;
use dpcausal::schema::Schema;
use dpcausal::schema::file::DesignFile;
use std::collections::BTreeMap;
use std::path::Path;

const SCHEMA: &str = include_str!("../../../../schemas/lalonde.yaml");
const ABOUT_EXPERIMENT: &str = "the 445 men of the experiment with their treatment and outcome, drawn with replacement; the target \
    is the file's difference in means, 1794";
const ABOUT_OBSERVATIONAL: &str = "the experiment's 185 treated men and all of the survey's controls, drawn with replacement; target \
    `functional` is the non-private interacted regression's effect on the treated on the whole file (the population \
    value of what is estimated), `experiment` the experiment's difference in means, 1794";

/// Men, their arms and outcomes.
#[derive(Default)]
struct Men {
    cells: BTreeMap<String, Cells>,
    arms: Vec<u16>,
    outcomes: Vec<f64>,
}

impl Men {
    /// Adds the men of a file whose treatment is among `arms`.
    fn add(&mut self, schema: &Schema, file: &DataFile, arms: &[u16]) -> Result<()> {
        let treat: Vec<u16> = file.column("treat", |cell| cell.parse().ok())?;
        let kept: Vec<usize> = (0..treat.len())
            .filter(|&i| arms.contains(&treat[i]))
            .collect();
        for index in schema.covariates() {
            let column = &schema.columns[index];
            match (file.cells(column)?, self.cells.get_mut(&column.name)) {
                (Cells::Numbers(more), Some(Cells::Numbers(cells))) => {
                    cells.extend(kept.iter().map(|&i| more[i]));
                }
                (Cells::Codes(more), Some(Cells::Codes(cells))) => {
                    cells.extend(kept.iter().map(|&i| more[i]));
                }
                (Cells::Numbers(more), _) => {
                    let cells = kept.iter().map(|&i| more[i]).collect();
                    self.cells
                        .insert(column.name.clone(), Cells::Numbers(cells));
                }
                (Cells::Codes(more), _) => {
                    let cells = kept.iter().map(|&i| more[i]).collect();
                    self.cells.insert(column.name.clone(), Cells::Codes(cells));
                }
            }
        }
        let earnings = file.numbers("re78")?;
        self.outcomes.extend(kept.iter().map(|&i| earnings[i]));
        self.arms.extend(kept.iter().map(|&i| treat[i]));
        Ok(())
    }

    fn difference_in_means(&self) -> f64 {
        let mean = |arm: u16| {
            let rows = self
                .arms
                .iter()
                .zip(&self.outcomes)
                .filter(|(a, _)| **a == arm);
            let (count, sum) = rows.fold((0.0, 0.0), |(n, s), (_, y)| (n + 1.0, s + y));
            sum / count
        };
        mean(1) - mean(0)
    }
}

/// The experiment.
pub fn experiment(data: &Path) -> Result<Population> {
    let (schema, document) = schema(SCHEMA)?;
    let mut men = Men::default();
    let file = DataFile::read(&data.join("lalonde/nsw_dw.csv"))?;
    men.add(&schema, &file, &[0, 1])?;
    let targets = vec![Target::of_everyone(
        Estimand::Ate,
        "population",
        men.difference_in_means(),
    )];
    let units = CodedRows::of_units(&schema, &men.cells)?;
    Ok(Population {
        name: String::new(),
        about: ABOUT_EXPERIMENT,
        schema,
        document,
        squares: vec![],
        estimand: Estimand::Ate,
        tuning: false,
        units,
        laws: vec![law(men, targets)],
    })
}

/// The experiment's treated men with controls from `cps3` or `psid3`.
pub fn observational(controls: &str, data: &Path) -> Result<Population> {
    ensure!(
        ["cps3", "psid3"].contains(&controls),
        "controls are of cps3 or psid3"
    );
    let mut document = schema(SCHEMA)?.1;
    // The number of rows is public, and the treatment randomised, in the experiment alone.
    document.rows = None;
    document.design = DesignFile::default();
    let schema = Schema::from_file(&document)?;
    let trained = DataFile::read(&data.join("lalonde/nsw_dw.csv"))?;
    let mut experiment = Men::default();
    experiment.add(&schema, &trained, &[0, 1])?;
    let mut men = Men::default();
    men.add(&schema, &trained, &[1])?;
    let survey = DataFile::read(&data.join(format!("lalonde/{controls}.csv")))?;
    men.add(&schema, &survey, &[0])?;
    let units = CodedRows::of_units(&schema, &men.cells)?;
    let everyone: Vec<usize> = (0..men.arms.len()).collect();
    let rows = units.gather(&schema, &everyone, men.arms.clone(), &men.outcomes);
    let squares = vec!["age".to_owned()];
    let functional = floor::regression(&rows, &schema, &squares, Estimand::Att)
        .context("the regression on the whole file")?;
    let target = |name, value| Target::of_everyone(Estimand::Att, name, value);
    let targets = vec![
        target("functional", functional.value),
        target("experiment", experiment.difference_in_means()),
    ];
    Ok(Population {
        name: String::new(),
        about: ABOUT_OBSERVATIONAL,
        schema,
        document,
        squares,
        estimand: Estimand::Att,
        tuning: false,
        units,
        laws: vec![law(men, targets)],
    })
}

fn law(men: Men, targets: Vec<Target>) -> Law {
    Law {
        assignment: Assignment::Recorded(men.arms),
        outcomes: Outcomes::Recorded([men.outcomes.clone(), men.outcomes]),
        targets,
    }
}

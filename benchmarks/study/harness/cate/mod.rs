//! The effect workload's populations: the five setups of Niu et al. (2022), and a trial with a known effect.
//!
//! One repetition is two independent tables, each released at the whole budget. Of their effects' errors `e1`, `e2` at
//! the test rows, `mean(e1^2 + e2^2) / 2` is the mean squared error, and `mean(e1 e2)` an unbiased estimate of the
//! integrated squared bias, which the squared mean error of a few repetitions would overstate.

pub mod gotv;
pub mod simulated;

use super::procedures::Budget;
use super::record::Record;
use super::seeds;
use super::subject::{Nature, Repetition, Run, Subject};
use anyhow::{Context, Result, bail};
use dpcausal::schema::Schema;
use dpcausal::table::CodedTable;
use dpcausal::workload::CateWorkload;
use gotv::Voters;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use simulated::setups::{Sample, Setup};
use simulated::{Found, PairErrors, Task, learners};
use std::borrow::Cow;
use std::path::Path;

/// What a name may be, for messages.
pub const NAMES: &str =
    "cate-a to cate-e, cate-b-trial (the propensity stated), cate-gotv, cate-gotv-observational";

/// The targets of the records. An estimate of [`EFFECT`] is the root mean squared error of one repetition, so that the
/// cell's RMSE is the root of the mean squared error; the next two are numbers whose mean is wanted.
pub const EFFECT: &str = "effect";
pub const SQUARED_BIAS: &str = "squared-bias";
pub const VARIANCE: &str = "variance";
pub const AVERAGE: &str = "average";

/// The seed of the test rows, the same in every study.
const TEST_SEED: u64 = 7;

/// A trial with a stated propensity of one half.
const EVEN: &str = "{propensity: [0.5, 0.5]}";

/// Where tables come from.
enum Tables {
    Drawn(Setup),
    Voters(Voters),
}

/// A population with the effect at test rows.
pub struct CatePopulation {
    name: String,
    schema: String,
    tables: Tables,
    test: Sample,
}

/// Its schema by name.
fn schema(name: &str) -> Result<String> {
    let observational = "observational";
    if let Some(design) = name.strip_prefix("cate-gotv") {
        let line = gotv::SCHEMA
            .lines()
            .find(|line| line.starts_with("design:"));
        return match design {
            "" => Ok(gotv::SCHEMA.into()),
            "-observational" => Ok(gotv::SCHEMA.replace(
                line.context("a design")?,
                &format!("design: {observational}"),
            )),
            _ => bail!("there is no dataset {name:?}; there are {NAMES}"),
        };
    }
    let design = if name == "cate-b-trial" {
        EVEN
    } else {
        observational
    };
    Ok(setup(name)?.schema_text(design))
}

fn setup(name: &str) -> Result<Setup> {
    let named = |setup: &Setup| {
        let letter = setup.0.to_ascii_lowercase();
        name == format!("cate-{letter}") || (letter == 'b' && name == "cate-b-trial")
    };
    let found = Setup::ALL.into_iter().find(named);
    found.with_context(|| format!("there is no dataset {name:?}; there are {NAMES}"))
}

/// Checks that a learner is one of the dataset's schema.
///
/// # Errors
/// Where dataset or learner are unknown, or don't go together.
pub fn nature(dataset: &str, learner: &str) -> Result<Nature> {
    let schema = Schema::parse(&schema(dataset)?, dataset)?.0;
    CateWorkload::parse(&learners::workload(learner)?, learner, &schema)?;
    Ok(Nature {
        is_private: true,
        is_fixed: false,
    })
}

impl CatePopulation {
    /// The population of a name, with so many test rows (of the voters: all).
    ///
    /// # Errors
    /// Where there is no such name, or its data are not in the folder.
    pub fn load(name: &str, data: &Path, test_rows: usize) -> Result<CatePopulation> {
        let schema = schema(name)?;
        let (tables, test) = if name.starts_with("cate-gotv") {
            let voters = Voters::read(data)?;
            let test = Sample {
                table: voters.table.clone(),
                effects: voters.effects.clone(),
            };
            (Tables::Voters(voters), test)
        } else {
            let setup = setup(name)?;
            let test = setup.sample(test_rows, &mut ChaCha8Rng::seed_from_u64(TEST_SEED));
            (Tables::Drawn(setup), test)
        };
        Ok(CatePopulation {
            name: name.into(),
            schema,
            tables,
            test,
        })
    }

    fn mean_effect(&self) -> f64 {
        self.test.effects.iter().sum::<f64>() / self.test.effects.len() as f64
    }

    fn table(&self, n: usize, seed: u64) -> Result<CodedTable> {
        match &self.tables {
            Tables::Drawn(setup) => Ok(setup.sample(n, &mut ChaCha8Rng::seed_from_u64(seed)).table),
            Tables::Voters(voters) => voters.sample(n, &mut seeds::generator(seed)),
        }
    }
}

impl Subject for CatePopulation {
    fn about(&self) -> String {
        let (rows, mean) = (self.test.effects.len() as f64, self.mean_effect());
        let squares = self.test.effects.iter().map(|tau| (tau - mean).powi(2));
        let text: Cow<str> = match &self.tables {
            Tables::Drawn(setup) => format!("setup {} of Niu et al. (2022)", setup.0).into(),
            Tables::Voters(_) => "voters of Gerber, Green and Larimer (2008), some outcomes changed so that the effect is known".into(),
        };
        format!(
            "\n## {}\n\n{text}. The effect at {rows} test rows: mean {mean:.4}, variance {:.4}, the error of the true mean used as a constant.\n",
            self.name,
            squares.sum::<f64>() / rows,
        )
    }

    fn size(&self) -> usize {
        self.test.table.rows
    }

    fn estimand(&self) -> &'static str {
        "cate"
    }

    fn draw(&self, n: usize, _: usize, seed: u64) -> Result<Box<dyn Repetition + '_>> {
        let table = |which: &str| self.table(n, seeds::derive(seed, &["table", which]));
        Ok(Box::new(Pair {
            population: self,
            tables: [table("first")?, table("second")?],
        }))
    }
}

/// The two tables of one repetition.
struct Pair<'a> {
    population: &'a CatePopulation,
    tables: [CodedTable; 2],
}

impl Repetition for Pair<'_> {
    fn run(&self, run: &Run, template: &Record) -> Result<Vec<Record>> {
        let Budget { epsilon, delta } = run.budget.context("a learner without a budget")?;
        let workload = learners::workload(run.mechanism)?;
        let found = |which: usize| -> Result<Found> {
            let task = Task {
                schema: &self.population.schema,
                workload: &workload,
                budget: dpcausal::privacy::Budget::approximate(epsilon, delta)?,
                seed: seeds::derive(run.seed, &[&which.to_string()]),
            };
            task.effects(self.tables[which].clone(), &self.population.test.table)
        };
        let pair = [found(0)?, found(1)?];
        let errors = PairErrors::of(&pair, &self.population.test.effects);
        let row = |target: &str, truth: f64, estimate: f64| Record {
            estimator: "conditional-effect".into(),
            target: target.into(),
            truth,
            estimate,
            ..template.clone()
        };
        let average = self.population.mean_effect();
        Ok(vec![
            row(EFFECT, 0.0, errors.mse.sqrt()),
            row(SQUARED_BIAS, 0.0, errors.squared_bias),
            row(VARIANCE, 0.0, errors.variance()),
            row(AVERAGE, average, pair[0].average),
            row(AVERAGE, average, pair[1].average),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_pair_by_hand() {
        let found = |effects: [f64; 2]| Found {
            effects: effects.into(),
            average: 0.0,
        };
        // Errors 1, -1 and 1, 3.
        let pair = [found([3.0, 4.0]), found([3.0, 8.0])];
        let errors = PairErrors::of(&pair, &[2.0, 5.0]);
        assert_eq!(
            (errors.mse, errors.squared_bias, errors.variance()),
            (3.0, -1.0, 4.0)
        );
    }
}

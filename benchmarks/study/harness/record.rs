//! One row of results: one estimate of one repetition, held against one target.

use anyhow::{Context, Result};

/// What a group of rows, written at once, is about: one mechanism on one table at one budget.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The dataset.
    pub dataset: String,
    /// The number of rows of the table.
    pub n: usize,
    /// Epsilon as text, so that keys compare exactly; `none` for what is not private.
    pub epsilon: String,
    /// The mechanism.
    pub mechanism: String,
    /// The repetition, from 0.
    pub repetition: usize,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// What it is about.
    pub key: Key,
    /// The estimator; empty in the row of a failure.
    pub estimator: String,
    /// The effect, `ate` or `att`.
    pub estimand: String,
    /// The target's name.
    pub target: String,
    /// Its value.
    pub truth: f64,
    /// The estimate; NaN in the row of a failure.
    pub estimate: f64,
    /// The interval's ends.
    pub interval: [f64; 2],
    /// Why there is no estimate; empty where there is one.
    pub failure: String,
    /// The seed of the repetition's table.
    pub seed: u64,
    /// This row's place in its group, from 1, and the number of rows there.
    pub place: [usize; 2],
    /// Seconds that the whole group took.
    pub seconds: f64,
    /// Mean total variation between the synthetic table and the data, of the marginals of one and of two columns; NaN
    /// where there is no synthetic table.
    pub fidelity: [f64; 2],
}

/// The header of the file.
pub const HEADER: &str = "dataset,n,epsilon,mechanism,repetition,estimator,estimand,target,truth,estimate,lower,upper,failure,\
    seed,row,rows,seconds,tv1,tv2";

const FIELDS: usize = 19;

impl Record {
    /// A row that says nothing yet.
    pub fn empty() -> Record {
        Record {
            key: Key {
                dataset: String::new(),
                n: 0,
                epsilon: "none".into(),
                mechanism: String::new(),
                repetition: 0,
            },
            estimator: String::new(),
            estimand: String::new(),
            target: String::new(),
            truth: f64::NAN,
            estimate: f64::NAN,
            interval: [f64::NAN; 2],
            failure: String::new(),
            seed: 0,
            place: [1, 1],
            seconds: 0.0,
            fidelity: [f64::NAN; 2],
        }
    }

    /// The row as a line without its end. Texts lose what would break a line of plain CSV.
    pub fn line(&self) -> String {
        let plain = |text: &str| text.replace(['"', '\n', '\r'], " ").replace(',', ";");
        let key = &self.key;
        format!(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:.4},{},{}",
            key.dataset,
            key.n,
            key.epsilon,
            key.mechanism,
            key.repetition,
            self.estimator,
            self.estimand,
            self.target,
            self.truth,
            self.estimate,
            self.interval[0],
            self.interval[1],
            plain(&self.failure),
            self.seed,
            self.place[0],
            self.place[1],
            self.seconds,
            self.fidelity[0],
            self.fidelity[1]
        )
    }

    /// Reads a line.
    ///
    /// # Errors
    /// Where it is no row.
    pub fn parse(line: &str) -> Result<Record> {
        let fields: Vec<&str> = line.split(',').collect();
        let fields: [&str; FIELDS] = fields
            .try_into()
            .ok()
            .context("a row with the wrong number of fields")?;
        Ok(Record {
            key: Key {
                dataset: fields[0].into(),
                n: fields[1].parse()?,
                epsilon: fields[2].into(),
                mechanism: fields[3].into(),
                repetition: fields[4].parse()?,
            },
            estimator: fields[5].into(),
            estimand: fields[6].into(),
            target: fields[7].into(),
            truth: fields[8].parse()?,
            estimate: fields[9].parse()?,
            interval: [fields[10].parse()?, fields[11].parse()?],
            failure: fields[12].into(),
            seed: fields[13].parse()?,
            place: [fields[14].parse()?, fields[15].parse()?],
            seconds: fields[16].parse()?,
            fidelity: [fields[17].parse()?, fields[18].parse()?],
        })
    }
}

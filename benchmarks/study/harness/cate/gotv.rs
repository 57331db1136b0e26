//! A trial whose effect is known: voters of Gerber, Green and Larimer (2008), some outcomes changed.
//!
//! As Nie and Wager (2021) do with another trial: the effect is `tau = -g2000 / (2 + 100 / age)`. With probability `|tau|` a voter
//! votes without the letter and not with it, whatever was observed; else as observed in either arm. Voters are
//! drawn without replacement per repetition where fewer are asked for. The effect is compared at all voters.

use anyhow::{Context, Result, ensure};
use dpcausal::privacy::Rows;
use dpcausal::schema::{SCALE, Schema};
use dpcausal::table::{CodedTable, Source, read_population};
use rand::RngExt;
use rand::seq::index;
use rand_chacha::ChaCha12Rng;
use std::path::Path;

/// The schema, whose design is stated.
pub const SCHEMA: &str = include_str!("../../../../schemas/gotv.yaml");

const FILE: &str = "gotv/gotv_ggl2008_civicduty.csv.gz";

/// The voters and the effect on each.
pub struct Voters {
    pub table: CodedTable,
    pub effects: Vec<f64>,
    treatment: usize,
    outcome: usize,
}

impl Voters {
    /// Reads them from the folder of datasets.
    ///
    /// # Errors
    /// Where the file is not there, or not as the schema says.
    pub fn read(data: &Path) -> Result<Voters> {
        let schema = Schema::parse(SCHEMA, "gotv.yaml")?.0;
        let source = Source::Path(data.join(FILE));
        let table = read_population(&source, None, &schema, &|_| ())?;
        Ok(Voters {
            effects: effects(&table, &schema)?,
            table,
            treatment: schema.treatment().context("a treatment")?,
            outcome: schema.outcome().context("an outcome")?,
        })
    }

    /// So many of them, with outcomes changed.
    ///
    /// # Errors
    /// Where there are not so many.
    pub fn sample(&self, n: usize, random: &mut ChaCha12Rng) -> Result<CodedTable> {
        let all = self.table.rows;
        ensure!(n <= all, "there are {all} voters, not {n}");
        let drawn: Vec<usize> = if n < all {
            index::sample(random, all, n).into_vec()
        } else {
            (0..all).collect()
        };
        let mut table = Rows::picked(&self.table, &drawn);
        let [arms, votes] = [self.treatment, self.outcome].map(|k| table.codes[k].clone());
        let arms = arms.context("arms are coded")?;
        let mut votes = votes.context("votes are coded")?;
        for (row, &voter) in drawn.iter().enumerate() {
            if random.random::<f64>() < -self.effects[voter] {
                votes[row] = 1 - arms[row].min(1);
                table.outcome[row] = u32::from(votes[row]) * SCALE as u32;
            }
        }
        table.codes[self.outcome] = Some(votes);
        Ok(table)
    }
}

/// `tau` of every voter.
fn effects(table: &CodedTable, schema: &Schema) -> Result<Vec<f64>> {
    let column = |name: &str| {
        schema
            .column(name)
            .with_context(|| format!("a column {name}"))
    };
    let (voted, age) = (column("g2000")?, column("age")?);
    let voted = table.codes[voted].as_ref().context("coded")?;
    let ages = table.values[age].as_ref().context("values")?;
    let age = |position: u16| 18.0 + 92.0 * f64::from(position) / f64::from(u16::MAX);
    let effect = |(&voted, &position): (&u16, &u16)| match voted {
        0 => 0.0,
        _ => -1.0 / (2.0 + 100.0 / age(position)),
    };
    Ok(voted.iter().zip(ages).map(effect).collect())
}

//! A trial whose effect is known: voters of Gerber, Green and Larimer (2008), some outcomes changed.
//!
//! As Nie and Wager (2021) do with another trial: the effect is `tau = -g2000 / (2 + 100 / age)`. With probability `|tau|` a voter
//! votes without the letter and not with it, whatever was observed; else as observed in either arm. Voters are
//! drawn without replacement per repetition where fewer are asked for. The effect is compared at all voters.

use crate::simulation::{DELTA, errors, found};
use anyhow::{Context, Result};
use dpcausal::schema::{SCALE, Schema};
use dpcausal::table::{CodedTable, Source, read_population};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

const SCHEMA: &str = include_str!("../../schemas/gotv.yaml");
const FILE: &str = "gotv/gotv_ggl2008_civicduty.csv.gz";

/// Prints a table of errors by learner and epsilon, of the design as stated and of one that has to be estimated.
pub fn run(learners: &[(String, String)], epsilons: &[f64], repetitions: u64) -> Result<()> {
    let folder = std::env::var_os("DPCAUSAL_DATA")
        .context("--gotv reads the folder that DPCAUSAL_DATA names; set it")?;
    let path = std::path::Path::new(&folder).join(FILE);
    let schema = Schema::parse(SCHEMA, "gotv.yaml")?.0;
    let table = read_population(&Source::Path(path), None, &schema, &|_| ())?;
    let truth = effects(&table, &schema)?;
    let variance = {
        let mean = truth.iter().sum::<f64>() / truth.len() as f64;
        truth.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / truth.len() as f64
    };
    println!(
        "# {} voters, variance of the effect {variance:.6}, delta {DELTA:e}",
        table.rows
    );
    println!("learner,design,epsilon,mse,standard_error,squared_bias,variance,average_bias");
    let stated = schema_design();
    for (design, text) in [
        ("stated", SCHEMA.to_string()),
        (
            "observational",
            SCHEMA.replace(stated, "design: observational"),
        ),
    ] {
        for &epsilon in epsilons {
            for (name, workload) in learners {
                let all: Vec<_> = (0..repetitions)
                    .into_par_iter()
                    .map(|seed| {
                        let changed = changed(&table, &truth, seed);
                        found(&text, workload, changed, epsilon, seed, &table)
                    })
                    .collect();
                let e = errors(&all, &truth);
                println!(
                    "{name},{design},{epsilon},{:.6},{:.6},{:.6},{:.6},{:.4}",
                    e.mse, e.standard_error, e.squared_bias, e.variance, e.average_bias
                );
            }
        }
    }
    Ok(())
}

/// The schema's line on the design.
fn schema_design() -> &'static str {
    SCHEMA
        .lines()
        .find(|line| line.starts_with("design:"))
        .unwrap_or_default()
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

/// The table with outcomes changed.
fn changed(table: &CodedTable, truth: &[f64], seed: u64) -> CodedTable {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut changed = table.clone();
    let [Some(arms), Some(outcomes), ..] = &mut changed.codes[..] else {
        return changed;
    };
    for (row, tau) in truth.iter().enumerate() {
        if rng.random::<f64>() < -tau {
            outcomes[row] = 1 - arms[row].min(1);
            changed.outcome[row] = u32::from(outcomes[row]) * SCALE as u32;
        }
    }
    changed
}

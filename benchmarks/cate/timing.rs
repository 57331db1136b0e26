//! Processor time of a release of 160 000 records of setup A, by learner; `interpret_timing.py` has the same of a public library.

use crate::release;
use crate::simulated::setups::Setup;
use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Prints processor and elapsed seconds, the smallest of three.
pub fn run(learners: &[(String, String)]) -> Result<()> {
    println!("learner,rows,processor_seconds,elapsed_seconds");
    let setup = Setup('A');
    let schema = setup.schema_text("observational");
    let rows = 160_000;
    let sample = setup.sample(rows, &mut ChaCha8Rng::seed_from_u64(1));
    for (name, workload) in learners {
        let mut least = [f64::INFINITY; 2];
        for seed in 0..3 {
            let table = sample.table.clone();
            let (processor, elapsed) = (processor_seconds()?, std::time::Instant::now());
            release(&schema, workload, table, 1.0, seed)?;
            let spent = [
                processor_seconds()? - processor,
                elapsed.elapsed().as_secs_f64(),
            ];
            least = [least[0].min(spent[0]), least[1].min(spent[1])];
        }
        println!("{name},{rows},{:.3},{:.3}", least[0], least[1]);
    }
    Ok(())
}

/// The processor seconds of this process so far, all threads together, in hundredths.
fn processor_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // Fields are counted behind the name, which may have spaces: user time is the 12th, system time the 13th.
    let rest = text.rsplit(')').next().unwrap_or_default();
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.map(|field| field.parse::<f64>().unwrap_or(0.0)).sum();
    Ok(ticks / 100.0)
}

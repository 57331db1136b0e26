//! The flags of `plan` that simulate.

use clap::Args;
use std::path::PathBuf;

/// The simulation behind `plan --error-budget`.
#[derive(Debug, Args)]
pub struct SimulationArguments {
    /// Simulate what the plan's intervals will be, on a public or made-up population (each flag below
    /// implies this one)
    #[arg(long)]
    pub error_budget: bool,
    /// A PUBLIC table of the schema, to draw from (default: a population made up from the schema)
    #[arg(long, value_name = "FILE")]
    pub population: Option<PathBuf>,
    /// Rows of each simulated table (default: the schema's `rows`, else those of the population)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    pub rows: Option<u64>,
    /// Simulated tables (default: 100)
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub repetitions: Option<u32>,
    /// Also find the budget at which the median 95 % interval is this wide, in the outcome's units
    #[arg(long, value_name = "W")]
    pub target_width: Option<f64>,
    /// Seed of the simulation (default: 1)
    #[arg(long, value_name = "K")]
    pub seed: Option<u64>,
}

impl SimulationArguments {
    /// Whether a simulation is asked for.
    pub fn is_wanted(&self) -> bool {
        self.error_budget
            || self.population.is_some()
            || self.rows.is_some()
            || self.repetitions.is_some()
            || self.target_width.is_some()
            || self.seed.is_some()
    }
}

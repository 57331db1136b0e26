//! The command line: every flag, as clap reads it.

mod evaluation;
mod simulation;

pub use evaluation::EvaluateArguments;
pub use simulation::SimulationArguments;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Spend a privacy budget once, and get causal answers with intervals that mean what they say.
///
/// schema + data + workload --measure--> release --reconstruct--> synthetic microdata;
/// release --impute--> imputed tables --analyze--> estimates; release --analyze--> estimates.
#[derive(Debug, Parser)]
#[command(
    name = "dpcausal",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "Start with:  dpcausal quickstart\n\n\
    Exit status: 0 done; 2 usage or configuration; 3 invalid data; 4 budget refused; 5 internal; 6 not converged.\n\
    `-` is standard input or output. NO_COLOR turns colour off.")]
pub struct Arguments {
    #[command(flatten)]
    pub global: GlobalArguments,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command.
#[derive(Debug, Args, Clone, Copy)]
pub struct GlobalArguments {
    /// Print no progress and no notes on standard error
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Number of threads (default: one per core; Polars, which reads and writes tables, has its own
    /// POLARS_MAX_THREADS); results do not depend on it
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<std::num::NonZeroUsize>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The whole pipeline on embedded data: measure, reconstruct, impute, analyze
    Quickstart(QuickstartArguments),
    /// What a budget would buy: noise and charge of every block, and by simulation the effects' intervals;
    /// touches no data
    Plan(PlanArguments),
    /// Spend a budget on confidential data and write a release
    Measure(MeasureArguments),
    /// Calibrate a model to a release and sample synthetic microdata
    Reconstruct(ReconstructArguments),
    /// Draw multiply imputed tables from the posterior of a release
    Impute(ImputeArguments),
    /// Estimate effects from a release, imputed tables or one table
    Analyze(AnalyzeArguments),
    /// Compare a synthetic table with the confidential one; INTERNAL, NOT FOR RELEASE
    Evaluate(EvaluateArguments),
    /// The ledger of what was spent on one dataset
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Print a shell's completion script
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Print the JSON Schema of a YAML format, for editors
    JsonSchema {
        /// Which format
        format: DocumentFormat,
    },
}

/// The YAML formats.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum DocumentFormat {
    /// Table schemas
    Schema,
    /// Panel schemas
    Panel,
    /// Workloads
    Workload,
}

/// The budget: one of epsilon (with delta), rho or mu.
#[derive(Debug, Args, Clone, Copy)]
#[group(id = "budget")]
pub struct BudgetArguments {
    /// (epsilon, delta)-differential privacy: epsilon
    #[arg(long, value_name = "E", conflicts_with_all = ["rho", "mu"], required_unless_present_any = ["rho", "mu"])]
    pub epsilon: Option<f64>,
    /// (epsilon, delta)-differential privacy: delta (default 1/n^2 where the schema's `rows` is public; 0, and the
    /// default of panels: none, for pure mechanisms only)
    #[arg(long, value_name = "D")]
    pub delta: Option<f64>,
    /// Zero-concentrated differential privacy: rho
    #[arg(long, value_name = "R", conflicts_with = "mu")]
    pub rho: Option<f64>,
    /// Gaussian differential privacy: mu
    #[arg(long, value_name = "M")]
    pub mu: Option<f64>,
}

/// The public documents.
#[derive(Debug, Args)]
pub struct DocumentArguments {
    /// The table's schema (YAML)
    #[arg(long, short, value_name = "FILE")]
    pub schema: PathBuf,
    /// The workload (YAML); default: the built-in causal workload, no pairs
    #[arg(long, short, value_name = "FILE")]
    pub workload: Option<PathBuf>,
}

/// How a table is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Comma-separated values, UTF-8 with a header (also .gz and .zst)
    Csv,
    /// Apache Parquet
    Parquet,
}

/// `quickstart`
#[derive(Debug, Args)]
pub struct QuickstartArguments {
    /// Synthetic control on an embedded panel (California's Proposition 99) instead
    #[arg(long)]
    pub panel: bool,
    /// The privacy budget
    #[arg(long, value_name = "E", default_value_t = 5.0)]
    pub epsilon: f64,
    /// Where the files go
    #[arg(long, short, value_name = "DIR", default_value = "dpcausal-quickstart")]
    pub output: PathBuf,
    /// Print the effects as JSON
    #[arg(long)]
    pub json: bool,
    /// Draw the noise from a seed: repeatable, and NOT PRIVATE; for demonstrations and tests
    #[arg(long, value_name = "K")]
    pub insecure_seed: Option<u64>,
}

/// `plan`
#[derive(Debug, Args)]
pub struct PlanArguments {
    #[command(flatten)]
    pub documents: DocumentArguments,
    #[command(flatten)]
    pub budget: BudgetArguments,
    /// Of a panel: its table, of which names, periods and the treated units' series are read, all public
    #[arg(long, value_name = "FILE")]
    pub panel: Option<PathBuf>,
    #[command(flatten)]
    pub simulation: SimulationArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `measure`
#[derive(Debug, Args)]
pub struct MeasureArguments {
    /// The confidential table: CSV (also .gz, .zst) or Parquet; `-` is standard input
    pub data: PathBuf,
    #[command(flatten)]
    pub documents: DocumentArguments,
    #[command(flatten)]
    pub budget: BudgetArguments,
    /// The ledger that records the charge before any noise is drawn (see `dpcausal ledger init`)
    #[arg(long, short, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Where the release goes
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// The table's format (default: by content)
    #[arg(long, value_enum)]
    pub format: Option<TableFormat>,
    /// Draw the noise from a seed: repeatable, and NOT PRIVATE; the release says so
    #[arg(long, value_name = "K")]
    pub insecure_seed: Option<u64>,
}

/// What `reconstruct` and `impute` share.
#[derive(Debug, Args)]
pub struct SamplingArguments {
    /// The release; `-` is standard input
    pub release: PathBuf,
    /// Rows per table (default: the number of records, public or estimated)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub rows: Option<u64>,
    /// Seed of the sampling (default: fixed by the release)
    #[arg(long, value_name = "K")]
    pub seed: Option<u64>,
    /// Where the table goes: .csv, .csv.gz, .csv.zst or .parquet
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// The table's format (default: by the output's name)
    #[arg(long, value_enum)]
    pub format: Option<TableFormat>,
    /// Go on where the calibration did not reach its tolerance
    #[arg(long)]
    pub accept_unconverged: bool,
}

/// `reconstruct`
#[derive(Debug, Args)]
pub struct ReconstructArguments {
    #[command(flatten)]
    pub sampling: SamplingArguments,
    /// Print the fit's diagnostics as JSON on standard output (the table must then go to a file)
    #[arg(long)]
    pub json: bool,
}

/// `impute`
#[derive(Debug, Args)]
pub struct ImputeArguments {
    #[command(flatten)]
    pub sampling: SamplingArguments,
    /// Number of imputed tables
    #[arg(short, long = "imputations", value_name = "M", default_value_t = 50, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub m: u32,
    /// What is drawn: the released sums' noise, or the population of a star model
    #[arg(long, value_enum, default_value = "noise")]
    pub posterior: Posterior,
}

/// The posterior of the moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Posterior {
    /// q~ + N(0, sigma^2): the privacy noise only (kappa = 1)
    Noise,
    /// Laplace's approximation, with empirical Bayes, to the posterior of the star model: sampling and noise
    /// (kappa = 0); uses no pairs
    Laplace,
}

/// `analyze`
#[derive(Debug, Args)]
pub struct AnalyzeArguments {
    /// A release, imputed tables, or one table; `-` is standard input
    pub input: PathBuf,
    /// The table's schema, where the table does not carry it (CSV)
    #[arg(long, short, value_name = "FILE")]
    pub schema: Option<PathBuf>,
    /// The release that the tables were drawn from, where they do not carry what is needed (CSV)
    #[arg(long, value_name = "FILE", conflicts_with = "schema")]
    pub release: Option<PathBuf>,
    /// What to estimate
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ate,att")]
    pub estimand: Vec<EstimandArgument>,
    /// Estimate within each level of a covariate, too; of several, one after the other (not crossed)
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Of conditional effects: a table of covariates, to print the effect at its rows and their means by level
    #[arg(long, value_name = "FILE")]
    pub rows: Option<PathBuf>,
    /// The estimators (default: from a release, those of its effects part, else those of its model; all four table estimators from tables)
    #[arg(long, value_enum, value_delimiter = ',')]
    pub estimator: Vec<EstimatorArgument>,
    /// The posterior that a release's draws come from (default: noise), or that tables were drawn from
    /// where they do not carry it (CSV)
    #[arg(long, value_enum)]
    pub posterior: Option<Posterior>,
    /// The rule that combines imputations
    #[arg(long, value_enum, default_value = "unified")]
    pub combine: RuleArgument,
    /// The level of the intervals
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub level: f64,
    /// Posterior draws, when the input is a release
    #[arg(short, long = "draws", value_name = "M", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub m: u32,
    /// Seed of the draws (default: fixed by the release)
    #[arg(long, value_name = "K")]
    pub seed: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Also draw the effects with their intervals (SVG)
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Of a panel or of conditional effects: also write one self-contained HTML page with tables, picture and accounting
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Where the table or JSON goes
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Go on where the calibration did not reach its tolerance
    #[arg(long)]
    pub accept_unconverged: bool,
}

/// Estimands by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EstimandArgument {
    /// Average treatment effect
    Ate,
    /// Average treatment effect on the treated
    Att,
    /// Average treatment effect on the controls: the reference arm's rows
    Atc,
    /// Mean outcome over everyone, had they been in the arm: one row per arm
    ArmMean,
    /// Ratio of an arm's mean to the reference's, of a two-level outcome
    RiskRatio,
}

/// Estimators by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EstimatorArgument {
    /// Difference in means
    DifferenceInMeans,
    /// Inverse-propensity weighting
    Ipw,
    /// Cross-fitted augmented inverse-propensity weighting
    Aipw,
    /// Regression with arm-covariate interactions
    Regression,
    /// Difference in means less imbalance times slope (from a release with an effects part only)
    Adjusted,
    /// The same without a prior (from a release with an effects part only)
    Gram,
    /// The fitted model's own effect (from a release with microdata only)
    Model,
}

/// Combining rules by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuleArgument {
    /// (1 + 1/m) B + (kappa r - 1) U
    Unified,
    /// (1 + 1/m) B + U: right only for kappa = 1 and r = 2
    Rubin,
    /// (1 + 1/m) B - U: right for kappa = 0
    Raghunathan,
}

/// `ledger`
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Open a ledger with a total budget
    Init {
        /// The new file; it must not exist
        ledger: PathBuf,
        #[command(flatten)]
        budget: BudgetArguments,
        /// A label for people; nothing secret
        #[arg(long, value_name = "TEXT", default_value = "")]
        label: String,
    },
    /// Print the entries, what was spent and what remains
    Show {
        /// The ledger
        ledger: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Verify every line and the sum; exit 4 where the budget is exceeded
    Check {
        /// The ledger
        ledger: PathBuf,
    },
}

impl From<Posterior> for crate::impute::Kappa {
    fn from(posterior: Posterior) -> crate::impute::Kappa {
        match posterior {
            Posterior::Noise => crate::impute::Kappa::Noise,
            Posterior::Laplace => crate::impute::Kappa::Posterior,
        }
    }
}

impl From<TableFormat> for crate::table::Format {
    fn from(format: TableFormat) -> crate::table::Format {
        match format {
            TableFormat::Csv => crate::table::Format::Csv,
            TableFormat::Parquet => crate::table::Format::Parquet,
        }
    }
}

//! The flags of `evaluate`.

use crate::evaluate::Options;
use clap::Args;
use std::path::PathBuf;

/// `evaluate`
#[derive(Debug, Args)]
pub struct EvaluateArguments {
    /// The synthetic table, or imputed tables: CSV (also .gz, .zst) or Parquet; `-` is standard input
    pub synthetic: PathBuf,
    /// The confidential table that it stands for
    #[arg(long, value_name = "DATA")]
    pub against: PathBuf,
    /// The schema of both tables (YAML)
    #[arg(long, short, value_name = "FILE")]
    pub schema: PathBuf,
    /// The workload whose error is computed (YAML; default: all marginals of --degree columns)
    #[arg(long, short, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Compare marginals of up to so many columns
    #[arg(long, value_name = "K", default_value_t = Options::DEGREE as u32, value_parser = clap::value_parser!(u32).range(1..=5))]
    pub degree: u32,
    /// Compare at most so many marginals of each size, evenly spaced in lexicographic order
    #[arg(long, value_name = "N", default_value_t = Options::LIMIT as u32, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Also write one self-contained HTML page with pictures
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Where the text or JSON goes
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

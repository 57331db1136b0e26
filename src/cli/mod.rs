//! (to be written)

pub mod interrupt;
pub mod output;
pub mod progress;

/// Runs the command line.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}

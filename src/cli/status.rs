//! How a command ends: its exit status, and what it says when it fails.

use std::process::ExitCode;

/// The exit statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Done.
    Done = 0,
    /// Usage or configuration.
    Usage = 2,
    /// The data are invalid.
    Data = 3,
    /// The budget was refused.
    Budget = 4,
    /// Internal, or the machine's (disk, memory).
    Internal = 5,
    /// The calibration did not converge.
    NotConverged = 6,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> ExitCode {
        ExitCode::from(status as u8)
    }
}

/// A failure: what the command exits with, and why.
#[derive(Debug)]
pub struct Failure {
    /// The exit status.
    pub status: ExitStatus,
    error: anyhow::Error,
}

impl Failure {
    /// A failure with a cause.
    pub fn new(status: ExitStatus, error: impl Into<anyhow::Error>) -> Failure {
        Failure {
            status,
            error: error.into(),
        }
    }

    /// A failure with a message.
    pub fn because(status: ExitStatus, message: impl Into<String>) -> Failure {
        Failure {
            status,
            error: anyhow::Error::msg(message.into()),
        }
    }

    /// The error and its causes, outermost first, each said once.
    pub fn message(&self) -> String {
        let mut text = self.error.to_string();
        for cause in self.error.chain().skip(1) {
            let cause = cause.to_string();
            if !text.contains(&cause) {
                text.push_str(": ");
                text.push_str(&cause);
            }
        }
        text
    }
}

/// Shorthand for the statuses of fallible steps.
pub(super) trait OrStatus<T> {
    /// The failure of this status where the step failed.
    fn or_status(self, status: ExitStatus) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrStatus<T> for Result<T, E> {
    fn or_status(self, status: ExitStatus) -> Result<T, Failure> {
        self.map_err(|e| Failure::new(status, e))
    }
}

//! What can go wrong in this room.

use crate::privacy::PrivacyError;

/// Why effects can't be planned, measured or analysed. No message holds anything computed from confidential data.
#[derive(Debug, thiserror::Error)]
pub enum CateError {
    /// Budget, workload and schema do not go together.
    #[error("{0}")]
    Configuration(String),
    /// The privacy room refused.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// A release whose measurements are not those of its workload.
    #[error(
        "the release's measurements are not those that its workload asks for ({0}); ask its publisher for a fresh copy"
    )]
    Release(String),
    /// A system of equations without a solution, which the floors on eigenvalues should make impossible.
    #[error("the noisy moments have no fit; please report this, with the release")]
    Numerical,
}

//! What can go wrong in this room.

use std::path::PathBuf;

/// An error of the privacy room. No message holds anything computed from confidential data.
#[derive(Debug, thiserror::Error)]
pub enum PrivacyError {
    /// A privacy parameter that has no meaning.
    #[error("{name} = {value} is not {requirement}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// What it must be.
        requirement: &'static str,
    },
    /// A sensitivity outside what exact integer arithmetic covers, or zero.
    #[error(
        "a sensitivity of {max_rows} rows of norm {record_norm} (in units of 2^-20 of a record) is \
         out of range; lower max_rows"
    )]
    Sensitivity {
        /// The norm of what one row contributes, in lattice units.
        record_norm: i64,
        /// The largest number of rows of one privacy unit.
        max_rows: u32,
    },
    /// The share of the budget is so small that the noise would exceed the largest supported scale.
    #[error(
        "the share {share:e} of the budget asks for noise beyond the largest supported scale of 2^40 \
         units (2^20 records); raise the budget or measure fewer blocks"
    )]
    NoiseTooLarge {
        /// The share: `mu^2` for Gaussian noise, epsilon for Laplace noise.
        share: f64,
    },
    /// The operating system gave no random numbers; nothing was drawn.
    #[error("the operating system's random number generator failed, nothing was drawn: {0}")]
    Entropy(#[from] rand::rngs::SysError),
    /// A charge beyond what was authorised; nothing was drawn for it.
    #[error(
        "a charge of mu^2 = {} and rho = {} exceeds what is left of this release's authorisation, \
         nothing was drawn; plan the charge before the release is authorised",
        .asked.gaussian_mu_squared(), .asked.other_rho()
    )]
    NotAuthorised {
        /// The charge.
        asked: super::Cost,
    },
    /// The release does not fit into the budget; nothing was drawn.
    #[error(
        "over budget ({budget}): spent so far {}; this release asks for {}; what remains is {}. Nothing \
         was drawn; lower the release's budget, or read the existing releases again",
        .budget.describe(.spent), .budget.describe(.asked), .budget.describe(.remaining)
    )]
    OverBudget {
        /// The whole budget.
        budget: super::Budget,
        /// What earlier releases spent.
        spent: super::Cost,
        /// What this release asks for.
        asked: super::Cost,
        /// What remains.
        remaining: super::Cost,
    },
    /// A charge that is not Gaussian against a budget that is accounted by GDP.
    #[error(
        "the budget is accounted by GDP, which holds for Gaussian measurements alone, and this \
         release has other charges; give it a budget accounted by zCDP"
    )]
    NotGaussian,
    /// A charge that is not pure against a budget without a delta.
    #[error(
        "the budget is accounted in pure epsilon, since it has no delta or began with a pure release, and this charge \
         is not pure; give a delta, use another ledger, or choose a pure mechanism"
    )]
    NotPure,
    /// The ledger's earlier releases protect something else.
    #[error(
        "the ledger's releases protect neighbours by {kept}, this one by {asked}: their guarantees do \
         not add up; use the same {what} or another ledger"
    )]
    DifferentNeighbours {
        /// What differs: `adjacency` or `privacy unit`.
        what: &'static str,
        /// The ledger's.
        kept: String,
        /// The release's.
        asked: String,
    },
    /// The ledger has this release already.
    #[error("the ledger has release {0} already; a release can be read again, but not drawn again")]
    DuplicateRelease(super::ReleaseId),
    /// A ledger line that can't be read or contradicts the lines before it.
    #[error("ledger {}, line {line}: {problem}", .path.display())]
    LedgerLine {
        /// The ledger.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The ledger file exists already.
    #[error("ledger {} exists already and is not overwritten", .path.display())]
    LedgerExists {
        /// The ledger.
        path: PathBuf,
    },
    /// The ledger can't be read, locked or written.
    #[error("ledger {}: {action} failed: {source}", .path.display())]
    LedgerFile {
        /// The ledger.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
}

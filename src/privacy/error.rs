//! What the privacy room refuses.

/// Why a budget, a charge or a draw was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PrivacyError {
    /// A parameter is out of its range.
    #[error("{name} must be {range}; {value} is not")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// What it may be.
        range: &'static str,
        /// What was given.
        value: f64,
    },
    /// A mu-GDP budget under an accountant that can't express what is spent.
    #[error("the share of the budget is too small: its noise would exceed what exact sampling supports; give the block a larger share or the release a larger budget")]
    NoiseTooLarge,
    /// The budget would be exceeded.
    #[error("the budget would be exceeded; nothing was drawn")]
    OverBudget,
    /// The operating system has no randomness to give.
    #[error("the operating system's random generator failed: {0}")]
    Entropy(String),
    /// A noisy sum does not fit 64 bits.
    #[error("a noisy sum does not fit 64 bits: the table is too large for this version")]
    Overflow,
}

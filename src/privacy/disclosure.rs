//! The one way around the mechanisms: for what is declared not to be private.

use super::Confidential;

/// The word of whoever runs a program that its output protects nobody. What is made with it must say so in the output, on
/// the screen and in its documentation, and no ledger may account for it.
#[derive(Debug)]
pub struct NotPrivate(());

impl NotPrivate {
    /// The word, given: only for comparisons with code that has no guarantee.
    pub(crate) fn acknowledged() -> NotPrivate {
        NotPrivate(())
    }
}

impl<T> Confidential<T> {
    /// The value, for output that is marked as not private.
    pub(crate) fn disclose(self, _: NotPrivate) -> T {
        self.open()
    }
}

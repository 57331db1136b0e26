//! Accounting, exact samplers, mechanisms and the ledger: the only place where noise meets data.

mod confidential;
mod kinds;

pub use confidential::Confidential;
pub use kinds::{AccountantKind, Adjacency};

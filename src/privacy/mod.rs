//! Accounting, exact samplers, mechanisms and the ledger: the only place where noise meets data.

mod confidential;

pub use confidential::Confidential;

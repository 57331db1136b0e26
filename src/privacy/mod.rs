//! Accounting, exact samplers, mechanisms and the ledger: the only place where noise meets data.
//!
//! A [`Confidential`] value becomes a plain one in [`GaussianMechanism::release`] only. That needs an
//! [`Accountant`], which needs an [`Authorisation`], which the ledger gives after the charge is on disk.
//! Noise is drawn from a [`NoiseSource`]: the operating system's generator, or a seed that is remembered
//! and stated.

mod accounting;
mod confidential;
mod conversion;
mod error;
mod kinds;
pub mod ledger;
mod mechanism;
mod noise_source;
mod sampler;

pub use accounting::{Accountant, Authorisation, Budget, Cost};
pub use confidential::Confidential;
pub use conversion::{delta_of_gdp, delta_of_zcdp, epsilon_of_gdp, epsilon_of_zcdp, mu_of_budget, rho_of_budget};
pub use error::PrivacyError;
pub use kinds::{AccountantKind, Adjacency};
pub use ledger::{Ledger, LedgerEntry, LedgerError};
pub use mechanism::{GaussianMechanism, NoisyAnswer, Sensitivity};
pub use noise_source::{NoiseSource, release_id};

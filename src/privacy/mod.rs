//! Accounting, exact samplers, mechanisms and the ledger: the only place where noise meets data.
//!
//! # How a number leaves
//! 1. A plan says what a release will cost, as a [`Cost`].
//! 2. [`Ledger::reserve`] writes the cost down durably, if the [`Budget`] allows it, and hands out an
//!    [`Authorisation`]; [`Authorisation::without_ledger`] does so for a budget that is spent at once.
//! 3. An [`Accountant`] is made from the authorisation. A mechanism takes the [`Confidential`] answer,
//!    charges the accountant, and only then draws from the [`NoiseSource`].
//!
//! A crash can lose a release; it can't lose a charge.
//!
//! # The lattice
//! Every confidential answer is a vector of integers in units of `1 / SCALE = 2^-20` of a record
//! ([`crate::schema::SCALE`]), and noise is an integer too. Nothing confidential is ever a float, so
//! there is nothing for rounding to reveal.
//!
//! # The Gaussian mechanism's privacy
//! Let two neighbouring answers be integer vectors `v`, `w` with `|v - w|_2 <= Delta`, and add
//! independent discrete Gaussian noise, `D(k)` proportional to `exp(-k^2 / (2 sigma^2))`, per cell.
//!
//! **zCDP.** The release satisfies `rho = Delta^2 / (2 sigma^2)` (Canonne, Kamath and Steinke 2020,
//! theorem 4).
//!
//! **GDP.** It is also `mu`-GDP (Dong, Roth and Su 2022) with `mu^2 = Delta^2 / (sigma^2 - 16)`,
//! rounded up. The continuous mechanism of variance `sigma_1^2 = sigma^2 - sigma_2^2`, `sigma_2 = 4`,
//! is `Delta / sigma_1`-GDP. Round its output `y` per cell at random to the integer `k` with probability
//! `g(k - y) / G(y)`, where `g(x) = exp(-x^2 / (2 sigma_2^2))` and `G(y) = sum_k g(k - y)`: this looks
//! at `y` alone, so it is post-processing. For a shift of zero the output's law is
//!
//! ```text
//! f(k) = integral of phi_{sigma_1}(y) g(k - y) / G(y) dy.
//! ```
//!
//! By Poisson summation, `G(y) = sqrt(2 pi) sigma_2 (1 + 2 sum_{j >= 1} exp(-2 pi^2 sigma_2^2 j^2)
//! cos(2 pi j y))`, so `G(y)` is within a factor `1 - eta .. 1 + eta` of `sqrt(2 pi) sigma_2`, with
//! `eta = 2 sum_{j >= 1} exp(-2 pi^2 sigma_2^2 j^2)`. With a constant in the place of `G`, the integral
//! is a convolution of Gaussians, proportional to `exp(-k^2 / (2 sigma^2))`. Normalising, `D / f` lies
//! between `(1 - eta) / (1 + eta)` and its inverse (the argument is Peikert's 2010 convolution lemma, with the
//! smoothing parameter written out). A whole shift of `y` shifts `k`, so the same holds around every
//! answer. For `d` cells the factor is `exp(tau)` or its inverse at most, `tau <= 3 d eta`; with
//! `sigma_2 = 4`, `eta < 1e-136`, and `d <= 10^9` cells give `tau < 1e-126`.
//!
//! What `tau` costs: let `P`, `Q` be within `exp(+-tau)` of the two output laws of a `mu`-GDP mechanism.
//! Going from the one pair to the other, the level of a test and the complement of its level both
//! change by a factor within `exp(+-tau)`; so do its power and the complement of its power. On the normal
//! scale, `x = Phi^-1(level)`, the tighter of the two bounds lets `x` move by at most `tau` times the
//! smaller Mills ratio, `min(Phi(x), Phi(-x)) / phi(x) <= 1.2534`, up to terms in `tau^2`. Level and power
//! together move by less than `4 tau`, and `mu`-GDP says that `x` of the power exceeds `x` of the level
//! by at most `mu`; so `P`, `Q` are `(mu + 4 tau)`-GDP. As `Delta >= 1` and `sigma <= 2^40`,
//! `mu >= 2^-40`, and the charge is rounded up by at least 2^-53 of itself, so `mu` by more than 1e-29: ample.
//!
//! # Composition
//! `mu^2` adds up over Gaussian charges, `rho` over all, also when later queries depend on earlier answers.
//! A fixed total that charges must not exceed is a valid filter for both (Smith and Thakurta 2022 for
//! GDP; Feldman and Zrnic 2021, Whitehouse et al. 2023 for zCDP), but the *choice* between the two must
//! not depend on answers: a ledger fixes its accountant with its first entry. Sums are rounded up.

mod accountant;
mod budget;
mod confidential;
mod cost;
mod disclosure;
mod error;
mod exponential;
mod gdp;
mod internal;
mod k_norm;
mod kinds;
mod ledger;
mod mechanism;
mod noise_source;
#[cfg(test)]
mod oracle;
mod parameter;
mod parts;
mod perturbation;
mod release_id;
mod sampler;
mod search;
mod sensitivity;
mod symmetric;
#[cfg(test)]
mod testing;
mod zcdp;

pub use accountant::{Accountant, Authorisation};
pub use budget::Budget;
pub use confidential::Confidential;
pub use cost::{Cost, SLACK};
pub use disclosure::NotPrivate;
pub use error::PrivacyError;
pub use exponential::ExponentialMechanism;
pub use gdp::{delta_from_mu, epsilon_from_mu, mu_from_epsilon_delta};
pub use internal::{Form, Internal, STAMP};
pub use k_norm::{KNormMechanism, Norm};
pub use kinds::{AccountantKind, Adjacency};
pub use ledger::{Entry, Ledger};
pub use mechanism::{GaussianMechanism, LaplaceMechanism, NoisyAnswer};
pub use noise_source::NoiseSource;
pub use parts::{Part, Rows, join};
pub use perturbation::{CELL_PART, PerturbationMechanism};
pub use release_id::ReleaseId;
pub use sensitivity::Sensitivity;
pub use symmetric::SymmetricGaussianMechanism;
pub use zcdp::{delta_from_rho, epsilon_from_rho, rho_from_epsilon_delta};

//! Parallel composition: a table divided at random into parts, each with an account of its own.
//!
//! # The division
//! Every row has one draw, independent of all rows' contents and of each other, from a generator that is keyed for this
//! purpose alone (so later noise doesn't depend on the number of rows). Neither strata nor hashes of contents are
//! looked at: in a stratified division one record moves others between parts, and under a hash equal records go together.
//!
//! # The privacy
//! Let the mechanism of part `k`, given what the other parts released, be `f`-differentially private for one convex
//! trade-off function `f` and every `k`. Then the whole is. Couple the neighbouring tables by giving every record that both
//! have (or, under replace-one, both have at the same place) the same draw; this is the right joint law since draws don't
//! depend on contents. Show the attacker all draws: that can only help. Given the draws, the one record that differs lies in
//! one part `k`; the other parts' mechanisms see equal rows, so they are post-processing of what part `k` released
//! and of public coins, and any test has errors `alpha_k`, `beta_k` with `beta_k >= f(alpha_k)`. Over the draws the errors
//! are `sum p_k alpha_k` and `sum p_k beta_k >= sum p_k f(alpha_k) >= f(sum p_k alpha_k)`, by convexity. Gaussian
//! trade-off functions are convex, so parts that are `mu_k`-GDP are `max mu_k`-GDP together. For zCDP the same
//! coupling and the quasi-convexity of Renyi divergences give `max rho_k`. A privacy unit of several rows could lie in
//! several parts, and the argument would fail: callers must refuse it.

use super::accountant::Accountant;
use super::{Confidential, NoiseSource, PrivacyError};
use rand::Rng;

/// What can be divided by rows.
pub trait Rows {
    /// The number of rows.
    fn rows(&self) -> usize;

    /// These rows, in this order.
    fn picked(&self, rows: &[usize]) -> Self;
}

/// Some rows of a table, and the account that is charged for what is asked of them.
pub struct Part<T> {
    /// The rows.
    pub table: Confidential<T>,
    /// The account: what the whole may cost, any part may.
    pub accountant: Accountant,
}

impl<T: Rows> Part<T> {
    /// Divides a table at random. `shares` are positive and sum to 1; every part gets the whole of what the account has
    /// left, by parallel composition. Rows must be privacy units. Charges of an account must be for questions to
    /// its own part. Give the parts back to [`join`].
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] where the shares are not as said.
    pub fn divide(
        table: &Confidential<T>,
        shares: &[f64],
        accountant: &Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<Part<T>>, PrivacyError> {
        let limits = limits(shares)?;
        let mut generator = noise.branch();
        let places = places(table.inner().rows(), &limits, &mut generator);
        let part = |k: u8| {
            let mine = places.iter().enumerate().filter(|(_, place)| **place == k);
            let rows: Vec<usize> = mine.map(|(row, _)| row).collect();
            Part {
                table: Confidential::new(table.inner().picked(&rows)),
                accountant: accountant.of_part(),
            }
        };
        // At most 256 parts: see `limits`.
        Ok((0..limits.len()).map(|k| part(k as u8)).collect())
    }
}

/// Charges the whole for its parts: as much as the costliest one.
///
/// # Errors
/// [`PrivacyError::NotAuthorised`] where that is more than the account has left, which can't be for parts that it made.
pub fn join(
    parts: impl IntoIterator<Item = Accountant>,
    whole: &mut Accountant,
) -> Result<(), PrivacyError> {
    whole.charge_parts(parts)
}

/// By part but the last, the 64-bit numbers below which a draw falls into it or one before.
fn limits(shares: &[f64]) -> Result<Vec<u64>, PrivacyError> {
    let sum: f64 = shares.iter().sum();
    let bad = |share: &f64| share.is_nan() || *share <= 0.0;
    let refused = shares.iter().copied().find(bad);
    if let Some(value) = refused.or((shares.len() > 256 || (sum - 1.0).abs() > 1e-9).then_some(sum))
    {
        return Err(PrivacyError::Parameter {
            name: "share of the records",
            value,
            requirement: "positive, summing to 1 over at most 256 parts",
        });
    }
    let mut before = 0.0;
    let of = |share: &f64| {
        before += share;
        // Saturates at 2^64 - 1; the last part takes every draw anyway.
        (before * 2f64.powi(64)) as u64
    };
    Ok(shares.iter().map(of).collect())
}

/// The part of every row: by its own draw.
fn places<R: Rng>(rows: usize, limits: &[u64], generator: &mut R) -> Vec<u8> {
    let last = limits.len() - 1;
    let place = |draw: u64| limits[..last].partition_point(|limit| *limit <= draw) as u8;
    (0..rows).map(|_| place(generator.next_u64())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{Authorisation, Budget, Cost, ReleaseId};
    use proptest::prelude::*;

    impl Rows for Vec<u32> {
        fn rows(&self) -> usize {
            self.len()
        }

        fn picked(&self, rows: &[usize]) -> Self {
            rows.iter().map(|&row| self[row]).collect()
        }
    }

    fn account() -> Accountant {
        let cost = Cost::gaussian(1.0).unwrap();
        let budget = Budget::gdp(1.0).unwrap();
        let id = ReleaseId::random().unwrap();
        Accountant::new(Authorisation::without_ledger(id, cost, &budget).unwrap())
    }

    fn divided(rows: &[u32], seed: u64) -> Vec<Vec<u32>> {
        let table = Confidential::new(rows.to_vec());
        let mut noise = NoiseSource::insecure_seed(seed);
        let parts = Part::divide(&table, &[0.25, 0.25, 0.5], &account(), &mut noise).unwrap();
        parts.into_iter().map(|part| part.table.open()).collect()
    }

    proptest! {
        /// Under the same draws, another record at one place, or one more at the end, moves no other: the parts that it
        /// does not lie in are equal, and the one it lies in is equal but for it. Records that look alike are as free as
        /// others.
        #[test]
        fn a_record_moves_no_other(
            rows in prop::collection::vec(0u32..4, 1..200),
            place in any::<prop::sample::Index>(),
            other in 0u32..4,
            seed in 0u64..1000,
        ) {
            let before = divided(&rows, seed);
            prop_assert_eq!(before.iter().map(Vec::len).sum::<usize>(), rows.len());
            let mut replaced = rows.clone();
            replaced[place.index(rows.len())] = other;
            let after = divided(&replaced, seed);
            let differing = before.iter().zip(&after).filter(|(a, b)| a != b).count();
            prop_assert!(differing <= 1);
            for (a, b) in before.iter().zip(&after) {
                prop_assert_eq!(a.len(), b.len());
                prop_assert!(a.iter().zip(b).filter(|(a, b)| a != b).count() <= 1);
            }
            let mut longer = rows.clone();
            longer.push(other);
            let after = divided(&longer, seed);
            for (a, b) in before.iter().zip(&after) {
                prop_assert!(a == b || (b.len() == a.len() + 1 && b.starts_with(a) && b[a.len()] == other));
            }
        }
    }

    /// Of 40 000 rows, a quarter has a standard deviation of 87 and a half of 100: six of them, false alarms below 1e-8. Equal
    /// rows are divided like others.
    #[test]
    fn parts_have_their_shares() {
        let parts = divided(&vec![7; 40_000], 3);
        for (part, expected) in parts.iter().zip([10_000.0, 10_000.0, 20_000.0]) {
            assert!(
                (part.len() as f64 - expected).abs() < 600.0,
                "{}",
                part.len()
            );
        }
    }

    #[test]
    fn shares_that_are_none_are_refused() {
        for shares in [&[0.5, 0.6][..], &[1.0, 0.0], &[f64::NAN, 1.0], &[]] {
            assert!(limits(shares).is_err(), "{shares:?}");
        }
    }

    /// Each part may cost what the whole may, and the whole costs what the costliest part does.
    #[test]
    fn the_whole_costs_its_costliest_part() {
        let mut whole = account();
        let table = Confidential::new(vec![1u32; 10]);
        let mut noise = NoiseSource::insecure_seed(1);
        let parts = Part::divide(&table, &[0.5, 0.5], &whole, &mut noise).unwrap();
        let costs = [0.7, 0.9].map(|mu_squared| Cost::gaussian(mu_squared).unwrap());
        let mut accounts: Vec<Accountant> = parts.into_iter().map(|p| p.accountant).collect();
        for (account, cost) in accounts.iter_mut().zip(&costs) {
            account.charge(cost).unwrap();
        }
        assert!(accounts[1].charge(&Cost::gaussian(0.2).unwrap()).is_err());
        join(accounts, &mut whole).unwrap();
        assert_eq!(whole.spent(), costs[1]);
        // Nothing comes free afterwards.
        assert!(whole.charge(&Cost::gaussian(0.2).unwrap()).is_err());
    }
}

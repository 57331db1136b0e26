//! The exponential mechanism: one candidate out of a public list, the better the likelier.

use super::parameter::check_positive;
use super::sampler::exponential_ratio_coin;
use super::{Accountant, Confidential, Cost, NoiseSource, PrivacyError};

/// Chooses candidate `i` with probability proportional to `exp(epsilon u_i / (2 Delta))`, exactly.
///
/// **Adjacency and sensitivity.** Those of the scores: on neighbouring tables every `u_i` moves by at most
/// `Delta`, a whole number of the scores' lattice units. The caller states `Delta` with its argument.
/// **Guarantee.** The log-odds of any two candidates, `epsilon (u_i - u_j) / (2 Delta)`, move by at most
/// `epsilon` between neighbours, so the choice is `epsilon`-bounded range (Durfee and Rogers 2019), which
/// implies pure `epsilon`-DP and `rho = epsilon^2 / 8` zCDP (Cesar and Rogers 2021, lemma 3.2 there).
/// **Charge.** `rho = epsilon^2 / 8` per choice, rounded up, or of [`ExponentialMechanism::pure`] `epsilon`. No other
/// type makes the former charge; several choices without replacement are as many charges, by adaptive composition.
///
/// The sampler is exact: a uniform candidate is accepted with probability
/// `exp(-(u_max - u_i) epsilon / (2 Delta))`, a coin built from whole numbers, until one is accepted. To that
/// end `epsilon` is rounded down to a multiple of 2^-20.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExponentialMechanism {
    sensitivity: u64,
    /// `epsilon`, in units of 2^-20.
    epsilon: u64,
    cost: Cost,
}

/// The units of `epsilon`.
const EPSILON_UNIT: f64 = (1u64 << 20) as f64;

/// The largest `epsilon` of one choice, and the largest sensitivity: products stay far inside 128 bits.
const LARGEST: u64 = 1 << 40;

impl ExponentialMechanism {
    /// The mechanism for scores of this sensitivity (in their own whole units) whose charge per choice is
    /// at most `share_rho`.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless both are positive, and the share worth an `epsilon` of 2^-20.
    pub fn new(sensitivity: u64, share_rho: f64) -> Result<ExponentialMechanism, PrivacyError> {
        check_positive("share of rho", share_rho)?;
        let epsilon = whole_epsilon((8.0 * share_rho).sqrt(), sensitivity);
        let epsilon = epsilon.ok_or(out_of_range("share of rho", share_rho))?;
        let value = epsilon as f64 / EPSILON_UNIT;
        Ok(ExponentialMechanism {
            sensitivity,
            epsilon,
            cost: Cost::other((value * value / 8.0).next_up())?,
        })
    }

    /// The same mechanism charged for what it is without a delta: pure, at most `share_epsilon` per choice. For
    /// releases of which every other charge is pure, too.
    ///
    /// # Errors
    /// As [`ExponentialMechanism::new`].
    pub fn pure(
        sensitivity: u64,
        share_epsilon: f64,
    ) -> Result<ExponentialMechanism, PrivacyError> {
        check_positive("share of epsilon", share_epsilon)?;
        let epsilon = whole_epsilon(share_epsilon, sensitivity);
        let epsilon = epsilon.ok_or(out_of_range("share of epsilon", share_epsilon))?;
        Ok(ExponentialMechanism {
            sensitivity,
            epsilon,
            cost: Cost::pure(epsilon as f64 / EPSILON_UNIT)?,
        })
    }

    /// `epsilon` of one choice.
    pub fn epsilon(&self) -> f64 {
        self.epsilon as f64 / EPSILON_UNIT
    }

    /// The sensitivity that the charge is for.
    pub fn sensitivity(&self) -> u64 {
        self.sensitivity
    }

    /// What [`ExponentialMechanism::choose`] charges per choice.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Charges for `count` choices, then makes them, one after the other and without replacement; all
    /// candidates where there are no more than `count`. Their indices, in the order of choice.
    ///
    /// # Errors
    /// [`PrivacyError::NotAuthorised`] where the charge doesn't fit; nothing is drawn then.
    pub fn choose(
        &self,
        scores: Confidential<Vec<i64>>,
        count: usize,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<usize>, PrivacyError> {
        let scores = scores.open();
        // The number of candidates is public.
        let mut left: Vec<usize> = (0..scores.len()).collect();
        let mut chosen = Vec::new();
        while chosen.len() < count && !left.is_empty() {
            accountant.charge(&self.cost)?;
            let at = self.choose_one(&scores, &left, noise);
            chosen.push(left.swap_remove(at));
        }
        Ok(chosen)
    }

    /// The position in `left` of one choice.
    fn choose_one(&self, scores: &[i64], left: &[usize], noise: &mut NoiseSource) -> usize {
        let best = left.iter().map(|&i| scores[i]).max().unwrap_or(0);
        let denominator = u128::from(self.sensitivity) * 2 * (EPSILON_UNIT as u128);
        let generator = noise.generator();
        loop {
            let at = super::sampler::uniform_below(left.len() as u64, generator) as usize;
            // The difference of two i64 fits u64; times epsilon below 2^41 fits u128.
            let behind = best.abs_diff(scores[left[at]]);
            let numerator = u128::from(behind) * u128::from(self.epsilon);
            if exponential_ratio_coin(numerator, denominator, generator) {
                return at;
            }
        }
    }
}

/// `epsilon` in whole units, rounded down, where it and the sensitivity are within range.
fn whole_epsilon(epsilon: f64, sensitivity: u64) -> Option<u64> {
    let units = (epsilon.next_down() * EPSILON_UNIT).floor();
    let fits = (1.0..LARGEST as f64).contains(&units) && (1..LARGEST).contains(&sensitivity);
    fits.then_some(units as u64)
}

fn out_of_range(name: &'static str, value: f64) -> PrivacyError {
    PrivacyError::Parameter {
        name,
        value,
        requirement: "within what a choice can be charged for; raise the budget or select fewer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::testing::chi_square_fits;
    use crate::privacy::{Authorisation, Budget, ReleaseId};

    fn accountant(rho: f64) -> Accountant {
        let cost = Cost::other(rho).unwrap();
        let budget = Budget::zcdp(rho).unwrap();
        let id = ReleaseId::random().unwrap();
        Accountant::new(Authorisation::without_ledger(id, cost, &budget).unwrap())
    }

    /// Chi-square of 10^5 choices against the law; false alarms: one in 10^6 (see `chi_square_fits`).
    #[test]
    fn choices_have_the_exponential_law() {
        let scores = [0i64, 300, -200, 1000, 990];
        let mechanism = ExponentialMechanism::new(100, 0.02).unwrap();
        let mut noise = NoiseSource::insecure_seed(5);
        let mut observed = [0u64; 5];
        for _ in 0..100_000 {
            let left = [0, 1, 2, 3, 4];
            observed[mechanism.choose_one(&scores, &left, &mut noise)] += 1;
        }
        let weights = scores.map(|u| (mechanism.epsilon() * u as f64 / 200.0).exp());
        let total: f64 = weights.iter().sum();
        let expected = weights.map(|w| 100_000.0 * w / total);
        assert!(chi_square_fits(&observed, &expected));
    }

    #[test]
    fn choices_are_charged_one_by_one_and_never_beyond_the_limit() {
        let mechanism = ExponentialMechanism::new(1, 0.1).unwrap();
        assert!(mechanism.cost().other_rho() <= 0.1);
        assert!(mechanism.cost().other_rho() > 0.0999);
        let mut account = accountant(0.25);
        let mut noise = NoiseSource::insecure_seed(6);
        let scores = || Confidential::new(vec![5, 1, 9]);
        let two = mechanism
            .choose(scores(), 2, &mut account, &mut noise)
            .unwrap();
        assert_eq!(two.len(), 2);
        assert_ne!(two[0], two[1]);
        assert!((account.spent().other_rho() - 2.0 * mechanism.cost().other_rho()).abs() < 1e-12);
        assert!(
            mechanism
                .choose(scores(), 1, &mut account, &mut noise)
                .is_err()
        );
    }

    #[test]
    fn a_pure_choice_is_charged_its_epsilon() {
        let mechanism = ExponentialMechanism::pure(3, 0.4).unwrap();
        assert!(mechanism.cost().is_pure() && mechanism.cost().pure_epsilon() <= 0.4);
        assert_eq!(mechanism.cost().pure_epsilon(), mechanism.epsilon());
        assert!(mechanism.epsilon() > 0.3999);
        assert!(ExponentialMechanism::pure(3, 0.0).is_err());
        assert!(ExponentialMechanism::pure(0, 0.4).is_err());
    }

    #[test]
    fn a_choice_without_a_budget_is_refused() {
        assert!(ExponentialMechanism::new(1, 0.0).is_err());
        assert!(ExponentialMechanism::new(0, 0.1).is_err());
        assert!(ExponentialMechanism::new(1, 1e-16).is_err());
        assert!(ExponentialMechanism::new(1, f64::NAN).is_err());
    }
}

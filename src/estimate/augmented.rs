//! Cross-fitted augmented inverse-propensity weighting (doubly robust).
//!
//! ```text
//! ATE:  tau = mean of  m_a - m_0 + 1{T=a} (y - m_a) / e_a - 1{T=0} (y - m_0) / e_0
//! ATT:  tau = sum of  [ 1{T=a} - 1{T=0} e / (1 - e) ] (y - m_0)  /  N_a
//! ```
//!
//! `m_t` is linear in the scores within arm `t`, `e` logistic; both are fitted without the row's own
//! fold. Rows are dealt to folds by a seeded shuffle within each arm, so every fold has its share of
//! each. `V = sum_i psi_i^2 / (n (n - 1))`, `psi` the efficient influence function; errors of the fits
//! enter at second order only (Chernozhukov et al. 2018, *Double/debiased machine learning*).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::moments::ArmRegression;
use super::propensity::{Overlap, PropensityPair, count_clipped};
use super::sample::Sample;
use super::{ArmMoments, Estimand, Estimate, EstimateError, Options};

/// Each row's fold: within every arm, rows in shuffled order are dealt out one by one. An arm of two
/// rows or more therefore never stands in one fold alone.
pub(super) fn deal_folds(sample: &Sample, options: &Options) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut order: Vec<usize> = (0..sample.len()).collect();
    order.shuffle(&mut random);
    order.sort_by_key(|&row| sample.arms[row]);
    let mut folds = vec![0; sample.len()];
    for (position, row) in order.into_iter().enumerate() {
        folds[row] = position % options.folds;
    }
    folds
}

/// The estimate, rows in the folds given; for the ATT the sample holds the two arms only.
pub(super) fn augmented(
    sample: &Sample,
    arm: u16,
    estimand: Estimand,
    options: &Options,
    folds: &[usize],
) -> Result<Estimate, EstimateError> {
    let treated = sample.rows_of(arm, 2)?.len() as f64;
    sample.rows_of(0, 2)?;
    let rows = out_of_fold(sample, arm, options, folds)?;
    let overlaps: Vec<Overlap> = rows.iter().map(|r| r.overlap).collect();
    let clipped = count_clipped(sample, &overlaps, arm, options)?;
    let n = sample.len() as f64;

    // Each row's term; their mean is the estimate for the ATE, their sum over N_a for the ATT.
    let term = |row: usize| {
        let (y, fitted) = (sample.y(row), &rows[row]);
        let (in_arm, in_reference) = (sample.arms[row] == arm, sample.arms[row] == 0);
        let e = fitted.overlap;
        match estimand {
            Estimand::Ate => {
                let mut term = fitted.arm - fitted.reference;
                if in_arm {
                    term += (y - fitted.arm) / e.arm;
                } else if in_reference {
                    term -= (y - fitted.reference) / e.reference;
                }
                term
            }
            Estimand::Att if in_arm => y - fitted.reference,
            Estimand::Att => -(y - fitted.reference) * e.arm / (1.0 - e.arm),
        }
    };
    let terms: Vec<f64> = (0..sample.len()).map(term).collect();
    let size = match estimand {
        Estimand::Ate => n,
        Estimand::Att => treated,
    };
    let value = terms.iter().sum::<f64>() / size;
    let squares: f64 = (terms.iter().zip(&sample.arms))
        .map(|(term, &t)| {
            let belongs = estimand == Estimand::Ate || t == arm;
            let influence = (term - value * f64::from(belongs)) / size;
            influence * influence
        })
        .sum();
    Estimate {
        value,
        variance: squares * n / (n - 1.0),
        rows: n,
        clipped,
    }
    .checked()
}

/// What the fits without a row's fold say of it.
struct Fitted {
    overlap: Overlap,
    /// `m_a`.
    arm: f64,
    /// `m_0`.
    reference: f64,
}

fn out_of_fold(
    sample: &Sample,
    arm: u16,
    options: &Options,
    folds: &[usize],
) -> Result<Vec<Fitted>, EstimateError> {
    let all: Vec<usize> = (0..sample.len()).collect();
    let everyone = PropensityPair::fit(sample, &all, arm, None)?;
    let members = |t: u16, fold: usize| -> Vec<usize> {
        let belongs = |&row: &usize| sample.arms[row] == t && folds[row] == fold;
        (0..sample.len()).filter(belongs).collect()
    };
    let moments_by_fold = |t: u16| -> Vec<ArmMoments> {
        (0..options.folds)
            .map(|fold| sample.moments(&members(t, fold)))
            .collect()
    };
    let (treated, controls) = (moments_by_fold(arm), moments_by_fold(0));
    let mut fitted: Vec<Option<Fitted>> = all.iter().map(|_| None).collect();
    for fold in 0..options.folds {
        let (test, train): (Vec<usize>, Vec<usize>) =
            all.iter().partition(|&&row| folds[row] == fold);
        if test.is_empty() {
            continue;
        }
        let pair = PropensityPair::fit(sample, &train, arm, Some(&everyone))?;
        let outcome = |moments: &[ArmMoments]| {
            let others = moments.iter().enumerate().filter(|(f, _)| *f != fold);
            ArmRegression::fit(&ArmMoments::pool(others.map(|(_, m)| m), sample.z_len()))
        };
        let (treated, controls) = (outcome(&treated)?, outcome(&controls)?);
        for row in test {
            let scores = &sample.z(row)[1..];
            fitted[row] = Some(Fitted {
                overlap: pair.at(sample, row, options),
                arm: treated.predict(scores),
                reference: controls.predict(scores),
            });
        }
    }
    let unfitted = || EstimateError::Malformed("a row in no fold".into());
    fitted.into_iter().map(|f| f.ok_or_else(unfitted)).collect()
}

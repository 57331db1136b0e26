//! Cross-fitted augmented inverse-propensity weighting (doubly robust).
//!
//! ```text
//! over everyone:  mu_t = mean of  m_t + 1{T=t} (y - m_t) / e_t
//! over arm p:     mu_p = mean of y in it
//!                 mu_t = sum of  [ 1{T=p} m_t + 1{T=t} e_p / (1 - e_p) (y - m_t) ]  /  N_p
//! ```
//!
//! `m_t` is linear in the scores within arm `t`, `e` logistic; both are fitted without the row's own
//! fold. Rows are dealt to folds by a seeded shuffle within each arm, so every fold has its share of
//! each. `V = sum_i psi_i^2 / (n (n - 1))`, `psi` the efficient influence function, the arms' own by the
//! estimand's gradient; errors of the fits enter at second order only (Chernozhukov et al. 2018,
//! *Double/debiased machine learning*).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::estimand::Population;
use super::moments::ArmRegression;
use super::propensity::{Overlap, Propensities, count_clipped};
use super::sample::Sample;
use super::{ArmMoments, Estimand, Estimate, EstimateError, Options};

/// Each row's fold: within every arm, rows in shuffled order are dealt out one by one. An arm of two
/// rows or more therefore never stands in one fold alone.
pub(super) fn deal_folds(sample: &Sample<'_>, options: &Options) -> Vec<usize> {
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

/// The estimate, rows in the folds given; where the population is an arm, the sample holds the two arms
/// only.
pub(super) fn augmented(
    sample: &Sample<'_>,
    arm: u16,
    estimand: Estimand,
    options: &Options,
    folds: &[usize],
) -> Result<Estimate, EstimateError> {
    let arms = estimand.arms(arm);
    for &t in &arms {
        sample.rows_of(t, 2)?;
    }
    let rows = out_of_fold(sample, &arms, options, folds)?;
    let overlaps: Vec<Overlap> = rows.iter().map(|r| r.overlap).collect();
    let clipped = count_clipped(sample, &overlaps, &arms, options)?;
    let n = sample.len() as f64;

    let population = estimand.population(arm);
    let belongs = |row: usize| f64::from(population.holds(sample.arms[row]));
    let size: f64 = (0..sample.len()).map(belongs).sum();
    // Each row's term in the sum that is `size` times an arm's mean.
    let term = |row: usize, position: usize| {
        let (y, fitted) = (sample.y(row), &rows[row]);
        let (t, m, e) = (
            arms[position],
            fitted.means[position],
            fitted.overlap.clipped,
        );
        let residual = f64::from(sample.arms[row] == t) * (y - m);
        match population {
            Population::Everyone => m + residual / e[position],
            Population::Arm(p) if p == t => belongs(row) * y,
            // The population is the other one of the two arms.
            Population::Arm(_) => {
                let e = e[1 - position];
                belongs(row) * m + residual * e / (1.0 - e)
            }
        }
    };
    let terms: Vec<Vec<f64>> = (0..arms.len())
        .map(|position| (0..sample.len()).map(|row| term(row, position)).collect())
        .collect();
    let means: Vec<f64> = (terms.iter())
        .map(|terms| terms.iter().sum::<f64>() / size)
        .collect();
    let functional = estimand.of_means(&means)?;
    let squares: f64 = (0..sample.len())
        .map(|row| {
            let influence: f64 = (0..arms.len())
                .map(|k| functional.gradient[k] * (terms[k][row] - means[k] * belongs(row)))
                .sum();
            (influence / size).powi(2)
        })
        .sum();
    Estimate {
        value: functional.value,
        variance: squares * n / (n - 1.0),
        rows: n,
        clipped,
    }
    .checked()
}

/// What the fits without a row's fold say of it.
struct Fitted {
    overlap: Overlap,
    /// `m_t` by position; one arm alone stands at both.
    means: [f64; 2],
}

fn out_of_fold(
    sample: &Sample<'_>,
    arms: &[u16],
    options: &Options,
    folds: &[usize],
) -> Result<Vec<Fitted>, EstimateError> {
    let all: Vec<usize> = (0..sample.len()).collect();
    let everyone = Propensities::fit(sample, &all, arms, None)?;
    let members = |t: u16, fold: usize| -> Vec<usize> {
        let belongs = |&row: &usize| sample.arms[row] == t && folds[row] == fold;
        (0..sample.len()).filter(belongs).collect()
    };
    let moments: Vec<Vec<ArmMoments>> = (arms.iter())
        .map(|&t| {
            (0..options.folds)
                .map(|fold| sample.moments(&members(t, fold)))
                .collect()
        })
        .collect();
    let mut fitted: Vec<Option<Fitted>> = all.iter().map(|_| None).collect();
    for fold in 0..options.folds {
        let (test, train): (Vec<usize>, Vec<usize>) =
            all.iter().partition(|&&row| folds[row] == fold);
        if test.is_empty() {
            continue;
        }
        let propensities = Propensities::fit(sample, &train, arms, Some(&everyone))?;
        let outcome = |moments: &Vec<ArmMoments>| {
            let others = moments.iter().enumerate().filter(|(f, _)| *f != fold);
            ArmRegression::fit(&ArmMoments::pool(others.map(|(_, m)| m), sample.z_len()))
        };
        let outcomes = moments.iter().map(outcome).collect::<Result<Vec<_>, _>>()?;
        let mut z = sample.room();
        for row in test {
            sample.fill_z(row, &mut z);
            let scores = &z[1..];
            let at = |position: usize| outcomes[position.min(outcomes.len() - 1)].predict(scores);
            fitted[row] = Some(Fitted {
                overlap: propensities.at(&z, options),
                means: [at(0), at(1)],
            });
        }
    }
    let unfitted = || EstimateError::Malformed("a row in no fold".into());
    fitted.into_iter().map(|f| f.ok_or_else(unfitted)).collect()
}

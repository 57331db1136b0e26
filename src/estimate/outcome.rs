//! Table estimators that need no propensity: the difference in means, and regression adjustment.

use super::moments::Contrast;
use super::sample::Sample;
use super::{Estimand, Estimate, EstimateError};

/// The estimand from the arms' own means, unadjusted, with Welch's variance: for a difference
/// `s_a^2 / N_a + s_0^2 / N_0`.
pub(super) fn difference_in_means(
    sample: &Sample<'_>,
    arm: u16,
    estimand: Estimand,
) -> Result<Estimate, EstimateError> {
    let mean_and_variance = |t: u16| -> Result<(f64, f64), EstimateError> {
        let rows = sample.rows_of(t, 2)?;
        let count = rows.len() as f64;
        let mean = rows.iter().map(|&i| sample.y(i)).sum::<f64>() / count;
        let squares: f64 = rows.iter().map(|&i| (sample.y(i) - mean).powi(2)).sum();
        Ok((mean, squares / (count - 1.0) / count))
    };
    let (means, variances): (Vec<f64>, Vec<f64>) = (estimand.arms(arm).into_iter())
        .map(mean_and_variance)
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .unzip();
    let functional = estimand.of_means(&means)?;
    let variance = (functional.gradient.iter().zip(&variances))
        .map(|(slope, variance)| slope * slope * variance)
        .sum();
    Estimate {
        value: functional.value,
        variance,
        rows: sample.len() as f64,
        clipped: 0.0,
    }
    .checked()
}

/// Regression adjustment: the point estimate of [`super::moments`], from the table's own moments, with a
/// variance that allows for unequal residual variances (HC1 within arms):
///
/// ```text
/// V = sum over t of g_t^2 N_t / (N_t - p_t) sum_{T_i = t} [ (1 + (s_i - sbar_t)' l_t) e_i / N_t ]^2
///   + sum over the target population of [ sum over t of g_t (m_t(s_i) - mu_t) / N* ]^2
/// ```
///
/// The two parts add up because residuals are orthogonal to the scores within each arm.
pub(super) fn regression(
    sample: &Sample<'_>,
    arm: u16,
    estimand: Estimand,
) -> Result<Estimate, EstimateError> {
    for t in estimand.arms(arm) {
        sample.rows_of(t, 2)?;
    }
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); sample.arm_names.len()];
    for (row, &t) in sample.arms.iter().enumerate() {
        members[usize::from(t)].push(row);
    }
    let moments: Vec<_> = members.iter().map(|rows| sample.moments(rows)).collect();
    let name = |t: u16| sample.arm_names[usize::from(t)].clone();
    let contrast = Contrast::fit(&moments, arm, estimand, name)?;

    let mut variance = 0.0;
    let mut z = sample.room();
    for ((t, regression), slope) in contrast.sides.iter().zip(&contrast.functional.gradient) {
        let leverage = regression.leverage(&contrast.target);
        let squares: f64 = (members[usize::from(*t)].iter())
            .map(|&row| {
                sample.fill_z(row, &mut z);
                let scores = &z[1..];
                let reach: f64 = (scores.iter().zip(&regression.mean_scores).zip(&leverage))
                    .map(|((score, mean), l)| (score - mean) * l)
                    .sum();
                let residual = sample.y(row) - regression.predict(scores);
                ((1.0 + reach) * residual / regression.weight).powi(2)
            })
            .sum();
        variance += slope * slope * squares * regression.residual_correction(&name(*t))?;
    }
    let population = estimand.population(arm);
    variance += (0..sample.len())
        .filter(|&row| population.holds(sample.arms[row]))
        .map(|row| {
            sample.fill_z(row, &mut z);
            let deviation = contrast.deviation_at(&z[1..]);
            (deviation / contrast.target_weight).powi(2)
        })
        .sum::<f64>();
    Estimate {
        value: contrast.functional.value,
        variance,
        rows: contrast.rows,
        clipped: 0.0,
    }
    .checked()
}

//! What the treated unit's own past says of its future: a forecast and its error's covariance. All public.
//!
//! The series `y`, on the scale of logarithms or levels, is taken for a local level with a drift. With `L = T0 - 1`
//! first differences, `g0` and `g1` their autocovariances at lags 0 and 1: the observation variance `r^2 = -g1`
//! (between 0 and `g0 / 2`), the level's step variance `q^2 = g0 - 2 r^2` (at least `g0 / 50`). The Kalman filter's
//! steady gain `K` weighs the past like a mean of the last `k = 2 / K - 1` values, so the forecast is
//!
//! ```text
//! y_(T0 + h) = mean of the last k values + drift (h + (k - 1) / 2),
//! ```
//!
//! the drift being `g` or `g / 2`, `g` half the sum of the mean difference and the mean of the last five, whichever
//! forecasts better from earlier origins. The error's covariance is that of the level's steps, of the observations,
//! of the drift and of the mean's lag,
//!
//! ```text
//! Sigma(s, t) = q^2 min(s, t) + r^2 (1{s = t} + 1 / k) + q^2 s t / L + q^2 (k - 1)(2 k - 1) / (6 k),
//! ```
//!
//! inflated by the mean squared error from earlier origins where that is larger (nine times at most). A series with
//! seasons is forecast by the mean of the same phase over the last four seasons at most.

use super::linear::{Spectrum, mean};
use faer::Mat;

/// The last differences that the recent drift is the mean of.
const RECENT_DIFFERENCES: usize = 5;
/// The smallest step variance, as a part of the variance of the differences: a level never stands still.
const SMALLEST_STEP: f64 = 0.02;
/// Of two drifts the second is taken where its mean squared error is below this part of the first one's.
const CLEARLY_BETTER: f64 = 0.95;
/// The most that errors from earlier origins may inflate the covariance.
const LARGEST_INFLATION: f64 = 9.0;
/// The first origin of a backtest, and the most seasons that a phase's mean is over.
const FIRST_ORIGIN: usize = 4;
const SEASONS: usize = 4;

/// A public forecast.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// For each period, those before the intervention too, the earlier periods whose mean is its base.
    pub bases: Vec<Vec<usize>>,
    /// What is added to the base, by period from the intervention on.
    pub drift: Vec<f64>,
    /// The forecast, by period from the intervention on.
    pub path: Vec<f64>,
    /// The covariance of its error.
    pub covariance: Mat<f64>,
    /// Its spectrum.
    pub spectrum: Spectrum,
    /// The variance of the level's steps, `q^2`, before inflation.
    pub step_variance: f64,
    /// The variance of the observations, `r^2`, before inflation.
    pub observation_variance: f64,
}

impl Forecast {
    /// The forecast of `horizon` periods after the series `y`, which has at least two values. `season` is the
    /// number of periods of a season, 1 for none; `least_step` a standard deviation that a step has at least.
    pub fn new(y: &[f64], horizon: usize, season: usize, least_step: f64) -> Forecast {
        let (bases, drift, covariance, step_variance, observation_variance);
        if season > 1 && y.len() >= 2 * season {
            let model = Seasonal::new(y, horizon, season, least_step);
            (bases, drift) = (model.bases, vec![0.0; horizon]);
            (covariance, step_variance, observation_variance) = (
                model.covariance,
                model.step_variance,
                model.observation_variance,
            );
        } else {
            let level = LocalLevel::new(y, least_step);
            let (rate, inflation) = level.backtest(y, horizon);
            let last: Vec<usize> = (y.len() - level.window..y.len()).collect();
            bases = vec![last; y.len() + horizon];
            drift = level.drift(rate, horizon);
            covariance = level.covariance(horizon) * faer::Scale(inflation);
            (step_variance, observation_variance) = (level.step, level.observation);
        }
        let base = |t: usize| mean(&bases[t].iter().map(|&i| y[i]).collect::<Vec<f64>>());
        let path = (0..horizon).map(|h| base(y.len() + h) + drift[h]).collect();
        Forecast {
            path,
            spectrum: Spectrum::new(covariance.as_ref()),
            bases,
            drift,
            covariance,
            step_variance,
            observation_variance,
        }
    }

    /// Deviations of a series from its bases before the intervention, and its errors about the same forecast rule
    /// from then on.
    pub fn deviations(&self, series: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let pre = series.len() - self.path.len();
        let base = |t: usize| {
            let over = &self.bases[t];
            over.iter().map(|&i| series[i]).sum::<f64>() / over.len() as f64
        };
        let before = (0..pre).map(|t| series[t] - base(t)).collect();
        let after = (pre..series.len())
            .map(|t| series[t] - base(t) - self.drift[t - pre])
            .collect();
        (before, after)
    }
}

/// A local level with a drift.
struct LocalLevel {
    window: usize,
    step: f64,
    observation: f64,
    differences: usize,
}

impl LocalLevel {
    fn new(y: &[f64], least_step: f64) -> LocalLevel {
        let differences: Vec<f64> = y.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let centre = mean(&differences);
        let free = (differences.len().saturating_sub(1)).max(1) as f64;
        let covariance = |lag: usize| {
            let pairs = differences
                .iter()
                .zip(&differences[lag.min(differences.len())..]);
            pairs.map(|(a, b)| (a - centre) * (b - centre)).sum::<f64>() / free
        };
        let spread = covariance(0).max(least_step * least_step);
        let observation = (-covariance(1)).clamp(0.0, spread / 2.0);
        let step = (spread - 2.0 * observation).max(SMALLEST_STEP * spread);
        // The steady state of the filter; without observation noise its gain is one.
        let ratio = step / observation.max(1e-12 * spread);
        let gain = 2.0 / (1.0 + (1.0 + 4.0 / ratio).sqrt());
        let window = (2.0 / gain - 1.0).round().clamp(1.0, y.len() as f64) as usize;
        LocalLevel {
            window,
            step,
            observation,
            differences: differences.len(),
        }
    }

    fn drift(&self, rate: f64, horizon: usize) -> Vec<f64> {
        let lag = (self.window as f64 - 1.0) / 2.0;
        (1..=horizon).map(|h| rate * (h as f64 + lag)).collect()
    }

    fn covariance(&self, horizon: usize) -> Mat<f64> {
        let (q, r, k) = (self.step, self.observation, self.window as f64);
        let lag = q * (k - 1.0) * (2.0 * k - 1.0) / (6.0 * k);
        Mat::from_fn(horizon, horizon, |i, j| {
            let (s, t) = ((i + 1) as f64, (j + 1) as f64);
            let own = if i == j { r } else { 0.0 };
            q * s.min(t) + own + r / k + q * s * t / self.differences as f64 + lag
        })
    }

    /// The better drift, and how much the errors from earlier origins exceed the covariance.
    fn backtest(&self, y: &[f64], horizon: usize) -> (f64, f64) {
        let variances = self.covariance(horizon);
        let score = |part: f64| {
            let origins = FIRST_ORIGIN.max(y.len() / 2)..y.len().saturating_sub(1);
            let scores: Vec<f64> = origins
                .map(|origin| {
                    let (past, future) = y.split_at(origin);
                    let window = self.window.min(origin);
                    let base = mean(&past[origin - window..]);
                    let lag = (window as f64 - 1.0) / 2.0;
                    let rate = part * recent_rate(past);
                    let errors = future.iter().take(horizon).enumerate().map(|(h, value)| {
                        let error = value - base - rate * ((h + 1) as f64 + lag);
                        error * error / variances[(h, h)]
                    });
                    mean(&errors.collect::<Vec<f64>>())
                })
                .collect();
            (!scores.is_empty()).then(|| mean(&scores))
        };
        let rate = recent_rate(y);
        match (score(1.0), score(0.5)) {
            (Some(whole), Some(half)) if half < CLEARLY_BETTER * whole => {
                (rate / 2.0, half.clamp(1.0, LARGEST_INFLATION))
            }
            (Some(whole), _) => (rate, whole.clamp(1.0, LARGEST_INFLATION)),
            // Too short a past to try the forecast on.
            (None, _) => (rate, 1.0),
        }
    }
}

/// Half the sum of the mean difference and the mean of the last ones.
fn recent_rate(y: &[f64]) -> f64 {
    let mean_difference = |y: &[f64]| match y {
        [first, .., last] => (last - first) / (y.len() - 1) as f64,
        _ => 0.0,
    };
    let recent = &y[y.len().saturating_sub(RECENT_DIFFERENCES + 1)..];
    (mean_difference(y) + mean_difference(recent)) / 2.0
}

/// Means of the same phase.
struct Seasonal {
    bases: Vec<Vec<usize>>,
    covariance: Mat<f64>,
    step_variance: f64,
    observation_variance: f64,
}

impl Seasonal {
    fn new(y: &[f64], horizon: usize, season: usize, least_step: f64) -> Seasonal {
        let seasons = (y.len() / season).min(SEASONS);
        let start = y.len() - seasons * season;
        let base = |t: usize| {
            (start..y.len())
                .filter(|i| i % season == t % season)
                .collect()
        };
        let bases: Vec<Vec<usize>> = (0..y.len() + horizon).map(base).collect();
        let residual = |t: usize| y[t] - mean(&bases[t].iter().map(|&i| y[i]).collect::<Vec<_>>());
        let residuals: Vec<f64> = (start..y.len()).map(residual).collect();
        let centre = mean(&residuals);
        let squares: Vec<f64> = residuals.iter().map(|r| (r - centre).powi(2)).collect();
        let observation = mean(&squares).max(least_step * least_step);
        // The means of whole seasons, counted from the end, tell how the level moves.
        let means: Vec<f64> = y.rchunks_exact(season).map(mean).collect();
        let moves: Vec<f64> = means.windows(2).map(|m| (m[0] - m[1]).powi(2)).collect();
        let length = season as f64;
        let step = (mean(&moves) - 2.0 * observation / length).max(0.0) / length;
        let lag = length * seasons as f64 / 3.0;
        let covariance = Mat::from_fn(horizon, horizon, |i, j| {
            let own = if i == j { 1.0 } else { 0.0 };
            let phase = if i % season == j % season { 1.0 } else { 0.0 };
            step * ((i.min(j) + 1) as f64 + lag) + observation * (own + phase / seasons as f64)
        });
        Seasonal {
            bases,
            covariance,
            step_variance: step,
            observation_variance: observation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the formulas computed by hand for a small series.
    #[test]
    fn a_trend_without_noise_is_continued() {
        let y: Vec<f64> = (0..12).map(|t| 3.0 + 0.5 * t as f64).collect();
        let forecast = Forecast::new(&y, 3, 1, 1e-3);
        for (h, value) in forecast.path.iter().enumerate() {
            assert!((value - (3.0 + 0.5 * (12 + h) as f64)).abs() < 1e-12);
        }
        // q^2 = 1e-6 (the least step), r^2 = 0, k = 1, L = 11.
        let expected = 1e-6 * (2.0 + 4.0 / 11.0);
        assert!((forecast.covariance[(1, 1)] / expected - 1.0).abs() < 1e-9);
        let (before, after) = forecast.deviations(&(0..15).map(f64::from).collect::<Vec<_>>());
        assert_eq!(before[11], 0.0);
        assert!((after[2] - 1.5).abs() < 1e-12);
    }

    #[test]
    fn alternation_is_taken_for_observation_noise() {
        let y: Vec<f64> = (0..20)
            .map(|t| if t % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        let forecast = Forecast::new(&y, 2, 1, 1e-3);
        assert!(forecast.bases[20].len() > 5, "{:?}", forecast.bases[20]);
        assert!(forecast.observation_variance > 10.0 * forecast.step_variance);
    }

    #[test]
    fn seasons_repeat() {
        let y: Vec<f64> = (0..28).map(|t| (t % 7) as f64).collect();
        let forecast = Forecast::new(&y, 9, 7, 1e-3);
        for (h, value) in forecast.path.iter().enumerate() {
            assert!((value - ((28 + h) % 7) as f64).abs() < 1e-12);
        }
        // A series too short for two seasons is forecast without them.
        assert_eq!(Forecast::new(&y[..10], 2, 7, 1e-3).path.len(), 2);
    }

    #[test]
    fn two_values_are_enough() {
        let forecast = Forecast::new(&[1.0, 2.0], 4, 1, 0.01);
        assert_eq!(forecast.path, [3.0, 4.0, 5.0, 6.0]);
        assert!(forecast.spectrum.values.iter().all(|&value| value > 0.0));
    }
}

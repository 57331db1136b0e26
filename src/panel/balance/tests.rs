use super::*;
use crate::panel::effects::of_target;
use crate::panel::linear::length;
use crate::panel::tests::panels::{Panel, accountant};
use crate::privacy::mu_from_epsilon_delta;
use crate::workload::DpscMethod;

/// The measurements of a panel at a share, with those that a budget without bounds would give.
fn measured(balance: &Balance<'_>, panel: &Panel, seed: u64) -> Vec<PanelMeasurement> {
    let donors = Confidential::new(panel.rows.clone());
    let mut noise = NoiseSource::insecure_seed(seed);
    let mut account = accountant(balance.cost());
    balance.measure(&donors, &mut account, &mut noise).unwrap()
}

/// What is known before the second moments.
fn known(balance: &Balance<'_>, measured: &[PanelMeasurement]) -> Posterior {
    let mut known = balance.first(&measured[0]);
    balance.learn(&mut known, 0, &measured[1]);
    known
}

/// Intervals for privacy alone cover the estimate that a far larger budget gives, of every period and of the mean, about
/// as often as they say. The posterior's prior is the target's own model and not the law of these panels, and its noise
/// is carried through later clips linearly, so their level is not exact; two standard errors of a share over 500 repetitions are .02.
#[test]
fn intervals_for_noise_cover_the_estimate_without_it() {
    const REPETITIONS: u64 = 500;
    for epsilon in [0.5, 1.0, 2.0, 5.0] {
        let mu = mu_from_epsilon_delta(epsilon, 1e-6).unwrap();
        let (mut of_path, mut of_mean) = (0, 0);
        for repetition in 0..REPETITIONS {
            let panel = Panel::factor_model(600, 16, 20, repetition);
            let (ours, free) = (Share::Gaussian(mu * mu), Share::Gaussian(1e6));
            let of = |share, draws| {
                let setting = panel.setting(share);
                let balance = Balance::new(&setting).unwrap();
                let control = balance.control(&measured(&balance, &panel, repetition));
                let seeds = (repetition, draws);
                of_target(
                    &setting,
                    &control.unwrap(),
                    DpscMethod::Balance,
                    0.95,
                    seeds,
                )
            };
            let (truth, ours) = (of(free, 2), of(ours, 1000));
            let holds = |[low, high]: [f64; 2], value: f64| low <= value && value <= high;
            for (ours, truth) in ours.periods.iter().zip(&truth.periods) {
                let interval = ours.effect.privacy_interval;
                of_path += u64::from(holds(interval, truth.effect.estimate));
            }
            of_mean += u64::from(holds(ours.att.privacy_interval, truth.att.estimate));
        }
        let path = of_path as f64 / (4 * REPETITIONS) as f64;
        let mean = of_mean as f64 / REPETITIONS as f64;
        eprintln!("epsilon {epsilon}: path {path:.4}, mean {mean:.4}");
        assert!((0.93..=0.975).contains(&path), "{epsilon}: path {path}");
        assert!((0.93..=0.975).contains(&mean), "{epsilon}: mean {mean}");
    }
}

/// However extreme the donors and whatever is known of the regression, replacing a donor moves no sum of integers by more
/// than its charge is for.
#[test]
fn the_sensitivities_hold() {
    let panel = Panel::factor_model(30, 12, 16, 3);
    let setting = panel.setting(Share::Gaussian(0.5));
    let balance = Balance::new(&setting).unwrap();
    let released = measured(&balance, &panel, 5);
    let first = balance.first(&released[0]);
    let second = known(&balance, &released);
    let row = |seed: usize, size: f64| -> Vec<f64> {
        (0..16)
            .map(|t| (5.0 + size * ((seed + 3 * t) as f64).sin()).exp())
            .collect()
    };
    let means = |row: Vec<f64>| sum_of_means(&vec![row], &balance.means_question());
    let moments = |row: Vec<f64>, known: &Posterior, pass| {
        sum_of_moments(&vec![row], &balance.question(known, pass))
    };
    let mut most = [0.0f64; 3];
    for seed in 0..1500 {
        let size = 0.02 * (seed % 60) as f64;
        let pair = || (row(seed, size), row(seed + 1 + seed / 7, -size));
        let apart = |a: Vec<i64>, b: Vec<i64>| {
            let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a - b) as f64).collect();
            length(&differences)
        };
        let (a, b) = pair();
        most[0] = most[0].max(apart(means(a), means(b)));
        for (pass, known) in [&first, &second].into_iter().enumerate() {
            let (a, b) = pair();
            let moved = apart(moments(a, known, pass), moments(b, known, pass));
            most[pass + 1] = most[pass + 1].max(moved);
        }
    }
    for (most, measured) in most.into_iter().zip(&released) {
        let found = most / measured.sensitivity as f64;
        assert!(found <= 1.0 && found > 0.6, "{}: {found}", measured.name);
    }
}

/// The bound on the moments is attained, and no vectors in the unit balls exceed it: climbing from random starts.
#[test]
fn the_bound_on_the_moments_is_attained() {
    const D: usize = 3;
    let moved = |x: &[f64]| -> f64 {
        let in_ball = |x: &[f64]| -> Vec<f64> {
            let size = length(x).max(1.0);
            x.iter().map(|x| x / size).collect()
        };
        let part = |x: &[f64]| -> Vec<f64> {
            let (u, v) = (in_ball(&x[..D]), in_ball(&x[D..]));
            let matrix = (0..D * D).map(|k| u[k / D] * u[k % D]);
            let cross = (0..D * D).map(|k| v[k / D] * u[k % D]);
            let mean = v.iter().map(|v| v / 2.0);
            matrix.chain(cross).chain(mean).collect()
        };
        let (a, b) = (part(&x[..2 * D]), part(&x[2 * D..]));
        length(&a.iter().zip(&b).map(|(a, b)| a - b).collect::<Vec<f64>>())
    };
    use rand_distr::{Distribution, StandardNormal};
    let mut rng = crate::impute::stream(8, crate::impute::Purpose::Simulation, 0);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let bound = MOMENTS_SENSITIVITY_SQUARED.sqrt();
    let mut most: f64 = 0.0;
    for _ in 0..40 {
        let mut at: Vec<f64> = (0..4 * D).map(|_| 1.5 * normal()).collect();
        let (mut best, mut step) = (moved(&at), 0.5);
        for _ in 0..1500 {
            let next: Vec<f64> = at.iter().map(|x| x + step * normal()).collect();
            let value = moved(&next);
            if value > best {
                (at, best) = (next, value);
            } else {
                step = (step * 0.99f64).max(1e-4);
            }
        }
        most = most.max(best);
    }
    assert!(most <= bound * (1.0 + 1e-12), "{most} {bound}");
    assert!(most > 0.999 * bound, "{most} {bound}");
}

/// Donors far beyond every clip whose errors are a linear function of their past: with next to no noise the regression is
/// found as if nothing had been clipped.
#[test]
fn clipping_does_not_bend_a_linear_relation() {
    let (pre, periods) = (12, 18);
    let series = |level: f64, slope: f64, wave: f64| -> Vec<f64> {
        let value = |t: usize| {
            let t = t as f64;
            (level + slope * t + wave * (0.7 * t).sin()).exp()
        };
        (0..periods).map(value).collect()
    };
    let rows = (0..400)
        .map(|i| {
            let i = f64::from(i);
            series(4.5, 0.06 * (1.3 * i).sin(), 0.3 * (2.1 * i + 1.0).cos())
        })
        .collect();
    let target = series(4.6, 0.02, 0.05);
    let panel = Panel::new([1.0, 1e4], pre, target.clone(), rows, "");
    let setting = panel.setting(Share::Gaussian(1e8));
    let balance = Balance::new(&setting).unwrap();
    let control = balance.control(&measured(&balance, &panel, 1)).unwrap();
    let missed = |path: &[f64]| -> f64 {
        let errors = path.iter().zip(&target[pre..]).map(|(p, y)| p - y.ln());
        length(&errors.collect::<Vec<f64>>())
    };
    let (ours, forecast) = (missed(&control.path), missed(&setting.forecast().path));
    assert!(ours < 0.02 * forecast, "{ours} {forecast}");
}

/// The posterior against its formulas, worked out for one slope and one coordinate.
#[test]
fn one_slope_is_learnt_as_by_hand() {
    let (variance, noise) = (0.25, 0.1);
    let mut known = Posterior::new(&[variance], vec![0.2], &[0.5], 0.04);
    // Gain 1 / 1.04 of the mean.
    assert!((known.mean[0] - 0.5 / 1.04).abs() < 1e-12);
    let clip = Clip {
        past: 0.5,
        residual: 0.7,
    };
    let moments = Moments {
        past: Mat::from_fn(1, 1, |_, _| 0.8),
        cross: vec![vec![0.4]],
        mean: vec![0.3],
    };
    known.learn(&moments, clip, noise);
    let unit = 0.7 / 0.5;
    let v = noise * noise * (1.0 + variance / (unit * unit));
    let precision = 1.0 / variance + 0.64 / (v * unit * unit);
    let slope = 0.8 * 0.4 / (v * unit) / precision;
    assert!((known.slopes[0][0] - slope).abs() < 1e-12);
    let (before, of_mean) = (0.04 / 1.04, (0.7f64 * noise / 0.5).powi(2));
    let gain = before / (before + of_mean);
    let mean = 0.5 / 1.04 + gain * 0.7 * 0.3;
    let predicted = known.predict(&[1.2]);
    assert!((predicted.mean[0] - (mean + slope)).abs() < 1e-12);
    let whole = 1.0 / precision + gain * of_mean;
    assert!((predicted.variance[0] - whole).abs() < 1e-12);
}

/// What the donors sum up comes back as moments.
#[test]
fn moments_are_read_in_the_order_of_their_sum() {
    let (u, v) = ([0.1, 0.2, 0.3], [0.4, -0.5]);
    let mut sums = Vec::new();
    for i in 0..3 {
        for j in i..3 {
            sums.push(u[i] * u[j] * if i == j { 1.0 } else { 2f64.sqrt() });
        }
    }
    sums.extend(v.iter().flat_map(|v| u.iter().map(move |u| v * u)));
    sums.extend(v.iter().map(|v| 0.5 * v));
    let moments = Moments::new(&sums, 1.0, 3, 2);
    for i in 0..3 {
        for j in 0..3 {
            assert!((moments.past[(i, j)] - u[i] * u[j]).abs() < 1e-15);
        }
        assert!((moments.cross[1][i] - v[1] * u[i]).abs() < 1e-15);
    }
    assert!((moments.mean[0] - 0.4).abs() < 1e-15);
}

/// 2 (of few donors), what keeps the noise at its limit (.07 = 2 C / (n mu)), and 4.
#[test]
fn the_clip_of_the_means_follows_their_noise() {
    for (mu, donors, expected) in [(0.1, 100, 2.0), (0.1, 800, 2.8), (1.0, 3000, 4.0)] {
        let clip = means_clip(mu * mu, donors);
        assert!((clip - expected).abs() < 1e-12, "{clip}");
    }
}

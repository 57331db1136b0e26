//! Distinguishing attacks: how much privacy the draws themselves show to be lost between worst-case neighbours.
//!
//! An attack fixes an event of the output on a tenth of the draws and counts it in the others under either neighbour. By
//! Chernoff's bound each probability lies within its interval but once in a million; their ratio bounds
//! `epsilon` from below. A mechanism that keeps `epsilon = 1` shows no bound above 1; the mutant whose noise has the
//! length of a scalar Laplace variable does.

use super::panels::{Panel, accountant};
use crate::panel::channel::Share;
use crate::panel::linear::length;
use crate::panel::method::Method;
use crate::privacy::{Confidential, Cost, NoiseSource, mu_from_epsilon_delta};
use crate::release::{NoiseLaw, PanelMeasurement};
use crate::workload::DpscMethod;
use rand::RngExt;
use rand_distr::{Distribution, Exp1, StandardNormal};
use rayon::prelude::*;

/// Draws under each neighbour: a million in all.
const DRAWS: usize = 500_000;
const STREAMS: usize = 20;

/// `n KL(k / n, p) <= ln(10^6)`: the ends of the interval of `p`.
pub fn interval(k: usize, n: usize) -> [f64; 2] {
    let share = k as f64 / n as f64;
    let part = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    let fits = |p: f64| n as f64 * (part(share, p) + part(1.0 - share, 1.0 - p)) <= 1e6f64.ln();
    let edge = |mut out: f64| {
        let mut inside = share;
        for _ in 0..60 {
            let middle = f64::midpoint(out, inside);
            if fits(middle) {
                inside = middle
            } else {
                out = middle
            }
        }
        out
    };
    [edge(0.0), edge(1.0)]
}

/// The lower bound on epsilon that scores show: `first` and `second` under either neighbour, larger for the first.
fn lower_bound(first: &[f64], second: &[f64], delta: f64) -> f64 {
    let tenth = first.len() / 10;
    let mut sorted = first[..tenth].to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (first, second) = (&first[tenth..], &second[tenth..]);
    let mut most: f64 = 0.0;
    // Few thresholds, so that the million covers all of them.
    for part in [0.3, 0.5, 0.7, 0.9, 0.97] {
        let threshold = sorted[(part * tenth as f64) as usize];
        let count = |scores: &[f64]| scores.iter().filter(|&&s| s >= threshold).count();
        let (p, q) = (count(first), count(second));
        let low = interval(p, first.len())[0] - delta;
        most = most.max((low / interval(q, second.len())[1]).ln());
    }
    most
}

/// The releases of a method on donors.
fn releases(method: &dyn Method, rows: &[Vec<f64>], seed: u64) -> Vec<Vec<PanelMeasurement>> {
    let stream = |index: usize| {
        let mut noise = NoiseSource::insecure_seed(seed * 1000 + index as u64);
        let donors = Confidential::new(rows.to_vec());
        // Room for all draws: the account is not what is attacked.
        let mut account = accountant(times(method.cost(), 1e6));
        let draw = move |_| method.measure(&donors, &mut account, &mut noise).unwrap();
        (0..DRAWS / STREAMS).map(draw).collect::<Vec<_>>()
    };
    (0..STREAMS).into_par_iter().flat_map(stream).collect()
}

fn times(cost: Cost, factor: f64) -> Cost {
    match cost.is_gaussian() {
        true => Cost::gaussian(factor * cost.gaussian_mu_squared()).unwrap(),
        false => Cost::pure(factor * cost.pure_epsilon()).unwrap(),
    }
}

/// The log-likelihood ratio of a measurement for two exact answers.
fn likelihood_ratio(measured: &PanelMeasurement, first: &[f64], second: &[f64]) -> f64 {
    let away = |answer: &[f64]| -> Vec<f64> {
        measured
            .numbers()
            .iter()
            .zip(answer)
            .map(|(v, a)| v - a)
            .collect()
    };
    let (a, b, scale) = (away(first), away(second), measured.noise_scale());
    let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    match measured.law {
        NoiseLaw::KNormL2 => (length(&b) - length(&a)) / scale,
        NoiseLaw::KNormLInfinity => (largest(&b) - largest(&a)) / scale,
        _ => (length(&b).powi(2) - length(&a).powi(2)) / (2.0 * scale * scale),
    }
}

/// The means of a measurement's values over some releases, which stand for the exact answer.
fn means(releases: &[Vec<PanelMeasurement>], measurement: usize) -> Vec<f64> {
    let some = &releases[..DRAWS / 10];
    let cells = some[0][measurement].values.len();
    let mut sum = vec![0.0; cells];
    for release in some {
        let numbers = release[measurement].numbers();
        sum.iter_mut()
            .zip(numbers)
            .for_each(|(s, x)| *s += x / some.len() as f64);
    }
    sum
}

/// An attack on a method with donors `first` against `second`; `stage2` are the two neighbours' values, on the unit
/// scale, in the one later period where the last measurement is a weighted sum of one donor.
fn attack(
    panel: &Panel,
    method: DpscMethod,
    share: Share,
    neighbours: [Vec<Vec<f64>>; 2],
    delta: f64,
    stage2: Option<[f64; 2]>,
) -> f64 {
    let setting = panel.setting(share);
    let made = setting.method(method).unwrap();
    let [first, second] = [0, 1].map(|k| releases(made.as_ref(), &neighbours[k], k as u64 + 1));
    let exact: Vec<[Vec<f64>; 2]> = (0..first[0].len())
        .map(|m| [means(&first, m), means(&second, m)])
        .collect();
    let score = |release: &Vec<PanelMeasurement>| -> f64 {
        let ratios = release
            .iter()
            .enumerate()
            .map(|(m, measured)| match (stage2, m) {
                (Some(values), 1) => {
                    let weight = release[0].numbers()[0];
                    likelihood_ratio(measured, &[weight * values[0]], &[weight * values[1]])
                }
                _ => likelihood_ratio(measured, &exact[m][0], &exact[m][1]),
            });
        ratios.sum()
    };
    let scores = |all: &[Vec<PanelMeasurement>]| all.iter().map(score).collect::<Vec<f64>>();
    let (a, b) = (scores(&first), scores(&second));
    let other: [Vec<f64>; 2] = [&b, &a].map(|s| s.iter().map(|x| -x).collect());
    lower_bound(&a, &b, delta).max(lower_bound(&other[0], &other[1], delta))
}

/// One donor of two periods before and one after, on the unit scale.
fn small(workload: &str) -> Panel {
    Panel::new(
        [-1.0, 1.0],
        2,
        vec![1.0, 1.0, 0.0],
        vec![vec![0.0; 3]],
        workload,
    )
}

#[test]
fn index_keeps_its_epsilon() {
    let panel = Panel::new(
        [-1.0, 1.0],
        4,
        vec![0.0, 0.1, 0.1, 0.2, 0.2, 0.2],
        vec![vec![0.0; 6]],
        "",
    );
    let donor = |value: f64| vec![vec![0.0, 0.0, 0.0, 0.0, value, value]];
    let pair = [donor(1.0), donor(-1.0)];
    let bound = attack(&panel, DpscMethod::Index, Share::Pure(1.0), pair, 0.0, None);
    assert!(bound < 1.0 && bound > 0.85, "{bound}");
}

#[test]
fn difference_in_differences_keeps_its_epsilon() {
    let pair = [vec![vec![-1.0, -1.0, 1.0]], vec![vec![1.0, 1.0, -1.0]]];
    let method = DpscMethod::DifferenceInDifferences;
    let bound = attack(&small(""), method, Share::Pure(1.0), pair, 0.0, None);
    assert!(bound < 1.0 && bound > 0.85, "{bound}");
}

#[test]
fn direct_keeps_its_epsilon() {
    // mu = T0 = 2: the witness has t = 1.
    let pair = [vec![vec![1.0, 1.0, 1.0]], vec![vec![-1.0, -1.0, 1.0]]];
    let panel = small("lambda: 4\n");
    let bound = attack(
        &panel,
        DpscMethod::Direct,
        Share::Pure(1.0),
        pair,
        0.0,
        None,
    );
    assert!(bound < 1.0 && bound > 0.85, "{bound}");
}

#[test]
fn output_keeps_its_epsilon() {
    let pair = [vec![vec![1.0, 1.0, 1.0]], vec![vec![-1.0, -1.0, -1.0]]];
    let panel = small("lambda: 4\n");
    let values = Some([1.0, -1.0]);
    let bound = attack(
        &panel,
        DpscMethod::Output,
        Share::Pure(1.0),
        pair,
        0.0,
        values,
    );
    assert!(bound < 1.0 && bound > 0.6, "{bound}");
}

#[test]
fn objective_keeps_its_epsilon() {
    let pair = [vec![vec![1.0, 1.0, 1.0]], vec![vec![-1.0, -1.0, -1.0]]];
    let panel = small("lambda: 4\n");
    let values = Some([1.0, -1.0]);
    let bound = attack(
        &panel,
        DpscMethod::Objective,
        Share::Pure(1.0),
        pair,
        0.0,
        values,
    );
    // The gradient's bound is not attained with one donor, so the attack sees less than is charged.
    assert!(bound < 1.0 && bound > 0.1, "{bound}");
}

#[test]
fn balance_keeps_its_epsilon_and_delta() {
    let delta = 1e-3;
    let mu = mu_from_epsilon_delta(1.0, delta).unwrap();
    let panel = Panel::new([-1.0, 1.0], 2, vec![0.0, 0.1, 0.2], vec![vec![0.0; 3]], "");
    // The same past and opposite errors: 5 of the moments' 5.5; with one feature no angle is one of 60 degrees.
    let donor = |value: f64| vec![vec![-1.0, 0.0, value]];
    let pair = [donor(1.0), donor(-1.0)];
    let share = Share::Gaussian(mu * mu);
    let bound = attack(&panel, DpscMethod::Balance, share, pair, delta, None);
    assert!(bound < 1.0 && bound > 0.3, "{bound}");
}

/// What published codes draw: the length of a scalar Laplace variable, in a uniform direction.
#[test]
fn a_scalar_laplace_length_is_caught() {
    let dimension = 2;
    let scores = |at: f64, seed: u64| -> Vec<f64> {
        let mut rng = crate::impute::stream(seed, crate::impute::Purpose::Simulation, 0);
        let draw = |_| {
            let direction: Vec<f64> = (0..dimension)
                .map(|_| StandardNormal.sample(&mut rng))
                .collect();
            let radius: f64 = Exp1.sample(&mut rng);
            let radius = if rng.random_bool(0.5) {
                radius
            } else {
                -radius
            };
            let size = length(&direction);
            let mut output: Vec<f64> = direction.iter().map(|x| radius * x / size).collect();
            output[0] += at;
            // Its density at distance r falls as exp(-r) / r^(d - 1).
            let density = |at: f64| {
                let r = (output[0] - at).hypot(output[1]);
                -r - (dimension as f64 - 1.0) * r.ln()
            };
            density(0.0) - density(1.0)
        };
        (0..DRAWS).map(draw).collect()
    };
    let bound = lower_bound(&scores(0.0, 1), &scores(1.0, 2), 0.0);
    assert!(bound > 1.5, "{bound}");
}

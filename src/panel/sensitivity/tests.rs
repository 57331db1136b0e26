use super::*;
use crate::impute::{Purpose, stream};
use crate::panel::linear::length;
use crate::panel::ridge::{Ridge, weighted_sum};
use rand::{Rng, RngExt};

/// A pair of panels that differ in the first row, and a target.
#[derive(Clone)]
struct Neighbours {
    rows: Vec<Vec<f64>>,
    other: Vec<f64>,
    y: Vec<f64>,
}

impl Neighbours {
    /// Random entries, most of them at the bounds or zero, where extremes are; often with an opposite first row.
    fn random<R: Rng + ?Sized>(n: usize, pre: usize, post: usize, rng: &mut R) -> Neighbours {
        let entry = |rng: &mut R| match rng.random_range(0..6) {
            0 | 1 => 1.0,
            2 | 3 => -1.0,
            4 => 0.0,
            _ => rng.random_range(-1.0..=1.0),
        };
        let mut rows: Vec<Vec<f64>> = (0..n)
            .map(|_| (0..pre + post).map(|_| entry(rng)).collect())
            .collect();
        // The others small, as in the witnesses, half of the time.
        let small = if rng.random_bool(0.5) {
            rng.random_range(0.0..0.3)
        } else {
            1.0
        };
        rows[1..].iter_mut().flatten().for_each(|x| *x *= small);
        let other = match rng.random_bool(0.6) {
            true => rows[0].iter().map(|x| -x).collect(),
            false => (0..pre + post).map(|_| entry(rng)).collect(),
        };
        let y = (0..pre).map(|_| entry(rng)).collect();
        Neighbours { rows, other, y }
    }

    /// A step away: a few entries move.
    fn moved<R: Rng + ?Sized>(&self, step: f64, rng: &mut R) -> Neighbours {
        let mut next = self.clone();
        for _ in 0..rng.random_range(1..=4) {
            let series = match rng.random_range(0..next.rows.len() + 2) {
                0 => &mut next.y,
                1 => &mut next.other,
                k => &mut next.rows[k - 2],
            };
            let at = rng.random_range(0..series.len());
            series[at] = (series[at] + step * rng.random_range(-1.0..=1.0)).clamp(-1.0, 1.0);
        }
        next
    }

    fn replaced(&self) -> Vec<Vec<f64>> {
        let mut rows = self.rows.clone();
        rows[0].clone_from(&self.other);
        rows
    }

    fn distance(&self, answer: impl Fn(&[Vec<f64>], &[f64]) -> Vec<f64>) -> Vec<f64> {
        let (a, b) = (
            answer(&self.rows, &self.y),
            answer(&self.replaced(), &self.y),
        );
        a.iter().zip(b).map(|(a, b)| a - b).collect()
    }
}

/// The largest part of the bound that so many restarts with a few steps each find.
fn search(
    (n, pre, post): (usize, usize, usize),
    restarts: usize,
    steps: usize,
    part: impl Fn(&Neighbours) -> f64,
) -> f64 {
    let mut rng = stream(11, Purpose::Simulation, (100 * n + pre) as u64);
    let mut most: f64 = 0.0;
    for _ in 0..restarts {
        let mut at = Neighbours::random(n, pre, post, &mut rng);
        let mut best = part(&at);
        for step in 0..steps {
            let next = at.moved(if step % 2 == 0 { 1.0 } else { 0.2 }, &mut rng);
            let found = part(&next);
            if found > best {
                (at, best) = (next, found);
            }
        }
        most = most.max(best);
    }
    most
}

const SETTINGS: [(usize, usize, f64); 6] = [
    (1, 2, 0.4),
    (2, 3, 1.0),
    (3, 5, 0.5),
    (3, 2, 8.0),
    (4, 3, 40.0),
    (6, 2, 2.0),
];

#[test]
fn witnesses_attain_the_weights_bound() {
    for (n, pre, lambda) in SETTINGS
        .into_iter()
        .chain([(38, 19, 10.0), (10, 10, 100.0)])
    {
        let t = (lambda / 2.0 / pre as f64).sqrt().min(1.0);
        let y = vec![1.0; pre];
        let row = |a: f64| {
            let mut rows = vec![vec![0.0; pre]; n];
            rows[0] = vec![a; pre];
            Ridge::new(&rows, pre).weights(&y, lambda)
        };
        let apart: Vec<f64> = row(t).iter().zip(row(-t)).map(|(a, b)| a - b).collect();
        let bound = weights(length(&y), pre, lambda);
        assert!(
            (length(&apart) / bound - 1.0).abs() < 1e-12,
            "{n} {pre} {lambda}"
        );
        assert!(bound < weights_of_paper(n, pre, lambda));
    }
}

/// More than a thousand restarts in all, over several numbers of donors, periods and penalties.
#[test]
fn no_search_exceeds_the_weights_bound() {
    for (n, pre, lambda) in SETTINGS {
        let found = search((n, pre, 0), 200, 25, |pair| {
            let moved = pair.distance(|rows, y| Ridge::new(rows, pre).weights(y, lambda));
            length(&moved) / weights(length(&pair.y), pre, lambda).max(1e-12)
        });
        assert!(found <= 1.0 + 1e-9, "{n} {pre} {lambda}: {found}");
        // The witnesses above attain it; of a search from random starts three quarters are enough.
        assert!(
            found > 0.75,
            "{n} {pre} {lambda}: the search is blind, {found}"
        );
    }
}

#[test]
fn no_search_exceeds_the_counterfactuals_bound() {
    for (n, pre, lambda) in SETTINGS {
        let found = search((n, pre, 1), 200, 25, |pair| {
            let answer = |rows: &[Vec<f64>], y: &[f64]| {
                let weights = Ridge::new(rows, pre).weights(y, lambda);
                weighted_sum(rows, &weights, pre)
                    .iter()
                    .map(|x| x.clamp(-1.0, 1.0))
                    .collect()
            };
            let moved = pair.distance(answer)[0].abs();
            moved / counterfactual(length(&pair.y), n, pre, lambda).max(1e-12)
        });
        assert!(found <= 1.0 + 1e-9, "{n} {pre} {lambda}: {found}");
        assert!(
            found > 0.4,
            "{n} {pre} {lambda}: the search is blind, {found}"
        );
    }
}

/// Of the gradient of the misfit at a point of the ball, which the search moves too, in the others' last column.
#[test]
fn no_search_exceeds_the_gradients_bound() {
    for (n, pre, lambda) in SETTINGS {
        let found = search((n, pre, 1), 200, 25, |pair| {
            let radius = length(&pair.y).max(1e-3) / (2.0 * lambda).sqrt();
            let mut point: Vec<f64> = pair.rows.iter().map(|row| row[pre]).collect();
            let size = length(&point).max(1e-12);
            point.iter_mut().for_each(|f| *f *= radius / size);
            let gradient = |rows: &[Vec<f64>], y: &[f64]| -> Vec<f64> {
                let fitted = weighted_sum(rows, &point, 0);
                let component = |row: &Vec<f64>| {
                    (0..pre)
                        .map(|t| 2.0 * row[t] * (fitted[t] - y[t]))
                        .sum::<f64>()
                };
                rows.iter().map(component).collect()
            };
            length(&pair.distance(gradient)) / super::gradient(length(&pair.y), n, pre, radius)
        });
        assert!(found <= 1.0 + 1e-9, "{n} {pre} {lambda}: {found}");
        assert!(
            found > 0.3,
            "{n} {pre} {lambda}: the search is blind, {found}"
        );
    }
}

/// Of the second derivative's determinant: its logarithm moves by at most `2 ln(1 + c / penalty)`.
#[test]
fn no_search_exceeds_the_curvatures_bound() {
    for (n, pre, penalty) in SETTINGS {
        let logarithm = |rows: &[Vec<f64>]| -> f64 {
            let x = faer::Mat::from_fn(rows.len(), pre, |i, t| rows[i][t]);
            let gram = x.transpose() * &x;
            let spectrum = crate::panel::linear::Spectrum::new(gram.as_ref());
            spectrum
                .values
                .iter()
                .map(|value| (2.0 * value / penalty).ln_1p())
                .sum()
        };
        let bound = 2.0 * (curvature(n, pre) / penalty).ln_1p();
        let found = search((n, pre, 0), 200, 15, |pair| {
            (logarithm(&pair.rows) - logarithm(&pair.replaced())).abs() / bound
        });
        assert!(found <= 1.0 + 1e-9, "{n} {pre} {penalty}: {found}");
    }
}

#[test]
fn the_counterfactuals_bound_falls_with_the_number_of_donors() {
    let bound = |n: usize| counterfactual(19f64.sqrt(), n, 19, 4.0 * n as f64);
    assert!(bound(38) > 5.0 * bound(605) && bound(605) > 4.0 * bound(3000));
    assert!(bound(2) <= 2.0);
}

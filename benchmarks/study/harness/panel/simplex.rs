//! Synthetic control without privacy: weights on the simplex that follow the target's past, by accelerated projected
//! gradients. A comparator; what it prints of confidential data would be a leak.

const STEPS: usize = 1500;

/// The counterfactual after `pre` periods of `target` from `rows`.
pub fn synthetic_control(target: &[f64], rows: &[Vec<f64>], pre: usize) -> Vec<f64> {
    let weights = weights(&target[..pre], rows);
    let at = |t: usize| rows.iter().zip(&weights).map(|(row, w)| w * row[t]).sum();
    (pre..target.len()).map(at).collect()
}

/// `argmin |y - X w|` over weights that are not negative and sum to one (Beck and Teboulle 2009, restarted where the
/// objective's gradient turns).
fn weights(y: &[f64], rows: &[Vec<f64>]) -> Vec<f64> {
    let n = rows.len();
    let pre = y.len();
    let residual = |w: &[f64]| -> Vec<f64> {
        let fitted = |t: usize| rows.iter().zip(w).map(|(row, w)| w * row[t]).sum::<f64>();
        (0..pre).map(|t| fitted(t) - y[t]).collect()
    };
    let gradient = |w: &[f64]| -> Vec<f64> {
        let r = residual(w);
        rows.iter()
            .map(|row| r.iter().zip(row).map(|(r, x)| r * x).sum())
            .collect()
    };
    // The trace bounds the largest eigenvalue.
    let curvature = largest_eigenvalue(rows, pre);
    let mut w = vec![1.0 / n as f64; n];
    let (mut z, mut t) = (w.clone(), 1.0f64);
    for _ in 0..STEPS {
        let g = gradient(&z);
        let next = projected(z.iter().zip(&g).map(|(z, g)| z - g / curvature).collect());
        let turned: f64 = (0..n).map(|i| (z[i] - next[i]) * (next[i] - w[i])).sum();
        let step = (1.0 + (1.0 + 4.0 * t * t).sqrt()) / 2.0;
        if turned > 0.0 {
            (z, t) = (next.clone(), 1.0);
        } else {
            z = (0..n)
                .map(|i| next[i] + (t - 1.0) / step * (next[i] - w[i]))
                .collect();
            t = step;
        }
        w = next;
    }
    w
}

fn largest_eigenvalue(rows: &[Vec<f64>], pre: usize) -> f64 {
    let mut v = vec![1.0; pre];
    let mut value = 0.0;
    for _ in 0..100 {
        let mut next = vec![0.0; pre];
        for row in rows {
            let along: f64 = row.iter().zip(&v).map(|(x, v)| x * v).sum();
            next.iter_mut().zip(row).for_each(|(n, x)| *n += along * x);
        }
        value = next.iter().map(|x| x * x).sum::<f64>().sqrt();
        v = next.iter().map(|x| x / value).collect();
    }
    // Power iteration comes from below.
    1.05 * value
}

/// The nearest point of the simplex.
fn projected(v: Vec<f64>) -> Vec<f64> {
    let mut sorted = v.clone();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (-1.0, 0.0);
    for (k, u) in sorted.iter().enumerate() {
        sum += u;
        let candidate = sum / (k + 1) as f64;
        if *u > candidate {
            shift = candidate;
        }
    }
    v.into_iter().map(|x| (x - shift).max(0.0)).collect()
}

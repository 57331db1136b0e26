//! Sensitivities by brute force: how far the contributions of many records reach.

use crate::measure::effects::{Reach, Record, Statistic};

/// What each record, of arm, outcome and scores, contributes to a statistic.
pub(crate) fn contributions<const SCORES: usize>(
    statistic: &dyn Statistic,
    records: &[(usize, i64, [i64; SCORES])],
) -> Vec<Vec<i64>> {
    let contribution = |(arm, outcome, scores): &(usize, i64, [i64; SCORES])| {
        let mut sums = vec![0; statistic.cells()];
        let record = Record {
            arm: *arm,
            outcome: *outcome,
            scores,
        };
        statistic.add(&record, &mut sums);
        sums
    };
    records.iter().map(contribution).collect()
}

/// The largest length and distance of contributions, over what is stated, which they must not exceed. `order` counts
/// the cells off the diagonal of triangles of this order twice: the Frobenius norm.
pub(crate) fn found(contributions: &[Vec<i64>], stated: Reach, order: Option<usize>) -> [f64; 2] {
    let cells = contributions.first().map_or(0, Vec::len);
    let times: Vec<i128> = match order {
        None => vec![1; cells],
        Some(order) => {
            let triangle =
                (0..order).flat_map(|i| (i..order).map(move |j| if i == j { 1 } else { 2 }));
            triangle.cycle().take(cells).collect()
        }
    };
    let squared = |cells: &mut dyn Iterator<Item = i64>| -> i128 {
        cells
            .zip(&times)
            .map(|(x, times)| i128::from(x).pow(2) * times)
            .sum()
    };
    let mut found = [0, 0];
    for (i, u) in contributions.iter().enumerate() {
        found[0] = found[0].max(squared(&mut u.iter().copied()));
        for v in &contributions[..i] {
            found[1] = found[1].max(squared(&mut u.iter().zip(v).map(|(a, b)| a - b)));
        }
    }
    for (found, stated) in found.iter().zip([stated.norm, stated.diameter]) {
        assert!(
            *found <= i128::from(stated).pow(2),
            "{found} squared, beyond {stated}"
        );
    }
    [
        (found[0] as f64).sqrt() / stated.norm as f64,
        (found[1] as f64).sqrt() / stated.diameter as f64,
    ]
}

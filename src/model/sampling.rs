//! Samples from a model, by conditionals down the junction tree.
//!
//! The root clique is drawn jointly; every other clique draws its new variables given its separator.
//! Within a group of rows with the same separator cell, counts are not multinomial: each new cell gets
//! the integer part of its expected count, and the remainder goes to cells drawn without replacement,
//! each with probability equal to its fraction (systematic sampling). Counts are unbiased and off by
//! less than one, so synthetic marginals add next to nothing to the model's error.
//!
//! Which row of the group gets which cell is a random permutation. Without it, two children of one
//! parent would be assigned in the same order and come out comonotone: all measured marginals right,
//! all unmeasured ones wrong.
//!
//! Every group has a random stream of its own (ChaCha8, keyed by the seed; the stream's number is the
//! clique and the separator's cell), so the sample does not depend on the number of threads.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::projection::Projection;
use super::{Model, ModelError};

impl Model {
    /// Draws a table of `rows` rows: one array of codes per variable of the domain. Combinations of
    /// probability 0 never occur. The same seed gives the same table.
    ///
    /// # Errors
    /// [`ModelError::TooManyRows`] if `rows` needs more than 32 bits.
    pub fn sample(&self, rows: usize, seed: u64) -> Result<Vec<Vec<u16>>, ModelError> {
        self.sample_by(rows, seed, |draw, group, cells, fractions, random| {
            draw.fill(group, cells, fractions, random);
            cells.shuffle(random);
        })
    }

    /// As [`Self::sample`], but the rows are independent draws from the model: counts are multinomial.
    /// The tables of a multiple imputation need that, because combining rules take the variance that
    /// sampling a table adds to be that of independent rows.
    ///
    /// # Errors
    /// As [`Self::sample`].
    pub fn sample_independent(&self, rows: usize, seed: u64) -> Result<Vec<Vec<u16>>, ModelError> {
        self.sample_by(rows, seed, Draw::draw)
    }

    /// Draws a table; `draw` gives the cells of one group's rows, with a buffer as long as the cells.
    fn sample_by(
        &self,
        rows: usize,
        seed: u64,
        fill: impl Fn(&Draw, usize, &mut [u32], &mut [f64], &mut ChaCha8Rng) + Sync,
    ) -> Result<Vec<Vec<u16>>, ModelError> {
        if u32::try_from(rows).is_err() {
            return Err(ModelError::TooManyRows { rows });
        }
        let mut columns = vec![Vec::new(); self.domain().variables()];
        let random = ChaCha8Rng::seed_from_u64(seed);
        // Cliques with the same separator group the rows alike.
        let mut grouping: Option<(&[usize], Groups)> = None;
        for clique in 0..self.junction_tree().cliques().len() {
            let separator = self.junction_tree().separators()[clique].as_slice();
            let groups = match grouping.take() {
                Some((variables, groups)) if variables == separator => groups,
                _ => self.groups(rows, separator, &columns),
            };
            let draw = Draw::new(self, clique);
            let mut cells = vec![0u32; rows];
            groups.slices(&mut cells).into_par_iter().for_each_init(
                || vec![0.0; draw.width],
                |fractions, (group, cells)| {
                    let mut random = random.clone();
                    random.set_stream((clique as u64) << 32 | group as u64);
                    fill(&draw, group, cells, fractions, &mut random);
                },
            );
            for (axis, &variable) in draw.variables.iter().enumerate() {
                let codes = draw.codes(axis);
                columns[variable] = groups
                    .positions
                    .par_iter()
                    .with_min_len(1 << 14)
                    .map(|&position| codes[cells[position as usize] as usize])
                    .collect();
            }
            grouping = Some((separator, groups));
        }
        Ok(columns)
    }

    /// Groups the rows by their codes on some variables.
    fn groups(&self, rows: usize, variables: &[usize], columns: &[Vec<u16>]) -> Groups {
        let mut keys = vec![0u32; rows];
        let mut count = 1;
        for &variable in variables {
            let size = self.domain().sizes()[variable];
            count *= size;
            for (key, &code) in keys.iter_mut().zip(&columns[variable]) {
                *key = *key * size as u32 + u32::from(code);
            }
        }
        let mut sizes = vec![0u32; count];
        keys.iter().for_each(|&key| sizes[key as usize] += 1);
        let mut next: Vec<u32> = sizes
            .iter()
            .scan(0, |end, &size| {
                *end += size;
                Some(*end - size)
            })
            .collect();
        let mut positions = keys;
        for position in &mut positions {
            let slot = &mut next[*position as usize];
            *position = *slot;
            *slot += 1;
        }
        Groups { positions, sizes }
    }
}

/// A partition of the rows: by group, and within a group in the order of the rows.
struct Groups {
    /// The place of each row when the rows stand group by group.
    positions: Vec<u32>,
    /// The number of rows of each group.
    sizes: Vec<u32>,
}

impl Groups {
    /// The slices of an array that stands group by group, without the empty ones.
    fn slices<'a>(&self, mut array: &'a mut [u32]) -> Vec<(usize, &'a mut [u32])> {
        let mut result = Vec::new();
        for (group, &size) in self.sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
            let (slice, rest) = array.split_at_mut(size as usize);
            result.push((group, slice));
            array = rest;
        }
        result
    }
}

/// The distribution of a clique's new variables given its separator.
struct Draw {
    variables: Vec<usize>,
    shape: Vec<usize>,
    /// Cells of the new variables.
    width: usize,
    /// One row of `width` probabilities per separator cell.
    table: Vec<f64>,
}

impl Draw {
    fn new(model: &Model, clique: usize) -> Draw {
        let (domain, tree) = (model.domain(), model.junction_tree());
        let (around, separator) = (&tree.cliques()[clique], &tree.separators()[clique]);
        let new = around.iter().copied().filter(|v| !separator.contains(v));
        let variables: Vec<usize> = new.collect();
        let order: Vec<usize> = separator.iter().chain(&variables).copied().collect();
        let layout = Projection::new(around, &domain.shape(around), &order);
        let mut table = vec![0.0; layout.cells()];
        layout.sum(model.clique_conditional(clique), &mut table);
        let shape = domain.shape(&variables);
        Draw {
            width: shape.iter().product(),
            variables,
            shape,
            table,
        }
    }

    /// The code of one new variable in each cell.
    fn codes(&self, axis: usize) -> Vec<u16> {
        let inner: usize = self.shape[axis + 1..].iter().product();
        // A variable has at most 2^16 levels: its codes fit.
        let code = |cell: usize| (cell / inner % self.shape[axis]) as u16;
        (0..self.width).map(code).collect()
    }

    /// Draws the cells of a group's rows independently; `sums` is a buffer.
    fn draw(&self, group: usize, cells: &mut [u32], sums: &mut [f64], random: &mut ChaCha8Rng) {
        let probabilities = &self.table[group * self.width..][..self.width];
        let (mut total, mut last) = (0.0, 0);
        for (cell, (sum, p)) in sums.iter_mut().zip(probabilities).enumerate() {
            total += p;
            *sum = total;
            if *p > 0.0 {
                last = cell;
            }
        }
        for cell in cells {
            let point = random.random::<f64>() * total;
            // The first cell whose sum exceeds the point: never one of probability 0, and by rounding
            // at most the last possible one.
            *cell = sums.partition_point(|&sum| sum <= point).min(last) as u32;
        }
    }

    /// Fills the cells of a group's rows, in ascending order.
    fn fill(
        &self,
        group: usize,
        cells: &mut [u32],
        fractions: &mut [f64],
        random: &mut ChaCha8Rng,
    ) {
        let probabilities = &self.table[group * self.width..][..self.width];
        let rows = cells.len() as f64;
        let mut certain = 0;
        let mut fraction_sum = 0.0;
        for (fraction, p) in fractions.iter_mut().zip(probabilities) {
            let expected = rows * p;
            *fraction = expected - expected.floor();
            fraction_sum += *fraction;
            certain += expected.floor() as usize;
        }
        // Points at distance `step` on a line on which each cell has an interval as long as its
        // fraction. Up to rounding the fractions add up to the number of points and the step is 1.
        let points = cells.len().saturating_sub(certain);
        let step = fraction_sum / points as f64;
        let mut next = random.random::<f64>() * step;
        let (mut end, mut filled, mut drawn, mut last) = (0.0, 0, 0, 0);
        for (cell, (&fraction, p)) in fractions.iter().zip(probabilities).enumerate() {
            end += fraction;
            let mut count = (rows * p).floor() as usize;
            while drawn < points && next < end {
                count += 1;
                drawn += 1;
                next += step;
            }
            let stop = (filled + count).min(cells.len());
            cells[filled..stop].fill(cell as u32);
            filled = stop;
            if *p > 0.0 {
                last = cell;
            }
        }
        // Rounding can leave the last point beyond the end of the line.
        cells[filled..].fill(last as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{index, random_problem};
    use super::super::{Calibrator, Domain, Problem, ReferenceFactor};
    use super::*;

    /// A hub with two children that are independent given it, and another child of the first.
    fn star() -> Model {
        let names = ["hub", "left", "right", "grandchild"].map(String::from);
        let domain = Domain::new(names.to_vec(), vec![3, 4, 5, 3]).unwrap();
        let pair = |a: usize, b: usize| {
            let sizes = (domain.sizes()[a], domain.sizes()[b]);
            let log_weights = (0..sizes.0 * sizes.1)
                .map(|cell| match cell {
                    1 => f64::NEG_INFINITY,
                    _ => ((cell * 7 + a) % 5) as f64 * 0.5,
                })
                .collect();
            ReferenceFactor {
                variables: vec![a, b],
                log_weights,
            }
        };
        let problem = Problem {
            reference: vec![pair(0, 1), pair(0, 2), pair(1, 3)],
            domain,
            measurements: vec![],
            total: 1.0,
            max_cells: 1000,
            entropy_weight: 1.0,
        };
        Calibrator::new(problem).unwrap().reference_model()
    }

    fn counts(model: &Model, columns: &[Vec<u16>], set: &[usize]) -> Vec<f64> {
        let mut result = vec![0.0; model.domain().cells(set) as usize];
        for row in 0..columns[0].len() {
            let codes: Vec<usize> = columns.iter().map(|c| usize::from(c[row])).collect();
            result[index(model.domain(), set, &codes)] += 1.0;
        }
        result
    }

    /// Pearson's statistic against the model, over the cells that are possible, and their number.
    fn chi_square(model: &Model, columns: &[Vec<u16>], set: &[usize]) -> (f64, f64) {
        let expected = model.marginal(set).unwrap().values_in_order(set);
        let rows = columns[0].len() as f64;
        let (mut sum, mut cells) = (0.0, 0.0);
        for (count, p) in counts(model, columns, set).iter().zip(&expected) {
            if *p == 0.0 {
                assert_eq!(*count, 0.0, "a structural zero in {set:?}");
            } else {
                sum += (count - rows * p).powi(2) / (rows * p);
                cells += 1.0;
            }
        }
        (sum, cells)
    }

    /// Stratified counts vary less than multinomial ones, so Pearson's statistic of any pair, measured
    /// or not, is stochastically below chi-square with cells - 1 degrees of freedom. Bound: mean plus 6
    /// standard deviations; with 6 pairs and 20 seeds the false-alarm rate is below 1e-4.
    #[test]
    fn all_pairs_follow_the_model() {
        let model = star();
        for seed in 0..20 {
            let columns = model.sample(20_000, seed).unwrap();
            for pair in [[0, 1], [0, 2], [1, 3], [1, 2], [0, 3], [2, 3]] {
                let (statistic, cells) = chi_square(&model, &columns, &pair);
                let degrees = cells - 1.0;
                assert!(
                    statistic < degrees + 6.0 * (2.0 * degrees).sqrt(),
                    "{seed} {pair:?}"
                );
            }
        }
    }

    /// The fault of sorted ranks: the two children of the hub come out comonotone, and only the
    /// unmeasured pair shows it.
    #[test]
    fn unshuffled_ranks_would_be_noticed() {
        let model = star();
        let columns = model.sample_by(20_000, 1, Draw::fill).unwrap();
        let (measured, _) = chi_square(&model, &columns, &[0, 1]);
        assert!(measured < 1.0);
        let (unmeasured, cells) = chi_square(&model, &columns, &[1, 2]);
        assert!(unmeasured > 100.0 * cells);
    }

    /// Counts of every clique cell of the root are within one of their expectation.
    #[test]
    fn counts_are_stratified_and_unbiased() {
        let model = star();
        let root = &model.junction_tree().cliques()[0];
        let expected = model.clique_marginal(0);
        let mut mean = vec![0.0; expected.len()];
        let repetitions = 400;
        for seed in 0..repetitions {
            let columns = model.sample(37, seed).unwrap();
            for ((m, c), p) in mean
                .iter_mut()
                .zip(counts(&model, &columns, root))
                .zip(expected)
            {
                assert!((c - 37.0 * p).abs() < 1.0);
                *m += c / repetitions as f64;
            }
        }
        // A count is Bernoulli(fraction) above its floor: standard deviation at most 1/2, so the mean of
        // 400 has at most 0.025; 5 standard deviations (12 cells: false alarms below 1e-5).
        for (m, p) in mean.iter().zip(expected) {
            assert!((m - 37.0 * p).abs() < 0.125, "{m} {}", 37.0 * p);
        }
    }

    /// Groups, and cliques, of the same law must not be arranged alike. Agreement of two independent
    /// arrangements of 600 uniform codes of three levels: mean 200, standard deviation below 12; the
    /// bound is 6 of them, for 2 comparisons.
    #[test]
    fn groups_and_cliques_have_streams_of_their_own() {
        let uniform = |child: usize| ReferenceFactor {
            variables: vec![0, child],
            log_weights: vec![0.0; 6],
        };
        let names = ["hub", "root", "left", "right"].map(String::from).to_vec();
        let problem = Problem {
            domain: Domain::new(names, vec![2, 3, 3, 3]).unwrap(),
            reference: vec![uniform(1), uniform(2), uniform(3)],
            measurements: vec![],
            total: 1.0,
            max_cells: 100,
            entropy_weight: 1.0,
        };
        let model = Calibrator::new(problem).unwrap().reference_model();
        let columns = model.sample(1200, 5).unwrap();
        let codes = |variable: usize, hub: u16| -> Vec<u16> {
            let rows = columns[variable].iter().zip(&columns[0]);
            rows.filter(|(_, h)| **h == hub).map(|(c, _)| *c).collect()
        };
        for (a, b) in [(codes(2, 0), codes(2, 1)), (codes(2, 0), codes(3, 0))] {
            assert_eq!((a.len(), b.len()), (600, 600));
            let agreement = a.iter().zip(&b).filter(|(a, b)| a == b).count();
            assert!(agreement < 272, "{agreement}");
        }
    }

    #[test]
    fn samples_do_not_depend_on_threads() {
        let model = star();
        let sample = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| model.sample(50_000, 3).unwrap())
        };
        assert_eq!(sample(1), sample(2));
        assert_ne!(sample(1), model.sample(50_000, 4).unwrap());
    }

    #[test]
    fn any_model_yields_any_number_of_rows() {
        for seed in 0..60 {
            let problem = random_problem(seed);
            let model = Calibrator::new(problem.clone()).unwrap().reference_model();
            for rows in [0, 1, 2, 50] {
                let columns = model.sample(rows, seed).unwrap();
                for (column, &size) in columns.iter().zip(problem.domain.sizes()) {
                    assert_eq!(column.len(), rows);
                    assert!(column.iter().all(|&code| usize::from(code) < size));
                }
            }
        }
    }
}

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
#[path = "sampling_tests.rs"]
mod tests;

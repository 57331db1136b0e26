//! Index maps from the cells of a clique to the cells of a table over some of its variables.
//!
//! A clique is a row-major tensor over its variables. Every step of belief propagation either spreads a
//! smaller table over the clique's cells or gathers the clique's cells into it, so the inner loops of
//! the whole room are the five methods of [`Projection`].
//!
//! The index of the smaller table's cell is a sum of one stride per axis. Split the axes into leading
//! and trailing ones: the index of cell `h * block + l` is `high[h] + low[l]`, and two short arrays take
//! the place of one as long as the clique. Where the trailing axes are all summed out the inner loop
//! has one target, and where they are all kept in order it runs over contiguous cells of both.

/// The index map from a tensor to a table over some of its axes.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    /// The number of cells of the trailing axes.
    block: usize,
    /// The offset in the table of each cell of the leading axes.
    high: Vec<u32>,
    low: Low,
    /// The number of cells of the table.
    cells: usize,
}

/// The offset in the table of each cell of the trailing axes.
#[derive(Debug, Clone)]
enum Low {
    /// All zero.
    Constant,
    /// `0, 1, 2, ...`
    Contiguous,
    /// Anything else.
    General(Vec<u32>),
}

/// The shortest inner loop for which a special form is preferred to the general one.
const SPECIAL_BLOCK: usize = 8;
/// The inner loop's length at which the general form stops growing its table of offsets.
const GENERAL_BLOCK: usize = 64;

impl Projection {
    /// The map from the tensor over `variables` (with `sizes`) to the table over `target`, whose
    /// variables are some of `variables` in any order. The tensor has fewer than `2^32` cells.
    pub(crate) fn new(variables: &[usize], sizes: &[usize], target: &[usize]) -> Projection {
        let mut strides = vec![0usize; variables.len()];
        let mut cells = 1;
        for wanted in target.iter().rev() {
            for (axis, variable) in variables.iter().enumerate() {
                if variable == wanted {
                    strides[axis] = cells;
                    cells *= sizes[axis];
                }
            }
        }
        let (first_trailing, kind) = split(sizes, &strides);
        let block = sizes[first_trailing..].iter().product();
        let low = match kind {
            Kind::Constant => Low::Constant,
            Kind::Contiguous => Low::Contiguous,
            Kind::General => Low::General(offsets(
                &sizes[first_trailing..],
                &strides[first_trailing..],
            )),
        };
        Projection {
            block,
            high: offsets(&sizes[..first_trailing], &strides[..first_trailing]),
            low,
            cells,
        }
    }

    /// The number of cells of the table.
    pub(crate) fn cells(&self) -> usize {
        self.cells
    }

    /// `tensor[c] += table[project(c)]`.
    pub(crate) fn add_expanded(&self, table: &[f64], tensor: &mut [f64]) {
        self.update(table, tensor, |cell, value| *cell += value);
    }

    /// `tensor[c] *= table[project(c)]`.
    pub(crate) fn multiply_expanded(&self, table: &[f64], tensor: &mut [f64]) {
        self.update(table, tensor, |cell, value| *cell *= value);
    }

    /// `table[k] = max of tensor[c] over project(c) = k`; NaN is skipped.
    pub(crate) fn maximum(&self, tensor: &[f64], table: &mut [f64]) {
        table.fill(f64::NEG_INFINITY);
        self.gather(tensor, table, f64::max);
    }

    /// `table[k] = sum of tensor[c] over project(c) = k`.
    pub(crate) fn sum(&self, tensor: &[f64], table: &mut [f64]) {
        table.fill(0.0);
        self.gather(tensor, table, |total, cell| total + cell);
    }

    /// `tensor[c] = exp(tensor[c] - shift[project(c)])`, the table's sums of the result into `sums`.
    pub(crate) fn exponentiate(&self, shift: &[f64], tensor: &mut [f64], sums: &mut [f64]) {
        self.update(shift, tensor, |cell, value| *cell = (*cell - value).exp());
        self.sum(tensor, sums);
    }

    fn update(&self, table: &[f64], tensor: &mut [f64], apply: impl Fn(&mut f64, f64)) {
        for (chunk, &base) in tensor.chunks_exact_mut(self.block).zip(&self.high) {
            let base = base as usize;
            match &self.low {
                Low::Constant => {
                    let value = table[base];
                    chunk.iter_mut().for_each(|cell| apply(cell, value));
                }
                Low::Contiguous => {
                    let values = &table[base..base + self.block];
                    for (cell, &value) in chunk.iter_mut().zip(values) {
                        apply(cell, value);
                    }
                }
                Low::General(low) => {
                    let values = &table[base..];
                    for (cell, &offset) in chunk.iter_mut().zip(low) {
                        apply(cell, values[offset as usize]);
                    }
                }
            }
        }
    }

    fn gather(&self, tensor: &[f64], table: &mut [f64], combine: impl Fn(f64, f64) -> f64) {
        for (chunk, &base) in tensor.chunks_exact(self.block).zip(&self.high) {
            let base = base as usize;
            match &self.low {
                Low::Constant => {
                    table[base] = chunk.iter().fold(table[base], |t, &cell| combine(t, cell));
                }
                Low::Contiguous => {
                    let totals = &mut table[base..base + self.block];
                    for (total, &cell) in totals.iter_mut().zip(chunk) {
                        *total = combine(*total, cell);
                    }
                }
                Low::General(low) => {
                    let totals = &mut table[base..];
                    for (&cell, &offset) in chunk.iter().zip(low) {
                        let total = &mut totals[offset as usize];
                        *total = combine(*total, cell);
                    }
                }
            }
        }
    }
}

enum Kind {
    Constant,
    Contiguous,
    General,
}

/// The first trailing axis, and the form that the trailing axes' offsets take.
fn split(sizes: &[usize], strides: &[usize]) -> (usize, Kind) {
    let trailing = |matches: &dyn Fn(usize, usize) -> bool| {
        let (mut first, mut block) = (sizes.len(), 1);
        while first > 0 && (sizes[first - 1] == 1 || matches(first - 1, block)) {
            first -= 1;
            block *= sizes[first];
        }
        (first, block)
    };
    let whole = |first: usize| first == 0;
    let (first, block) = trailing(&|axis, _| strides[axis] == 0);
    if block >= SPECIAL_BLOCK || whole(first) {
        return (first, Kind::Constant);
    }
    let (first, block) = trailing(&|axis, block| strides[axis] == block);
    if block >= SPECIAL_BLOCK || whole(first) {
        return (first, Kind::Contiguous);
    }
    let (first, _) = trailing(&|_, block| block < GENERAL_BLOCK);
    (first, Kind::General)
}

/// The offsets of the cells of the tensor over some axes, in row-major order.
fn offsets(sizes: &[usize], strides: &[usize]) -> Vec<u32> {
    let mut result = vec![0u32];
    for (&size, &stride) in sizes.iter().zip(strides) {
        result = result
            .iter()
            .flat_map(|&base| (0..size).map(move |level| base + (level * stride) as u32))
            .collect();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every form of the map (constant, contiguous, general; targets in any order) against the
    /// definition, over all ordered subsets of three axes.
    #[test]
    fn projections_follow_the_definition() {
        let targets: &[&[usize]] = &[
            &[],
            &[4],
            &[7],
            &[9],
            &[4, 7],
            &[7, 4],
            &[9, 4],
            &[7, 9],
            &[9, 7],
            &[4, 7, 9],
            &[9, 7, 4],
        ];
        for sizes in [
            [2, 3, 11],
            [11, 3, 2],
            [5, 1, 1],
            [1, 9, 1],
            [3, 70, 2],
            [4, 4, 4],
        ] {
            for target in targets {
                check(&sizes, target);
            }
        }
    }

    fn check(sizes: &[usize; 3], target: &[usize]) {
        let variables = [4, 7, 9];
        let projection = Projection::new(&variables, sizes, target);
        let count: usize = sizes.iter().product();
        let tensor: Vec<f64> = (0..count).map(|c| ((c * 37) % 101) as f64).collect();
        let index = |cell: usize| {
            let codes = [
                cell / (sizes[1] * sizes[2]),
                cell / sizes[2] % sizes[1],
                cell % sizes[2],
            ];
            target.iter().fold(0, |index, v| {
                let axis = variables.iter().position(|w| w == v).unwrap();
                index * sizes[axis] + codes[axis]
            })
        };
        let mut sums = vec![0.0; projection.cells()];
        let mut maxima = vec![0.0; projection.cells()];
        projection.sum(&tensor, &mut sums);
        projection.maximum(&tensor, &mut maxima);
        let mut expected = vec![0.0; projection.cells()];
        let mut largest = vec![f64::NEG_INFINITY; projection.cells()];
        for (cell, &value) in tensor.iter().enumerate() {
            expected[index(cell)] += value;
            largest[index(cell)] = largest[index(cell)].max(value);
        }
        assert_eq!((sums.clone(), maxima), (expected, largest));
        let mut spread = tensor.clone();
        projection.add_expanded(&sums, &mut spread);
        for (cell, value) in spread.iter().enumerate() {
            assert_eq!(*value, tensor[cell] + sums[index(cell)]);
        }
        projection.multiply_expanded(&sums, &mut spread);
        for (cell, value) in spread.iter().enumerate() {
            assert_eq!(
                *value,
                (tensor[cell] + sums[index(cell)]) * sums[index(cell)]
            );
        }
    }
}

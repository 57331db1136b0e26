//! A factored system on a tree of cliques (`tree_system` has the algebra), and its solutions.

use faer::Mat;

use super::dense::{
    Lu, Symmetric, add_product, add_times, cholesky, cholesky_inverse, cholesky_solve,
};
use super::tree_system::{Node, TreeSystem};

/// What is added to the diagonal of `V`, which is of order 1: rounding must not make it indefinite.
const ROUNDING: f64 = 1e-13;

/// A functional with less variance than this is fixed: its inverse would overflow.
const NEGLIGIBLE: f64 = 1e-150;

/// The weights of a system.
pub(super) struct Weights<'a> {
    /// `v` of every clique's cells.
    pub(super) cliques: &'a [Vec<f64>],
    /// `v` of every separator's cells, where their term is part of the system.
    pub(super) separators: Option<&'a [Vec<f64>]>,
    /// `sigma` of every value.
    pub(super) sigma: &'a [f64],
}

/// The right side of a system.
pub(super) struct RightSide<'a> {
    /// `b`.
    pub(super) values: &'a [f64],
    /// `r` by clique; 0 where there is none.
    pub(super) cells: Option<&'a [Vec<f64>]>,
}

/// A system whose matrix is factored.
#[derive(Debug, Clone)]
pub(super) struct TreeFactor {
    nodes: Vec<NodeFactor>,
    /// `1 / sigma^2` of every value.
    precision: Vec<f64>,
}

/// One clique's part. Functionals are divided by their `scale`, the square root of the diagonal of `B`, so that everything
/// is of order 1, however rare a level is.
#[derive(Debug, Clone)]
struct NodeFactor {
    /// `w`.
    weights: Vec<f64>,
    scale: Vec<f64>,
    separator_scale: Vec<f64>,
    /// `G`, block by block.
    precision: Vec<Symmetric>,
    /// `I + G B`.
    lu: Lu,
    /// `B_S'`.
    coupling: Mat<f64>,
    /// `(I + G B)^-1 G B_S'`.
    gain: Mat<f64>,
    /// The Cholesky factor of `V`.
    cholesky: Mat<f64>,
}

impl TreeFactor {
    /// Factors a system; `None` where rounding has spoilt it.
    pub(super) fn new(system: &TreeSystem, weights: &Weights) -> Option<TreeFactor> {
        let precision = weights.sigma.iter().map(|sigma| (sigma * sigma).recip());
        let precision: Vec<f64> = precision.collect();
        let mut messages: Vec<Mat<f64>> = vec![Mat::zeros(0, 0); system.nodes.len()];
        let mut nodes = Vec::with_capacity(system.nodes.len());
        for (position, node) in system.nodes.iter().enumerate().rev() {
            let factor = NodeFactor::new(node, &weights.cliques[position], &precision, &messages)?;
            if node.parent.is_some() {
                let separator = weights.separators.map(|all| all[position].as_slice());
                messages[position] = factor.message(separator);
            }
            nodes.push(factor);
        }
        nodes.reverse();
        Some(TreeFactor { nodes, precision })
    }

    /// The solution: `x`, clique by clique.
    pub(super) fn solve(&self, system: &TreeSystem, right: &RightSide) -> Vec<Vec<f64>> {
        let pull = right.values.iter().zip(&self.precision);
        let pull: Vec<f64> = pull.map(|(value, precision)| value * precision).collect();
        let mut halves: Vec<Half> = Vec::with_capacity(self.nodes.len());
        let mut messages: Vec<Vec<f64>> = vec![Vec::new(); self.nodes.len()];
        for (position, node) in system.nodes.iter().enumerate().rev() {
            let own = right.cells.map(|cells| cells[position].as_slice());
            let half = self.nodes[position].collect(node, own, &pull, &messages);
            messages[position] = self.nodes[position].pull(&half);
            halves.push(half);
        }
        let mut solution: Vec<Vec<f64>> = Vec::with_capacity(self.nodes.len());
        for (position, (node, half)) in system
            .nodes
            .iter()
            .zip(halves.into_iter().rev())
            .enumerate()
        {
            let separator = match node.parent {
                // The child's separator is a table of its parent's too, with the axes in the same order.
                Some(parent) => system.of_child(parent, position, &solution[parent]),
                None => vec![0.0],
            };
            solution.push(self.nodes[position].distribute(node, half, &separator));
        }
        solution
    }

    /// Replaces a vector `b` over the values by `K^-1 b`.
    pub(super) fn solve_values(&self, system: &TreeSystem, values: &mut [f64]) {
        let right = RightSide {
            values,
            cells: None,
        };
        let solution = self.solve(system, &right);
        let answers = system.answers(&solution);
        for ((value, answer), precision) in values.iter_mut().zip(answers).zip(&self.precision) {
            *value = (*value - answer) * precision;
        }
    }
}

impl TreeSystem {
    /// `Q x`.
    pub(super) fn answers(&self, tables: &[Vec<f64>]) -> Vec<f64> {
        let ends = self.nodes.iter().flat_map(|node| {
            let whole = node.whole.iter().map(|(_, range)| range.end);
            let measured = node.blocks.iter().flat_map(|block| &block.measured);
            whole.chain(measured.map(|range| range.end))
        });
        let mut answers = vec![0.0; ends.max().unwrap_or(0)];
        for (node, cells) in self.nodes.iter().zip(tables) {
            for (order, range) in &node.whole {
                order.sum(cells, &mut answers[range.clone()]);
            }
            for block in node.blocks.iter().filter(|b| !b.measured.is_empty()) {
                let values = block.of(cells);
                for range in &block.measured {
                    answers[range.clone()].copy_from_slice(&values);
                }
            }
        }
        answers
    }

    /// The sum of a clique's table onto the separator of a child.
    pub(super) fn of_child(&self, parent: usize, child: usize, cells: &[f64]) -> Vec<f64> {
        let mut blocks = self.nodes[parent].blocks.iter();
        // The plan gave every child a block of its parent.
        blocks
            .find(|block| block.children.contains(&child))
            .map_or_else(Vec::new, |block| block.of(cells))
    }
}

/// A clique's part of a solution before its separator's is known.
struct Half {
    /// `diag(w) r`.
    cells: Vec<f64>,
    /// `(I + G B)^-1 (h - G f_0)`, scaled.
    multipliers: Vec<f64>,
    /// `m`, scaled.
    separator: Vec<f64>,
}

impl NodeFactor {
    fn new(
        node: &Node,
        variances: &[f64],
        precision: &[f64],
        messages: &[Mat<f64>],
    ) -> Option<NodeFactor> {
        let mut inverse: Vec<f64> = variances.iter().map(|v| v.recip()).collect();
        for (order, range) in &node.whole {
            order.add_expanded(&precision[range.clone()], &mut inverse);
        }
        let weights: Vec<f64> = inverse.into_iter().map(f64::recip).collect();
        let size = node.size;
        let all = size + node.separator.range.len();
        let mut moments = node.moments(&weights, all);
        let root = |i: usize| match moments[(i, i)] {
            variance if variance > NEGLIGIBLE => variance.sqrt(),
            _ => 0.0,
        };
        let scale: Vec<f64> = (0..all).map(root).collect();
        for j in 0..all {
            for i in j..all {
                let value = moments[(i, j)] * inverse_of(scale[i]) * inverse_of(scale[j]);
                moments[(i, j)] = value;
                moments[(j, i)] = value;
            }
        }
        let blocks = node.blocks.iter();
        let blocks: Vec<Symmetric> = blocks
            .map(|block| block.precision(precision, messages, &scale))
            .collect();
        let coupling = moments.submatrix(0, size, size, all - size).to_owned();
        let mut matrix = Mat::<f64>::identity(size, size);
        let mut gain = Mat::<f64>::zeros(size, all - size);
        for (block, g) in node.blocks.iter().zip(&blocks) {
            let (start, rows) = (block.range.start, block.range.len());
            let of_block = moments.submatrix(start, 0, rows, size);
            let target = matrix.as_mut().submatrix_mut(start, 0, rows, size);
            g.add_product(target, 1.0, of_block);
            let of_block = moments.submatrix(start, size, rows, all - size);
            let target = gain.as_mut().submatrix_mut(start, 0, rows, all - size);
            g.add_product(target, 1.0, of_block);
        }
        let lu = Lu::new(&matrix, node.diagonal);
        lu.solve(gain.as_mut());
        let mut variance = moments
            .submatrix(size, size, all - size, all - size)
            .to_owned();
        add_product(
            variance.as_mut(),
            -1.0,
            coupling.as_ref().transpose(),
            gain.as_ref(),
        );
        for (i, &scale) in scale[size..].iter().enumerate() {
            // Nothing acts on a cell that is impossible.
            variance[(i, i)] += if scale > 0.0 { ROUNDING } else { 1.0 };
        }
        Some(NodeFactor {
            cholesky: cholesky(variance)?,
            weights,
            separator_scale: scale[size..].to_vec(),
            scale: scale[..size].to_vec(),
            precision: blocks,
            lu,
            coupling,
            gain,
        })
    }

    /// The precision with which the parent sees the separator, less the separator's own term.
    fn message(&self, separator: Option<&[f64]>) -> Mat<f64> {
        let mut precision = cholesky_inverse(&self.cholesky);
        let scale = &self.separator_scale;
        for j in 0..scale.len() {
            for i in 0..scale.len() {
                precision[(i, j)] *= inverse_of(scale[i]) * inverse_of(scale[j]);
            }
            if let Some(variance) = separator.map(|s| s[j])
                && scale[j] > 0.0
            {
                precision[(j, j)] -= variance.recip();
            }
        }
        precision
    }

    /// What the clique's own right side and its children's come to; `pull` is `b / sigma^2`, and `messages` are the children's
    /// pulls.
    fn collect(
        &self,
        node: &Node,
        own: Option<&[f64]>,
        pull: &[f64],
        messages: &[Vec<f64>],
    ) -> Half {
        let mut cells = own.map_or_else(|| vec![0.0; node.cells], <[f64]>::to_vec);
        for (order, range) in &node.whole {
            order.add_expanded(&pull[range.clone()], &mut cells);
        }
        for (cell, weight) in cells.iter_mut().zip(&self.weights) {
            *cell *= weight;
        }
        let mut multipliers = vec![0.0; node.size];
        for (block, precision) in node.blocks.iter().zip(&self.precision) {
            let scale = &self.scale[block.range.clone()];
            let mut functionals = block.of(&cells);
            for (f, &scale) in functionals.iter_mut().zip(scale) {
                *f *= inverse_of(scale);
            }
            let target = &mut multipliers[block.range.clone()];
            let measured = block.measured.iter().map(|range| &pull[range.clone()]);
            let children = block.children.iter().map(|&c| messages[c].as_slice());
            for source in measured.chain(children) {
                for ((t, pull), scale) in target.iter_mut().zip(source).zip(scale) {
                    *t += scale * pull;
                }
            }
            precision.add_times(target, -1.0, &functionals);
        }
        self.lu.solve_vector(&mut multipliers);
        let mut separator = node.separator.of(&cells);
        for (s, &scale) in separator.iter_mut().zip(&self.separator_scale) {
            *s *= inverse_of(scale);
        }
        let coupling = self.coupling.as_ref().transpose();
        add_times(&mut separator, 1.0, coupling, &multipliers);
        Half {
            cells,
            multipliers,
            separator,
        }
    }

    /// The pull with which the parent sees the separator: `V^-1 m`.
    fn pull(&self, half: &Half) -> Vec<f64> {
        let mut pull = half.separator.clone();
        cholesky_solve(&self.cholesky, &mut pull);
        for (pull, &scale) in pull.iter_mut().zip(&self.separator_scale) {
            *pull *= inverse_of(scale);
        }
        pull
    }

    /// The clique's table, its separator's being known.
    fn distribute(&self, node: &Node, half: Half, separator: &[f64]) -> Vec<f64> {
        let mut of_separator: Vec<f64> = separator.to_vec();
        for ((y, &scale), m) in of_separator
            .iter_mut()
            .zip(&self.separator_scale)
            .zip(&half.separator)
        {
            *y = *y * inverse_of(scale) - m;
        }
        cholesky_solve(&self.cholesky, &mut of_separator);
        let mut multipliers = half.multipliers;
        add_times(&mut multipliers, -1.0, self.gain.as_ref(), &of_separator);
        let unscaled = |values: &mut [f64], scale: &[f64]| {
            for (value, &scale) in values.iter_mut().zip(scale) {
                *value *= inverse_of(scale);
            }
        };
        unscaled(&mut multipliers, &self.scale);
        unscaled(&mut of_separator, &self.separator_scale);
        let mut moved = vec![0.0; node.cells];
        node.separator.add_to(&of_separator, &mut moved);
        for block in &node.blocks {
            block.add_to(&multipliers[block.range.clone()], &mut moved);
        }
        let mut cells = half.cells;
        for ((cell, weight), moved) in cells.iter_mut().zip(&self.weights).zip(moved) {
            *cell += weight * moved;
        }
        cells
    }
}

fn inverse_of(scale: f64) -> f64 {
    if scale > 0.0 { scale.recip() } else { 0.0 }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;

//! Linear systems with the second derivative of a tree of cliques, solved by messages between cliques.
//!
//! Let `x` be one table per clique, all of which agree on their separators, and `Q` the measured statistics. The systems
//! are the stationarity conditions of
//!
//! ```text
//! 1/2 sum over cliques' cells of x_c^2 / v_c  -  1/2 sum over separators' cells of x_s^2 / v_s
//!     + 1/2 sum over i of ((b_i - (Q x)_i) / sigma_i)^2  -  r' x
//! ```
//!
//! among tables that agree and sum to 0. *With `v` the expected counts of a tree model, this is its Newton step.* The
//! first line is then half the squared length of `x` in the model's Fisher information, whose inverse is the covariance
//! `n Cov` of counts, so by the Woodbury identity the second derivative `K = diag(sigma^2) + n Cov(a)` of the dual has
//!
//! ```text
//! K^-1 b = (b - Q x) / sigma^2    at r = 0.
//! ```
//!
//! Without the separators' term and with `v = x / z` it is a step of an interior-point method (`misfit`).
//!
//! # Elimination
//! Measurements of all cells of a clique add to its diagonal, which leaves `w_c = 1 / (1 / v_c + 1 / sigma^2)`. What else
//! acts on the clique are linear functionals `f = P x` with precisions `G` and pulls `h`: its other measurements, and what
//! its children say of their separators. With `f_0 = P diag(w) r`, `B = P diag(w) P'`, and `S` the separator towards the
//! parent, the multipliers are
//!
//! ```text
//! y = (I + G B)^-1 (h - G (f_0 + B_S' y_S)),    x_S = m + V y_S,    V = B_SS - B_S (I + G B)^-1 G B_S',
//! ```
//!
//! so the parent sees `x_S` with the precision `V^-1 - diag(1 / v_S)` and the pull `V^-1 m`. That is cubic in the functionals of
//! one clique and linear in its cells: no matrix over all measured values is ever made. A cell with `v = 0` (a structural
//! zero) stays 0.

use std::ops::Range;

use faer::Mat;

use super::dense::Symmetric;
use super::kronecker::KroneckerMap;
use super::projection::Projection;
use super::propagation::Propagation;
use super::{AxisMap, Domain, MeasuredAxis, Measurement};

/// The systems of a set of measurements on a junction tree.
#[derive(Debug)]
pub(super) struct TreeSystem {
    pub(super) nodes: Vec<Node>,
    cost: f64,
}

/// A clique.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) cells: usize,
    /// Measurements of every cell: the map from the clique's cells, and the places of the values.
    pub(super) whole: Vec<(Projection, Range<usize>)>,
    /// The other functionals.
    pub(super) blocks: Vec<Block>,
    /// Those of the separator towards the parent; of the root, the sum of all cells.
    pub(super) separator: Block,
    /// The number of functionals in `blocks`.
    pub(super) size: usize,
    /// How many of them, the first ones, are alone on their cells and measured: `B` and `G` are diagonal there.
    pub(super) diagonal: usize,
    /// The second moments that `B` consists of.
    pub(super) pairs: Vec<Pair>,
}

/// Functionals that are a linear map of one table.
#[derive(Debug)]
pub(super) struct Block {
    variables: Vec<usize>,
    is_identity: bool,
    pub(super) map: KroneckerMap,
    /// From the clique's cells to the table.
    pub(super) table: Projection,
    /// Where they stand among the clique's functionals.
    pub(super) range: Range<usize>,
    /// The measurements of these functionals, by the places of their values.
    pub(super) measured: Vec<Range<usize>>,
    /// The children whose separators they are.
    pub(super) children: Vec<usize>,
}

/// Two blocks, by their positions; the separator's comes after all others.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) left: usize,
    pub(super) right: usize,
    /// From the clique's cells to the table over the variables of both.
    pub(super) table: Projection,
    /// Which axis of the left one each axis of the right one shares.
    pub(super) shared: Vec<Option<usize>>,
}

impl TreeSystem {
    /// Plans the systems; `propagation` has a clique around each measurement. `None` where it takes more than `limit`
    /// multiplications to factor one.
    pub(super) fn new(
        domain: &Domain,
        propagation: &Propagation,
        measurements: &[Measurement],
        limit: f64,
    ) -> Option<TreeSystem> {
        let tree = propagation.tree();
        let cliques = tree.cliques();
        let mut nodes: Vec<Node> = cliques
            .iter()
            .enumerate()
            .map(|(position, clique)| {
                let separator = identity(&tree.separators()[position]);
                Node {
                    parent: tree.parents()[position],
                    cells: domain.shape(clique).iter().product(),
                    whole: Vec::new(),
                    blocks: Vec::new(),
                    separator: Block::new(domain, clique, &separator, 0),
                    size: 0,
                    diagonal: 0,
                    pairs: Vec::new(),
                }
            })
            .collect();
        let mut next = 0;
        for measurement in measurements {
            let range = next..next + measurement.values.len();
            next = range.end;
            let variables = measurement.variables();
            // The tree was planned around every measurement's variables: a clique covers them.
            let position = tree.covering_clique(domain, &variables).unwrap_or(0);
            let clique = &cliques[position];
            if is_identity(&measurement.axes) && variables.len() == clique.len() {
                let order = Projection::new(clique, &domain.shape(clique), &variables);
                nodes[position].whole.push((order, range));
            } else {
                let block = nodes[position].block(domain, clique, &measurement.axes);
                block.measured.push(range);
            }
        }
        for (child, parent) in tree.parents().iter().enumerate() {
            if let Some(parent) = *parent {
                let axes = identity(&tree.separators()[child]);
                let block = nodes[parent].block(domain, &cliques[parent], &axes);
                block.children.push(child);
            }
        }
        nodes.iter_mut().for_each(Node::put_diagonal_first);
        let cost = nodes.iter().map(Node::cost).sum();
        if cost > limit {
            return None;
        }
        for (node, clique) in nodes.iter_mut().zip(cliques) {
            node.plan_pairs(domain, clique);
        }
        Some(TreeSystem { cost, nodes })
    }

    /// About how many multiplications it takes to factor a system.
    pub(super) fn cost(&self) -> f64 {
        self.cost
    }
}

impl Node {
    /// The block with these axes, a new one if there is none.
    fn block(&mut self, domain: &Domain, clique: &[usize], axes: &[MeasuredAxis]) -> &mut Block {
        let variables: Vec<usize> = axes.iter().map(|axis| axis.variable).collect();
        let is_same =
            |block: &Block| block.is_identity && is_identity(axes) && block.variables == variables;
        let position = self.blocks.iter().position(is_same).unwrap_or_else(|| {
            let block = Block::new(domain, clique, axes, self.size);
            self.size = block.range.end;
            self.blocks.push(block);
            self.blocks.len() - 1
        });
        &mut self.blocks[position]
    }

    fn plan_pairs(&mut self, domain: &Domain, clique: &[usize]) {
        let shape = domain.shape(clique);
        let blocks: Vec<&Block> = self.blocks.iter().chain([&self.separator]).collect();
        let mut pairs = Vec::new();
        for (left, one) in blocks.iter().enumerate() {
            for (right, other) in blocks.iter().enumerate().skip(left) {
                let new = other.variables.iter();
                let new = new.filter(|v| !one.variables.contains(v));
                let both: Vec<usize> = one.variables.iter().chain(new).copied().collect();
                let position = |v| one.variables.iter().position(|w| w == v);
                pairs.push(Pair {
                    left,
                    right,
                    table: Projection::new(clique, &shape, &both),
                    shared: other.variables.iter().map(position).collect(),
                });
            }
        }
        self.pairs = pairs;
    }

    /// Moves the largest block that has measurements of cells only to the front.
    fn put_diagonal_first(&mut self) {
        let is_diagonal = |b: &&Block| b.is_identity && b.children.is_empty();
        let largest = self.blocks.iter().filter(is_diagonal);
        let largest = largest.map(|b| b.range.len()).max();
        let position = self
            .blocks
            .iter()
            .position(|b| is_diagonal(&b) && Some(b.range.len()) == largest);
        if let Some(position) = position {
            self.blocks.swap(0, position);
            self.diagonal = largest.unwrap_or(0);
        }
        let mut next = 0;
        for block in &mut self.blocks {
            block.range = next..next + block.range.len();
            next = block.range.end;
        }
    }

    fn cost(&self) -> f64 {
        let diagonal = self.diagonal as f64;
        let (rest, separator) = (
            self.size as f64 - diagonal,
            self.separator.range.len() as f64,
        );
        let blocks = self.blocks.len() as f64 + 1.0;
        // The Schur complement, its factor and its right sides; `G B`; `V`, its factor and its inverse; passes over the cells.
        diagonal * (rest + separator).powi(2)
            + rest.powi(3) * 4.0 / 3.0
            + rest * rest * separator * 2.0
            + (diagonal + rest) * separator * separator
            + separator.powi(3) * 4.0 / 3.0
            + self.cells as f64 * (4.0 + blocks * blocks)
    }

    /// `B` of all functionals, those of the separator last.
    pub(super) fn moments(&self, weights: &[f64], all: usize) -> Mat<f64> {
        let mut moments = Mat::zeros(all, all);
        let blocks: Vec<(&Block, usize)> = self.blocks.iter().map(|b| (b, b.range.start)).collect();
        let blocks = [blocks, vec![(&self.separator, self.size)]].concat();
        for pair in &self.pairs {
            let [(left, row), (right, column)] = [blocks[pair.left], blocks[pair.right]];
            let mut table = vec![0.0; pair.table.cells()];
            pair.table.sum(weights, &mut table);
            let products = KroneckerMap::cross_moments(&left.map, &right.map, &pair.shared, table);
            for (i, products) in products.chunks_exact(right.range.len()).enumerate() {
                for (j, &product) in products.iter().enumerate() {
                    moments[(column + j, row + i)] = product;
                }
            }
        }
        moments
    }
}

impl Block {
    fn new(domain: &Domain, clique: &[usize], axes: &[MeasuredAxis], start: usize) -> Block {
        let variables: Vec<usize> = axes.iter().map(|axis| axis.variable).collect();
        let sizes = domain.shape(&variables);
        let cells = axes
            .iter()
            .zip(sizes)
            .map(|(a, levels)| a.map.cells(levels));
        Block {
            is_identity: is_identity(axes),
            map: KroneckerMap::new(domain, axes),
            table: Projection::new(clique, &domain.shape(clique), &variables),
            range: start..start + cells.product::<usize>(),
            variables,
            measured: Vec::new(),
            children: Vec::new(),
        }
    }

    /// The functionals of a clique's table.
    pub(super) fn of(&self, cells: &[f64]) -> Vec<f64> {
        let mut table = vec![0.0; self.table.cells()];
        self.table.sum(cells, &mut table);
        self.map.apply(table)
    }

    /// Adds the functionals, each times its multiplier, to a clique's table.
    pub(super) fn add_to(&self, multipliers: &[f64], cells: &mut [f64]) {
        self.table
            .add_expanded(&self.map.apply_transposed(multipliers), cells);
    }
}

impl Block {
    /// `G`, of functionals divided by `scale`; `messages` are the children's.
    pub(super) fn precision(
        &self,
        precision: &[f64],
        messages: &[Mat<f64>],
        scale: &[f64],
    ) -> Symmetric {
        let scale = &scale[self.range.clone()];
        let mut diagonal = vec![0.0; scale.len()];
        for range in &self.measured {
            for (i, precision) in precision[range.clone()].iter().enumerate() {
                diagonal[i] += precision * scale[i] * scale[i];
            }
        }
        if self.children.is_empty() {
            return Symmetric::Diagonal(diagonal);
        }
        let mut g = Mat::zeros(scale.len(), scale.len());
        for (i, value) in diagonal.into_iter().enumerate() {
            g[(i, i)] = value;
        }
        for &child in &self.children {
            for j in 0..scale.len() {
                for i in 0..scale.len() {
                    g[(i, j)] += messages[child][(i, j)] * scale[i] * scale[j];
                }
            }
        }
        Symmetric::Full(g)
    }
}

fn identity(variables: &[usize]) -> Vec<MeasuredAxis> {
    let axis = |&variable: &usize| MeasuredAxis {
        variable,
        map: AxisMap::Identity,
    };
    variables.iter().map(axis).collect()
}

fn is_identity(axes: &[MeasuredAxis]) -> bool {
    axes.iter().all(|axis| axis.map == AxisMap::Identity)
}

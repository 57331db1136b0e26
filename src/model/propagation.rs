//! Belief propagation: the normalising constant and all clique marginals in two passes.
//!
//! The potential of clique `C` is `exp(theta_C)`, and `S` its separator towards its parent. Upwards,
//! from the leaves to the root, each clique computes for every cell `s` of its separator
//!
//! ```text
//! m(s) = max over c ~ s of theta(c)        (c ~ s: the clique's cells that agree with s)
//! e(c) = exp(theta(c) - m(s))
//! z(s) = sum over c ~ s of e(c)
//! ```
//!
//! sends the message `m(s) + ln z(s)` to its parent, which adds it to its own `theta`, and keeps the
//! conditional distribution `p(c | s) = e(c) / z(s)`. The root's message is `log Z`. Downwards, a
//! clique's marginal is `p(c | s) mu(s)`, with `mu` the parent's marginal on the separator.
//!
//! So there is one exponential per cell and evaluation. Nothing overflows or underflows but what is
//! negligible beside the largest cell *with the same separator*; a separator cell with nothing possible
//! below it (all `theta = -inf`) sends `-inf` and gets weight 0, and `inf - inf` never arises.

use super::junction_tree::JunctionTree;
use super::projection::Projection;
use super::{Domain, ModelError};

/// The index maps of a junction tree, computed once.
#[derive(Debug)]
pub(crate) struct Propagation {
    tree: JunctionTree,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    cells: usize,
    /// From the clique's cells to its separator's.
    to_separator: Projection,
    /// From the parent clique's cells to this clique's separator.
    from_parent: Option<(usize, Projection)>,
}

/// The buffers of one evaluation: one array per clique.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// Over the clique's cells: log potentials before [`Propagation::collect`], unnormalised
    /// conditionals after it, marginals after [`Propagation::distribute`].
    pub(crate) cells: Vec<Vec<f64>>,
    /// Over the separator's cells: `1 / z(s)`, or 0 where nothing is possible.
    inverse: Vec<Vec<f64>>,
    shift: Vec<f64>,
    message: Vec<f64>,
}

impl Propagation {
    /// The index maps of a tree.
    ///
    /// # Errors
    /// [`ModelError::TooLarge`] if the tree has more than `limit` cells, or a clique `2^32` or more
    /// (indices are 32 bits wide).
    pub(crate) fn new(domain: &Domain, tree: JunctionTree, limit: u64) -> Result<Self, ModelError> {
        tree.check_size(domain, limit.min(u64::from(u32::MAX)))?;
        let nodes = tree
            .cliques()
            .iter()
            .zip(tree.separators())
            .zip(tree.parents())
            .map(|((clique, separator), parent)| {
                let sizes = domain.shape(clique);
                let from_parent = parent.map(|p| {
                    let above = &tree.cliques()[p];
                    (p, Projection::new(above, &domain.shape(above), separator))
                });
                Node {
                    cells: sizes.iter().product(),
                    to_separator: Projection::new(clique, &sizes, separator),
                    from_parent,
                }
            })
            .collect();
        Ok(Propagation { tree, nodes })
    }

    /// The tree.
    pub(crate) fn tree(&self) -> &JunctionTree {
        &self.tree
    }

    /// Buffers for one evaluation, all zero.
    pub(crate) fn workspace(&self) -> Workspace {
        let separators = || self.nodes.iter().map(|n| n.to_separator.cells());
        let widest = separators().max().unwrap_or(1);
        Workspace {
            cells: self.nodes.iter().map(|n| vec![0.0; n.cells]).collect(),
            inverse: separators().map(|cells| vec![0.0; cells]).collect(),
            shift: vec![0.0; widest],
            message: vec![0.0; widest],
        }
    }

    /// The upward pass: log potentials become unnormalised conditionals. Returns `log Z`: `-inf` if
    /// nothing is possible, NaN if a potential is NaN or `+inf`.
    pub(crate) fn collect(&self, workspace: &mut Workspace) -> f64 {
        let mut log_z = f64::NEG_INFINITY;
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let width = node.to_separator.cells();
            let shift = &mut workspace.shift[..width];
            let message = &mut workspace.message[..width];
            let cells = &mut workspace.cells[index];
            node.to_separator.maximum(cells, shift);
            message.copy_from_slice(shift);
            for value in shift.iter_mut().filter(|v| **v == f64::NEG_INFINITY) {
                *value = 0.0;
            }
            let inverse = &mut workspace.inverse[index];
            node.to_separator.exponentiate(shift, cells, inverse);
            for (sum, message) in inverse.iter_mut().zip(message.iter_mut()) {
                // A sum that is not 0 is at least exp(0) = 1, or NaN, which is passed on.
                if *sum != 0.0 {
                    *message += sum.ln();
                    *sum = sum.recip();
                }
            }
            match &node.from_parent {
                Some((parent, projection)) => {
                    projection.add_expanded(message, &mut workspace.cells[*parent]);
                }
                None => log_z = message[0],
            }
        }
        log_z
    }

    /// The largest sum of log potentials over the cells of all cliques that agree with each other; `-inf` if nothing is
    /// possible. The potentials are lost.
    pub(crate) fn highest(&self, workspace: &mut Workspace) -> f64 {
        let mut highest = f64::NEG_INFINITY;
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let message = &mut workspace.message[..node.to_separator.cells()];
            node.to_separator.maximum(&workspace.cells[index], message);
            match &node.from_parent {
                Some((parent, projection)) => {
                    projection.add_expanded(message, &mut workspace.cells[*parent]);
                }
                None => highest = message[0],
            }
        }
        highest
    }

    /// The conditional distributions `p(clique | separator)`, from the state after
    /// [`Self::collect`]; zero where the separator's cell is impossible.
    pub(crate) fn conditionals(&self, workspace: &Workspace) -> Vec<Vec<f64>> {
        let mut result = workspace.cells.clone();
        for ((node, cells), inverse) in self.nodes.iter().zip(&mut result).zip(&workspace.inverse) {
            node.to_separator.multiply_expanded(inverse, cells);
        }
        result
    }

    /// The downward pass: unnormalised conditionals become clique marginals.
    pub(crate) fn distribute(&self, workspace: &mut Workspace) {
        for (index, node) in self.nodes.iter().enumerate() {
            let inverse = &mut workspace.inverse[index];
            if let Some((parent, projection)) = &node.from_parent {
                let weights = &mut workspace.message[..inverse.len()];
                projection.sum(&workspace.cells[*parent], weights);
                for (inverse, weight) in inverse.iter_mut().zip(weights) {
                    *inverse *= *weight;
                }
            }
            node.to_separator
                .multiply_expanded(inverse, &mut workspace.cells[index]);
        }
    }
}

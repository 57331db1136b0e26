//! The law of a few variables given all others, for many rows.

use super::junction_tree::intersection;
use super::projection::Projection;
use super::{Model, ModelError};

/// The law of some *free* variables given the codes of all others, under a model: propensities, outcome
/// regressions, imputations.
///
/// The logarithm of the joint probability is a sum of one term `log p(clique | separator)` per clique;
/// only cliques that hold a free variable matter, and each contributes one contiguous slice of a table
/// laid out for the purpose. A row costs as many additions as those cliques have cells over the free
/// variables.
#[derive(Debug, Clone)]
pub struct FullConditional {
    free: Vec<usize>,
    cells: usize,
    sizes: Vec<usize>,
    terms: Vec<Term>,
}

/// One clique's term.
#[derive(Debug, Clone)]
struct Term {
    /// The clique's fixed variables with their strides in `table`.
    fixed: Vec<(usize, usize)>,
    /// `log p(clique | separator)`, the free variables fastest.
    table: Vec<f64>,
    /// From the cells over all free variables to those over the clique's.
    projection: Projection,
}

impl FullConditional {
    /// Lays out the tables for the free variables; `free` gives the order of the axes of the results.
    ///
    /// # Errors
    /// If a variable does not exist or is listed twice, or if the table over the free variables is
    /// larger than the model's limit.
    pub fn new(model: &Model, free: &[usize]) -> Result<FullConditional, ModelError> {
        let domain = model.domain();
        domain.check(free, "a conditional distribution")?;
        model.check_size(free)?;
        let shape = domain.shape(free);
        let mut terms = Vec::new();
        for (index, clique) in model.junction_tree().cliques().iter().enumerate() {
            let inside = intersection(free, clique);
            if inside.is_empty() {
                continue;
            }
            let others: Vec<usize> = clique
                .iter()
                .copied()
                .filter(|v| !free.contains(v))
                .collect();
            let order: Vec<usize> = others.iter().chain(&inside).copied().collect();
            let layout = Projection::new(clique, &domain.shape(clique), &order);
            let mut table = vec![0.0; layout.cells()];
            layout.sum(model.clique_conditional(index), &mut table);
            table.iter_mut().for_each(|p| *p = p.ln());
            let projection = Projection::new(free, &shape, &inside);
            let mut stride = projection.cells();
            let mut fixed = Vec::with_capacity(others.len());
            for &variable in others.iter().rev() {
                fixed.push((variable, stride));
                stride *= domain.sizes()[variable];
            }
            terms.push(Term {
                fixed,
                table,
                projection,
            });
        }
        Ok(FullConditional {
            free: free.to_vec(),
            cells: shape.iter().product(),
            sizes: domain.sizes().to_vec(),
            terms,
        })
    }

    /// The number of cells over the free variables.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// For a row whose variable `v` has code `code(v)`: the logarithm of the probability of each cell of
    /// the free variables (row-major in their order) together with the row's other codes, up to a
    /// constant of the row. `-inf` where impossible. `code` is not asked for free variables.
    ///
    /// # Errors
    /// [`ModelError::Code`] if a code is beyond its variable's levels, and [`ModelError::Length`] if
    /// `out` has not [`Self::cells`] elements.
    pub fn log_weights(
        &self,
        code: impl Fn(usize) -> u16,
        out: &mut [f64],
    ) -> Result<(), ModelError> {
        if out.len() != self.cells {
            return Err(ModelError::Length {
                context: "a conditional distribution".into(),
                expected: self.cells,
                found: out.len(),
            });
        }
        out.fill(0.0);
        for term in &self.terms {
            let mut start = 0;
            for &(variable, stride) in &term.fixed {
                let level = usize::from(code(variable));
                if level >= self.sizes[variable] {
                    return Err(ModelError::Code {
                        index: variable,
                        code: level,
                        levels: self.sizes[variable],
                    });
                }
                start += level * stride;
            }
            let slice = &term.table[start..start + term.projection.cells()];
            term.projection.add_expanded(slice, out);
        }
        Ok(())
    }

    /// The probabilities of the cells of the free variables given the row's other codes. Where these rule
    /// out every cell the probabilities are all 0, and `false` is returned. (Codes that are impossible
    /// together but share no clique with a free variable go unnoticed: they condition on nothing.)
    ///
    /// # Errors
    /// As [`Self::log_weights`].
    pub fn probabilities(
        &self,
        code: impl Fn(usize) -> u16,
        out: &mut [f64],
    ) -> Result<bool, ModelError> {
        self.log_weights(code, out)?;
        let largest = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            out.fill(0.0);
            return Ok(false);
        }
        out.iter_mut().for_each(|v| *v = (*v - largest).exp());
        let sum: f64 = out.iter().sum();
        out.iter_mut().for_each(|v| *v /= sum);
        Ok(true)
    }

    /// The free variables, in the order of the results' axes.
    pub fn free(&self) -> &[usize] {
        &self.free
    }
}

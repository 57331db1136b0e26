//! Many marginals of one model, of few variables each, sharing what they sum out.
//!
//! With `S_C` the separator of clique `C` towards its parent, these tables are computed once:
//!
//! ```text
//! below(v, C)  = p(v | S_C)       where v first appears in C or below it
//! beside(v, C) = p(v, S_C)        where v appears first anywhere else
//! ```
//!
//! Two variables of a set meet where the paths up from their first cliques do. Take the lowest clique `C` in which two
//! meet, and let `u` be all of the set that first appears in it or below; then
//!
//! ```text
//! p(u | S_C) = sum over C of p(C | S_C) product over u of below(u, child of C)
//! p(u, w)    = sum over S_C of p(u | S_C) beside(w, C)
//! ```
//!
//! so a pair or a triple takes a single product of tables about as large as itself, however far apart its variables
//! are. A larger set of which more than one variable is left is summed out of the tree by [`Model::marginal`].

use std::collections::HashMap;
use std::rc::Rc;

use super::junction_tree::is_subset;
use super::kronecker::KroneckerMap;
use super::{Factor, MeasuredAxis, Model, ModelError};

/// The most cells of tables that are kept; 8 bytes each. Where there are more, all are computed again as needed.
const KEPT_CELLS: usize = 1 << 22;
/// The most cells of a table that is kept.
const KEPT_TABLE: usize = KEPT_CELLS / 16;

/// Marginals of a model.
pub struct Marginals<'a> {
    pub(super) model: &'a Model,
    /// The topmost clique of each variable.
    pub(super) homes: Vec<usize>,
    pub(super) depths: Vec<usize>,
    kept: HashMap<Kept, Rc<Factor>>,
    kept_cells: usize,
}

/// A table of a clique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Law {
    /// `p(C)`.
    Marginal,
    /// `p(C | S_C)`.
    Conditional,
}

/// A table that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Kept {
    /// `p(v | S_C)`.
    Below(usize, usize),
    /// `p(v, S_C)`.
    Beside(usize, usize),
    /// `p(u | S_C)` of the variables that meet in a clique.
    Meeting(usize, Vec<usize>),
    /// `p(u, s)` of variables that meet in a clique, and some that are in it.
    Joint(usize, Vec<usize>, Vec<usize>),
    /// A clique's table, some of its variables summed out.
    Part(Law, usize, Vec<usize>),
}

impl<'a> Marginals<'a> {
    /// Nothing is computed yet.
    pub fn new(model: &'a Model) -> Marginals<'a> {
        let tree = model.junction_tree();
        let mut homes = vec![usize::MAX; model.domain().variables()];
        let mut depths = vec![0; tree.cliques().len()];
        for (clique, variables) in tree.cliques().iter().enumerate() {
            depths[clique] = tree.parents()[clique].map_or(0, |parent| depths[parent] + 1);
            for &variable in variables {
                homes[variable] = clique.min(homes[variable]);
            }
        }
        Marginals {
            model,
            homes,
            depths,
            kept: HashMap::new(),
            kept_cells: 0,
        }
    }

    /// The model's number of records.
    pub fn total(&self) -> f64 {
        self.model.total()
    }

    /// As [`Model::expected_counts`].
    ///
    /// # Errors
    /// As there.
    pub fn expected_counts(&mut self, axes: &[MeasuredAxis]) -> Result<Vec<f64>, ModelError> {
        let order: Vec<usize> = axes.iter().map(|axis| axis.variable).collect();
        let marginal = self.marginal(&order)?;
        let table = match marginal.variables() == order {
            true => marginal.values().to_vec(),
            false => marginal.values_in_order(&order),
        };
        let map = KroneckerMap::new(self.model.domain(), axes);
        let total = self.model.total();
        Ok(map.apply(table).iter().map(|p| p * total).collect())
    }

    /// As [`Model::marginal`].
    ///
    /// # Errors
    /// As there.
    pub fn marginal(&mut self, variables: &[usize]) -> Result<Rc<Factor>, ModelError> {
        self.model.domain().check(variables, "a marginal")?;
        let mut query = variables.to_vec();
        query.sort_unstable();
        self.model.check_size(&query)?;
        let meeting = self.meeting(&query);
        if is_subset(&query, &self.model.junction_tree().cliques()[meeting]) {
            return self.part(Law::Marginal, meeting, query);
        }
        let is_at_or_below = |&v: &usize| self.meets(self.homes[v], meeting) == meeting;
        let (met, rest): (Vec<usize>, Vec<usize>) = query.iter().copied().partition(is_at_or_below);
        match rest[..] {
            [] => Ok(Rc::new(self.met(Law::Marginal, meeting, &met, &met)?)),
            [one] => {
                let of_met = self.conditional_on_separator(meeting, met)?;
                let of_rest = self.beside(one, meeting)?;
                let marginal = self.model.combine(&of_met, &[&of_rest], &query)?;
                Ok(Rc::new(marginal))
            }
            _ => Ok(Rc::new(self.model.marginal(&query)?)),
        }
    }

    /// The lowest clique in which two variables meet; of one variable, its home.
    pub(super) fn meeting(&self, query: &[usize]) -> usize {
        let pairs = query.iter().enumerate().flat_map(|(i, &v)| {
            query[..i]
                .iter()
                .map(move |&w| self.meets(self.homes[v], self.homes[w]))
        });
        let lowest = pairs.max_by_key(|&clique| self.depths[clique]);
        lowest.unwrap_or_else(|| query.first().map_or(0, |&v| self.homes[v]))
    }

    /// The lowest clique above or at both.
    pub(super) fn meets(&self, mut one: usize, mut other: usize) -> usize {
        while one != other {
            if self.depths[one] < self.depths[other] {
                std::mem::swap(&mut one, &mut other);
            }
            // The deeper of two different cliques is not the root.
            one = self.model.junction_tree().parents()[one].unwrap_or(other);
        }
        one
    }

    /// The child of a clique on the way down to another.
    pub(super) fn child_towards(&self, clique: usize, mut lower: usize) -> usize {
        while let Some(parent) = self.model.junction_tree().parents()[lower]
            && parent != clique
        {
            lower = parent;
        }
        lower
    }

    /// A clique's table, all variables but `keep`, ascending, summed out: one after the other, lowest index first, through tables
    /// that others with some of the same variables have in common.
    fn part(
        &mut self,
        law: Law,
        clique: usize,
        keep: Vec<usize>,
    ) -> Result<Rc<Factor>, ModelError> {
        let model = self.model;
        let key = Kept::Part(law, clique, keep.clone());
        self.keep(key, |marginals| {
            let variables = &model.junction_tree().cliques()[clique];
            let missing = variables.iter().find(|v| !keep.contains(v));
            let mut larger = keep.clone();
            larger.extend(missing);
            larger.sort_unstable();
            let is_kept = model.domain().cells(&larger) <= KEPT_TABLE as u128;
            if larger.len() < variables.len() && is_kept {
                return Ok(marginals.part(law, clique, larger)?.sum_onto(&keep));
            }
            let values = match law {
                Law::Marginal => model.clique_marginal(clique),
                Law::Conditional => model.clique_conditional(clique),
            };
            Ok(Factor::summed(model.domain(), variables, values, &keep))
        })
    }

    /// The tables of variables in the cliques below one, those in the clique itself left out.
    fn messages(
        &mut self,
        clique: usize,
        variables: &[usize],
    ) -> Result<Vec<Rc<Factor>>, ModelError> {
        let model = self.model;
        let around = &model.junction_tree().cliques()[clique];
        let lower = variables.iter().filter(|v| !around.contains(v));
        lower
            .map(|&v| {
                let child = self.child_towards(clique, self.homes[v]);
                self.below(v, child)
            })
            .collect()
    }

    /// What a clique's table says of variables that are in it or below it, and of `keep`: the messages are those variables'.
    fn product(
        &mut self,
        law: Law,
        clique: usize,
        messages: &[Rc<Factor>],
        keep: &[usize],
    ) -> Result<Factor, ModelError> {
        let around = &self.model.junction_tree().cliques()[clique];
        let needed = messages.iter().flat_map(|m| m.variables()).chain(keep);
        let mut needed: Vec<usize> = needed.copied().filter(|v| around.contains(v)).collect();
        needed.sort_unstable();
        needed.dedup();
        let table = self.part(law, clique, needed)?;
        let messages: Vec<&Factor> = messages.iter().map(Rc::as_ref).collect();
        self.model.combine(&table, &messages, keep)
    }

    /// What a clique's table says of variables that are in it or below it, and of `keep`.
    fn met(
        &mut self,
        law: Law,
        clique: usize,
        met: &[usize],
        keep: &[usize],
    ) -> Result<Factor, ModelError> {
        let messages = self.messages(clique, met)?;
        self.product(law, clique, &messages, keep)
    }

    /// `p(u | S_C)`.
    pub(super) fn conditional_on_separator(
        &mut self,
        clique: usize,
        met: Vec<usize>,
    ) -> Result<Rc<Factor>, ModelError> {
        self.keep(Kept::Meeting(clique, met.clone()), |marginals| {
            let separator = &marginals.model.junction_tree().separators()[clique];
            let keep = [met.as_slice(), separator].concat();
            marginals.met(Law::Conditional, clique, &met, &keep)
        })
    }

    /// `p(u, s)`, `u` in a clique or below it, `s` in it.
    pub(super) fn joint(
        &mut self,
        clique: usize,
        met: Vec<usize>,
        within: &[usize],
    ) -> Result<Rc<Factor>, ModelError> {
        let key = Kept::Joint(clique, met.clone(), within.to_vec());
        self.keep(key, |marginals| {
            let keep = [met.as_slice(), within].concat();
            marginals.met(Law::Marginal, clique, &met, &keep)
        })
    }

    /// `p(v | S_C)`.
    pub(super) fn below(
        &mut self,
        variable: usize,
        clique: usize,
    ) -> Result<Rc<Factor>, ModelError> {
        self.keep(Kept::Below(variable, clique), |marginals| {
            let home = marginals.homes[variable];
            let messages = match home == clique {
                true => Vec::new(),
                false => {
                    vec![marginals.below(variable, marginals.child_towards(clique, home))?]
                }
            };
            let separator = &marginals.model.junction_tree().separators()[clique];
            let keep = [separator.as_slice(), &[variable]].concat();
            marginals.product(Law::Conditional, clique, &messages, &keep)
        })
    }

    /// `p(v, S_C)`, for a clique that is not the root.
    pub(super) fn beside(
        &mut self,
        variable: usize,
        clique: usize,
    ) -> Result<Rc<Factor>, ModelError> {
        self.keep(Kept::Beside(variable, clique), |marginals| {
            let tree = marginals.model.junction_tree();
            let parent = tree.parents()[clique].unwrap_or(clique);
            let keep = [tree.separators()[clique].as_slice(), &[variable]].concat();
            let home = marginals.homes[variable];
            if tree.cliques()[parent].contains(&variable) {
                return marginals.product(Law::Marginal, parent, &[], &keep);
            }
            let (law, message) = match marginals.meets(home, parent) == parent {
                true => {
                    let child = marginals.child_towards(parent, home);
                    (Law::Marginal, marginals.below(variable, child)?)
                }
                false => (Law::Conditional, marginals.beside(variable, parent)?),
            };
            marginals.product(law, parent, &[message], &keep)
        })
    }

    /// A kept table, or a new one, which is kept if it is not too large.
    fn keep(
        &mut self,
        key: Kept,
        compute: impl FnOnce(&mut Self) -> Result<Factor, ModelError>,
    ) -> Result<Rc<Factor>, ModelError> {
        if let Some(table) = self.kept.get(&key) {
            return Ok(Rc::clone(table));
        }
        let table = Rc::new(compute(self)?);
        let cells = table.values().len();
        if self.kept_cells + cells > KEPT_CELLS {
            self.kept.clear();
            self.kept_cells = 0;
        }
        if cells <= KEPT_TABLE {
            self.kept_cells += cells;
            self.kept.insert(key, Rc::clone(&table));
        }
        Ok(table)
    }
}

#[cfg(test)]
#[path = "marginals_tests.rs"]
mod tests;

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

use super::junction_tree::is_subset;
use super::kronecker::KroneckerMap;
use super::{Factor, MeasuredAxis, Model, ModelError};

/// The most cells of tables that are kept; 8 bytes each. Where there are more, all are computed again as needed.
const KEPT_CELLS: usize = 1 << 22;

/// Marginals of a model.
pub struct Marginals<'a> {
    model: &'a Model,
    /// The topmost clique of each variable.
    homes: Vec<usize>,
    depths: Vec<usize>,
    kept: HashMap<Kept, Factor>,
    kept_cells: usize,
}

/// A table that is kept.
#[derive(PartialEq, Eq, Hash)]
enum Kept {
    /// `p(v | S_C)`.
    Below(usize, usize),
    /// `p(v, S_C)`.
    Beside(usize, usize),
    /// `p(u | S_C)` of the variables that meet in a clique.
    Meeting(usize, Vec<usize>),
    /// A clique's marginal, of some of its variables.
    Within(usize, Vec<usize>),
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
    pub fn marginal(&mut self, variables: &[usize]) -> Result<Factor, ModelError> {
        self.model.domain().check(variables, "a marginal")?;
        let mut query = variables.to_vec();
        query.sort_unstable();
        self.model.check_size(&query)?;
        let meeting = self.meeting(&query);
        if is_subset(&query, &self.model.junction_tree().cliques()[meeting]) {
            return self.within(meeting, query);
        }
        let is_at_or_below = |&v: &usize| self.meets(self.homes[v], meeting) == meeting;
        let (met, rest): (Vec<usize>, Vec<usize>) = query.iter().copied().partition(is_at_or_below);
        match rest[..] {
            [] => self.met_at(meeting, &met),
            [one] => {
                let separator = &self.model.junction_tree().separators()[meeting];
                let keep = [&met, separator.as_slice()].concat();
                let of_met = self.conditional_on_separator(meeting, met, &keep)?;
                let of_rest = self.beside(one, meeting)?;
                self.model.combine(of_met, vec![of_rest], &query)
            }
            _ => self.model.marginal(&query),
        }
    }

    /// The lowest clique in which two variables meet; of one variable, its home.
    fn meeting(&self, query: &[usize]) -> usize {
        let pairs = query.iter().enumerate().flat_map(|(i, &v)| {
            query[..i]
                .iter()
                .map(move |&w| self.meets(self.homes[v], self.homes[w]))
        });
        let lowest = pairs.max_by_key(|&clique| self.depths[clique]);
        lowest.unwrap_or_else(|| query.first().map_or(0, |&v| self.homes[v]))
    }

    /// The lowest clique above or at both.
    fn meets(&self, mut one: usize, mut other: usize) -> usize {
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
    fn child_towards(&self, clique: usize, mut lower: usize) -> usize {
        while let Some(parent) = self.model.junction_tree().parents()[lower]
            && parent != clique
        {
            lower = parent;
        }
        lower
    }

    /// Some variables of a clique.
    fn within(&mut self, clique: usize, keep: Vec<usize>) -> Result<Factor, ModelError> {
        let model = self.model;
        self.keep(Kept::Within(clique, keep.clone()), |_| {
            let table = model.factor(clique, model.clique_marginal(clique))?;
            Ok(table.sum_onto(&keep))
        })
    }

    /// The tables of variables in the cliques below one, those in the clique itself left out.
    fn messages(&mut self, clique: usize, variables: &[usize]) -> Result<Vec<Factor>, ModelError> {
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

    /// The marginal of variables of which the first meet in a clique, and all are below.
    fn met_at(&mut self, clique: usize, met: &[usize]) -> Result<Factor, ModelError> {
        let messages = self.messages(clique, met)?;
        let around = &self.model.junction_tree().cliques()[clique];
        let needed = messages.iter().flat_map(Factor::variables).chain(met);
        let mut needed: Vec<usize> = needed.copied().filter(|v| around.contains(v)).collect();
        needed.sort_unstable();
        needed.dedup();
        let table = self.within(clique, needed)?;
        self.model.combine(table, messages, met)
    }

    fn conditional_on_separator(
        &mut self,
        clique: usize,
        met: Vec<usize>,
        keep: &[usize],
    ) -> Result<Factor, ModelError> {
        self.keep(Kept::Meeting(clique, met.clone()), |marginals| {
            let messages = marginals.messages(clique, &met)?;
            let model = marginals.model;
            let table = model.factor(clique, model.clique_conditional(clique))?;
            model.combine(table, messages, keep)
        })
    }

    /// `p(v | S_C)`.
    fn below(&mut self, variable: usize, clique: usize) -> Result<Factor, ModelError> {
        self.keep(Kept::Below(variable, clique), |marginals| {
            let model = marginals.model;
            let home = marginals.homes[variable];
            let messages = match home == clique {
                true => Vec::new(),
                false => vec![marginals.below(variable, marginals.child_towards(clique, home))?],
            };
            let table = model.factor(clique, model.clique_conditional(clique))?;
            let separator = &model.junction_tree().separators()[clique];
            model.combine(
                table,
                messages,
                &[separator.as_slice(), &[variable]].concat(),
            )
        })
    }

    /// `p(v, S_C)`, for a clique that is not the root.
    fn beside(&mut self, variable: usize, clique: usize) -> Result<Factor, ModelError> {
        self.keep(Kept::Beside(variable, clique), |marginals| {
            let model = marginals.model;
            let tree = model.junction_tree();
            let parent = tree.parents()[clique].unwrap_or(clique);
            let keep = [tree.separators()[clique].as_slice(), &[variable]].concat();
            let home = marginals.homes[variable];
            if tree.cliques()[parent].contains(&variable) {
                let table = model.factor(parent, model.clique_marginal(parent))?;
                return Ok(table.sum_onto(&keep));
            }
            let (table, message) = match marginals.meets(home, parent) == parent {
                true => {
                    let child = marginals.child_towards(parent, home);
                    let message = marginals.below(variable, child)?;
                    (model.clique_marginal(parent), message)
                }
                false => {
                    let message = marginals.beside(variable, parent)?;
                    (model.clique_conditional(parent), message)
                }
            };
            model.combine(model.factor(parent, table)?, vec![message], &keep)
        })
    }

    /// A kept table, or a new one, which is kept if it is not too large.
    fn keep(
        &mut self,
        key: Kept,
        compute: impl FnOnce(&mut Self) -> Result<Factor, ModelError>,
    ) -> Result<Factor, ModelError> {
        if let Some(table) = self.kept.get(&key) {
            return Ok(table.clone());
        }
        let table = compute(self)?;
        let cells = table.values().len();
        if self.kept_cells + cells > KEPT_CELLS {
            self.kept.clear();
            self.kept_cells = 0;
        }
        if cells <= KEPT_CELLS / 16 {
            self.kept_cells += cells;
            self.kept.insert(key, table.clone());
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::random_problem;
    use super::super::{Calibrator, Settings};
    use super::*;

    /// Every subset of the variables of random models, against the marginals one by one, which are tested by
    /// enumeration; in two orders, so that what is kept is used.
    #[test]
    fn shared_marginals_are_those_of_the_model() {
        for seed in 0..120 {
            let calibrator = Calibrator::new(random_problem(seed)).unwrap();
            let targets = calibrator.targets();
            let fit = calibrator.calibrate(&targets, &Settings::default(), &mut |_, _| ());
            let model = fit.unwrap().model;
            let count = model.domain().variables();
            let mut marginals = Marginals::new(&model);
            for mask in (1..1usize << count).chain((1..1 << count).rev()) {
                let set: Vec<usize> = (0..count).filter(|v| mask >> v & 1 == 1).collect();
                let expected = model.marginal(&set).unwrap();
                let found = marginals.marginal(&set).unwrap();
                assert_eq!(found.variables(), expected.variables());
                for (a, b) in found.values().iter().zip(expected.values()) {
                    assert!((a - b).abs() < 1e-12, "{seed} {set:?}");
                }
            }
        }
    }

    /// Pairs and triples of a long tree: twelve variables, each tied to an earlier one.
    #[test]
    fn sets_that_meet_far_up_are_right() {
        use super::super::{Domain, Problem, ReferenceFactor};
        for seed in 0..20usize {
            let sizes: Vec<usize> = (0..12).map(|v| 2 + (v + seed) % 3).collect();
            let tie = |v: usize| {
                let parent = (v * 7 + seed * 5) % v;
                let cells = sizes[parent] * sizes[v];
                let weight = |cell: usize| ((cell * 5 + v * 3 + seed) % 7) as f64 * 0.4;
                ReferenceFactor {
                    variables: vec![parent, v],
                    log_weights: (0..cells).map(weight).collect(),
                }
            };
            // One variable in three starts a tree of its own.
            let ties = (1..12).filter(|v| v % 3 != seed % 4).map(tie);
            let names = (0..12).map(|i| format!("v{i}")).collect();
            let problem = Problem {
                reference: ties.collect(),
                domain: Domain::new(names, sizes.clone()).unwrap(),
                measurements: vec![],
                total: 1.0,
                max_cells: 100_000,
                entropy_weight: 1.0,
            };
            let model = Calibrator::new(problem).unwrap().reference_model();
            let mut marginals = Marginals::new(&model);
            for a in 0..12 {
                for b in 0..a {
                    for c in 0..=b {
                        let set = if c == b { vec![b, a] } else { vec![c, b, a] };
                        let expected = model.marginal(&set).unwrap();
                        let found = marginals.marginal(&set).unwrap();
                        for (x, y) in found.values().iter().zip(expected.values()) {
                            assert!((x - y).abs() < 1e-12, "{seed} {set:?}");
                        }
                    }
                }
            }
        }
    }
}

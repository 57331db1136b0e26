//! Marginals of thousands of pairs and triples of variables, those that share a step one after the other.
//!
//! Of a triple, take the two variables `x` and `y` that meet lowest, in clique `C` (see [`Marginals`]). What is left to do
//! is a product of two matrices, the cells of `(x, y)` by those of a separator, and the separator's by those of the third variable
//! `w`:
//!
//! ```text
//! p(x, y, w) = sum over S_C of p(x, y | S_C) p(w, S_C)      where w first appears elsewhere
//! p(x, y, w) = sum over S_D of p(x, y, S_D) p(w | S_D)      where w first appears below D, a child of C
//! ```
//!
//! Triples are gone through by their first factor, and all second factors of a clique are laid out once.
//!
//! Where a separator has thousands of cells, a triple on its two sides takes as many thousand multiplications, and a
//! hundred variables have 161,700 triples. So the work is bounded: what each set takes is known from sizes alone, and the most
//! expensive ones are left out.

use std::collections::HashMap;

use super::factor::Matrix;
use super::junction_tree::is_subset;
use super::{Marginals, ModelError};

/// The most entries of second factors that are laid out at once, 8 bytes each.
const LAID_OUT: usize = 1 << 22;

/// About how many triples have a table in common.
const SHARED_BY: f64 = 30.0;

/// A triple as a product of two matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Product {
    /// The clique in which the pair meets.
    clique: usize,
    pair: [usize; 2],
    link: Link,
    third: usize,
    /// The position among the sets.
    position: usize,
}

/// What joins the pair and the third variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Link {
    /// The separator of the clique in which the pair meets.
    Above,
    /// The separator of this child of it.
    Below(usize),
}

impl Marginals<'_> {
    /// Calls `visit` with the position and the marginal probabilities of every set of variables, in an order that the tree
    /// determines. Sets are of ascending variables of the model; probabilities are row-major. A set that would take a table
    /// above the model's size limit is left out, and so are those that take most, as many as are beyond `most_work`
    /// multiplications for all sets together, though never all.
    ///
    /// # Errors
    /// As [`Model::marginal`](super::Model::marginal), sizes aside.
    pub fn for_each(
        &mut self,
        sets: &[&[usize]],
        most_work: f64,
        visit: &mut dyn FnMut(usize, &[f64]),
    ) -> Result<(), ModelError> {
        let plan = Plan::new(self);
        let mut products: Vec<(f64, Product)> = Vec::with_capacity(sets.len());
        let mut others: Vec<(f64, usize)> = Vec::new();
        for (position, set) in sets.iter().enumerate() {
            match plan.product(self, set, position) {
                Some(product) => products.push((self.work_of(&product), product)),
                None => others.push((self.work_within(set), position)),
            }
        }
        let work = products.iter().map(|(work, _)| *work);
        let limit = work_limit(work.chain(others.iter().map(|(work, _)| *work)), most_work);
        for (_, position) in others.into_iter().filter(|(work, _)| *work <= limit) {
            if let Some(table) = small_enough(self.marginal(sets[position]))? {
                visit(position, table.values());
            }
        }
        let products = products.into_iter().filter(|(work, _)| *work <= limit);
        let mut products: Vec<Product> = products.map(|(_, product)| product).collect();
        products.sort_unstable();
        for of_clique in products.chunk_by(|a, b| a.clique == b.clique) {
            let mut thirds = Thirds::default();
            for of_pair in of_clique.chunk_by(|a, b| (a.pair, a.link) == (b.pair, b.link)) {
                self.products(of_pair, &mut thirds, visit)?;
            }
        }
        Ok(())
    }

    /// The multiplications that a triple takes, a part of its first factor's among them.
    fn work_of(&self, product: &Product) -> f64 {
        let (domain, tree) = (self.model.domain(), self.model.junction_tree());
        let separator = match product.link {
            Link::Above => product.clique,
            Link::Below(child) => child,
        };
        let pair = domain.cells(&product.pair) as f64;
        let separator = domain.cells(&tree.separators()[separator]) as f64;
        let clique = domain.cells(&tree.cliques()[product.clique]) as f64;
        let third = domain.sizes()[product.third] as f64;
        pair * (separator * third + clique / SHARED_BY)
    }

    /// The multiplications that a set takes whose variables are in a clique, or each in it or below it.
    fn work_within(&self, set: &[usize]) -> f64 {
        let (domain, tree) = (self.model.domain(), self.model.junction_tree());
        let meeting = self.meeting(set);
        let clique = &tree.cliques()[meeting];
        // What the product is over: the set, and what its lower variables hang on.
        let mut involved: Vec<usize> = set.to_vec();
        for &variable in set.iter().filter(|v| !clique.contains(v)) {
            let child = self.child_towards(meeting, self.homes[variable]);
            involved.extend(&tree.separators()[child]);
        }
        involved.sort_unstable();
        involved.dedup();
        domain.cells(&involved) as f64 + domain.cells(clique) as f64 / SHARED_BY
    }
}

impl Marginals<'_> {
    /// Triples with the first factor in common.
    fn products(
        &mut self,
        products: &[Product],
        thirds: &mut Thirds,
        visit: &mut dyn FnMut(usize, &[f64]),
    ) -> Result<(), ModelError> {
        let Product {
            clique, pair, link, ..
        } = products[0];
        let (domain, tree) = (self.model.domain(), self.model.junction_tree());
        let separator = match link {
            Link::Above => &tree.separators()[clique],
            Link::Below(child) => &tree.separators()[child],
        };
        let first = match link {
            Link::Above => self.conditional_on_separator(clique, pair.to_vec()),
            Link::Below(_) => self.joint(clique, pair.to_vec(), separator),
        };
        let Some(first) = small_enough(first)? else {
            return Ok(());
        };
        let first = first.matrix(domain, &pair, separator);
        let sizes = domain.sizes();
        for product in products {
            let third = product.third;
            if !thirds.matrices.contains_key(&(link, third)) {
                let second = match link {
                    Link::Above => self.beside(third, clique),
                    Link::Below(_) => {
                        self.below(third, self.child_towards(clique, self.homes[third]))
                    }
                };
                let second = small_enough(second)?;
                let second = second.map(|f| f.matrix(domain, separator, &[third]));
                thirds.insert((link, third), second);
            }
            if let Some(Some(second)) = thirds.matrices.get(&(link, third)) {
                let table = multiply(&first, second);
                let levels = [sizes[pair[0]], sizes[pair[1]], sizes[third]];
                let before = pair.iter().filter(|&&v| v < third).count();
                visit(product.position, &ordered(table, levels, before));
            }
        }
        Ok(())
    }
}

/// The second factors of a clique, `None` of those that are too large.
#[derive(Default)]
struct Thirds {
    matrices: HashMap<(Link, usize), Option<Matrix>>,
    entries: usize,
}

impl Thirds {
    fn insert(&mut self, key: (Link, usize), matrix: Option<Matrix>) {
        let entries = matrix.as_ref().map_or(0, |m| m.entries.len());
        if self.entries + entries > LAID_OUT {
            self.matrices.clear();
            self.entries = 0;
        }
        self.entries += entries;
        self.matrices.insert(key, matrix);
    }
}

/// Where all variables meet.
struct Plan {
    variables: usize,
    /// The clique in which two variables meet, by both.
    meets: Vec<usize>,
    /// The first child of the same clique with the same separator, by child: they have the first factor in common.
    like: Vec<usize>,
}

impl Plan {
    fn new(marginals: &Marginals) -> Plan {
        let homes = &marginals.homes;
        let with = |&one: &usize| homes.iter().map(move |&other| marginals.meets(one, other));
        let tree = marginals.model.junction_tree();
        let (parents, separators) = (tree.parents(), tree.separators());
        let like = |child: usize| {
            let is_like =
                |&c: &usize| parents[c] == parents[child] && separators[c] == separators[child];
            (0..child).find(is_like).unwrap_or(child)
        };
        Plan {
            like: (0..parents.len()).map(like).collect(),
            variables: homes.len(),
            meets: homes.iter().flat_map(with).collect(),
        }
    }

    /// A set as a product; `None` of one that is no triple, or within a clique.
    fn product(&self, marginals: &Marginals, set: &[usize], position: usize) -> Option<Product> {
        let &[a, b, c] = set else {
            return None;
        };
        let meet = |x: usize, y: usize| self.meets[x * self.variables + y];
        let ways = [([a, b], c), ([a, c], b), ([b, c], a)];
        let depth = |pair: [usize; 2]| marginals.depths[meet(pair[0], pair[1])];
        let clique = {
            let (lowest, _) = ways.into_iter().max_by_key(|&(pair, _)| depth(pair))?;
            meet(lowest[0], lowest[1])
        };
        let cliques = marginals.model.junction_tree().cliques();
        if is_subset(set, &cliques[clique]) {
            return None;
        }
        for (pair, third) in ways {
            if meet(pair[0], pair[1]) != clique {
                continue;
            }
            // Nothing meets lower: the third is at or below the clique exactly if it meets the others there.
            if meet(pair[0], third) != clique {
                return Some(Product {
                    clique,
                    pair,
                    link: Link::Above,
                    third,
                    position,
                });
            }
            if !cliques[clique].contains(&third) {
                let child = marginals.child_towards(clique, marginals.homes[third]);
                return Some(Product {
                    clique,
                    pair,
                    link: Link::Below(self.like[child]),
                    third,
                    position,
                });
            }
        }
        None
    }
}

/// The most work of one set, so that all sets that take no more stay within what they may take together; at least that of
/// the cheapest.
fn work_limit(work: impl Iterator<Item = f64>, most: f64) -> f64 {
    let mut work: Vec<f64> = work.collect();
    work.sort_by(f64::total_cmp);
    let mut sum = 0.0;
    let beyond = work.iter().position(|work| {
        sum += work;
        sum > most
    });
    match beyond {
        // Sets that take the same are in or out together.
        Some(beyond) => work[beyond].next_down().max(work[0]),
        None => f64::INFINITY,
    }
}

/// `None` of what would take too large a table.
fn small_enough<T>(result: Result<T, ModelError>) -> Result<Option<T>, ModelError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(ModelError::TooLarge { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The product of two matrices.
fn multiply(left: &Matrix, right: &Matrix) -> Vec<f64> {
    let width = right.columns;
    let mut product = vec![0.0; left.rows * width];
    for (row, sums) in product.chunks_exact_mut(width).enumerate() {
        let factors = &left.entries[row * left.columns..][..left.columns];
        for (factor, terms) in factors.iter().zip(right.entries.chunks_exact(width)) {
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += factor * term;
            }
        }
    }
    product
}

/// A table over a pair and a third variable, its axes in the order of the variables: `before` of the pair stand before the third.
fn ordered(table: Vec<f64>, [x, y, w]: [usize; 3], before: usize) -> Vec<f64> {
    // The steps of the pair's first, second, and the third variable.
    let steps = match before {
        2 => return table,
        1 => [w * y, 1, y],
        _ => [y, 1, x * y],
    };
    let mut result = vec![0.0; table.len()];
    for (cell, value) in table.into_iter().enumerate() {
        let (i, j, k) = (cell / (w * y), cell / w % y, cell % w);
        result[i * steps[0] + j * steps[1] + k * steps[2]] = value;
    }
    result
}

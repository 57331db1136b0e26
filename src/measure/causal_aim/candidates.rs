//! What a round may choose, in the order of the scores: leaves, pairs, nothing.

use super::pairs::PairCandidate;

/// What a round may choose.
pub struct Candidates {
    /// Positions of leaves.
    pub leaves: Vec<usize>,
    /// Pairs of covariates that have a leaf.
    pub pairs: Vec<PairCandidate>,
    /// Whether measuring nothing more is a candidate.
    pub stops: bool,
}

/// What a round chose.
pub enum Chosen {
    /// A leaf, by its position among all.
    Leaf(usize),
    /// A pair of columns.
    Pair([usize; 2]),
    /// To measure nothing more.
    Nothing,
}

impl Candidates {
    /// Their number.
    pub fn len(&self) -> usize {
        self.leaves.len() + self.pairs.len() + usize::from(self.stops)
    }

    /// Whether there is nothing to measure.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty() && self.pairs.is_empty()
    }

    /// What stands at a position of the scores.
    pub fn at(&self, position: usize) -> Chosen {
        let leaves = self.leaves.len();
        match (self.leaves.get(position), position.checked_sub(leaves)) {
            (Some(&leaf), _) => Chosen::Leaf(leaf),
            (None, Some(pair)) if pair < self.pairs.len() => Chosen::Pair(self.pairs[pair].columns),
            _ => Chosen::Nothing,
        }
    }
}

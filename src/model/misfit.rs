//! The least misfit that any distribution has, entropy left out: what a fit without a reference measure would look for.
//!
//! With `R = y - Q x` the residuals of the expected counts `x = n p`, this minimises `1/2 sum (R_i / sigma_i)^2`. Many
//! distributions may reach the least; a calibration with an entropy term prefers one of them, at the price of a larger misfit, and
//! the difference is what the entropy costs.
//!
//! # A bound
//! For any parameters `lambda`, one per value, and any distribution `p`,
//!
//! ```text
//! 1/2 sum (R_i / sigma_i)^2  >=  sum_i lambda_i y_i - n max over cells of (Q' lambda) - 1/2 sum sigma_i^2 lambda_i^2,
//! ```
//!
//! since `1/2 (R / sigma)^2 + 1/2 (sigma lambda)^2 >= lambda R` and the expectation of `Q' lambda` is at most its maximum. The
//! right side at `lambda = R / sigma^2` is one upward pass on the junction tree with maxima in the place of sums. So the
//! distance to the optimum is known, whatever the steps below did.
//!
//! # The steps
//! The tables of the cliques of a tree are marginals of a distribution exactly if they are not negative, agree on their
//! separators and sum to `n`: a convex quadratic program. Its conditions, with multipliers `z` of `x >= 0`, are solved for
//! `x z = mu` with `mu` going to 0, by the predictor-corrector method of Mehrotra (1992): each step is a system on the tree
//! (`tree_system`) with `v = x / z`, solved twice. Some 20 to 30 steps, whatever the size.

use super::calibration::{Calibrator, Scratch};
use super::tree_factor::{RightSide, TreeFactor, Weights};
use super::tree_system::TreeSystem;
use super::{Model, ModelError, Problem};

/// Steps after which to give up. No problem seen took 60.
const MOST_STEPS: u64 = 200;
/// The share of the way to the boundary that a step goes.
const SHORT_OF_BOUNDARY: f64 = 0.995;
/// The most that `v` is, in units of the largest `sigma^2`: where nothing holds a table back it would grow without bound, and
/// the little that is measured would be lost in its rounding. A step is then no longer exactly Newton's.
const LARGEST_RATIO: f64 = 1e6;
/// So many steps in a row that each close less than [`LEAST_GAIN`] of the gap say that rounding decides.
const IDLE_STEPS: u32 = 8;
const LEAST_GAIN: f64 = 0.05;
/// The first steps may not close the gap at all; from here on they do.
const NEAR: f64 = 1e-4;
/// A step this short leads nowhere.
const LEAST_STEP: f64 = 1e-9;

/// A distribution of least misfit.
#[derive(Debug, Clone)]
pub struct LeastMisfit {
    /// The distribution: of those with its clique marginals, the one of most entropy.
    pub model: Model,
    /// Its misfit, `1/2 sum (R_i / sigma_i)^2`.
    pub misfit: f64,
    /// What no distribution's misfit is below.
    pub bound: f64,
    /// Steps taken.
    pub steps: u64,
}

impl LeastMisfit {
    /// How far the misfit is above the bound, divided by `max(1, misfit)`.
    pub fn relative_gap(&self) -> f64 {
        (self.misfit - self.bound) / self.misfit.max(1.0)
    }

    /// Finds one whose relative gap is at most `tolerance`, or the best that rounding allows: ask [`Self::relative_gap`]. The problem's entropy weight does
    /// not matter, and of its reference measure only the structural zeros do.
    ///
    /// # Errors
    /// As [`Calibrator::new`], or if a step would take more than `most_operations` multiplications.
    pub fn find(
        problem: Problem,
        tolerance: f64,
        most_operations: f64,
    ) -> Result<LeastMisfit, ModelError> {
        let measurements = problem.measurements.clone();
        let calibrator = Calibrator::new(problem)?;
        let structure = calibrator.structure();
        let system = TreeSystem::new(
            &structure.domain,
            &structure.propagation,
            &measurements,
            most_operations,
        );
        let tree = calibrator.junction_tree();
        let system = system.ok_or_else(|| ModelError::TooLarge {
            context: "a step of the exact fit".into(),
            clique: structure
                .domain
                .names_of(&tree.cliques()[tree.largest_clique()]),
            cells: tree.cells(),
            limit: most_operations as u128,
        })?;
        let search = Search {
            sigma: calibrator.sigma().collect(),
            calibrator: &calibrator,
            system: &system,
        };
        search.run(tolerance)
    }
}

struct Search<'a> {
    calibrator: &'a Calibrator,
    system: &'a TreeSystem,
    sigma: Vec<f64>,
}

/// Expected counts and multipliers, clique by clique.
struct Point {
    x: Vec<Vec<f64>>,
    z: Vec<Vec<f64>>,
}

impl Search<'_> {
    fn run(&self, tolerance: f64) -> Result<LeastMisfit, ModelError> {
        let mut scratch = self.calibrator.scratch();
        let mut point = self.start();
        let mut best = self.certified(&point, &mut scratch);
        let mut idle = 0;
        for step in 1..=MOST_STEPS {
            if best.relative_gap() <= tolerance || !self.step(&mut point) {
                break;
            }
            let mut found = self.certified(&point, &mut scratch);
            found.steps = step;
            // A bound holds for all.
            found.bound = found.bound.max(best.bound);
            if found.misfit > best.misfit {
                found = LeastMisfit {
                    bound: found.bound,
                    steps: step,
                    ..best.clone()
                };
            }
            let left = (found.relative_gap(), best.relative_gap());
            let is_idle = left.1 < NEAR && left.0 > (1.0 - LEAST_GAIN) * left.1;
            idle = if is_idle { idle + 1 } else { 0 };
            best = found;
            if idle == IDLE_STEPS {
                break;
            }
        }
        Ok(best)
    }

    /// The reference measure, and multipliers of the size of the misfit's slopes.
    fn start(&self) -> Point {
        let model = self.calibrator.reference_model();
        let cliques = 0..model.junction_tree().cliques().len();
        let counts = |clique| -> Vec<f64> {
            let shares = model.clique_marginal(clique).iter();
            shares.map(|share| share * model.total()).collect()
        };
        let x: Vec<Vec<f64>> = cliques.map(counts).collect();
        let residuals = self.residuals(&x);
        let slopes = residuals.iter().zip(&self.sigma);
        let steepest = slopes
            .map(|(residual, sigma)| (residual / (sigma * sigma)).abs())
            .fold(f64::MIN_POSITIVE, f64::max);
        let z = x.iter().map(|cells| {
            let multiplier = |&x: &f64| if x > 0.0 { steepest } else { 0.0 };
            cells.iter().map(multiplier).collect()
        });
        Point { z: z.collect(), x }
    }

    fn residuals(&self, x: &[Vec<f64>]) -> Vec<f64> {
        let answers = self.system.answers(x);
        let values = self.calibrator.values.iter();
        values.zip(answers).map(|(y, answer)| y - answer).collect()
    }

    /// One step; `false` where there is none.
    fn step(&self, point: &mut Point) -> bool {
        let largest = self.sigma.iter().fold(0.0f64, |most, s| most.max(*s));
        let largest = LARGEST_RATIO * largest.powi(2);
        let ratios = point.pairs(|x, z| if x > 0.0 { (x / z).min(largest) } else { 0.0 });
        let weights = Weights {
            cliques: &ratios,
            separators: None,
            sigma: &self.sigma,
        };
        let Some(factor) = TreeFactor::new(self.system, &weights) else {
            return false;
        };
        let residuals = self.residuals(&point.x);
        let solve = |cells: Option<&[Vec<f64>]>| {
            let right = RightSide {
                values: &residuals,
                cells,
            };
            factor.solve(self.system, &right)
        };
        // The predictor: as far as it goes towards mu = 0.
        let zero: Vec<Vec<f64>> = point.x.iter().map(|cells| vec![0.0; cells.len()]).collect();
        let towards = Move::new(point, solve(None), &zero);
        let mu = point.complementarity();
        let length = towards.longest(point, 1.0);
        let mut ahead = Point {
            x: point.x.clone(),
            z: point.z.clone(),
        };
        ahead.advance(&towards, length);
        let centring = (ahead.complementarity() / mu).powi(3) * mu;
        // The corrector: to that much of mu, with the predictor's second-order term.
        let products = towards.x.iter().zip(&towards.z);
        let targets: Vec<Vec<f64>> = products
            .map(|(x, z)| x.iter().zip(z).map(|(x, z)| centring - x * z).collect())
            .collect();
        let pulls = targets.iter().zip(&point.x);
        let pulls: Vec<Vec<f64>> = pulls
            .map(|(targets, x)| {
                let pull = |(target, &x): (&f64, &f64)| if x > 0.0 { target / x } else { 0.0 };
                targets.iter().zip(x).map(pull).collect()
            })
            .collect();
        let step = Move::new(point, solve(Some(&pulls)), &targets);
        let length = step.longest(point, SHORT_OF_BOUNDARY);
        if length.is_nan() || length < LEAST_STEP {
            return false;
        }
        point.advance(&step, length);
        self.reconcile(&mut point.x);
        true
    }

    /// Makes the tables agree to the last digit again, from the root down: what rounding leaves would add up.
    fn reconcile(&self, x: &mut [Vec<f64>]) {
        for (clique, node) in self.system.nodes.iter().enumerate() {
            let target = match node.parent {
                Some(parent) => self.system.of_child(parent, clique, &x[parent]),
                None => vec![self.calibrator.targets().total],
            };
            let ratio = |(target, own): (f64, f64)| if own > 0.0 { target / own } else { 1.0 };
            let own = node.separator.of(&x[clique]);
            let ratios: Vec<f64> = target.into_iter().zip(own).map(ratio).collect();
            let table = &node.separator.table;
            table.multiply_expanded(&ratios, &mut x[clique]);
        }
    }

    /// The distribution with the point's tables, its misfit, and the bound at its residuals.
    fn certified(&self, point: &Point, scratch: &mut Scratch) -> LeastMisfit {
        for (node, (cells, x)) in
            (self.system.nodes.iter()).zip(scratch.workspace.cells.iter_mut().zip(&point.x))
        {
            for (cell, x) in cells.iter_mut().zip(x) {
                *cell = x.ln();
            }
            // An impossible cell of the separator has impossible cells only: they stay -inf.
            let inverse = |s: &f64| if *s > 0.0 { -s.ln() } else { 0.0 };
            let separator: Vec<f64> = node.separator.of(x).iter().map(inverse).collect();
            node.separator.add_to(&separator, cells);
        }
        let model = self.calibrator.model_of_potentials(scratch);
        let values = self.calibrator.values.iter().zip(&scratch.answers);
        let residuals: Vec<f64> = values.map(|(y, answer)| y - answer).collect();
        let parameters = residuals.iter().zip(&self.sigma);
        let parameters: Vec<f64> = parameters.map(|(r, sigma)| r / (sigma * sigma)).collect();
        let misfit: f64 = (residuals.iter().zip(&self.sigma))
            .map(|(r, sigma)| (r / sigma).powi(2) / 2.0)
            .sum();
        let gain: f64 = (parameters.iter().zip(&self.calibrator.values))
            .map(|(p, y)| p * y)
            .sum();
        let highest = self.calibrator.highest_potential(&parameters, scratch);
        LeastMisfit {
            bound: gain - model.total() * highest - misfit,
            model,
            misfit,
            steps: 0,
        }
    }
}

impl Point {
    fn pairs(&self, of: impl Fn(f64, f64) -> f64) -> Vec<Vec<f64>> {
        let cliques = self.x.iter().zip(&self.z);
        cliques
            .map(|(x, z)| x.iter().zip(z).map(|(&x, &z)| of(x, z)).collect())
            .collect()
    }

    /// The mean of `x z` over the cells that are possible.
    fn complementarity(&self) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (x, z) in self.x.iter().zip(&self.z) {
            for (x, z) in x.iter().zip(z) {
                sum += x * z;
                count += f64::from(u8::from(*x > 0.0));
            }
        }
        sum / f64::max(count, 1.0)
    }

    fn advance(&mut self, step: &Move, length: f64) {
        let tables = self.x.iter_mut().zip(&step.x);
        for (cells, moves) in tables.chain(self.z.iter_mut().zip(&step.z)) {
            for (cell, by) in cells.iter_mut().zip(moves) {
                *cell += length * by;
            }
        }
    }
}

/// The change of a point.
struct Move {
    x: Vec<Vec<f64>>,
    z: Vec<Vec<f64>>,
}

impl Move {
    /// With this change of `x`, the one of `z` by which `x z` comes to `targets`, to first order.
    fn new(point: &Point, x: Vec<Vec<f64>>, targets: &[Vec<f64>]) -> Move {
        let mut z = point.z.clone();
        for (clique, z) in z.iter_mut().enumerate() {
            for (cell, z) in z.iter_mut().enumerate() {
                let at = point.x[clique][cell];
                *z = match at > 0.0 {
                    true => (targets[clique][cell] - *z * x[clique][cell]) / at - *z,
                    false => 0.0,
                };
            }
        }
        Move { x, z }
    }

    /// The longest step, at most 1, by which nothing moves further than a share of its way to 0.
    fn longest(&self, point: &Point, share: f64) -> f64 {
        let mut longest = 1.0f64;
        let tables = point.x.iter().zip(&self.x);
        for (cells, moves) in tables.chain(point.z.iter().zip(&self.z)) {
            for (cell, by) in cells.iter().zip(moves) {
                if *by < 0.0 {
                    longest = longest.min(-share * cell / by);
                }
            }
        }
        longest
    }
}

#[cfg(test)]
#[path = "misfit_tests.rs"]
mod tests;

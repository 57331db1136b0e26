//! L-BFGS on argmin's [`Solver`] trait, for smooth convex objectives whose value and gradient come
//! together.
//!
//! argmin's own L-BFGS asks for cost and gradient in separate calls (two belief propagations instead of
//! one), gives up on NaN, and spends many evaluations near the optimum, where the cost's differences
//! drown in rounding. This one makes one joint call per trial point, works in place, and searches the
//! line by bracketing for the weak Wolfe conditions (Lewis and Overton 2013); where two costs can't be
//! told apart, slopes decide (the approximate Wolfe conditions of Hager and Zhang 2005). A trial point
//! whose value is not finite counts as too far.

use std::collections::VecDeque;

use argmin::core::{Error, IterState, KV, Problem, Solver, TerminationReason, TerminationStatus};

/// A smooth convex function to be minimised.
pub(crate) trait Objective {
    /// The value at `point`, its gradient into `gradient`. May be NaN or infinite where it overflows.
    fn evaluate(&mut self, point: &[f64], gradient: &mut [f64]) -> f64;

    /// How far the point of this value and gradient is from the optimum, on the scale on which
    /// [`Lbfgs::tolerance`] is set.
    fn gap(&self, value: f64, gradient: &[f64]) -> f64;

    /// Multiplies a vector by an approximation of the inverse second derivative.
    fn precondition(&self, vector: &mut [f64]);

    /// Called when the point evaluated last has become the current one; a chance to improve the
    /// approximation. Returns whether it is so much better that what the solver has learnt is obsolete.
    fn advance(&mut self) -> bool;
}

/// The state of argmin's executor: parameter and gradient are plain vectors.
pub(crate) type State = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;

/// Pairs of steps and gradient differences kept. The cost is a few passes over the parameters, small
/// beside one belief propagation, so it is on the high side of the usual 5 to 20.
const MEMORY: usize = 20;
/// Sufficient decrease: the share of the decrease promised by the slope.
const DECREASE: f64 = 1e-4;
/// Curvature: the share of the initial slope that may be left.
const CURVATURE: f64 = 0.9;
/// Relative difference of costs below which rounding decides (sums of up to 10^5 terms in double).
const ROUNDING: f64 = 1e-12;
/// Trial points of one line search: enough to halve the step to 1e-12 of its length, or to come down
/// from overflow to 1e-80 of it.
const TRIALS: usize = 40;

/// The solver: settings, and the memory of one run.
pub(crate) struct Lbfgs<'a> {
    /// Stop when [`Objective::gap`] is at most this.
    pub(crate) tolerance: f64,
    /// Stop after this many evaluations.
    pub(crate) max_evaluations: u64,
    /// Called after each iteration with its number and the gap.
    pub(crate) progress: &'a mut dyn FnMut(u64, f64),
    /// Evaluations so far.
    pub(crate) evaluations: u64,
    /// The gap at the current point.
    pub(crate) gap: f64,
    pairs: VecDeque<Pair>,
    stuck: bool,
}

/// A step, the change of the gradient along it, and the reciprocal of their product.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    rho: f64,
}

impl<'a> Lbfgs<'a> {
    pub(crate) fn new(
        tolerance: f64,
        max_evaluations: u64,
        progress: &'a mut dyn FnMut(u64, f64),
    ) -> Lbfgs<'a> {
        Lbfgs {
            tolerance,
            max_evaluations,
            progress,
            evaluations: 0,
            gap: f64::INFINITY,
            pairs: VecDeque::with_capacity(MEMORY),
            stuck: false,
        }
    }

    /// `-H gradient`, H the inverse second derivative as the memory corrects the objective's own
    /// approximation of it (two-loop recursion, Nocedal 1980).
    fn direction<O: Objective>(&self, objective: &O, gradient: &[f64]) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut weights = vec![0.0; self.pairs.len()];
        for (pair, weight) in self.pairs.iter().zip(&mut weights).rev() {
            *weight = pair.rho * dot(&pair.step, &direction);
            add_scaled(&mut direction, -*weight, &pair.change);
        }
        objective.precondition(&mut direction);
        if let Some(last) = self.pairs.back() {
            let mut change = last.change.clone();
            objective.precondition(&mut change);
            let scale = 1.0 / (last.rho * dot(&last.change, &change));
            direction.iter_mut().for_each(|d| *d *= scale);
        }
        for (pair, weight) in self.pairs.iter().zip(&weights) {
            let correction = weight - pair.rho * dot(&pair.change, &direction);
            add_scaled(&mut direction, correction, &pair.step);
        }
        direction
    }

    /// Keeps a pair if it shows positive curvature, as it does up to rounding on a convex function.
    fn remember(&mut self, step: Vec<f64>, change: Vec<f64>) {
        let curvature = dot(&step, &change);
        let size = (dot(&change, &change) * dot(&step, &step)).sqrt();
        if curvature > f64::EPSILON * size {
            if self.pairs.len() == MEMORY {
                self.pairs.pop_front();
            }
            self.pairs.push_back(Pair {
                step,
                change,
                rho: 1.0 / curvature,
            });
        }
    }

    /// Searches along `direction` from the point of `start`; `None` if no step lowers the cost.
    fn search<O: Objective>(
        &mut self,
        objective: &mut O,
        start: &Point,
        direction: &[f64],
    ) -> Option<Point> {
        let slope = dot(&start.gradient, direction);
        if slope.is_nan() || slope >= 0.0 {
            return None;
        }
        let slack = ROUNDING * start.cost.abs();
        let mut trial = Point {
            parameter: vec![0.0; direction.len()],
            gradient: vec![0.0; direction.len()],
            cost: f64::INFINITY,
        };
        // Steps known to be too short and too long.
        let (mut short, mut long) = (0.0, f64::INFINITY);
        let mut length = 1.0;
        for _ in 0..TRIALS {
            if self.evaluations >= self.max_evaluations {
                return None;
            }
            for ((t, s), d) in trial
                .parameter
                .iter_mut()
                .zip(&start.parameter)
                .zip(direction)
            {
                *t = s + length * d;
            }
            trial.cost = objective.evaluate(&trial.parameter, &mut trial.gradient);
            self.evaluations += 1;
            let trial_slope = dot(&trial.gradient, direction);
            let finite = trial.cost.is_finite() && trial_slope.is_finite();
            let decrease = trial.cost <= start.cost + DECREASE * length * slope
                || (trial.cost <= start.cost + slack
                    && trial_slope <= (2.0 * DECREASE - 1.0) * slope);
            if !finite || !decrease {
                long = length;
            } else if trial_slope < CURVATURE * slope {
                short = length;
            } else {
                return Some(trial);
            }
            length = next_length(short, long, length, finite.then_some((slope, trial_slope)));
        }
        None
    }
}

/// A point with its value and gradient.
struct Point {
    parameter: Vec<f64>,
    gradient: Vec<f64>,
    cost: f64,
}

/// The next trial length: the root of the slope's secant through 0 and the last trial, kept well within
/// the bracket, else its middle; twice the length while nothing is known to be too long.
fn next_length(short: f64, long: f64, length: f64, slopes: Option<(f64, f64)>) -> f64 {
    if long.is_infinite() {
        return 2.0 * length;
    }
    let secant = match slopes {
        Some((at_zero, at_length)) => length * at_zero / (at_zero - at_length),
        None => f64::NAN,
    };
    let margin = 0.1 * (long - short);
    if secant >= short + margin && secant <= long - margin {
        secant
    } else if slopes.is_none() {
        // Overflow says that the step is too long by far.
        short + 0.01 * (long - short)
    } else {
        f64::midpoint(short, long)
    }
}

impl<O: Objective> Solver<O, State> for Lbfgs<'_> {
    fn name(&self) -> &str {
        "L-BFGS"
    }

    fn init(
        &mut self,
        problem: &mut Problem<O>,
        mut state: State,
    ) -> Result<(State, Option<KV>), Error> {
        let objective = problem
            .problem
            .as_mut()
            .ok_or_else(|| missing("objective"))?;
        let parameter = state.take_param().ok_or_else(|| missing("start"))?;
        let mut gradient = vec![0.0; parameter.len()];
        let cost = objective.evaluate(&parameter, &mut gradient);
        self.evaluations += 1;
        self.gap = objective.gap(cost, &gradient);
        if !cost.is_finite() {
            return Err(Error::msg("the objective is not finite at the start"));
        }
        Ok((state.param(parameter).gradient(gradient).cost(cost), None))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<O>,
        mut state: State,
    ) -> Result<(State, Option<KV>), Error> {
        let objective = problem
            .problem
            .as_mut()
            .ok_or_else(|| missing("objective"))?;
        let start = Point {
            parameter: state.take_param().ok_or_else(|| missing("parameter"))?,
            gradient: state.take_gradient().ok_or_else(|| missing("gradient"))?,
            cost: state.cost,
        };
        let direction = self.direction(objective, &start.gradient);
        let mut found = self.search(objective, &start, &direction);
        if found.is_none() && !self.pairs.is_empty() {
            // The memory may have been spoilt by rounding: once more along the gradient.
            self.pairs.clear();
            let direction = self.direction(objective, &start.gradient);
            found = self.search(objective, &start, &direction);
        }
        let Some(end) = found else {
            self.stuck = true;
            let Point {
                parameter,
                gradient,
                cost,
            } = start;
            return Ok((state.param(parameter).gradient(gradient).cost(cost), None));
        };
        self.gap = objective.gap(end.cost, &end.gradient);
        let obsolete = objective.advance();
        (self.progress)(state.iter + 1, self.gap);
        let difference = |new: &[f64], old: &[f64]| -> Vec<f64> {
            new.iter().zip(old).map(|(n, o)| n - o).collect()
        };
        self.remember(
            difference(&end.parameter, &start.parameter),
            difference(&end.gradient, &start.gradient),
        );
        if obsolete {
            self.pairs.clear();
        }
        let Point {
            parameter,
            gradient,
            cost,
        } = end;
        Ok((state.param(parameter).gradient(gradient).cost(cost), None))
    }

    fn terminate(&mut self, _state: &State) -> TerminationStatus {
        let reason = if self.gap <= self.tolerance {
            TerminationReason::SolverConverged
        } else if self.evaluations >= self.max_evaluations {
            TerminationReason::SolverExit("evaluation limit reached".into())
        } else if self.stuck {
            TerminationReason::SolverExit("no step lowers the objective further".into())
        } else {
            return TerminationStatus::NotTerminated;
        };
        TerminationStatus::Terminated(reason)
    }
}

fn missing(what: &str) -> Error {
    Error::msg(format!("the executor holds no {what}"))
}

/// The inner product; eight partial sums, so that the loop vectorises, in a fixed order.
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (l, r) = (left.chunks_exact(8), right.chunks_exact(8));
    let rest: f64 = l
        .remainder()
        .iter()
        .zip(r.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in l.zip(r) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn add_scaled(target: &mut [f64], scale: f64, source: &[f64]) {
    for (t, s) in target.iter_mut().zip(source) {
        *t += scale * s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argmin::core::Executor;

    /// `sum of cosh(a_i x_i) - b_i x_i`: overflows far from the optimum `asinh(b / a) / a`.
    struct Cosh {
        scales: Vec<f64>,
        slopes: Vec<f64>,
    }

    impl Objective for Cosh {
        fn evaluate(&mut self, point: &[f64], gradient: &mut [f64]) -> f64 {
            let mut value = 0.0;
            for (i, x) in point.iter().enumerate() {
                let (a, b) = (self.scales[i], self.slopes[i]);
                value += (a * x).cosh() - b * x;
                gradient[i] = a * (a * x).sinh() - b;
            }
            value
        }

        fn gap(&self, _value: f64, gradient: &[f64]) -> f64 {
            gradient.iter().fold(0.0, |m, g| g.abs().max(m))
        }

        fn precondition(&self, _vector: &mut [f64]) {}

        fn advance(&mut self) -> bool {
            false
        }
    }

    fn run(start: f64, evaluations: u64) -> (State, u64) {
        let scales: Vec<f64> = (1..=50).map(|i| 0.1 * f64::from(i)).collect();
        let slopes = vec![3.0; 50];
        let mut ignore = |_: u64, _: f64| {};
        let solver = Lbfgs::new(1e-10, evaluations, &mut ignore);
        let result = Executor::new(Cosh { scales, slopes }, solver)
            .configure(|s| s.param(vec![start; 50]))
            .ctrlc(false)
            .run()
            .unwrap();
        (result.state, result.solver.evaluations)
    }

    #[test]
    fn reaches_the_optimum_from_where_steps_overflow() {
        let (state, evaluations) = run(30.0, 2000);
        for (i, x) in state.param.unwrap().iter().enumerate() {
            let a = 0.1 * (i + 1) as f64;
            assert!((x - (3.0 / a).asinh() / a).abs() < 1e-8, "{i} {x}");
        }
        assert!(evaluations < 1000, "{evaluations}");
    }

    #[test]
    fn stops_at_the_evaluation_limit() {
        assert_eq!(run(0.0, 5).1, 5);
    }
}

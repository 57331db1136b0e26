//! How well a calibration went.

use super::{Domain, JunctionTree};

/// How well a calibration went.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Diagnostics {
    /// Steps of the optimiser.
    pub iterations: u64,
    /// Belief propagations, those of the line searches included.
    pub evaluations: u64,
    /// The dual's value, 0 at the reference measure; a lower bound on the optimum.
    pub dual: f64,
    /// The duality gap: the primal objective is above its optimum by no more than this.
    pub duality_gap: f64,
    /// The gap divided by `max(1, |dual|)`.
    pub relative_gap: f64,
    /// Sum of squared residuals (measured minus fitted), each divided by its standard deviation.
    pub chi_square: f64,
    /// The number of measured values beyond what the model can fit freely, with the total fixed. Where
    /// inequality constraints bind (counts near 0, structural zeros) the model fits less freely, so
    /// this is the least that `chi_square` is expected to be.
    pub degrees_of_freedom: usize,
    /// The largest residual in absolute value, divided by its standard deviation.
    pub max_residual: f64,
    /// Whether the relative gap is within the tolerance.
    pub converged: bool,
    /// The number of cells of the cliques.
    pub cells: u64,
    /// The names of the variables of the clique with the most cells.
    pub largest_clique: Vec<String>,
}

impl Diagnostics {
    /// The diagnostics at a point with this dual value. For each measured value, `standardised` yields
    /// its residual divided by sigma, and sigma times its parameter.
    pub(super) fn new(
        domain: &Domain,
        tree: &JunctionTree,
        dual: f64,
        standardised: impl Iterator<Item = (f64, f64)>,
    ) -> Diagnostics {
        let (mut gap, mut chi_square, mut max_residual) = (0.0, 0.0, 0.0f64);
        for (residual, parameter) in standardised {
            gap += 0.5 * (residual - parameter).powi(2);
            chi_square += residual * residual;
            max_residual = max_residual.max(residual.abs());
        }
        Diagnostics {
            iterations: 0,
            evaluations: 0,
            dual,
            duality_gap: gap,
            relative_gap: gap / dual.abs().max(1.0),
            chi_square,
            degrees_of_freedom: 0,
            max_residual,
            converged: false,
            cells: u64::try_from(tree.cells()).unwrap_or(u64::MAX),
            largest_clique: domain.names_of(&tree.cliques()[tree.largest_clique()]),
        }
    }
}

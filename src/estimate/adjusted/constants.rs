//! Every number of the fit that someone chose, by name and with its reason.

use crate::estimate::EstimateError;

/// The fit's tuned numbers; [`Constants::default`] is the form that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Constants {
    /// Strength of the prior on the scale of imbalance and slope: `Omega` is inverse Wishart with this plus
    /// one degree of freedom. Small, so that the data set the scale. On mildly confounded populations 4 had
    /// intervals up to 8 % shorter at the same coverage; where confounding is strong and the budget tight it
    /// takes too little for confounding, so it is not the default.
    pub prior_strength: f64,
    /// Prior scale of a whitened imbalance, in standard deviations of a score, and of a whitened slope, in
    /// standard deviations of the outcome. 0.15 each is a moderately confounded table.
    pub prior_scale: f64,
    /// Degrees of freedom of that prior's tail, direction by direction: confounding that is strong in a few
    /// directions is then shrunk less than with a normal prior, and what is weak in the others more. On strongly confounded
    /// populations at 1000 records and epsilon .5, 5 had intervals 5 % longer that covered 97.6 % (normal:
    /// 95), at no higher error; 2, 13 % longer; at 5000 records and more it makes no difference.
    pub prior_degrees: f64,
    /// By what the posterior draws' distances from their median are multiplied. The draws take the scale of the covariances'
    /// prior and their shrinkage as known, which are estimates. On eleven cells of tuning populations the intervals cover, by
    /// epsilon, 94.3 to 95.4 % with 1 and 94.7 to 95.7 with 1.06 (standard error .6), and are 1 to 4 % longer; on six with strong confounding
    /// and skewed outcomes 1 covered 92.2 to 94.9.
    pub posterior_spread: f64,
    /// Prior scale of a whitened difference of the arms' slopes, in standard deviations of the outcome:
    /// wide, because a fit that takes effects for homogeneous is biased where they are not. On populations
    /// whose effects vary little 0.1 had intervals 2 to 5 % shorter.
    pub difference_scale: f64,
    /// Degrees of freedom of the prior on that scale. 2 is the heaviest tail that kept its intervals finite.
    pub difference_degrees: f64,
    /// Least and largest relative departure of an arm's covariance from the pooled one, along a direction.
    /// An arm may lack nearly all variance of a direction (-0.95), or have five times as much (4).
    pub arm_limits: [f64; 2],
    /// The same for the second estimate, which inverts the arm's covariance without a prior: at -0.95 a
    /// noisy direction would count twentyfold.
    pub safe_arm_limits: [f64; 2],
    /// Bounds of a score's variance. Scores lie in `[-1, 1]`, so it is at most 1; below 0.02 noise makes it
    /// meaningless.
    pub variance_bounds: [f64; 2],
    /// The pooled covariance's eigenvalues are at least this part of its mean diagonal: keeps collinear
    /// scores, whose slopes noise would make arbitrary, from ruling the fit.
    pub eigenvalue_floor: f64,
    /// They are also at least this multiple of the norm of what noise is left in the shrunk matrix.
    pub eigenvalue_noise: f64,
    /// Largest correction of the second estimate's slopes for noise in the covariance, as a part of the
    /// slopes: beyond it the expansion that the correction comes from has no meaning.
    pub correction_cap: f64,
    /// Least part of the outcome's variance that the scores leave unexplained: the explained part is an
    /// estimate, and noise must not shrink the sampling variance to nothing.
    pub unexplained_floor: f64,
    /// Iterations of the Gibbs sampler that are discarded.
    pub burn_in: usize,
    /// Iterations that are kept. At a lag-one correlation of one half, 1000 add 0.3 % to the variance.
    pub draws: usize,
}

impl Default for Constants {
    fn default() -> Constants {
        Constants {
            prior_strength: 2.0,
            prior_scale: 0.15,
            prior_degrees: 5.0,
            posterior_spread: 1.06,
            difference_scale: 0.3,
            difference_degrees: 2.0,
            arm_limits: [-0.95, 4.0],
            safe_arm_limits: [-0.6, 1.5],
            variance_bounds: [0.02, 1.0],
            eigenvalue_floor: 0.04,
            eigenvalue_noise: 0.5,
            correction_cap: 0.3,
            unexplained_floor: 0.25,
            burn_in: 200,
            draws: 1000,
        }
    }
}

impl Constants {
    /// Refuses constants under which the fit has no meaning.
    ///
    /// # Errors
    /// [`EstimateError::Option`].
    pub fn check(&self) -> Result<(), EstimateError> {
        let positive = |v: f64| v.is_finite() && v > 0.0;
        let limits = |[low, high]: [f64; 2]| low > -1.0 && low <= 0.0 && positive(high);
        let fraction = |v: f64| (0.0..=1.0).contains(&v);
        if ![
            self.prior_strength,
            self.prior_scale,
            self.prior_degrees,
            self.posterior_spread,
            self.difference_scale,
            self.difference_degrees,
            self.eigenvalue_floor,
            self.variance_bounds[0],
        ]
        .into_iter()
        .all(positive)
        {
            return Err(EstimateError::Option(
                "scales, strengths and floors of the fit must be positive",
            ));
        }
        if !(limits(self.arm_limits) && limits(self.safe_arm_limits)) {
            return Err(EstimateError::Option(
                "limits of an arm's covariance must lie in (-1, 0] and above 0",
            ));
        }
        let ordered = self.variance_bounds[1] > self.variance_bounds[0];
        let fractions = fraction(self.correction_cap) && fraction(self.unexplained_floor);
        if !(ordered && fractions && fraction(self.eigenvalue_noise)) {
            return Err(EstimateError::Option(
                "bounds and fractions of the fit must be in order and lie between 0 and 1",
            ));
        }
        if self.draws < 2 {
            return Err(EstimateError::Option("the fit needs at least two draws"));
        }
        Ok(())
    }
}

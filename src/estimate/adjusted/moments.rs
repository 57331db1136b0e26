//! What a release of centred moments hands to the fit: two arms and the imbalance between them.

use ndarray::Array2;

use super::left_out::LeftOut;
use crate::estimate::EstimateError;

/// One arm's released moments. The outcome is mapped to `[-1, 1]`; scores are centred at the released mean
/// and clipped in norm.
#[derive(Debug, Clone, PartialEq)]
pub struct CentredArm {
    /// `N_t`: the arm's number of records, noisy, positive.
    pub count: f64,
    /// `ybar_t`: the mean outcome.
    pub mean: f64,
    /// Variance of the privacy noise in `mean`.
    pub mean_noise: f64,
    /// `v_t`: the outcome's variance within the arm.
    pub variance: f64,
    /// `c_t`: the covariances of the scores with the outcome, of length `K`.
    pub cross: Vec<f64>,
    /// Variance of the privacy noise in each entry of `cross`.
    pub cross_noise: f64,
    /// `W_t`: the scores' covariance within the arm, `K x K`, symmetric, noisy, not shrunk.
    pub covariance: Array2<f64>,
    /// Standard deviation of the noise on its diagonal; off the diagonal it is this over `sqrt(2)`, the
    /// noise of a symmetric Gaussian matrix.
    pub covariance_noise: f64,
}

/// Everything that an adjusted effect is computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct CentredMoments {
    /// The reference arm, `t = 0`.
    pub reference: CentredArm,
    /// The treated arm, `t = 1`.
    pub treated: CentredArm,
    /// `a`: the treated arm's mean scores minus the reference arm's, of length `K`.
    pub imbalance: Vec<f64>,
    /// Variance of the privacy noise in each entry of `imbalance`.
    pub imbalance_noise: f64,
    /// The square of the mean excess of the outcome's residuals beyond their clip: of the bias that the clip may bring to a mean.
    pub clipping: f64,
    /// What a selection says of the scores that it left out; nothing where there was none.
    pub left_out: Option<LeftOut>,
}

impl CentredMoments {
    /// `K`, the number of scores.
    pub fn scores(&self) -> usize {
        self.imbalance.len()
    }

    /// `n`, the number of records in both arms.
    pub fn records(&self) -> f64 {
        self.reference.count + self.treated.count
    }

    /// `p`, the treated arm's share of the records.
    pub fn treated_share(&self) -> f64 {
        self.treated.count / self.records()
    }

    /// The arms in the order `t = 0, 1`.
    pub(super) fn arms(&self) -> [&CentredArm; 2] {
        [&self.reference, &self.treated]
    }

    /// Refuses what no release can contain.
    ///
    /// # Errors
    /// [`EstimateError::Moments`] names the first entry that is not finite, has the wrong sign, or the
    /// wrong shape.
    pub fn check(&self) -> Result<(), EstimateError> {
        let scores = self.scores();
        require(is_variance(self.imbalance_noise), "imbalance's noise")?;
        require(is_variance(self.clipping), "excess beyond the clip")?;
        let selection = self.left_out.as_ref();
        require(selection.is_none_or(LeftOut::is_valid), "selection")?;
        require(
            self.imbalance.iter().all(|v| v.is_finite()),
            "imbalance of the scores",
        )?;
        for (arm, what) in self.arms().into_iter().zip(["reference", "treated"]) {
            let named = |entry: &str| format!("{entry} of the {what} arm");
            let count = arm.count.is_finite() && arm.count > 0.0;
            require(count, &named("count"))?;
            require(arm.mean.is_finite(), &named("mean outcome"))?;
            let noise = [arm.mean_noise, arm.cross_noise, arm.covariance_noise];
            require(noise.iter().all(|&v| is_variance(v)), &named("noise"))?;
            require(is_variance(arm.variance), &named("outcome's variance"))?;
            let cross = arm.cross.len() == scores && arm.cross.iter().all(|v| v.is_finite());
            require(cross, &named("covariances with the outcome"))?;
            require(
                is_covariance(&arm.covariance, scores),
                &named("covariance of the scores"),
            )?;
        }
        Ok(())
    }
}

fn is_variance(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

/// Square of the size given, finite, and symmetric up to the rounding of its sums.
fn is_covariance(matrix: &Array2<f64>, scores: usize) -> bool {
    let scale = matrix.iter().fold(0.0f64, |max, v| max.max(v.abs()));
    matrix.dim() == (scores, scores)
        && matrix.iter().all(|v| v.is_finite())
        && (matrix.indexed_iter()).all(|((i, j), v)| (v - matrix[(j, i)]).abs() <= 1e-9 * scale)
}

fn require(valid: bool, what: &str) -> Result<(), EstimateError> {
    if valid {
        Ok(())
    } else {
        Err(EstimateError::Moments(what.into()))
    }
}

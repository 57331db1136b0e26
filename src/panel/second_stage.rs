//! The second stage of `output` and `objective`: from private weights to a private counterfactual.
//!
//! Given released weights `f`, with `F = max |f_i|`, on the unit scale over `R` periods:
//!
//! | `stage2` | what is released | sensitivity to one donor's row |
//! |---|---|---|
//! | `matrix` | the donors' values, `n R` numbers | `2 sqrt(R)` in Euclid's norm |
//! | `projected` | their weighted sum, `R` numbers | `2 F` per period: in the norm of the largest coordinate |
//! | `att` | the mean of that sum | `2 F` |
//!
//! **Adjacency.** One donor's whole row is replaced. **Charge.** The share: pure by the K-norm mechanism of the norm
//! named, or Gaussian. The weights are released, so `F` is public by then.

use super::PanelError;
use super::channel::{Channel, Lattice, Rounding, Share};
use super::control::NoiseTerm;
use super::linear::mean;
use super::ridge::weighted_sum;
use crate::privacy::{Accountant, Confidential, NoiseSource, Norm};
use crate::release::PanelMeasurement;
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use crate::workload::SecondStage;
use faer::Mat;

/// The measurement's names.
const MATRIX: &str = "donors";
const PATH: &str = "counterfactual";
const MEAN: &str = "mean counterfactual";

/// The second stage, once the weights are known.
pub struct Stage<'a> {
    schema: &'a PanelSchema,
    kind: SecondStage,
    pre_periods: usize,
    periods: usize,
    weights: Vec<f64>,
    channel: Channel,
}

/// The path, its noise, and whether it is a mean over the periods.
pub struct Projected {
    /// The values.
    pub path: Vec<f64>,
    /// The second stage's noise in them.
    pub noise: NoiseTerm,
}

/// The public question to the donors.
struct Question<'a> {
    schema: &'a PanelSchema,
    kind: SecondStage,
    pre_periods: usize,
    weights: &'a [f64],
    lattice: Lattice,
}

fn answer(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let rows = unit_rows(rows, question.schema);
    let from = question.pre_periods;
    let path = || weighted_sum(&rows, question.weights, from);
    let statistic = match question.kind {
        SecondStage::Matrix => rows.iter().flat_map(|row| row[from..].to_vec()).collect(),
        SecondStage::Projected => path(),
        SecondStage::Att => vec![mean(&path())],
    };
    question.lattice.nearest(&statistic)
}

/// The donors on the unit scale.
pub fn unit_rows(rows: &DonorRows, schema: &PanelSchema) -> DonorRows {
    let scaled = |row: &Vec<f64>| row.iter().map(|&x| schema.to_unit(x)).collect();
    rows.iter().map(scaled).collect()
}

impl<'a> Stage<'a> {
    /// # Errors
    /// Where the share is too small.
    pub fn new(
        schema: &'a PanelSchema,
        kind: SecondStage,
        pre_periods: usize,
        periods: usize,
        weights: Vec<f64>,
        share: Share,
    ) -> Result<Stage<'a>, PanelError> {
        // Weights that are all zero still get noise: of one lattice unit's sensitivity, or thereabouts.
        let largest = weights
            .iter()
            .fold(f64::MIN_POSITIVE.sqrt(), |f, w| f.max(w.abs()));
        let (norm, cells, sensitivity) = match kind {
            SecondStage::Matrix => (
                Norm::L2,
                weights.len() * periods,
                2.0 * (periods as f64).sqrt(),
            ),
            SecondStage::Projected => (Norm::LInfinity, periods, 2.0 * largest),
            SecondStage::Att => (Norm::L2, 1, 2.0 * largest),
        };
        let channel = Channel::new(share, norm, cells, sensitivity, Rounding::Nearest)?;
        Ok(Stage {
            schema,
            kind,
            pre_periods,
            periods,
            weights,
            channel,
        })
    }

    fn name(&self) -> &'static str {
        match self.kind {
            SecondStage::Matrix => MATRIX,
            SecondStage::Projected => PATH,
            SecondStage::Att => MEAN,
        }
    }

    fn cells(&self) -> usize {
        match self.kind {
            SecondStage::Matrix => self.weights.len() * self.periods,
            SecondStage::Projected => self.periods,
            SecondStage::Att => 1,
        }
    }

    /// Charges and draws.
    ///
    /// # Errors
    /// Where the accountant refuses.
    pub fn measure(
        &self,
        donors: &Confidential<DonorRows>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<PanelMeasurement, PanelError> {
        let question = Question {
            schema: self.schema,
            kind: self.kind,
            pre_periods: self.pre_periods,
            weights: &self.weights,
            lattice: self.channel.lattice(),
        };
        let exact = donors.ask(&question, answer);
        self.channel.release(self.name(), exact, accountant, noise)
    }

    /// The counterfactual that a measurement gives.
    ///
    /// # Errors
    /// Where the measurement is of another kind.
    pub fn project(&self, measured: &PanelMeasurement) -> Result<Projected, PanelError> {
        if measured.name != self.name() || measured.values.len() != self.cells() {
            return Err(PanelError::Release(format!(
                "{:?} with {} values is expected",
                self.name(),
                self.cells()
            )));
        }
        let numbers = measured.numbers();
        let identity = |size: usize, factor: f64| {
            Mat::from_fn(size, size, |i, k| if i == k { factor } else { 0.0 })
        };
        if self.kind != SecondStage::Matrix {
            let noise = NoiseTerm::of(measured, identity(numbers.len(), 1.0));
            return Ok(Projected {
                path: numbers,
                noise,
            });
        }
        let rows: Vec<Vec<f64>> = numbers.chunks(self.periods).map(<[f64]>::to_vec).collect();
        // The noise of a period is the inner product of a column of noise with the weights: as many leading
        // coordinates, turned, as there are periods.
        let length = super::linear::length(&self.weights);
        Ok(Projected {
            path: weighted_sum(&rows, &self.weights, 0),
            noise: NoiseTerm::of(measured, identity(self.periods, length)),
        })
    }
}

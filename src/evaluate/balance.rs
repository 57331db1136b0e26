//! Covariate balance: how far apart the arms are in each covariate, on both tables.

use super::marginals::can_be_counted;
use super::{Question, count, marginal};
use crate::estimate::DesignMatrix;
use crate::schema::SCALE;
use crate::table::CodedTable;
use ndarray::Array2;
use serde::Serialize;

/// The difference between an arm and the reference in one covariate score.
///
/// `(mean in the arm - mean in the reference) / sqrt((v_arm + v_reference) / 2)`, the variances `v` those of
/// the confidential table for both, so that a difference of the two numbers is a difference of means.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BalanceComparison {
    /// The score: a covariate, or one of its levels, such as `married=true` (see
    /// [`DesignMatrix`]).
    pub covariate: String,
    /// The arm and the reference, such as `treat 1 - 0`.
    pub contrast: String,
    /// The standardised difference on the confidential table; `NaN` where an arm is empty or nothing varies.
    pub confidential: f64,
    /// The same on the synthetic table.
    pub synthetic: f64,
}

/// Means and variances of a covariate's scores, by arm.
struct ArmScores {
    means: Array2<f64>,
    variances: Array2<f64>,
}

/// Every score of every covariate, arm by arm.
pub(super) fn compare(confidential: &CodedTable, question: &Question) -> Vec<BalanceComparison> {
    let schema = &question.schema;
    let Some(treatment) = schema.treatment() else {
        return Vec::new();
    };
    let arms = schema.columns[treatment].levels();
    let mut rows = Vec::new();
    for covariate in &DesignMatrix::from_schema(schema).covariates {
        let query = marginal(&[treatment, covariate.column]);
        if !can_be_counted(&query, schema) {
            continue;
        }
        let of = |table: &CodedTable| {
            let counts = count(table, schema, &query);
            ArmScores::new(&counts, arms, &covariate.scores)
        };
        let real = of(confidential);
        let synthetic: Vec<ArmScores> = question.synthetic.iter().map(of).collect();
        for (score, name) in covariate.names.iter().enumerate() {
            for arm in 1..arms {
                let spread = real.spread(arm, score);
                let difference = |scores: &ArmScores| scores.difference(arm, score) / spread;
                let sum: f64 = synthetic.iter().map(difference).sum();
                rows.push(BalanceComparison {
                    covariate: name.clone(),
                    contrast: contrast(question, arm),
                    confidential: difference(&real),
                    synthetic: sum / synthetic.len() as f64,
                });
            }
        }
    }
    rows
}

/// The arm and the reference.
pub(super) fn contrast(question: &Question, arm: usize) -> String {
    let schema = &question.schema;
    let treatment = schema
        .treatment()
        .map(|treatment| &schema.columns[treatment]);
    treatment.map_or(String::new(), |column| {
        let [arm, reference] = [arm as u16, 0].map(|code| column.level_name(code));
        format!("{} {arm} - {reference}", column.name)
    })
}

impl ArmScores {
    /// From the counts of arm by code (arm-major), and the scores by code.
    fn new(counts: &[i64], arms: usize, scores: &Array2<f64>) -> ArmScores {
        let (levels, width) = scores.dim();
        let mut means = Array2::zeros((arms, width));
        let mut variances = Array2::zeros((arms, width));
        for (arm, counts) in counts.chunks_exact(levels).enumerate() {
            let weights: Vec<f64> = counts.iter().map(|&c| c as f64 / SCALE as f64).collect();
            let rows: f64 = weights.iter().sum();
            for score in 0..width {
                let mean_of = |of: &dyn Fn(f64) -> f64| {
                    let values = scores.column(score);
                    let terms = weights.iter().zip(values).map(|(w, s)| w * of(*s));
                    terms.sum::<f64>() / rows
                };
                let mean = mean_of(&|s| s);
                means[(arm, score)] = mean;
                variances[(arm, score)] = mean_of(&|s| (s - mean).powi(2));
            }
        }
        ArmScores { means, variances }
    }

    fn difference(&self, arm: usize, score: usize) -> f64 {
        self.means[(arm, score)] - self.means[(0, score)]
    }

    /// The denominator; `NaN` where nothing varies, so that no ratio comes of it.
    fn spread(&self, arm: usize, score: usize) -> f64 {
        let variance = f64::midpoint(self.variances[(arm, score)], self.variances[(0, score)]);
        if variance > 0.0 {
            variance.sqrt()
        } else {
            f64::NAN
        }
    }
}

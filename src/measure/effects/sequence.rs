//! The sequence of stages.

use super::EffectsPlan;
use super::outcome_statistics::{
    ArmTotals, ResidualSizes, ResidualSquares, ResidualTotals, Residuals,
};
use super::parameters::{arm_counts, range_of};
use super::plan::{gram_constant, means_radius, radius};
use super::scale::{ADJUSTED_NOISE, UNADJUSTED_NOISE, edges, residual_scale};
use super::score_statistics::{Cross, Grams, Imbalance, ScoreMoments, ScoreTotals, WEIGHT_SCALE};
use super::scorer::{Range, Scorer};
use super::selection::{Association, utilities, utility_sensitivity};
use super::statistic::{Questions, Statistic, totals};
use crate::measure::MeasureError;
use crate::privacy::{
    Accountant, Adjacency, Confidential, ExponentialMechanism, GaussianMechanism, NoiseSource,
    Sensitivity, SymmetricGaussianMechanism,
};
use crate::release::{
    EffectMeasurement, EffectsParameters, EffectsRelease, ReleasedScore, SelectionRound,
};
use crate::schema::{SCALE, SCORE_SCALE, Schema, Score, ScoreForm};
use crate::table::CodedTable;
use crate::workload::Stage;

/// Shares of arms are taken to lie this far from 0 and 1, so that weights stay bounded.
pub const LEAST_SHARE: f64 = 0.05;

/// `mu n` beyond which the range of a numeric score of a numeric outcome's table is three standard
/// deviations wide to each side, else two (chosen by simulation: narrow ranges use the budget better, wide
/// ones bias less).
const WIDE_RANGE_FROM: f64 = 3000.0;

/// Measures every stage.
///
/// # Errors
/// Where the accountant or a mechanism refuses; nothing is released then.
pub fn run(
    plan: &EffectsPlan,
    schema: &Schema,
    adjacency: Adjacency,
    table: &Confidential<CodedTable>,
    accountant: &mut Accountant,
    noise: &mut NoiseSource,
) -> Result<EffectsRelease, MeasureError> {
    let mut sequence = Sequence {
        plan,
        schema,
        adjacency,
        table,
        accountant,
        noise,
        parameters: EffectsParameters::default(),
        selection: Vec::new(),
        measurements: Vec::new(),
    };
    sequence.measure_arms()?;
    sequence.measure_ranges()?;
    sequence.measure_scale()?;
    sequence.select()?;
    sequence.measure_residuals()?;
    if !sequence.parameters.kept.is_empty() {
        sequence.measure_score_means()?;
        sequence.measure_products()?;
    }
    let released = |score: &Score| ReleasedScore {
        name: score.name.clone(),
        column: schema.columns[score.column].name.clone(),
        form: score.form.clone(),
    };
    Ok(EffectsRelease {
        scores: plan.block.scores.iter().map(released).collect(),
        parameters: sequence.parameters,
        selection: sequence.selection,
        measurements: sequence.measurements,
    })
}

struct Sequence<'a> {
    plan: &'a EffectsPlan,
    schema: &'a Schema,
    adjacency: Adjacency,
    table: &'a Confidential<CodedTable>,
    accountant: &'a mut Accountant,
    noise: &'a mut NoiseSource,
    parameters: EffectsParameters,
    selection: Vec<SelectionRound>,
    measurements: Vec<EffectMeasurement>,
}

impl Sequence<'_> {
    fn arms(&self) -> usize {
        self.schema.columns[self.plan.block.treatment].levels()
    }

    fn records(&self) -> f64 {
        self.parameters.counts.iter().sum()
    }

    fn charge(&self, stage: Stage) -> f64 {
        self.plan.charge(stage).unwrap_or(0.0)
    }

    /// Asks for exact sums in one pass, and releases each with its stage's charge.
    fn measure(
        &mut self,
        scorer: &Scorer,
        statistics: &[(Stage, Vec<usize>, &dyn Statistic)],
    ) -> Result<(), MeasureError> {
        let questions = Questions {
            treatment: self.plan.block.treatment,
            scorer,
            statistics: statistics
                .iter()
                .map(|(.., statistic)| *statistic)
                .collect(),
        };
        let exact = self.table.ask(&questions, totals).into_parts();
        for ((stage, shape, statistic), exact) in statistics.iter().zip(exact) {
            self.release(*stage, shape.clone(), *statistic, exact)?;
        }
        Ok(())
    }

    fn release(
        &mut self,
        stage: Stage,
        shape: Vec<usize>,
        statistic: &dyn Statistic,
        exact: Confidential<Vec<i64>>,
    ) -> Result<(), MeasureError> {
        let reach = statistic.reach();
        let sensitivity = Sensitivity::of_sum(
            reach.norm,
            reach.diameter,
            self.adjacency,
            self.schema.unit.max_rows(),
        )?;
        let charge = self.charge(stage);
        let (values, sigma, off_diagonal, cost) = if stage == Stage::Covariance {
            let mechanism = SymmetricGaussianMechanism::new(sensitivity, charge)?;
            let order = self.parameters.kept.len() + 1;
            let values = mechanism.release(exact, order, self.accountant, self.noise)?;
            let off_diagonal = Some(mechanism.off_diagonal_sigma());
            (values, mechanism.sigma(), off_diagonal, mechanism.cost())
        } else {
            let mechanism = GaussianMechanism::new(sensitivity, charge)?;
            let noisy = mechanism.release(exact, self.accountant, self.noise)?;
            (noisy.values, mechanism.sigma(), None, mechanism.cost())
        };
        let name = match off_diagonal {
            Some(_) => "symmetric-discrete-gaussian",
            None => "discrete-gaussian",
        };
        self.measurements.push(EffectMeasurement {
            stage,
            shape,
            mechanism: name.into(),
            scale: statistic.scale(),
            sigma,
            off_diagonal_sigma: off_diagonal,
            sigma_squared: u128::from(sigma).pow(2).to_string(),
            sensitivity_squared: sensitivity.squared().to_string(),
            cost,
            values,
        });
        Ok(())
    }

    /// The last measurement's sums and the standard deviation of their noise.
    fn last(&self) -> (Vec<f64>, f64) {
        let last = self.measurements.last();
        last.map_or((Vec::new(), 0.0), |m| (m.sums(), m.noise()))
    }

    fn measure_arms(&mut self) -> Result<(), MeasureError> {
        let arms = self.arms();
        let statistic = ArmTotals { arms };
        let none = Scorer::new(self.schema, &[], &[]);
        self.measure(&none, &[(Stage::Arms, vec![arms, 2], &statistic)])?;
        let (sums, noise) = self.last();
        let noisy: Vec<f64> = sums.chunks_exact(2).map(|pair| pair[0]).collect();
        let counts = arm_counts(self.schema, &noisy, noise);
        let centre = |(pair, count): (&[f64], &f64)| {
            ((pair[1] / count).clamp(-1.0, 1.0) * SCALE as f64).round() as i64
        };
        self.parameters.centres = sums.chunks_exact(2).zip(&counts).map(centre).collect();
        self.parameters.counts = counts;
        Ok(())
    }

    fn measure_ranges(&mut self) -> Result<(), MeasureError> {
        let values: Vec<Score> = self.plan.block.values().cloned().collect();
        let mut ranges = vec![Range::WHOLE; values.len()];
        if !values.is_empty() {
            let scorer = Scorer::new(self.schema, &values, &ranges);
            let statistic = ScoreMoments {
                scores: values.len(),
            };
            let shape = vec![values.len(), 2];
            self.measure(&scorer, &[(Stage::Ranges, shape, &statistic)])?;
            let (sums, noise) = self.last();
            let records = self.records();
            let wide = self.plan.block.numeric && self.plan.mu() * records >= WIDE_RANGE_FROM;
            let reach = if wide { 3.0 } else { 2.0 };
            for (range, pair) in ranges.iter_mut().zip(sums.chunks_exact(2)) {
                *range = range_of(pair[0] / records, pair[1] / records, noise / records, reach);
            }
        }
        let of_score = |score: &Score| match score.form {
            ScoreForm::Codes(_) => [-1.0, 1.0],
            _ => {
                let at = values.iter().position(|value| value.column == score.column);
                let range = at.map_or(Range::WHOLE, |at| ranges[at]);
                [range.lower, range.upper]
            }
        };
        self.parameters.ranges = self.plan.block.scores.iter().map(of_score).collect();
        Ok(())
    }

    fn measure_scale(&mut self) -> Result<(), MeasureError> {
        let farthest = self.parameters.centres.iter().map(|c| c.abs()).max();
        let largest = SCALE + farthest.unwrap_or(0);
        if !self.plan.block.numeric {
            self.parameters.residual_bound = largest;
            return Ok(());
        }
        let in_units = |edge: f64| (edge * SCALE as f64).round() as i64;
        let statistic = ResidualSizes {
            centres: self.parameters.centres.clone(),
            edges: edges().into_iter().map(in_units).collect(),
        };
        let none = Scorer::new(self.schema, &[], &[]);
        let shape = vec![statistic.edges.len()];
        self.measure(&none, &[(Stage::Scale, shape, &statistic)])?;
        let (counts, noise) = self.last();
        let largest = largest as f64 / SCALE as f64;
        let weight = match self.plan.block.scores.is_empty() {
            true => UNADJUSTED_NOISE,
            false => ADJUSTED_NOISE,
        };
        let (mu, records) = (self.plan.mu(), self.records());
        let read = residual_scale(&counts, noise, largest, mu, records, weight);
        self.parameters.residual_scale = read.scale;
        self.parameters.residual_spread = read.spread;
        self.parameters.residual_excess = read.excess;
        self.parameters.residual_bound = in_units(read.bound).max(1);
        Ok(())
    }

    fn residuals(&self) -> Residuals {
        Residuals {
            centres: self.parameters.centres.clone(),
            bound: self.parameters.residual_bound,
        }
    }

    /// A scorer of these candidates.
    fn scorer(&self, candidates: &[usize]) -> Scorer {
        let block = &self.plan.block;
        let scores: Vec<Score> = candidates
            .iter()
            .map(|&j| block.scores[j].clone())
            .collect();
        let range = |&j: &usize| {
            let [lower, upper] = self.parameters.ranges[j];
            Range { lower, upper }
        };
        let ranges: Vec<Range> = candidates.iter().map(range).collect();
        Scorer::new(self.schema, &scores, &ranges)
    }

    fn select(&mut self) -> Result<(), MeasureError> {
        let block = &self.plan.block;
        let all: Vec<usize> = (0..block.scores.len()).collect();
        if !block.selects() {
            self.parameters.kept = all;
            return Ok(());
        }
        let records = self.records();
        let share = |n: &f64| (n / records).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
        let shares: Vec<f64> = self.parameters.counts.iter().map(share).collect();
        let (scorer, residuals) = (self.scorer(&all), self.residuals());
        let association = Association {
            treatment: block.treatment,
            scorer: &scorer,
            shares: &shares,
            residuals: &residuals,
        };
        let scores = self.table.ask(&association, utilities);
        let sensitivity = utility_sensitivity(self.adjacency, self.schema.unit.max_rows());
        let rho = self.charge(Stage::Selection) / 2.0 / block.keep as f64;
        let mechanism = ExponentialMechanism::new(sensitivity, rho)?;
        let mut kept = mechanism.choose(scores, block.keep, self.accountant, self.noise)?;
        self.selection = kept
            .iter()
            .map(|&j| SelectionRound {
                chosen: block.scores[j].name.clone(),
                epsilon: mechanism.epsilon(),
                cost: mechanism.cost(),
            })
            .collect();
        kept.sort_unstable();
        self.parameters.kept = kept;
        Ok(())
    }

    fn measure_residuals(&mut self) -> Result<(), MeasureError> {
        let arms = self.arms();
        let squares = ResidualSquares(self.residuals());
        let sums = ResidualTotals(self.residuals());
        let none = Scorer::new(self.schema, &[], &[]);
        let asked: [(Stage, Vec<usize>, &dyn Statistic); 2] = [
            (Stage::Spread, vec![arms], &squares),
            (Stage::OutcomeMeans, vec![arms], &sums),
        ];
        let spread = usize::from(!self.plan.block.numeric);
        self.measure(&none, &asked[spread..])
    }

    fn measure_score_means(&mut self) -> Result<(), MeasureError> {
        let kept = self.parameters.kept.clone();
        let scores = kept.len();
        let radius = means_radius(scores);
        self.parameters.means_radius = radius;
        let scorer = self.scorer(&kept).clipped(radius);
        let statistic = ScoreTotals { scores, radius };
        self.measure(&scorer, &[(Stage::ScoreMeans, vec![scores], &statistic)])?;
        let (sums, _) = self.last();
        let unit = SCORE_SCALE as f64;
        let centre = |sum: &f64| ((sum / self.records()).clamp(-1.0, 1.0) * unit).round() as i64;
        self.parameters.score_centre = sums.iter().map(centre).collect();
        Ok(())
    }

    fn measure_products(&mut self) -> Result<(), MeasureError> {
        let (arms, scores) = (self.arms(), self.parameters.kept.len());
        let records = self.records();
        let radius = radius(scores, self.plan.mu() * records);
        self.parameters.radius = radius;
        let floor = |n: &f64| n.max(LEAST_SHARE * records);
        let counts: Vec<f64> = self.parameters.counts.iter().map(floor).collect();
        let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
        let weight = |n: &f64| ((least / n * WEIGHT_SCALE as f64) as i64).max(1);
        self.parameters.weights = counts.iter().map(weight).collect();
        self.parameters.gram_constant = gram_constant(radius);
        let scorer = self.scorer(&self.parameters.kept);
        let scorer = scorer
            .clipped(radius)
            .centred(self.parameters.score_centre.clone());
        let imbalance = Imbalance {
            scores,
            radius,
            weights: self.parameters.weights.clone(),
        };
        let cross = Cross {
            scores,
            radius,
            residuals: self.residuals(),
        };
        let grams = Grams {
            arms,
            scores,
            radius,
            constant: self.parameters.gram_constant,
        };
        let triangle = grams.triangle();
        self.measure(
            &scorer,
            &[
                (Stage::Imbalance, vec![arms - 1, scores], &imbalance),
                (Stage::Cross, vec![arms, scores], &cross),
                (Stage::Covariance, vec![arms, triangle], &grams),
            ],
        )
    }
}

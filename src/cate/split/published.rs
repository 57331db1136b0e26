//! The doubly robust learner with DP-EBM as the published code has it: NOT PRIVATE, for comparison alone.
//!
//! What is otherwise than in [`ebm`](super::ebm):
//! * the target is not centred, and residuals are not clipped to the range that the noise is computed with;
//! * the pseudo-outcome is not clipped (propensities are, to `[.05, .95]`), and its range is the data's;
//! * the sweep uses the exact number of records;
//! * epsilon is divided `.1` to `.9` between counts and turns, and delta in halves, instead of `mu^2`;
//! * the propensity is boosted by the logistic loss.
//!
//! What could not be kept: the stratified split (the division is that of the other learners), ranges of covariates and outcome
//! from the data (the schema's are used), and categories from the data (the schema's). Sums are in floating point.

use super::ebm::{Feature, FeatureBins};
use super::sequence::effect_bound;
use crate::cate::document::{Drawn, document};
use crate::cate::{CateDocuments, CateError, CatePlan};
use crate::privacy::{Accountant, Budget, NoiseSource, NotPrivate, Part, mu_from_epsilon_delta};
use crate::release::{
    AdditiveModel, BoostedModel, CateParameters, CateRelease, NOT_PRIVATE, ReleasedPart,
    SplitRelease,
};
use crate::schema::SCALE;
use crate::table::CodedTable;
use crate::workload::{BoostingFile, SplitPart, SplitSettings};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;
use rand_distr::StandardNormal;

/// The share of epsilon that counts get.
const BINS_SHARE: f64 = 0.1;

/// Propensities are clipped to lie this far from 0 and 1.
const OVERLAP: f64 = 0.05;

/// The sweep closes a bin when it holds one part in so many of the records.
const SWEPT: f64 = 31.0;

/// Draws a release as the published code would.
///
/// # Errors
/// Where the budget is not an epsilon with a delta.
pub fn run(
    plan: &CatePlan,
    settings: &SplitSettings,
    documents: CateDocuments,
    parts: Vec<Part<CodedTable>>,
    whole: Accountant,
    noise: &mut NoiseSource,
) -> Result<CateRelease, CateError> {
    let mut stated = Vec::new();
    let mut tables = Vec::new();
    for (part, (kind, share)) in parts.into_iter().zip(&settings.parts) {
        stated.push(ReleasedPart {
            name: kind.name().into(),
            share: *share,
            spent: part.accountant.spent(),
        });
        tables.push(part.table.disclose(NotPrivate::acknowledged()));
    }
    let [propensity, outcome, effect] = tables.as_slice() else {
        return Err(CateError::Configuration(
            "the published code has three parts".into(),
        ));
    };
    let mut learner = Learner::new(plan, settings, noise.public_coins())?;
    let treated = |table: &CodedTable| -> Vec<f64> {
        (0..table.rows)
            .map(|row| learner_arm(table, plan.workload.treatment, row))
            .collect()
    };
    let outcomes = |table: &CodedTable| -> Vec<f64> {
        let half = f64::from(u32::try_from(SCALE).unwrap_or(u32::MAX)) / 2.0;
        table.outcome.iter().map(|&y| f64::from(y) / half).collect()
    };
    // Outcomes in half-ranges above the lower bound, plus where that bound lies: not centred.
    let (lower, half) = bounds(plan);
    let raw = |table: &CodedTable| -> Vec<f64> {
        outcomes(table).iter().map(|y| y + lower / half).collect()
    };
    let odds = learner.fit(propensity, &treated(propensity), Loss::Logistic, false);
    let regression = learner.fit(outcome, &raw(outcome), Loss::Squared(2.0), true);
    let y = raw(effect);
    let pseudo = |row: usize| {
        let e = expit(odds.at(effect, row, 0.0)).clamp(OVERLAP, 1.0 - OVERLAP);
        let [control, treatment] = [-0.5, 0.5].map(|arm| regression.at(effect, row, arm));
        let arm = learner_arm(effect, plan.workload.treatment, row);
        treatment - control + arm * (y[row] - treatment) / e
            - (1.0 - arm) * (y[row] - control) / (1.0 - e)
    };
    let pseudo: Vec<f64> = (0..effect.rows).map(pseudo).collect();
    let most = pseudo.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = pseudo.iter().copied().fold(f64::INFINITY, f64::min);
    let range = if most > least { most - least } else { 1.0 };
    let found = learner.fit(effect, &pseudo, Loss::Squared(range), false);
    let unit = effect_bound(&plan.workload, settings);
    let models = [odds, regression, found.scaled(1.0 / unit)];
    let boosted = |(model, (kind, _)): (AdditiveModel, &(SplitPart, f64))| BoostedModel {
        part: kind.name().into(),
        turns: 0,
        rate: settings.boosting.rate,
        lattice_bits: 0,
        scale: 0,
        sensitivity: 0,
        cost: crate::privacy::Cost::ZERO,
        model,
    };
    let mut split = SplitRelease::new(
        stated,
        models
            .into_iter()
            .zip(&settings.parts)
            .map(boosted)
            .collect(),
    );
    split.not_private = Some(NOT_PRIVATE.into());
    let drawn = Drawn {
        parameters: CateParameters::default(),
        split: Some(split),
        measurements: Vec::new(),
    };
    document(plan, documents, &whole, drawn, noise.is_insecure())
}

/// 1 for a treated row, 0 for another.
fn learner_arm(table: &CodedTable, treatment: usize, row: usize) -> f64 {
    let arms = table.codes[treatment].as_ref().expect("a coded treatment");
    f64::from(arms[row].min(1))
}

/// The outcome's lower bound, and half its range; a two-level outcome is 0 or 1.
fn bounds(plan: &CatePlan) -> (f64, f64) {
    let outcome = &plan.schema.columns[plan.workload.outcome];
    let (lower, upper) = outcome.bounds().unwrap_or((0.0, 1.0));
    (lower, (upper - lower) / 2.0)
}

/// What is minimised; of squares, with the range that the noise is computed with.
#[derive(Clone, Copy)]
enum Loss {
    Squared(f64),
    Logistic,
}

struct Learner<'a> {
    plan: &'a CatePlan,
    boosting: BoostingFile,
    bins_mu: f64,
    turns_mu: f64,
    coins: ChaCha20Rng,
}

impl<'a> Learner<'a> {
    fn new(
        plan: &'a CatePlan,
        settings: &SplitSettings,
        coins: ChaCha20Rng,
    ) -> Result<Learner<'a>, CateError> {
        let Budget::Approximate { epsilon, delta } = plan.guarantee.budget else {
            return Err(CateError::Configuration(
                "the published code divides an epsilon and a delta: give --epsilon and --delta"
                    .into(),
            ));
        };
        Ok(Learner {
            plan,
            boosting: settings.boosting,
            bins_mu: mu_from_epsilon_delta(BINS_SHARE * epsilon, delta / 2.0)?,
            turns_mu: mu_from_epsilon_delta((1.0 - BINS_SHARE) * epsilon, delta / 2.0)?,
            coins,
        })
    }

    fn normal(&mut self) -> f64 {
        self.coins.sample(StandardNormal)
    }

    fn fit(
        &mut self,
        table: &CodedTable,
        y: &[f64],
        loss: Loss,
        with_treatment: bool,
    ) -> AdditiveModel {
        let workload = &self.plan.workload;
        let treatment = with_treatment.then_some(workload.treatment);
        let columns: Vec<usize> = workload.columns.iter().copied().chain(treatment).collect();
        let features: Vec<Feature> = columns
            .iter()
            .map(|&column| Feature::new(&self.plan.schema, column))
            .collect();
        let d = features.len() as f64;
        let bins_noise = d.sqrt() / self.bins_mu;
        let mut rows: Vec<Vec<u8>> = Vec::new();
        let mut bins: Vec<FeatureBins> = Vec::new();
        for feature in &features {
            let mut own = coarse(table, feature);
            let mut counts = vec![0.0; feature.coarse()];
            for &bin in &own {
                counts[usize::from(bin)] += 1.0;
            }
            for count in &mut counts {
                *count += bins_noise * self.normal();
            }
            let swept = FeatureBins::swept(feature, &counts, y.len() as f64 / SWEPT);
            for bin in &mut own {
                *bin = swept.map[usize::from(*bin)];
            }
            rows.push(own);
            bins.push(swept);
        }
        let range = match loss {
            Loss::Squared(range) => range,
            Loss::Logistic => 1.0,
        };
        let rounds = f64::from(self.boosting.rounds);
        let noise = (rounds * d).sqrt() / self.turns_mu * range * self.boosting.rate;
        let mut order: Vec<usize> = (0..features.len()).collect();
        order.shuffle(&mut self.coins);
        let mut scores = vec![0.0; y.len()];
        let mut fits: Vec<Vec<f64>> = bins.iter().map(|bins| vec![0.0; bins.len()]).collect();
        for _ in 0..self.boosting.rounds {
            for &feature in &order {
                let cuts = self.cuts(bins[feature].len());
                let leaf = |bin: u8| cuts.iter().filter(|cut| usize::from(bin) >= **cut).count();
                let mut sums = [0.0; 3];
                for ((&bin, score), y) in rows[feature].iter().zip(&scores).zip(y) {
                    sums[leaf(bin)] += match loss {
                        Loss::Squared(_) => y - score,
                        Loss::Logistic => y - expit(*score),
                    };
                }
                let mut weights = [0.0; 3];
                for (bin, weight) in bins[feature].weights.iter().enumerate() {
                    weights[leaf(bin as u8)] += weight;
                }
                let mut steps = [0.0; 3];
                for ((step, sum), weight) in steps.iter_mut().zip(sums).zip(weights) {
                    let noisy = self.boosting.rate * sum + noise * self.normal();
                    *step = if weight > 0.0 { noisy / weight } else { 0.0 };
                }
                for (bin, fit) in fits[feature].iter_mut().enumerate() {
                    *fit += steps[leaf(bin as u8)];
                }
                for (score, &bin) in scores.iter_mut().zip(&rows[feature]) {
                    *score += steps[leaf(bin)];
                }
            }
        }
        super::ebm::centred(&features, &bins, &fits, with_treatment)
    }

    /// Two different cuts between so many bins, as far as there are two.
    fn cuts(&mut self, bins: usize) -> [usize; 2] {
        match bins {
            0 | 1 => [bins, bins],
            2 => [1, 2],
            _ => {
                let first = self.coins.random_range(1..bins);
                let second = self.coins.random_range(1..bins - 1);
                [first, if second >= first { second + 1 } else { second }]
            }
        }
    }
}

/// The bins of a feature before the sweep.
fn coarse(table: &CodedTable, feature: &Feature) -> Vec<u8> {
    let codes = table.codes[feature.column]
        .as_ref()
        .expect("a coded column");
    let values = table.values.get(feature.column).and_then(Option::as_ref);
    let position = |row: usize| values.map_or(0, |values| values[row]);
    codes
        .iter()
        .enumerate()
        .map(|(row, &code)| feature.of(code, position(row)))
        .collect()
}

fn expit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

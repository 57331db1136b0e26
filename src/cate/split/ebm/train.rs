//! Training: counts, sweep, turns, centring.

use super::bins::{self, Feature, FeatureBins};
use super::boost::{self, BoostQuestion, BoostTable, RESIDUAL_SCALE, Turn, Update, WEIGHT_SCALE};
use crate::cate::CateError;
use crate::cate::split::Targets;
use crate::measure::effects::Reach;
use crate::privacy::{
    Accountant, Adjacency, Confidential, Cost, GaussianMechanism, NoiseSource, Part, Sensitivity,
};
use crate::release::{AdditiveModel, BoostedModel, NoiseLaw, PanelMeasurement};
use crate::schema::Schema;
use crate::table::CodedTable;
use crate::workload::{BoostingFile, SplitPart};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;

/// The largest step of a turn: half the target's range.
const LARGEST_STEP: f64 = RESIDUAL_SCALE as f64;

/// What is trained.
#[derive(Debug)]
pub struct Task<'a> {
    /// The schema.
    pub schema: &'a Schema,
    /// The covariates.
    pub columns: &'a [usize],
    /// Index of the treatment.
    pub treatment: usize,
    /// The targets.
    pub targets: &'a Targets,
    /// The part of the records.
    pub part: SplitPart,
    /// The settings.
    pub boosting: BoostingFile,
    /// What neighbouring tables are.
    pub adjacency: Adjacency,
    /// The budget, as `mu^2`.
    pub mu_squared: f64,
    /// Whether residuals are clipped: always, but in the test that shows why.
    pub clips: bool,
}

/// What training releases.
#[derive(Debug, Clone)]
pub struct Boosted {
    /// The counts of all features' bins before the sweep.
    pub counts: PanelMeasurement,
    /// The fit, in multiples of the targets' bound.
    pub model: BoostedModel,
}

/// The mechanisms of a task.
#[derive(Debug, Clone, Copy)]
pub struct Mechanisms {
    /// Of the counts.
    pub counts: GaussianMechanism,
    /// Of a turn.
    pub turn: GaussianMechanism,
    /// The number of turns.
    pub turns: u32,
}

impl Task<'_> {
    /// The features: the covariates, then the treatment where it is one.
    pub fn features(&self) -> Vec<Feature> {
        let treatment = self.targets.has_treatment().then_some(self.treatment);
        let columns = self.columns.iter().copied().chain(treatment);
        columns
            .map(|column| Feature::new(self.schema, column))
            .collect()
    }

    /// The mechanisms, by the budget.
    ///
    /// # Errors
    /// Where the budget has no room for Gaussian noise.
    pub fn mechanisms(&self, features: usize) -> Result<Mechanisms, CateError> {
        let sensitivity =
            |reach: Reach| Sensitivity::of_sum(reach.norm, reach.diameter, self.adjacency, 1);
        let weight = self.targets.weight_bound();
        let share = self.boosting.bins_share;
        // Features are fewer than a schema's columns, rounds at most 10 000.
        let turns = self.boosting.rounds * features as u32;
        let of_turn = (1.0 - share) * self.mu_squared / f64::from(turns);
        Ok(Mechanisms {
            counts: GaussianMechanism::new(
                sensitivity(bins::reach(features, weight))?,
                share * self.mu_squared,
            )?,
            turn: GaussianMechanism::new(sensitivity(boost::reach(weight))?, of_turn)?,
            turns,
        })
    }
}

/// The name of the measurement of a part's counts.
pub fn bins_name(part: SplitPart) -> String {
    format!("{} bins", part.name())
}

/// Who sees all noisy answers as they are released: nobody, but in the tests that attack them.
pub trait Observer {
    /// The counts, with the sweep's maps from bins before to bins after.
    fn counts(&mut self, counts: &PanelMeasurement, maps: &[Vec<u8>]);

    /// A turn's noisy sums.
    fn turn(&mut self, turn: &Turn, sums: &[i64]);
}

impl Observer for () {
    fn counts(&mut self, _: &PanelMeasurement, _: &[Vec<u8>]) {}

    fn turn(&mut self, _: &Turn, _: &[i64]) {}
}

/// Trains on a part.
///
/// # Errors
/// Where the account or a sampler refuses.
pub fn train(
    task: &Task,
    part: &mut Part<CodedTable>,
    noise: &mut NoiseSource,
) -> Result<Boosted, CateError> {
    train_observed(task, part, noise, &mut ())
}

/// As [`train`], observed.
///
/// # Errors
/// As [`train`].
pub fn train_observed(
    task: &Task,
    part: &mut Part<CodedTable>,
    noise: &mut NoiseSource,
    observer: &mut dyn Observer,
) -> Result<Boosted, CateError> {
    let features = task.features();
    let mechanisms = task.mechanisms(features.len())?;
    let question = BoostQuestion {
        features: &features,
        targets: task.targets,
        treatment: task.treatment,
    };
    let mut table = part.table.ask(&question, BoostTable::new);
    let sizes: Vec<usize> = features.iter().map(Feature::coarse).collect();
    let exact = table.ask(sizes.as_slice(), BoostTable::counts);
    let noisy = mechanisms
        .counts
        .release(exact, &mut part.accountant, noise)?;
    let counts = measurement(
        bins_name(task.part),
        &mechanisms.counts,
        noisy.values,
        WEIGHT_SCALE,
    );
    let bins = swept(&features, &sizes, &counts.numbers());
    let maps: Vec<Vec<u8>> = bins.iter().map(|bins| bins.map.clone()).collect();
    observer.counts(&counts, &maps);
    table.tell(maps.as_slice(), |table, maps| table.merge(maps));
    let mut turns = Turns {
        task,
        bins: &bins,
        // Counts are noisy: a leaf is taken to hold at least what their noise is, and a record.
        least_weight: counts.noise_scale().max(1.0),
        mechanism: &mechanisms.turn,
        coins: noise.public_coins(),
        fits: bins.iter().map(|bins| vec![0; bins.len()]).collect(),
    };
    let cost = turns.run(&mut table, &mut part.accountant, noise, observer)?;
    let unit = |fit: &Vec<i64>| {
        fit.iter()
            .map(|fit| *fit as f64 / RESIDUAL_SCALE as f64)
            .collect()
    };
    let fits: Vec<Vec<f64>> = turns.fits.iter().map(unit).collect();
    let model = centred(&features, &bins, &fits, task.targets.has_treatment());
    Ok(Boosted {
        counts,
        model: BoostedModel {
            part: task.part.name().into(),
            turns: mechanisms.turns,
            rate: task.boosting.rate,
            lattice_bits: RESIDUAL_SCALE.trailing_zeros() as i32,
            scale: mechanisms.turn.sigma(),
            sensitivity: length(&mechanisms.turn),
            cost,
            model,
        },
    })
}

fn measurement(
    name: String,
    mechanism: &GaussianMechanism,
    values: Vec<i64>,
    scale: i64,
) -> PanelMeasurement {
    PanelMeasurement {
        name,
        law: NoiseLaw::DiscreteGaussian,
        // Scales are powers of two.
        lattice_bits: scale.trailing_zeros() as i32,
        scale: mechanism.sigma(),
        sensitivity: length(mechanism),
        cost: mechanism.cost(),
        values,
    }
}

/// The sensitivity, rounded up.
pub fn length(mechanism: &GaussianMechanism) -> u64 {
    (mechanism.sensitivity().squared() as f64).sqrt().ceil() as u64
}

fn swept(features: &[Feature], sizes: &[usize], counts: &[f64]) -> Vec<FeatureBins> {
    let mut rest = counts;
    let of = |(feature, &size): (&Feature, &usize)| {
        let (own, others) = rest.split_at(size);
        rest = others;
        FeatureBins::new(feature, own)
    };
    features.iter().zip(sizes).map(of).collect()
}

/// The turns, and the fit that they add up to.
struct Turns<'a> {
    task: &'a Task<'a>,
    bins: &'a [FeatureBins],
    least_weight: f64,
    mechanism: &'a GaussianMechanism,
    coins: ChaCha20Rng,
    /// By feature and bin, in units of `1 / RESIDUAL_SCALE`.
    fits: Vec<Vec<i64>>,
}

impl Turns<'_> {
    fn run(
        &mut self,
        table: &mut Confidential<BoostTable>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
        observer: &mut dyn Observer,
    ) -> Result<Cost, CateError> {
        let mut order: Vec<usize> = (0..self.bins.len()).collect();
        order.shuffle(&mut self.coins);
        let before = accountant.spent();
        let mut last = Update::default();
        for _ in 0..self.task.boosting.rounds {
            for &feature in &order {
                let turn = Turn {
                    last,
                    feature,
                    cuts: self.cuts(feature),
                    clips: self.task.clips,
                };
                let exact = table.tell(&turn, BoostTable::turn);
                let noisy = self.mechanism.release(exact, accountant, noise)?;
                observer.turn(&turn, &noisy.values);
                last = self.update(&turn, &noisy.values);
            }
        }
        let spent = accountant.spent().gaussian_mu_squared() - before.gaussian_mu_squared();
        Ok(Cost::gaussian(spent)?)
    }

    /// Two different cuts between a feature's bins; with fewer than three bins, leaves stay empty.
    fn cuts(&mut self, feature: usize) -> [u8; 2] {
        let bins = self.bins[feature].len() as u8;
        match bins {
            0 | 1 => [bins, bins],
            2 => [1, 2],
            _ => {
                let first = self.coins.random_range(1..bins);
                let mut second = self.coins.random_range(1..bins - 1);
                if second >= first {
                    second += 1;
                }
                [first.min(second), first.max(second)]
            }
        }
    }

    /// What a turn's noisy sums add to the fit.
    fn update(&mut self, turn: &Turn, sums: &[i64]) -> Update {
        let weights = &self.bins[turn.feature].weights;
        let bins = weights.len();
        let [first, second] = turn.cuts.map(usize::from);
        let leaves = [0..first, first..second, second..bins];
        let mut steps = [0; 3];
        for ((step, leaf), &sum) in steps.iter_mut().zip(leaves).zip(sums) {
            if leaf.is_empty() {
                continue;
            }
            let weight = weights[leaf.clone()]
                .iter()
                .sum::<f64>()
                .max(self.least_weight);
            let mean = sum as f64 / weight;
            let add = (self.task.boosting.rate * mean).clamp(-LARGEST_STEP, LARGEST_STEP);
            *step = add.round() as i32;
            for fit in &mut self.fits[turn.feature][leaf] {
                *fit += i64::from(*step);
            }
        }
        Update {
            feature: turn.feature,
            cuts: turn.cuts,
            steps,
        }
    }
}

/// The model with every covariate's function centred by its noisy counts; the treatment is the last feature, where it is
/// one.
pub fn centred(
    features: &[Feature],
    bins: &[FeatureBins],
    fits: &[Vec<f64>],
    has_treatment: bool,
) -> AdditiveModel {
    let mut model = AdditiveModel::default();
    let covariates = features.len() - usize::from(has_treatment);
    for ((feature, bins), fit) in features.iter().zip(bins).zip(fits).take(covariates) {
        let mass: f64 = bins.weights.iter().sum();
        let total: f64 = bins.weights.iter().zip(fit).map(|(w, x)| w * x).sum();
        let mean = if mass > 0.0 { total / mass } else { 0.0 };
        model.intercept += mean;
        let values: Vec<f64> = fit.iter().map(|value| value - mean).collect();
        model.terms.push(bins.term(feature, &values));
    }
    if has_treatment && let Some([control, treated]) = fits.last().map(Vec::as_slice) {
        model.treatment = treated - control;
        model.intercept += f64::midpoint(*treated, *control);
    }
    model
}

/// By term of a model, its mean over the records whose bins these noisy counts (of all covariates, before the sweep) are of.
pub fn term_means(model: &AdditiveModel, schema: &Schema, counts: &[f64]) -> Vec<f64> {
    let mut rest = counts;
    let of = |term: &crate::release::AdditiveTerm| {
        let size = Feature::new(schema, term.column).coarse();
        let (own, others) = rest.split_at(size.min(rest.len()));
        rest = others;
        let value = |bin: usize| match &term.curve {
            // The middle of a coarse bin.
            Some(curve) if bin < bins::COARSE => {
                curve.at((((2 * bin + 1) << 15) / bins::COARSE) as u16)
            }
            Some(curve) => term.codes[usize::from(curve.covers) + bin - bins::COARSE],
            None => term.codes[bin],
        };
        let weights = own.iter().map(|count| count.max(0.0)).enumerate();
        let (mass, total) = weights.fold((0.0, 0.0), |(mass, total), (bin, weight)| {
            (mass + weight, total + weight * value(bin))
        });
        if mass > 0.0 { total / mass } else { 0.0 }
    };
    model.terms.iter().map(of).collect()
}

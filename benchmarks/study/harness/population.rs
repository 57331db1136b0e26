//! A population: units with covariates, the law of treatment and outcome given them, and the truth.
//!
//! A repetition draws `n` units with replacement, then each unit's arm and outcome. So what is estimated
//! is a value of the *population*, and coverage is of that value: where a file is all there is, its units
//! are the population, and the target is the value on the whole file.

use super::coding::CodedRows;
use super::seeds;
use dpcausal::estimate::{Estimand, Group};
use dpcausal::schema::{Schema, SchemaFile};
use rand::RngExt;
use rand_chacha::ChaCha12Rng;
use rand_distr::{Distribution, StandardNormal};

/// What is asked of a table: an effect, on everyone or in a subgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// The effect.
    pub estimand: Estimand,
    /// Whom it is about, where not about everyone.
    pub group: Option<Group>,
}

impl Question {
    /// Of everyone.
    pub fn of_everyone(estimand: Estimand) -> Question {
        Question {
            estimand,
            group: None,
        }
    }
}

/// A number that estimates are held against.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Its name in the results.
    pub name: String,
    /// The question that it is the true answer to.
    pub question: Question,
    /// Its value, in the outcome's units.
    pub value: f64,
}

impl Target {
    /// The true effect on everyone (of the treated, where the estimand says so).
    pub fn of_everyone(estimand: Estimand, name: &str, value: f64) -> Target {
        Target {
            name: name.into(),
            question: Question::of_everyone(estimand),
            value,
        }
    }
}

/// How units come to their arms.
pub enum Assignment {
    /// By a propensity, one per unit; drawn anew in each repetition.
    Propensity(Vec<f64>),
    /// As the file says: arm and covariates are drawn together.
    Recorded(Vec<u16>),
}

/// The law of a unit's outcome in the arms 0 and 1; one number per unit in each.
pub enum Outcomes {
    /// 1 with these probabilities, else 0.
    Bernoulli([Vec<f64>; 2]),
    /// Normal with these means, then clipped to the bounds.
    Normal {
        /// Means before clipping.
        means: [Vec<f64>; 2],
        /// Standard deviation before clipping.
        sd: f64,
        /// What values are clipped to.
        bounds: (f64, f64),
    },
    /// The exponential of a normal, cut at an upper bound.
    LogNormal {
        /// Means of the logarithm.
        means: [Vec<f64>; 2],
        /// Standard deviation of the logarithm.
        sd: f64,
        /// The upper bound.
        upper: f64,
    },
    /// Exactly these.
    Recorded([Vec<f64>; 2]),
}

/// One law of treatment and outcome on a population's units, and its truths.
pub struct Law {
    /// How units come to their arms.
    pub assignment: Assignment,
    /// What outcome they have there.
    pub outcomes: Outcomes,
    /// What the estimates are held against.
    pub targets: Vec<Target>,
}

/// A population under study.
pub struct Population {
    /// The dataset's name in study files and results.
    pub name: String,
    /// What the population, its repetitions and its targets are, for the summary.
    pub about: &'static str,
    /// The checked schema.
    pub schema: Schema,
    /// The same as a document, for releases.
    pub document: SchemaFile,
    /// Numeric covariates whose square is a score too.
    pub squares: Vec<String>,
    /// The effect that the targets are values of.
    pub estimand: Estimand,
    /// Whether it serves to choose tuning constants, and therefore appears in no bar.
    pub tuning: bool,
    /// The units' covariates.
    pub units: CodedRows,
    /// The laws; repetition `k` is under law `k` modulo their number.
    pub laws: Vec<Law>,
}

/// The table of one repetition.
pub struct Sample {
    /// The rows.
    pub rows: CodedRows,
    /// What estimates from them are held against.
    pub targets: Vec<Target>,
}

impl Population {
    /// The number of units.
    pub fn size(&self) -> usize {
        self.units.table.rows
    }

    /// The table of repetition `repetition`, of `n` rows.
    pub fn sample(&self, n: usize, repetition: usize, seed: u64) -> Sample {
        let law = &self.laws[repetition % self.laws.len()];
        let mut random = seeds::generator(seed);
        let size = self.size();
        let units: Vec<usize> = (0..n).map(|_| random.random_range(0..size)).collect();
        let (mut arms, mut outcomes) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for &unit in &units {
            let arm = law.assignment.draw(unit, &mut random);
            arms.push(arm);
            outcomes.push(law.outcomes.draw(usize::from(arm), unit, &mut random));
        }
        Sample {
            rows: self.units.gather(&self.schema, &units, arms, &outcomes),
            targets: law.targets.clone(),
        }
    }
}

impl Assignment {
    /// A unit's arm in one repetition.
    pub fn draw(&self, unit: usize, random: &mut ChaCha12Rng) -> u16 {
        match self {
            Assignment::Propensity(propensity) => {
                u16::from(random.random::<f64>() < propensity[unit])
            }
            Assignment::Recorded(arms) => arms[unit],
        }
    }
}

impl Outcomes {
    fn draw(&self, arm: usize, unit: usize, random: &mut ChaCha12Rng) -> f64 {
        let mut normal = || -> f64 { StandardNormal.sample(random) };
        match self {
            Outcomes::Normal { means, sd, bounds } => {
                (means[arm][unit] + sd * normal()).clamp(bounds.0, bounds.1)
            }
            Outcomes::LogNormal { means, sd, upper } => {
                (means[arm][unit] + sd * normal()).exp().min(*upper)
            }
            Outcomes::Bernoulli(probabilities) => {
                f64::from(u8::from(random.random::<f64>() < probabilities[arm][unit]))
            }
            Outcomes::Recorded(values) => values[arm][unit],
        }
    }

    /// The mean of a unit's outcome in an arm, after clipping.
    fn mean(&self, arm: usize, unit: usize) -> f64 {
        match self {
            Outcomes::Bernoulli(values) | Outcomes::Recorded(values) => values[arm][unit],
            Outcomes::Normal { means, sd, bounds } => {
                clipped_normal_mean(means[arm][unit], *sd, *bounds)
            }
            Outcomes::LogNormal { means, sd, upper } => {
                capped_log_normal_mean(means[arm][unit], *sd, *upper)
            }
        }
    }

    /// The average treatment effect on so many units: the mean difference of the conditional means.
    pub fn average_effect(&self, units: usize) -> f64 {
        (0..units).map(|unit| self.effect(unit)).sum::<f64>() / units as f64
    }

    /// A unit's effect: the difference of its conditional means.
    pub fn effect(&self, unit: usize) -> f64 {
        self.mean(1, unit) - self.mean(0, unit)
    }
}

/// `E min(max(X, a), b)` of `X ~ N(mean, sd^2)`.
pub fn clipped_normal_mean(mean: f64, sd: f64, (lower, upper): (f64, f64)) -> f64 {
    let (a, b) = ((lower - mean) / sd, (upper - mean) / sd);
    lower * cumulative(a)
        + upper * cumulative(-b)
        + mean * (cumulative(b) - cumulative(a))
        + sd * (density(a) - density(b))
}

/// `E min(exp(X), c)` of `X ~ N(mean, sd^2)`.
pub fn capped_log_normal_mean(mean: f64, sd: f64, upper: f64) -> f64 {
    let b = (upper.ln() - mean) / sd;
    (mean + sd * sd / 2.0).exp() * cumulative(b - sd) + upper * cumulative(-b)
}

/// The standard normal distribution function.
fn cumulative(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The standard normal density.
fn density(x: f64) -> f64 {
    (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed forms against 400,000 draws: within 4.5 standard errors (false alarms: 7 in a million each).
    #[test]
    fn conditional_means_are_those_of_the_draws() {
        let laws = [
            Outcomes::Normal {
                means: [vec![0.3], vec![-2.0]],
                sd: 1.5,
                bounds: (-1.0, 2.0),
            },
            Outcomes::LogNormal {
                means: [vec![0.2], vec![1.4]],
                sd: 0.7,
                upper: 5.0,
            },
            Outcomes::Bernoulli([vec![0.2], vec![0.9]]),
        ];
        let mut random = seeds::generator(7);
        for law in laws {
            for arm in 0..2 {
                let draws: Vec<f64> = (0..400_000)
                    .map(|_| law.draw(arm, 0, &mut random))
                    .collect();
                let n = draws.len() as f64;
                let mean = draws.iter().sum::<f64>() / n;
                let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n;
                let error = (mean - law.mean(arm, 0)).abs();
                assert!(error < 4.5 * (variance / n).sqrt(), "{error}");
            }
        }
    }
}

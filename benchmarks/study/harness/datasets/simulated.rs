//! Simulated populations: ten scores with a common factor, one of them a square; a binary, a normal or a
//! log-normal outcome with a public range.
//!
//! Latent `Z_j = sqrt(r) F + sqrt(1 - r) E_j` have pairwise correlation `r`. Three stand as they are
//! (clamped), two in four ordered levels, four as whether they exceed a threshold. `w` and `v` are random
//! directions of the nine covariates, drawn once by the recipe's seed and scaled so that the indices
//! `w's` and `v's` have variance 1. With `u = v's` and `x` the first covariate,
//!
//! ```text
//! propensity  logistic(-.3 + c w's), in [.05, .95]
//! binary      logit_0 = -.2 + .8 u + .15 (x^2 - 1)         logit_1 = logit_0 + .3 + .15 x
//! normal      mu_0 = u + .3 (x^2 - 1)                      mu_1 = mu_0 + .3 + .1 x        sd 1, in [-6, 6]
//! lognormal   log mu_0 = .5 + .3 u                         log mu_1 = log mu_0 + .2       log sd and range by recipe
//! ```
//!
//! A recipe may mix `v` into `w`, for strong confounding, and have effects that vary more with `x`.

use super::super::coding::{Cells, CodedRows};
use super::super::population::{Assignment, Law, Outcomes, Population, Target};
use super::super::seeds;
use super::{logistic, schema};
use anyhow::{Result, bail};
use dpcausal::estimate::Estimand;
use rand_chacha::ChaCha12Rng;
use rand_distr::{Distribution, StandardNormal};

const SCHEMA: &str = include_str!("simulated.yaml");
const ABOUT: &str = "100,000 simulated units, drawn with replacement, with treatment and outcome; the target is the units' mean \
    difference of (clipped) conditional means";
const ABOUT_TUNING: &str = "as the simulated populations, by a recipe of their own: they serve to choose tuning constants, and no bar \
    is measured on them";

/// The number of units: enough that 20,000 rows drawn with replacement are nearly all different.
const UNITS: usize = 100_000;

const NUMERIC: [&str; 3] = ["x1", "x2", "x3"];
const ORDERED: [&str; 2] = ["l1", "l2"];
/// With the threshold that the latent score exceeds.
const BOOLEAN: [(&str, f64); 4] = [("b1", 0.0), ("b2", 0.5), ("b3", -0.4), ("b4", 1.0)];
const COVARIATES: usize = 9;

/// What makes one population differ from another.
pub struct Recipe {
    /// Pairwise correlation of the latent scores.
    correlation: f64,
    /// Strength of the propensity's index.
    confounding: f64,
    /// The part of the propensity's index that is the outcome's, as their correlation.
    shared: f64,
    /// What the first covariate adds to a normal outcome's effect; half as much again to a binary one's, in logits.
    interaction: f64,
    /// Standard deviation of a log-normal outcome's logarithm.
    log_sd: f64,
    /// Upper bound of a log-normal outcome.
    upper: f64,
    seed: u64,
    tuning: bool,
}

impl Recipe {
    /// Of the populations in the bars.
    pub fn study(correlation: f64) -> Recipe {
        Recipe {
            correlation,
            confounding: 0.7,
            shared: 0.0,
            interaction: 0.1,
            log_sd: 0.5,
            upper: 12.0,
            seed: 20_160_101,
            tuning: false,
        }
    }

    /// As those in the bars, of correlation .3, with another strength of the propensity's index: the stronger, the
    /// less treated and untreated overlap.
    pub fn overlap(confounding: f64) -> Recipe {
        Recipe {
            confounding,
            ..Recipe::study(0.3)
        }
    }

    /// Of the populations on which constants are chosen.
    pub fn tuning() -> Recipe {
        Recipe {
            correlation: 0.2,
            confounding: 0.9,
            shared: 0.0,
            interaction: 0.1,
            log_sd: 0.7,
            upper: 30.0,
            seed: 19_991_231,
            tuning: true,
        }
    }

    /// As [`Self::tuning`], confounded so that the unadjusted difference is several times the effect, with effects that
    /// vary.
    pub fn tuning_strong() -> Recipe {
        Recipe {
            shared: 0.7,
            interaction: 0.4,
            seed: 19_980_704,
            ..Recipe::tuning()
        }
    }

    /// As [`Self::tuning_strong`], with scores that are nearly collinear, so that their covariance matters more.
    pub fn tuning_correlated() -> Recipe {
        Recipe {
            correlation: 0.7,
            seed: 19_970_915,
            ..Recipe::tuning_strong()
        }
    }
}

/// The population of a recipe with this outcome.
pub fn population(outcome: &str, recipe: Recipe) -> Result<Population> {
    if !(0.0..1.0).contains(&recipe.correlation) {
        bail!("a correlation lies between 0 and 99 percent");
    }
    let column = match outcome {
        "binary" => "  - {name: y, role: outcome, type: boolean}\n".to_owned(),
        "normal" => {
            "  - {name: y, role: outcome, type: real, bounds: [-6, 6], bins: 12}\n".to_owned()
        }
        "lognormal" => {
            let upper = recipe.upper;
            format!("  - {{name: y, role: outcome, type: real, bounds: [0, {upper}], bins: 12}}\n")
        }
        _ => bail!("the outcome is binary, normal or lognormal"),
    };
    let (schema, document) = schema(&format!("{SCHEMA}{column}"))?;
    let mut random = seeds::generator(recipe.seed);
    let scores = scores(&recipe, &mut random);
    let own = index(&scores, &mut random);
    let prognosis = index(&scores, &mut random);
    let treatment = mixed(recipe.shared, &prognosis, &own);
    let outcomes = outcomes(outcome, &recipe, &prognosis, &scores[0]);
    let propensity = |index: &f64| logistic(-0.3 + recipe.confounding * index).clamp(0.05, 0.95);
    let targets = vec![Target::of_everyone(
        Estimand::Ate,
        "population",
        outcomes.average_effect(UNITS),
    )];
    let law = Law {
        assignment: Assignment::Propensity(treatment.iter().map(propensity).collect()),
        outcomes,
        targets,
    };
    Ok(Population {
        name: String::new(),
        about: if recipe.tuning { ABOUT_TUNING } else { ABOUT },
        units: CodedRows::of_units(&schema, &cells(scores))?,
        schema,
        document,
        squares: vec!["x1".into()],
        estimand: Estimand::Ate,
        tuning: recipe.tuning,
        laws: vec![law],
    })
}

/// The covariates as numbers, one vector each.
fn scores(recipe: &Recipe, random: &mut ChaCha12Rng) -> Vec<Vec<f64>> {
    let mut normal = || -> f64 { StandardNormal.sample(random) };
    let (common, own) = (recipe.correlation.sqrt(), (1.0 - recipe.correlation).sqrt());
    let mut scores: Vec<Vec<f64>> = (0..COVARIATES).map(|_| Vec::with_capacity(UNITS)).collect();
    for _ in 0..UNITS {
        let factor = normal();
        for (j, scores) in scores.iter_mut().enumerate() {
            let latent = common * factor + own * normal();
            scores.push(match j {
                0..=2 => latent.clamp(-3.0, 3.0),
                3 | 4 => [-0.8, 0.0, 0.8]
                    .iter()
                    .filter(|&&edge| edge < latent)
                    .count() as f64,
                _ => f64::from(u8::from(latent > BOOLEAN[j - 5].1)),
            });
        }
    }
    scores
}

/// A random direction's index of the covariates, of mean 0 and variance 1. Each covariate enters in units
/// of its standard deviation.
fn index(scores: &[Vec<f64>], random: &mut ChaCha12Rng) -> Vec<f64> {
    let mut index = vec![0.0; UNITS];
    for scores in scores {
        let weight: f64 = StandardNormal.sample(random);
        for (sum, score) in index.iter_mut().zip(standardised(scores)) {
            *sum += weight * score;
        }
    }
    standardised(&index)
}

/// An index of variance 1 that has this part of `first`, as their correlation where both are uncorrelated.
fn mixed(part: f64, first: &[f64], second: &[f64]) -> Vec<f64> {
    let rest = (1.0 - part * part).sqrt();
    let pairs = first.iter().zip(second);
    standardised(
        &pairs
            .map(|(a, b)| part * a + rest * b)
            .collect::<Vec<f64>>(),
    )
}

fn standardised(values: &[f64]) -> Vec<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / n;
    values
        .iter()
        .map(|value| (value - mean) / variance.sqrt())
        .collect()
}

fn outcomes(outcome: &str, recipe: &Recipe, prognosis: &[f64], first: &[f64]) -> Outcomes {
    let both = |of: &dyn Fn(f64, f64) -> [f64; 2]| {
        let pairs: Vec<[f64; 2]> = prognosis
            .iter()
            .zip(first)
            .map(|(&u, &x)| of(u, x))
            .collect();
        [0, 1].map(|arm| pairs.iter().map(|pair| pair[arm]).collect())
    };
    match outcome {
        "binary" => Outcomes::Bernoulli(both(&|u, x| {
            let untreated = -0.2 + 0.8 * u + 0.15 * (x * x - 1.0);
            [
                logistic(untreated),
                logistic(untreated + 0.3 + 1.5 * recipe.interaction * x),
            ]
        })),
        "normal" => Outcomes::Normal {
            means: both(&|u, x| {
                let untreated = u + 0.3 * (x * x - 1.0);
                [untreated, untreated + 0.3 + recipe.interaction * x]
            }),
            sd: 1.0,
            bounds: (-6.0, 6.0),
        },
        _ => Outcomes::LogNormal {
            means: both(&|u, _| [0.5 + 0.3 * u, 0.7 + 0.3 * u]),
            sd: recipe.log_sd,
            upper: recipe.upper,
        },
    }
}

fn cells(scores: Vec<Vec<f64>>) -> std::collections::BTreeMap<String, Cells> {
    let names = NUMERIC
        .into_iter()
        .chain(ORDERED)
        .chain(BOOLEAN.map(|(name, _)| name));
    let cells = |(name, scores): (&str, Vec<f64>)| {
        let cells = if NUMERIC.contains(&name) {
            Cells::Numbers(scores)
        } else {
            Cells::Codes(scores.iter().map(|&score| score as u16).collect())
        };
        (name.to_owned(), cells)
    };
    names.zip(scores).map(cells).collect()
}

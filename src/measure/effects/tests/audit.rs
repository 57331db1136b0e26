//! A distinguishing attack on the whole effects release: the likelihood ratio of two neighbouring tables.

use super::*;
use crate::measure::effects::EffectsPlan;
use crate::measure::effects::statistic::{Questions, totals};
use crate::release::EffectsRelease;
use statrs::distribution::{ContinuousCDF, Normal};

/// Stages are sums of one table or the other under the same released parameters, so an attacker who knows both
/// tables can compute the likelihood ratio of all of them together: the most powerful test there is. The
/// neighbours differ in one record at the far corner of everything. For a `mu`-GDP release no threshold's
/// power and level are further apart than `mu` on the normal scale; from 3000 runs each way (Clopper-Pearson at
/// 1e-4, 40 thresholds: a false alarm has probability below 1e-2 even if the release were exactly tight, which
/// it is not) none may be. That the attack is not blind is shown beside it: it finds more than half of
/// what is spent, so noise half as wide as stated would be seen.
#[test]
fn the_likelihood_ratio_of_the_sequence_finds_no_more_than_the_stated_mu() {
    let attack = Attack::new(4.0);
    let ratios = |with: bool| -> Vec<f64> {
        let runs = 0..3000;
        runs.map(|seed| attack.ratio(with, seed * 2 + u64::from(with)))
            .collect()
    };
    let (with, without) = (ratios(true), ratios(false));
    let stated = attack.plan.cost.mu().unwrap();
    let found = gdp_lower_bound(&with, &without);
    assert!(found <= stated, "{found} of {stated}");
    assert!(found > 0.5 * stated, "blind: {found} of {stated}");
    let epsilon = lower_bound(&with, &without, 1e-5);
    assert!(epsilon <= 4.0, "{epsilon}");
}

/// Two neighbouring tables, and what is asked of one of them.
struct Attack {
    schema: Schema,
    plan: Plan,
    with: CodedTable,
    without: CodedTable,
    budget: Budget,
}

impl Attack {
    fn new(epsilon: f64) -> Attack {
        let mut with = table(30, 11);
        let last = with.rows - 1;
        for (column, code) in [(0, 1), (2, 1), (3, 1)] {
            with.codes[column].as_mut().unwrap()[last] = code;
        }
        with.values[1].as_mut().unwrap()[last] = u16::MAX;
        with.outcome[last] = SCALE as u32;
        let mut without = with.clone();
        without.rows -= 1;
        let schema = schema("observational");
        let text = "format: dpcausal.workload/1\nmechanism: causal\neffects: {share: 1}";
        let (workload, _) = Workload::parse(text, "w.yaml", &schema).unwrap();
        let budget = Budget::approximate(epsilon, 1e-5).unwrap();
        let guarantee = Guarantee::new(budget, &schema);
        Attack {
            plan: Plan::new(schema.clone(), workload, guarantee).unwrap(),
            schema,
            with,
            without,
            budget,
        }
    }

    fn effects(&self) -> &EffectsPlan {
        self.plan.effects.as_ref().unwrap()
    }

    /// The logarithm of the likelihood ratio, with over without, of a release of one of the tables. Normal
    /// densities stand for the discrete ones, which differ by less than anything seen here.
    fn ratio(&self, with: bool, seed: u64) -> f64 {
        let id = ReleaseId::random().unwrap();
        let authorisation =
            Authorisation::without_ledger(id, self.plan.cost, &self.budget).unwrap();
        let mut accountant = crate::privacy::Accountant::new(authorisation);
        let mut noise = NoiseSource::insecure_seed(seed);
        let table = if with { &self.with } else { &self.without };
        let effects = crate::measure::effects::run(
            self.effects(),
            &self.schema,
            Adjacency::AddRemove,
            &Confidential::new(table.clone()),
            &mut accountant,
            &mut noise,
        )
        .unwrap();
        let sums = [&self.with, &self.without].map(|table| self.sums(table, &effects));
        let mut ratio = 0.0;
        for (at, measured) in effects.measurements.iter().enumerate() {
            let cells = measured.values.iter().enumerate();
            for (cell, &value) in cells {
                let sigma = measured.off_diagonal_sigma.map_or(measured.sigma, |off| {
                    let on = is_diagonal(cell, effects.parameters.kept.len() + 1);
                    if on { measured.sigma } else { off }
                }) as f64;
                let [a, b] = [0, 1].map(|of| (value - sums[of][at][cell]) as f64 / sigma);
                ratio += (b * b - a * a) / 2.0;
            }
        }
        ratio
    }

    /// A table's exact sums of every stage, under a release's parameters, in the stages' order.
    fn sums(&self, table: &CodedTable, effects: &EffectsRelease) -> Vec<Vec<i64>> {
        let (block, parameters) = (&self.effects().block, &effects.parameters);
        let values: Vec<_> = block.values().cloned().collect();
        let whole = Scorer::new(&self.schema, &values, &vec![Range::WHOLE; values.len()]);
        let ranges: Vec<Range> = (parameters.ranges.iter())
            .map(|&[lower, upper]| Range { lower, upper })
            .collect();
        let (scores, radius) = (block.scores.len(), parameters.radius);
        let of_means = parameters.means_radius;
        let clipped = Scorer::new(&self.schema, &block.scores, &ranges).clipped(of_means);
        let centred = Scorer::new(&self.schema, &block.scores, &ranges)
            .clipped(radius)
            .centred(parameters.score_centre.clone());
        let residuals = || Residuals {
            centres: parameters.centres.clone(),
            bound: parameters.residual_bound,
        };
        let in_units = |edge: f64| (edge * SCALE as f64).round() as i64;
        let ask = |scorer: &Scorer, statistic: &dyn Statistic| {
            let questions = Questions {
                treatment: block.treatment,
                scorer,
                statistics: vec![statistic],
            };
            totals(table, &questions).remove(0)
        };
        let of_stage = |stage: Stage| match stage {
            Stage::Arms => ask(&whole, &ArmTotals { arms: 2 }),
            Stage::Ranges => {
                let scores = values.len();
                ask(&whole, &ScoreMoments { scores })
            }
            Stage::Scale => {
                let (centres, edges) = (parameters.centres.clone(), edges());
                let edges = edges.into_iter().map(in_units).collect();
                ask(&whole, &ResidualSizes { centres, edges })
            }
            Stage::Spread => ask(&whole, &ResidualSquares(residuals())),
            Stage::OutcomeMeans => ask(&whole, &ResidualTotals(residuals())),
            Stage::ScoreMeans => ask(
                &clipped,
                &ScoreTotals {
                    scores,
                    radius: of_means,
                },
            ),
            Stage::Imbalance => {
                let weights = parameters.weights.clone();
                let imbalance = Imbalance {
                    scores,
                    radius,
                    weights,
                };
                ask(&centred, &imbalance)
            }
            Stage::Cross => {
                let residuals = residuals();
                let cross = Cross {
                    scores,
                    radius,
                    residuals,
                };
                ask(&centred, &cross)
            }
            Stage::Covariance => {
                let grams = Grams {
                    arms: 2,
                    scores,
                    radius,
                    constant: parameters.gram_constant,
                };
                ask(&centred, &grams)
            }
            Stage::Selection => Vec::new(),
        };
        let stages = effects.measurements.iter().map(|m| of_stage(m.stage));
        stages.collect()
    }
}

/// Whether a cell of triangles of this order, row by row and one after another, is on a diagonal.
fn is_diagonal(cell: usize, order: usize) -> bool {
    let within = cell % (order * (order + 1) / 2);
    let mut diagonal = 0;
    for row in 0..order {
        if within == diagonal {
            return true;
        }
        diagonal += order - row;
    }
    false
}

/// The largest lower bound on `mu` over thresholds, from an attacker's scores with and without a record: for a
/// `mu`-GDP release `Phi^-1(power) - Phi^-1(level) <= mu`.
pub(crate) fn gdp_lower_bound(with: &[f64], without: &[f64]) -> f64 {
    let normal = Normal::standard();
    let mut all: Vec<f64> = with.iter().chain(without).copied().collect();
    all.sort_by(f64::total_cmp);
    let above = |scores: &[f64], at: f64| scores.iter().filter(|s| **s > at).count();
    let at_threshold = |step: usize| {
        let at = all[step * (all.len() - 1) / 41];
        let power = clopper_pearson(above(with, at), with.len())[0];
        let level = clopper_pearson(above(without, at), without.len())[1];
        normal.inverse_cdf(power) - normal.inverse_cdf(level)
    };
    let bounds = (1..41).map(at_threshold).filter(|bound| !bound.is_nan());
    bounds.fold(f64::NEG_INFINITY, f64::max)
}

/// Bounds of a probability, each wrong with probability 1e-4 at most.
fn clopper_pearson(hits: usize, runs: usize) -> [f64; 2] {
    use statrs::distribution::Beta;
    let (k, n) = (hits as f64, runs as f64);
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).unwrap().inverse_cdf(p);
    [
        if hits == 0 {
            0.0
        } else {
            quantile(k, n - k + 1.0, 1e-4)
        },
        if hits == runs {
            1.0
        } else {
            quantile(k + 1.0, n - k, 1.0 - 1e-4)
        },
    ]
}

/// The largest lower bound on epsilon over thresholds, from an attacker's scores with and without a record.
pub(crate) fn lower_bound(with: &[f64], without: &[f64], delta: f64) -> f64 {
    let mut all: Vec<f64> = with.iter().chain(without).copied().collect();
    all.sort_by(f64::total_cmp);
    let above = |scores: &[f64], at: f64| scores.iter().filter(|s| **s > at).count();
    let at_threshold = |step: usize| {
        let at = all[step * (all.len() - 1) / 41];
        let power = clopper_pearson(above(with, at), with.len());
        let level = clopper_pearson(above(without, at), without.len());
        let (miss, quiet) = (1.0 - power[0], 1.0 - level[1] - delta);
        ((power[0] - delta) / level[1])
            .ln()
            .max((quiet / miss).ln())
    };
    let bounds = (1..41).map(at_threshold).filter(|bound| !bound.is_nan());
    bounds.fold(f64::NEG_INFINITY, f64::max)
}

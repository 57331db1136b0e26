//! Mechanisms that release microdata: a workload file, measured, fitted, and read as its users would.
//!
//! | estimator | what is read |
//! |---|---|
//! | `naive-...` | one synthetic table of as many rows as there seem to be records, as if it were the data: what is usually done |
//! | `imputed-...` | tables sampled from refits to draws of the noise posterior, by the unified rule |
//! | `moment-...` | the fitted models themselves, where the workload measured leaves |
//! | `adjusted`, `gram` | the effects part, where the workload has one |
//!
//! All of a run's estimates, for all questions, come from one release.

use super::super::fidelity::{Fidelity, fidelity};
use super::super::population::Question;
use super::measuring;
use super::workload::Variant;
use super::{Estimated, Findings, Input, Procedure, Settings};
use anyhow::{Result, ensure};
use dpcausal::estimate::adjusted::Constants;
use dpcausal::estimate::{
    self, Analysis, Estimand, EstimateError, Estimator, Group, Imputed, Request, RuleKind,
};
use dpcausal::impute::{BaseFit, Kappa, impute_tables, sample_rows};
use dpcausal::model::{Model, Released};
use dpcausal::release::CheckedRelease;
use dpcausal::schema::{Role, Schema};
use dpcausal::table::CodedTable;

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Naive,
    Imputed,
    Moment,
    Effects,
}

/// The estimators by name.
const ESTIMATORS: [(&str, Reading, Estimator); 9] = [
    ("adjusted", Reading::Effects, Estimator::Adjusted),
    ("gram", Reading::Effects, Estimator::Gram),
    (
        "imputed-regression",
        Reading::Imputed,
        Estimator::Regression,
    ),
    ("imputed-aipw", Reading::Imputed, Estimator::Aipw),
    ("moment-regression", Reading::Moment, Estimator::Regression),
    ("moment-model", Reading::Moment, Estimator::Model),
    ("naive-regression", Reading::Naive, Estimator::Regression),
    ("naive-aipw", Reading::Naive, Estimator::Aipw),
    (
        "naive-difference-in-means",
        Reading::Naive,
        Estimator::DifferenceInMeans,
    ),
];

/// The procedure.
pub struct Microdata {
    variant: Variant,
}

impl Microdata {
    /// Of a workload file with some settings.
    pub fn new(variant: Variant) -> Microdata {
        Microdata { variant }
    }
}

impl Procedure for Microdata {
    fn run(&self, input: &Input, settings: &Settings) -> Result<Findings> {
        match self.variant.outcome_bins {
            None => self.read(input, settings),
            Some(bins) => {
                let (schema, document) = super::workload::with_outcome_bins(input.document, bins)?;
                let rows = input.rows.with_outcome_of(&schema);
                let binned = Input {
                    schema: &schema,
                    document: &document,
                    rows: &rows,
                    ..*input
                };
                self.read(&binned, settings)
            }
        }
    }
}

impl Microdata {
    fn read(&self, input: &Input, settings: &Settings) -> Result<Findings> {
        let release = measuring::checked_release(input, &self.variant.text)?;
        let draws = self.variant.draws.unwrap_or(settings.draws);
        let wanted = |reading: Reading| {
            let of_reading = ESTIMATORS.iter().filter(move |(_, r, _)| *r == reading);
            of_reading.filter(|(name, ..)| settings.wants(name))
        };
        let mut findings = Findings::default();
        let mut answer = |reading: Reading, analyze: &dyn Fn(&Request) -> Analyzed| {
            for &(name, _, estimator) in wanted(reading) {
                let analysis = analyze(&request(input.questions, estimator));
                findings.estimates.extend(estimates(name, input, &analysis));
            }
        };
        if release.document.effects.is_some() {
            answer(Reading::Effects, &|request| {
                estimate::from_effects(&release, request, &Constants::default(), input.seed)
            });
        }
        if release.document.measurements.is_empty() {
            return Ok(findings);
        }
        let fitted = Fitted::new(&release, draws, input.seed)?;
        let synthetic = fitted.synthetic()?;
        answer(Reading::Naive, &|request| {
            estimate::from_table(&synthetic, &fitted.schema, true, request)
        });
        if wanted(Reading::Imputed).next().is_some() {
            let stack = fitted.imputations(self.variant.ratio)?;
            let imputed = Imputed {
                n: release.estimated_rows(),
                kappa: Kappa::Noise,
            };
            answer(Reading::Imputed, &|request| {
                estimate::from_imputations(&stack, &fitted.schema, imputed, request)
            });
        }
        // The exact second moments of a model without leaves take marginals of columns that are far apart in its
        // junction tree, at a cost out of proportion to what anyone would do with such a release.
        if !release.leaves().is_empty() {
            answer(Reading::Moment, &|request| fitted.moments(request));
        }
        findings.fidelity = fitted.fidelity(&synthetic, input);
        Ok(findings)
    }
}

type Analyzed = Result<Analysis, EstimateError>;

/// A release's model with its posterior draws.
struct Fitted<'a> {
    release: &'a CheckedRelease,
    fit: BaseFit,
    models: Vec<Model>,
    /// The schema of its tables: covariates that nothing was measured of are in none of them, and can't be adjusted for.
    schema: Schema,
    seed: u64,
}

impl<'a> Fitted<'a> {
    fn new(release: &'a CheckedRelease, draws: usize, seed: u64) -> Result<Fitted<'a>> {
        let fit = BaseFit::new(Released::new(release)?, &mut |_, _| ())?;
        ensure!(
            fit.diagnostics().converged,
            "the calibration did not converge"
        );
        let draws = fit.noise_posterior(draws, seed, &|| ())?;
        let mut schema = release.schema.clone();
        for index in schema.covariates() {
            if fit.released.variables.of_column(index).is_none() {
                schema.columns[index].role = Role::Ignored;
            }
        }
        Ok(Fitted {
            release,
            schema,
            models: draws.into_iter().map(|draw| draw.model).collect(),
            fit,
            seed,
        })
    }

    /// One synthetic table, of as many rows as there seem to be records.
    fn synthetic(&self) -> Result<CodedTable> {
        Ok(sample_rows(
            self.fit.model(),
            &self.fit.released.variables,
            &self.release.schema,
            self.rows(1.0),
            self.seed,
        )?)
    }

    /// The imputed tables, each of `ratio` times as many rows as there seem to be records.
    fn imputations(&self, ratio: f64) -> Result<CodedTable> {
        Ok(impute_tables(
            &self.models,
            &self.fit.released.variables,
            &self.release.schema,
            self.rows(ratio),
            self.seed,
        )?)
    }

    fn rows(&self, ratio: f64) -> usize {
        (ratio * self.release.estimated_rows()).round().max(1.0) as usize
    }

    fn moments(&self, request: &Request) -> Analyzed {
        estimate::from_release(
            &self.fit,
            &self.models,
            Kappa::Noise,
            &self.schema,
            request,
            self.seed,
        )
    }

    fn fidelity(&self, synthetic: &CodedTable, input: &Input) -> Option<Fidelity> {
        fidelity(synthetic, &input.rows.table, input.schema)
    }
}

/// What an analysis is asked for: every estimand and every subgroup of the questions.
fn request(questions: &[Question], estimator: Estimator) -> Request {
    let mut estimands: Vec<Estimand> = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    for question in questions {
        if !estimands.contains(&question.estimand) {
            estimands.push(question.estimand);
        }
        groups.extend(question.group);
    }
    Request {
        estimands,
        estimators: vec![estimator],
        rule: RuleKind::Unified,
        level: 0.95,
        groups,
    }
}

/// The analysis' answers to the questions, or the reasons why there are none.
fn estimates(name: &str, input: &Input, analysis: &Analyzed) -> Vec<Estimated> {
    let answer = |question: &Question| {
        let found = match analysis {
            Ok(analysis) => find(analysis, question, input.schema),
            Err(error) => Err(error.to_string()),
        };
        Estimated::of(name, *question, found)
    };
    input.questions.iter().map(answer).collect()
}

/// The estimate and interval of a question.
fn find(
    analysis: &Analysis,
    question: &Question,
    schema: &Schema,
) -> Result<(f64, [f64; 2]), String> {
    let subgroup = question.group.map(|group| group.named(schema));
    let effect = (analysis.effects.iter())
        .find(|e| e.estimand == question.estimand && e.subgroup == subgroup);
    if let Some(effect) = effect {
        return Ok((effect.estimate, effect.interval));
    }
    let reason = (analysis.not_estimated.iter())
        .find(|e| e.estimand == question.estimand && e.subgroup == subgroup);
    Err(reason.map_or("the question was not asked".into(), |e| e.reason.clone()))
}

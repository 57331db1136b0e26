//! Tables of units: a repetition's table, and a mechanism's estimates from it against every target.

use super::population::{Population, Question, Sample, Target};
use super::procedures::{Estimated, Findings, Input, named};
use super::record::Record;
use super::subject::{Repetition, Run, Subject};
use anyhow::{Result, ensure};
use dpcausal::estimate::Estimand;
use dpcausal::report::numbers::significant;

impl Subject for Population {
    fn about(&self) -> String {
        let tuning = if self.tuning {
            " (tuning: in no bar)"
        } else {
            ""
        };
        let targets: Vec<String> = match &self.laws[..] {
            [law] => law
                .targets
                .iter()
                .map(|target| format!("{} = {}", target.name, significant(target.value, 4)))
                .collect(),
            laws => vec![format!("{} laws in turn", laws.len())],
        };
        format!(
            "\n## {}{tuning}\n\n{}. ({})\n",
            self.name,
            self.about,
            targets.join(", ")
        )
    }

    fn size(&self) -> usize {
        Population::size(self)
    }

    fn estimand(&self) -> &'static str {
        name(self.estimand)
    }

    fn draw(&self, n: usize, repetition: usize, seed: u64) -> Result<Box<dyn Repetition + '_>> {
        let sample = self.sample(n, repetition, seed);
        Ok(Box::new(Table {
            population: self,
            questions: questions(&sample.targets),
            sample,
        }))
    }
}

/// One repetition's table.
struct Table<'a> {
    population: &'a Population,
    sample: Sample,
    questions: Vec<Question>,
}

impl Repetition for Table<'_> {
    fn run(&self, run: &Run, template: &Record) -> Result<Vec<Record>> {
        let input = Input {
            schema: &self.population.schema,
            document: &self.population.document,
            squares: &self.population.squares,
            rows: &self.sample.rows,
            estimand: self.population.estimand,
            questions: &self.questions,
            budget: run.budget,
            seed: run.seed,
        };
        let found = named(run.mechanism)?.run(&input, run.settings)?;
        ensure!(
            !found.estimates.is_empty(),
            "none of the study's estimators"
        );
        Ok(rows(&found, &self.sample.targets, template))
    }
}

/// The questions of some targets, each once.
fn questions(targets: &[Target]) -> Vec<Question> {
    let mut questions = Vec::new();
    for target in targets {
        if !questions.contains(&target.question) {
            questions.push(target.question);
        }
    }
    questions
}

/// Every estimate against every target of its question.
fn rows(found: &Findings, targets: &[Target], template: &Record) -> Vec<Record> {
    let fidelity = found
        .fidelity
        .map_or([f64::NAN; 2], |f| [f.one_way, f.two_way]);
    let row = |estimated: &Estimated, target: &Target| Record {
        estimator: estimated.estimator.clone(),
        estimand: name(target.question.estimand).into(),
        target: target.name.clone(),
        truth: target.value,
        estimate: estimated.estimate,
        interval: estimated.interval,
        failure: estimated.failure.clone(),
        fidelity,
        ..template.clone()
    };
    let mut rows = Vec::new();
    for estimated in &found.estimates {
        let answered = targets.iter().filter(|t| t.question == estimated.question);
        rows.extend(answered.map(|target| row(estimated, target)));
    }
    rows
}

/// The estimand's name in the results.
fn name(estimand: Estimand) -> &'static str {
    match estimand {
        Estimand::Ate => "ate",
        Estimand::Att => "att",
        Estimand::Atc => "atc",
        Estimand::ArmMean => "arm-mean",
        Estimand::RiskRatio => "risk-ratio",
    }
}

//! Running a study: every mechanism on every repetition's table, in parallel.

use super::log::Log;
use super::population::{Population, Question, Target};
use super::procedures::{Budget, Estimated, Findings, Input, named};
use super::record::{Key, Record};
use super::study::{CellFile, Study};
use super::{datasets, seeds};
use anyhow::{Context, Result, ensure};
use dpcausal::estimate::Estimand;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;
use std::path::Path;
use std::time::{Duration, Instant};

const BAR: &str = "{prefix} {bar:30} {human_pos}/{human_len}, {eta} left";

/// How often the bar is drawn where nothing else moves it.
const TICK: Duration = Duration::from_millis(500);

/// One mechanism at one budget, still to be run.
struct Pending {
    key: Key,
    epsilon: Option<f64>,
}

/// One repetition's table and what is still to be run on it.
struct Task {
    population: usize,
    n: usize,
    repetition: usize,
    seed: u64,
    pending: Vec<Pending>,
}

/// Runs what the log does not hold yet, with a bar on a terminal's standard error.
///
/// # Errors
/// Where data are missing or the log can't be written. Failures of mechanisms are rows.
pub fn run(study: &Study, data: &Path, log: &Log) -> Result<()> {
    let populations: Vec<Population> = study
        .cells
        .par_iter()
        .map(|cell| population(cell, data))
        .collect::<Result<_>>()?;
    let tasks = tasks(study, &populations, log)?;
    let count = tasks.iter().map(|task| task.pending.len()).sum::<usize>();
    let bar = ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(BAR).context("the bar's template")?);
    bar.set_prefix(study.title.clone());
    bar.enable_steady_tick(TICK);
    let done = tasks
        .par_iter()
        .try_for_each(|task| run_task(study, &populations[task.population], task, log, &bar));
    bar.finish_and_clear();
    done
}

/// The population of a cell, with the answers to its further questions.
fn population(cell: &CellFile, data: &Path) -> Result<Population> {
    let mut population = datasets::load(&cell.dataset, data)?;
    (population.ask(&cell.further)).with_context(|| format!("dataset {}", cell.dataset))?;
    Ok(population)
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

/// The tasks, shuffled (always alike): so the time left is told from a mixture of all cells, and rows
/// of every cell come early.
fn tasks(study: &Study, populations: &[Population], log: &Log) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for (index, (cell, population)) in study.cells.iter().zip(populations).enumerate() {
        let whole = [population.size()];
        for &n in if cell.n.is_empty() {
            &whole
        } else {
            cell.n.as_slice()
        } {
            for repetition in 0..study.repetitions_of(cell) {
                let names = [&cell.dataset, &n.to_string(), &repetition.to_string()];
                let seed = seeds::derive(study.seed, &names.map(String::as_str));
                let pending = pending(study, cell, n, repetition, |key| log.has(key, seed))?;
                if !pending.is_empty() {
                    tasks.push(Task {
                        population: index,
                        n,
                        repetition,
                        seed,
                        pending,
                    });
                }
            }
        }
    }
    tasks.sort_by_key(|task| task.seed);
    Ok(tasks)
}

/// What is to be run on a repetition's table and is not done.
fn pending(
    study: &Study,
    cell: &CellFile,
    n: usize,
    repetition: usize,
    done: impl Fn(&Key) -> Result<bool>,
) -> Result<Vec<Pending>> {
    let mut pending = Vec::new();
    for mechanism in study.mechanisms_of(cell) {
        let epsilons: Vec<Option<f64>> = if named(mechanism)?.is_private() {
            study.epsilons_of(cell).iter().copied().map(Some).collect()
        } else {
            vec![None]
        };
        for epsilon in epsilons {
            let key = Key {
                dataset: cell.dataset.clone(),
                n,
                epsilon: epsilon.map_or("none".into(), |epsilon| epsilon.to_string()),
                mechanism: mechanism.clone(),
                repetition,
            };
            if !done(&key)? {
                pending.push(Pending { key, epsilon });
            }
        }
    }
    Ok(pending)
}

fn run_task(
    study: &Study,
    population: &Population,
    task: &Task,
    log: &Log,
    bar: &ProgressBar,
) -> Result<()> {
    let sample = population.sample(task.n, task.repetition, task.seed);
    let settings = study.settings();
    let questions = questions(&sample.targets);
    for pending in &task.pending {
        let start = Instant::now();
        // Variants of a mechanism see the same noise.
        let base = pending.key.mechanism.split('+').next().unwrap_or_default();
        let parts = [base, pending.key.epsilon.as_str()];
        let input = Input {
            schema: &population.schema,
            document: &population.document,
            squares: &population.squares,
            rows: &sample.rows,
            estimand: population.estimand,
            questions: &questions,
            budget: pending.epsilon.map(|epsilon| Budget {
                epsilon,
                delta: (task.n as f64).powi(-2),
            }),
            seed: seeds::derive(task.seed, &parts),
        };
        let outcome = named(&pending.key.mechanism)?.run(&input, &settings);
        let outcome = outcome.and_then(|found| {
            ensure!(
                !found.estimates.is_empty(),
                "none of the study's estimators"
            );
            Ok(found)
        });
        let template = Record {
            key: pending.key.clone(),
            estimand: estimand(population.estimand).into(),
            seed: task.seed,
            seconds: start.elapsed().as_secs_f64(),
            ..Record::empty()
        };
        log.append(&group(outcome, &sample.targets, &template))?;
        bar.inc(1);
    }
    Ok(())
}

/// The rows of one run: every estimate against every target of its question, or one row that says why there is none.
fn group(outcome: Result<Findings>, targets: &[Target], template: &Record) -> Vec<Record> {
    let row = |estimated: &Estimated, target: &Target| Record {
        estimator: estimated.estimator.clone(),
        estimand: estimand(target.question.estimand).into(),
        target: target.name.clone(),
        truth: target.value,
        estimate: estimated.estimate,
        interval: estimated.interval,
        failure: estimated.failure.clone(),
        ..template.clone()
    };
    let fidelity = (outcome.as_ref().ok()).and_then(|found| found.fidelity);
    let fidelity = fidelity.map_or([f64::NAN; 2], |f| [f.one_way, f.two_way]);
    let mut group: Vec<Record> = match outcome {
        Err(error) => vec![Record {
            failure: format!("{error:#}"),
            ..template.clone()
        }],
        Ok(found) => found
            .estimates
            .iter()
            .flat_map(|estimated| {
                let answered = (targets.iter()).filter(|t| t.question == estimated.question);
                answered.map(|target| row(estimated, target))
            })
            .collect(),
    };
    let rows = group.len();
    for (index, record) in group.iter_mut().enumerate() {
        record.place = [index + 1, rows];
        record.fidelity = fidelity;
    }
    group
}

/// The estimand's name in the results.
fn estimand(estimand: Estimand) -> &'static str {
    match estimand {
        Estimand::Ate => "ate",
        Estimand::Att => "att",
        Estimand::Atc => "atc",
        Estimand::ArmMean => "arm-mean",
        Estimand::RiskRatio => "risk-ratio",
    }
}

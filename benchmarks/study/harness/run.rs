//! Running a study: every mechanism on every repetition's table, in parallel.

use super::log::Log;
use super::procedures::Budget;
use super::record::{Key, Record};
use super::seeds;
use super::study::{CellFile, Study};
use super::subject::{self, Kind, Run, Subject};
use anyhow::{Context, Result};
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

/// One repetition's data and what is still to be run on them.
struct Task {
    cell: usize,
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
    let subjects: Vec<Box<dyn Subject>> = study
        .cells
        .par_iter()
        .map(|cell| subject::load(study, cell, data))
        .collect::<Result<_>>()?;
    let tasks = tasks(study, &subjects, log)?;
    let count = tasks.iter().map(|task| task.pending.len()).sum::<usize>();
    let bar = ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(BAR).context("the bar's template")?);
    bar.set_prefix(study.title.clone());
    bar.enable_steady_tick(TICK);
    let done = tasks
        .par_iter()
        .try_for_each(|task| run_task(study, subjects[task.cell].as_ref(), task, log, &bar));
    bar.finish_and_clear();
    done
}

/// The tasks, shuffled (always alike): so the time left is told from a mixture of all cells, and rows
/// of every cell come early.
fn tasks(study: &Study, subjects: &[Box<dyn Subject>], log: &Log) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for (index, (cell, subject)) in study.cells.iter().zip(subjects).enumerate() {
        let whole = [subject.size()];
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
                        cell: index,
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

/// What is to be run on a repetition's data and is not done.
fn pending(
    study: &Study,
    cell: &CellFile,
    n: usize,
    repetition: usize,
    done: impl Fn(&Key) -> Result<bool>,
) -> Result<Vec<Pending>> {
    let mut pending = Vec::new();
    for mechanism in study.mechanisms_of(cell) {
        let nature = Kind::of(&cell.dataset).nature(&cell.dataset, mechanism)?;
        if nature.is_fixed && repetition > 0 {
            continue;
        }
        let epsilons: Vec<Option<f64>> = if nature.is_private {
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
    subject: &dyn Subject,
    task: &Task,
    log: &Log,
    bar: &ProgressBar,
) -> Result<()> {
    let data = subject.draw(task.n, task.repetition, task.seed)?;
    let settings = study.settings();
    let delta = study.delta_of(&study.cells[task.cell], task.n);
    for pending in &task.pending {
        let start = Instant::now();
        // Variants of a mechanism see the same noise.
        let base = pending.key.mechanism.split('+').next().unwrap_or_default();
        let parts = [base, pending.key.epsilon.as_str()];
        let run = Run {
            mechanism: &pending.key.mechanism,
            budget: pending.epsilon.map(|epsilon| Budget { epsilon, delta }),
            repetition: task.repetition,
            seed: seeds::derive(task.seed, &parts),
            settings: &settings,
        };
        let template = Record {
            key: pending.key.clone(),
            estimand: subject.estimand().into(),
            seed: task.seed,
            ..Record::empty()
        };
        let found = data.run(&run, &template);
        log.append(&group(found, &template, start.elapsed().as_secs_f64()))?;
        bar.inc(1);
    }
    Ok(())
}

/// The rows of one run, or one row that says why there is none.
fn group(found: Result<Vec<Record>>, template: &Record, seconds: f64) -> Vec<Record> {
    let mut group = found.unwrap_or_else(|error| {
        vec![Record {
            failure: format!("{error:#}"),
            ..template.clone()
        }]
    });
    let rows = group.len();
    for (index, record) in group.iter_mut().enumerate() {
        record.place = [index + 1, rows];
        record.seconds = seconds;
    }
    group
}

//! The study harness: its own tests, and a small study run, killed, and gone on with.
//!
//! What needs the datasets is skipped, aloud, unless the environment variable `DPCAUSAL_DATA` names
//! their folder.

#[allow(
    dead_code,
    reason = "the harness's command uses what these tests do not"
)]
#[path = "../../benchmarks/study/harness/mod.rs"]
mod harness;

mod datasets;
mod effects;
mod panels;
mod tables;

use dpcausal::schema::{PanelSchema, Schema};
use harness::{log::Log, record::Record, run::run, study::Study};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_schema_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.display().to_string();
        if text.contains("dpcausal.panel/") {
            PanelSchema::parse(&text, &file).unwrap();
        } else {
            let (schema, _) = Schema::parse(&text, &file).unwrap();
            assert!(
                schema.treatment().is_some() && schema.outcome().is_some(),
                "{path:?}"
            );
        }
        count += 1;
    }
    assert!(count >= 7);
}
/// The rows of a results file but for the times.
fn rows(path: &Path) -> BTreeSet<String> {
    let records = harness::log::read(path).unwrap();
    let timeless = |record: Record| {
        Record {
            seconds: 0.0,
            ..record
        }
        .line()
    };
    records.into_iter().map(timeless).collect()
}

fn run_study(text: &str, threads: usize, path: &Path) {
    let study = Study::parse(text).unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    let log = Log::open(path).unwrap();
    pool.install(|| run(&study, Path::new(""), &log)).unwrap();
}

/// Rows by target, of one mechanism.
fn of_target<'a>(records: &'a [Record], mechanism: &str, target: &str) -> Vec<&'a Record> {
    let of = |r: &&Record| r.key.mechanism == mechanism && r.target == target;
    records.iter().filter(of).collect()
}

/// A study, run whole, and gone on with after a cut; its rows and its page.
fn run_and_resume(text: &str) -> (Vec<Record>, String) {
    let folder = tempfile::tempdir().unwrap();
    let [whole, cut] = ["whole.csv", "cut.csv"].map(|name| folder.path().join(name));
    run_study(text, 2, &whole);
    let written = std::fs::read_to_string(&whole).unwrap();
    std::fs::write(&cut, &written[..written.len() * 6 / 10]).unwrap();
    run_study(text, 1, &cut);
    assert_eq!(rows(&cut), rows(&whole));
    let records = harness::log::read(&whole).unwrap();
    for record in &records {
        assert_eq!(record.failure, "", "{record:?}");
    }
    let bars = Path::new(env!("CARGO_MANIFEST_DIR")).join("benchmarks/study/bars.csv");
    let bars = harness::compare::read(&bars).unwrap();
    let cells = harness::statistics::cells(&records);
    let study = Study::parse(text).unwrap();
    let page = harness::summary::page(&study, Path::new(""), &cells, Some(&bars)).unwrap();
    (records, page)
}

//! The results file: rows are appended in whole groups, and what stands there is not run again.

use super::record::{HEADER, Key, Record};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A results file, open for appending.
pub struct Log {
    path: PathBuf,
    file: Mutex<File>,
    done: BTreeMap<Key, u64>,
}

impl Log {
    /// Opens a file, or begins it. A last line without its end and the rows of groups that are not
    /// complete (a run was killed while it wrote) are dropped from the file.
    ///
    /// # Errors
    /// Where the file can't be read or written, or holds something else.
    pub fn open(path: &Path) -> Result<Log> {
        let context = || format!("results file {}", path.display());
        let mut done = BTreeMap::new();
        if path.exists() {
            let records = read(path).with_context(context)?;
            done = records.iter().map(|r| (r.key.clone(), r.seed)).collect();
            let lines = records.iter().map(|record| record.line() + "\n");
            let text: String = std::iter::once(format!("{HEADER}\n"))
                .chain(lines)
                .collect();
            if std::fs::read_to_string(path).with_context(context)? != text {
                replace(path, &text).with_context(context)?;
            }
        } else {
            replace(path, &format!("{HEADER}\n")).with_context(context)?;
        }
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .with_context(context)?;
        Ok(Log {
            path: path.into(),
            file: Mutex::new(file),
            done,
        })
    }

    /// Whether the rows of a key stand in the file already.
    ///
    /// # Errors
    /// Where they do, but of a table with another seed: another study's.
    pub fn has(&self, key: &Key, seed: u64) -> Result<bool> {
        match self.done.get(key) {
            None => Ok(false),
            Some(&found) => {
                ensure!(
                    found == seed,
                    "{} holds rows of a study with another seed; give another folder",
                    self.path.display()
                );
                Ok(true)
            }
        }
    }

    /// Appends a group in one write.
    ///
    /// # Errors
    /// Where the file can't be written.
    pub fn append(&self, group: &[Record]) -> Result<()> {
        let text: String = group.iter().map(|record| record.line() + "\n").collect();
        // A thread that panicked while it held the lock left whole lines or a torn one, which the next
        // opening drops.
        let mut file = self
            .file
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(text.as_bytes())
            .with_context(|| format!("{}", self.path.display()))
    }
}

/// The complete groups of a results file.
///
/// # Errors
/// Where the file can't be read, or a line but the last is no row.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    // What follows the last line end is a torn line.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines();
    ensure!(
        whole.is_empty() || lines.next() == Some(HEADER),
        "{} has another header: it is no results file of this version",
        path.display()
    );
    let parse = |(index, line): (usize, &str)| {
        Record::parse(line).with_context(|| format!("{}:{}", path.display(), index + 2))
    };
    let records: Vec<Record> = lines.enumerate().map(parse).collect::<Result<_>>()?;
    let mut places: BTreeMap<&Key, BTreeSet<usize>> = BTreeMap::new();
    for record in &records {
        places
            .entry(&record.key)
            .or_default()
            .insert(record.place[0]);
    }
    let complete: Vec<bool> = records
        .iter()
        .map(|r| places[&r.key].len() == r.place[1])
        .collect();
    let mut complete = complete.into_iter();
    Ok(records
        .into_iter()
        .filter(|_| complete.next() == Some(true))
        .collect())
}

fn replace(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("no folder")?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(repetition: usize, place: [usize; 2]) -> Record {
        Record {
            key: Key {
                dataset: "d".into(),
                n: 10,
                epsilon: "0.5".into(),
                mechanism: "m".into(),
                repetition,
            },
            estimator: "e".into(),
            estimand: "ate".into(),
            target: "t".into(),
            truth: 0.1,
            estimate: f64::NAN,
            interval: [f64::NEG_INFINITY, 1e-17],
            failure: "an, \"odd\"\nmessage".into(),
            seed: 7,
            place,
            seconds: 0.25,
            fidelity: [0.01, f64::NAN],
        }
    }

    #[test]
    fn rows_survive_and_torn_groups_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.csv");
        let log = Log::open(&path).unwrap();
        log.append(&[record(0, [1, 2]), record(0, [2, 2])]).unwrap();
        log.append(&[record(1, [1, 2]), record(1, [2, 2])]).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        let first_group: usize = whole.split_inclusive('\n').take(3).map(str::len).sum();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let Ok(log) = Log::open(&path) else {
                panic!("cut at {cut}");
            };
            assert_eq!(
                log.has(&record(0, [1, 2]).key, 7).unwrap(),
                cut >= first_group,
                "{cut}"
            );
            assert_eq!(
                log.has(&record(1, [1, 2]).key, 7).unwrap(),
                cut == whole.len(),
                "{cut}"
            );
            let kept = std::fs::read_to_string(&path).unwrap();
            assert!(whole.starts_with(&kept) && kept.ends_with('\n'), "{cut}");
        }
    }

    #[test]
    fn rows_of_another_seed_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.csv");
        Log::open(&path)
            .unwrap()
            .append(&[record(0, [1, 1])])
            .unwrap();
        let log = Log::open(&path).unwrap();
        assert!(log.has(&record(0, [1, 1]).key, 8).is_err());
        assert!(!log.has(&record(1, [1, 1]).key, 8).unwrap());
    }
}

//! The ledger: what has been spent of one data set's budget, in an append-only file.
//!
//! # Format
//! JSON lines. The first line is a header: `format`, the `budget`, a `label` for people. Every other
//! line is an [`Entry`], the charge of one release. Nothing in it depends on the data.
//!
//! # Durability
//! [`Ledger::reserve`] holds an exclusive lock on the file while it reads every line, checks the sum,
//! appends one line with one write, and waits until the file is on disk (fsync). Only then does an
//! [`Authorisation`] exist, so only then can noise be drawn: a crash can lose a release, never a charge.
//! [`Ledger::create`] makes the header appear at once or not at all.
//!
//! # A torn last line
//! A crash while appending can leave a last line without its line feed (or padded with zero bytes). If
//! it is a whole entry, it counts, to be safe. If it is not (a proper
//! prefix of a JSON object is never one), its fsync never returned, so nothing was authorised and
//! nothing drawn: it counts nothing, and the next reservation cuts it off before appending.
//! Any other line that can't be read makes the whole ledger unusable until someone has looked at it.
//!
//! # The accountant
//! It is fixed before any answer is seen (see the room's documentation): by the budget's form, and for an
//! `(epsilon, delta)` budget by the first entry. Under zCDP every release is welcome, and Gaussian
//! charges count `mu^2 / 2`; under GDP only releases of Gaussian measurements are, and where there is no
//! delta only releases of pure mechanisms.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{AccountantKind, Adjacency, Authorisation, Budget, Cost, PrivacyError, ReleaseId};

/// The format that this version writes and reads.
const LEDGER_FORMAT: &str = "dpcausal.ledger/1";

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    label: String,
    budget: Budget,
}

/// The charge of one release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The release.
    pub release: ReleaseId,
    /// The workload's mechanism, such as `causal`.
    pub mechanism: String,
    /// How the release accounts its own charges.
    pub accountant: AccountantKind,
    /// Which tables are neighbours.
    pub adjacency: Adjacency,
    /// The privacy unit in words that determine it, such as `row` or `person, at most 3 rows`.
    pub unit: String,
    /// What the release may spend.
    pub cost: Cost,
}

/// A ledger as it was read: every line checked, the sum within the budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    header: Header,
    entries: Vec<Entry>,
    releases: HashSet<ReleaseId>,
    spent: Cost,
    tail: Tail,
}

/// How the file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// With a line feed.
    Whole,
    /// With an entry that ends at this byte and lacks its line feed.
    Unterminated(u64),
    /// With a fragment that starts at this byte.
    Torn(u64),
}

impl Ledger {
    /// Makes a new ledger file.
    ///
    /// # Errors
    /// [`PrivacyError::LedgerExists`] where the path exists; [`PrivacyError::LedgerFile`] where it can't be
    /// written.
    pub fn create(path: &Path, budget: Budget, label: &str) -> Result<Ledger, PrivacyError> {
        let failed = |action| move |source| file_error(path, action, source);
        let header = Header {
            format: LEDGER_FORMAT.into(),
            label: label.into(),
            budget,
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed("creating it"))?;
        file.write_all(&json_line(path, &header)?)
            .and_then(|()| file.as_file().sync_all())
            .map_err(failed("writing its header"))?;
        // Appears whole under its name, or fails where the name is taken.
        file.persist_noclobber(path)
            .map_err(|error| match error.error.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    PrivacyError::LedgerExists { path: path.into() }
                }
                _ => file_error(path, "creating it", error.error),
            })?;
        // The name must survive a crash too.
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed("syncing its folder"))?;
        Ledger::open(path)
    }

    /// Reads and verifies a ledger: every line, the neighbours that the entries protect, that no release
    /// occurs twice, and that the sum is within the budget.
    ///
    /// # Errors
    /// [`PrivacyError::LedgerLine`] names the first line at fault; [`PrivacyError::LedgerFile`] where the
    /// file can't be read.
    pub fn open(path: &Path) -> Result<Ledger, PrivacyError> {
        let mut file = File::open(path).map_err(|e| file_error(path, "opening it", e))?;
        file.lock_shared()
            .map_err(|e| file_error(path, "locking it", e))?;
        read(path, &mut file)
        // Closing the file unlocks it.
    }

    /// Writes down the charge of a release, if it fits, and authorises it. Any number of threads and
    /// processes may do so at once.
    ///
    /// # Errors
    /// [`PrivacyError::OverBudget`], [`PrivacyError::NotGaussian`],
    /// [`PrivacyError::DifferentNeighbours`] and [`PrivacyError::DuplicateRelease`] refuse the entry and
    /// leave the ledger as it was; after [`PrivacyError::LedgerFile`] the charge may stand in it.
    pub fn reserve(path: &Path, entry: &Entry) -> Result<Authorisation, PrivacyError> {
        let failed = |action| move |source| file_error(path, action, source);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(failed("opening it"))?;
        file.lock().map_err(failed("locking it"))?;
        let ledger = read(path, &mut file)?;
        ledger.admit(entry)?;

        let mut line = json_line(path, entry)?;
        if let Tail::Unterminated(end) | Tail::Torn(end) = ledger.tail {
            file.set_len(end)
                .and_then(|()| file.sync_all())
                .map_err(failed("repairing its last line"))?;
        }
        if let Tail::Unterminated(_) = ledger.tail {
            line.insert(0, b'\n');
        }
        file.seek(SeekFrom::End(0))
            .and_then(|_| file.write_all(&line))
            .and_then(|()| file.sync_all())
            .map_err(failed("appending to it"))?;
        // The lock is held until here: closing the file releases it.
        Ok(Authorisation::granted(entry.release.clone(), entry.cost))
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        &self.header.budget
    }

    /// The label that names the data for people.
    pub fn label(&self) -> &str {
        &self.header.label
    }

    /// The charges, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The accountant: `None` for an `(epsilon, delta)` budget without entries.
    pub fn accountant(&self) -> Option<AccountantKind> {
        self.header
            .budget
            .implied_accountant()
            .or_else(|| self.entries.first().map(|entry| entry.accountant))
    }

    /// What the entries sum to, as the ledger's accountant counts it.
    pub fn spent(&self) -> Cost {
        self.spent
    }

    /// What remains, as a release under this accountant would count it.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] where the budget is too small to convert.
    pub fn remaining(&self, kind: AccountantKind) -> Result<Cost, PrivacyError> {
        let kind = self.accountant().unwrap_or(kind);
        Ok(self
            .header
            .budget
            .total(kind)?
            .under(kind)
            .minus(&self.spent))
    }

    /// Whether the last write was cut short by a crash (and authorised nothing).
    pub fn has_torn_line(&self) -> bool {
        matches!(self.tail, Tail::Torn(_))
    }

    /// Checks that an entry may follow the ones that are there, and returns the new sum.
    fn admit(&self, entry: &Entry) -> Result<Cost, PrivacyError> {
        if self.releases.contains(&entry.release) {
            return Err(PrivacyError::DuplicateRelease(entry.release.clone()));
        }
        if let Some(first) = self.entries.first() {
            same_neighbours(first, entry)?;
        }
        let kind = self.accountant().unwrap_or(entry.accountant);
        if kind == AccountantKind::Gdp && !entry.cost.is_gaussian() {
            return Err(PrivacyError::NotGaussian);
        }
        if kind == AccountantKind::Pure && !entry.cost.is_pure() {
            return Err(PrivacyError::NotPure);
        }
        let total = self.spent.plus(&entry.cost.under(kind));
        if !total.within(&self.header.budget) {
            return Err(PrivacyError::OverBudget {
                budget: self.header.budget,
                spent: self.spent,
                asked: entry.cost,
                remaining: self.remaining(kind)?,
            });
        }
        Ok(total)
    }

    /// Adds an entry that [`Ledger::admit`] accepts.
    fn push(&mut self, entry: Entry) -> Result<(), PrivacyError> {
        self.spent = self.admit(&entry)?;
        self.releases.insert(entry.release.clone());
        self.entries.push(entry);
        Ok(())
    }
}

/// Guarantees add up only if they protect the same neighbours.
fn same_neighbours(first: &Entry, entry: &Entry) -> Result<(), PrivacyError> {
    let name = |adjacency| match adjacency {
        Adjacency::AddRemove => "add-remove".to_string(),
        Adjacency::ReplaceOne => "replace-one".to_string(),
    };
    let (what, kept, asked) = if first.adjacency != entry.adjacency {
        ("adjacency", name(first.adjacency), name(entry.adjacency))
    } else if first.unit != entry.unit {
        ("privacy unit", first.unit.clone(), entry.unit.clone())
    } else {
        return Ok(());
    };
    Err(PrivacyError::DifferentNeighbours { what, kept, asked })
}

/// Reads and verifies all lines of a locked file.
fn read(path: &Path, file: &mut File) -> Result<Ledger, PrivacyError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .map_err(|e| file_error(path, "reading it", e))?;
    let mut lines = bytes.split_inclusive(|&b| b == b'\n');
    let header = parse_header(path, lines.next().unwrap_or_default())?;
    let mut ledger = Ledger {
        header,
        entries: Vec::new(),
        releases: HashSet::new(),
        spent: Cost::ZERO,
        tail: Tail::Whole,
    };
    for (index, line) in lines.enumerate() {
        let wrong = |problem: String| PrivacyError::LedgerLine {
            path: path.into(),
            line: index + 2,
            problem,
        };
        let terminated = line.ends_with(b"\n");
        let start = bytes.len() - line.len();
        let content = match terminated {
            true => line,
            // Some file systems fill what a crash left unwritten with zeros.
            false => without_trailing_zeros(line),
        };
        match serde_json::from_slice::<Entry>(content) {
            Ok(entry) => ledger.push(entry).map_err(|error| {
                wrong(match error {
                    PrivacyError::OverBudget { budget, .. } => {
                        format!("the charges up to here exceed the budget ({budget})")
                    }
                    error => error.to_string(),
                })
            })?,
            // A fragment of JSON ends early; anything else is no fragment of an entry.
            Err(error) if !terminated && error.is_eof() => {
                ledger.tail = Tail::Torn(start as u64);
                break;
            }
            Err(error) => return Err(wrong(format!("not an entry ({error})"))),
        }
        if !terminated {
            ledger.tail = Tail::Unterminated((start + content.len()) as u64);
        }
    }
    Ok(ledger)
}

/// A line up to its last byte that is not zero.
fn without_trailing_zeros(line: &[u8]) -> &[u8] {
    let length = line
        .iter()
        .rposition(|&b| b != 0)
        .map_or(0, |last| last + 1);
    &line[..length]
}

/// Reads the first line.
fn parse_header(path: &Path, line: &[u8]) -> Result<Header, PrivacyError> {
    let wrong = |problem: String| PrivacyError::LedgerLine {
        path: path.into(),
        line: 1,
        problem,
    };
    /// The part of the header that every version has.
    #[derive(Deserialize)]
    struct Format {
        format: String,
    }
    match serde_json::from_slice::<Format>(line) {
        Ok(Format { format }) if format == LEDGER_FORMAT => {}
        Ok(Format { format }) => {
            return Err(wrong(format!(
                "the format is {format}, this version reads {LEDGER_FORMAT}"
            )));
        }
        Err(error) => return Err(wrong(format!("not a ledger's header ({error})"))),
    }
    if !line.ends_with(b"\n") {
        return Err(wrong(
            "the header has no line feed: the file was cut".into(),
        ));
    }
    serde_json::from_slice(line).map_err(|error| wrong(format!("not a ledger's header ({error})")))
}

/// A value as one line of JSON.
fn json_line(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, PrivacyError> {
    let mut line =
        serde_json::to_vec(value).map_err(|e| file_error(path, "encoding a line", e.into()))?;
    line.push(b'\n');
    Ok(line)
}

fn file_error(path: &Path, action: &'static str, source: std::io::Error) -> PrivacyError {
    PrivacyError::LedgerFile {
        path: PathBuf::from(path),
        action,
        source,
    }
}

#[cfg(test)]
mod tests;

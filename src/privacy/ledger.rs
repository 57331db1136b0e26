//! The ledger: what was spent on one dataset, for ever.
//!
//! A ledger is a file of JSON lines: a header with the total budget, then one line per charge. Lines are
//! only ever appended. [`reserve`] takes an exclusive lock, reads everything, refuses what would exceed
//! the budget, appends the charge, has the system write it to the disk (fsync), and only then returns the
//! [`Authorisation`] without which nothing can be drawn. A crash can therefore lose a release, never a
//! charge.
//!
//! A last line without its line end was cut off by a crash before the fsync returned, so nothing was drawn
//! for it. If it still reads as an entry it counts (that errs on the safe side); otherwise it is cut off.

use super::accounting::{Authorisation, Budget, Cost};
use super::{Adjacency, conversion};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The format that this version writes.
const FORMAT: &str = "dpcausal.ledger/1";

/// What is wrong with a ledger, or with a charge.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// It can't be opened, locked, read or written.
    #[error("can't use the ledger {file}: {source}; open one with `dpcausal ledger init {file} --epsilon E --delta D`")]
    File {
        /// The ledger's name.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A new ledger would replace an old one.
    #[error("{file} exists already; a ledger is never replaced, use another name")]
    Exists {
        /// The ledger's name.
        file: String,
    },
    /// A line does not read as what it must be.
    #[error("{file}:{line}: not a ledger's line ({message}); the ledger was edited or damaged, restore it from a copy")]
    Line {
        /// The ledger's name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// The charge would exceed the budget.
    #[error("{file}: the budget {budget} would be exceeded: {spent} is spent and {asked} asked for; nothing was charged or drawn")]
    OverBudget {
        /// The ledger's name.
        file: String,
        /// The budget, the cost so far and the cost asked for, in words.
        budget: String,
        /// What was spent.
        spent: String,
        /// What was asked for.
        asked: String,
    },
    /// Guarantees of different adjacency or unit do not add up.
    #[error("{file}: its charges are for {adjacency} adjacency with at most {max_rows} rows per unit; guarantees of another kind do not add up to one, use another ledger and state both")]
    Incompatible {
        /// The ledger's name.
        file: String,
        /// The adjacency of the first charge.
        adjacency: Adjacency,
        /// Its rows per unit.
        max_rows: u32,
    },
}

impl LedgerError {
    /// Whether the budget is the reason.
    pub fn is_over_budget(&self) -> bool {
        matches!(self, LedgerError::OverBudget { .. })
    }
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    label: String,
    budget: Budget,
}

/// One charge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerEntry {
    /// The release's identifier.
    pub release: String,
    /// The workload's mechanism.
    pub mechanism: String,
    /// The adjacency that the charge is about.
    pub adjacency: Adjacency,
    /// The rows per unit that it is about.
    pub max_rows_per_unit: u32,
    /// The cost.
    pub cost: Cost,
}

/// A ledger as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    file: String,
    header: Header,
    entries: Vec<LedgerEntry>,
    /// Bytes of whole lines, and of a whole last line that only lacks its end.
    length: u64,
    unterminated: bool,
}

/// What there is to say about a ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedgerSummary {
    /// The label.
    pub label: String,
    /// The budget.
    pub budget: Budget,
    /// The charges, in order.
    pub entries: Vec<LedgerEntry>,
    /// Their sum.
    pub spent: Cost,
    /// The epsilon spent at the budget's delta, where the budget has one.
    pub spent_epsilon: Option<f64>,
    /// The Gaussian measurements, as `mu^2`, that can still be made.
    pub remaining_mu_squared: f64,
}

impl Ledger {
    /// Opens a new ledger; the file appears whole or not at all.
    ///
    /// # Errors
    /// Where the file exists or can't be written.
    pub fn create(path: &Path, budget: Budget, label: &str) -> Result<(), LedgerError> {
        let failed = |source| LedgerError::File { file: path.display().to_string(), source };
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        let header = Header { format: FORMAT.into(), label: label.into(), budget };
        new.write_all(&line(&header)).and_then(|()| new.as_file().sync_all()).map_err(failed)?;
        new.persist_noclobber(path).map_err(|e| match e.error.kind() {
            io::ErrorKind::AlreadyExists => LedgerError::Exists { file: path.display().to_string() },
            _ => failed(e.error),
        })?;
        sync_folder(folder).map_err(failed)
    }

    /// Reads a ledger.
    ///
    /// # Errors
    /// Where it can't be read or a line does not hold.
    pub fn open(path: &Path) -> Result<Ledger, LedgerError> {
        let name = path.display().to_string();
        let failed = |source| LedgerError::File { file: name.clone(), source };
        let mut file = File::open(path).map_err(failed)?;
        file.lock_shared().map_err(failed)?;
        Ledger::read(&mut file, &name)
    }

    fn read(file: &mut File, name: &str) -> Result<Ledger, LedgerError> {
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|source| LedgerError::File { file: name.into(), source })?;
        Ledger::parse(&text, name)
    }

    fn parse(text: &[u8], name: &str) -> Result<Ledger, LedgerError> {
        let damaged = |line: usize, message: String| LedgerError::Line { file: name.into(), line, message };
        let mut lines = text.split_inclusive(|&b| b == b'\n').enumerate();
        let (_, first) = lines.next().ok_or_else(|| damaged(1, "the file is empty".into()))?;
        let header: Header = serde_json::from_slice(first).map_err(|e| damaged(1, e.to_string()))?;
        if header.format != FORMAT {
            return Err(damaged(1, format!("the format is not {FORMAT}")));
        }
        let mut ledger =
            Ledger { file: name.into(), header, entries: Vec::new(), length: first.len() as u64, unterminated: !first.ends_with(b"\n") };
        for (index, bytes) in lines {
            ledger.unterminated = !bytes.ends_with(b"\n");
            match serde_json::from_slice::<LedgerEntry>(bytes) {
                Ok(entry) if entry.cost.is_valid() => ledger.entries.push(entry),
                Ok(_) => return Err(damaged(index + 1, "a cost is negative or no number".into())),
                // Cut off before its fsync returned: nothing was drawn for it.
                Err(_) if ledger.unterminated => {
                    ledger.unterminated = false;
                    break;
                }
                Err(e) => return Err(damaged(index + 1, e.to_string())),
            }
            ledger.length += bytes.len() as u64;
        }
        Ok(ledger)
    }

    /// The charges.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// What was spent.
    pub fn spent(&self) -> Cost {
        self.entries.iter().fold(Cost::ZERO, |sum, entry| sum.and(entry.cost))
    }

    /// Verifies that the charges are of one kind and within the budget.
    ///
    /// # Errors
    /// Where they are not.
    pub fn check(&self) -> Result<(), LedgerError> {
        if let Some(other) = self.entries.iter().find(|e| !self.same_kind(e)) {
            return Err(self.incompatible(other));
        }
        let spent = self.spent();
        if spent.within(&self.header.budget) { Ok(()) } else { Err(self.over_budget(spent, Cost::ZERO)) }
    }

    /// What there is to say.
    pub fn summary(&self) -> LedgerSummary {
        let spent = self.spent();
        LedgerSummary {
            label: self.header.label.clone(),
            budget: self.header.budget,
            entries: self.entries.clone(),
            spent,
            spent_epsilon: match self.header.budget {
                Budget::Approximate { delta, .. } => Some(spent.epsilon(delta)),
                _ => None,
            },
            remaining_mu_squared: remaining(&self.header.budget, spent),
        }
    }

    fn same_kind(&self, entry: &LedgerEntry) -> bool {
        self.entries.first().is_none_or(|first| {
            first.adjacency == entry.adjacency && first.max_rows_per_unit == entry.max_rows_per_unit
        })
    }

    fn incompatible(&self, entry: &LedgerEntry) -> LedgerError {
        let first = self.entries.first().unwrap_or(entry);
        LedgerError::Incompatible { file: self.file.clone(), adjacency: first.adjacency, max_rows: first.max_rows_per_unit }
    }

    fn over_budget(&self, spent: Cost, asked: Cost) -> LedgerError {
        LedgerError::OverBudget {
            file: self.file.clone(),
            budget: match self.header.budget {
                Budget::Approximate { epsilon, delta } => format!("epsilon {epsilon}, delta {delta:e}"),
                Budget::Zcdp { rho } => format!("rho {rho}"),
                Budget::Gdp { mu } => format!("mu {mu}"),
            },
            spent: self.in_words(spent),
            asked: self.in_words(asked),
        }
    }

    /// A cost in the budget's own terms.
    fn in_words(&self, cost: Cost) -> String {
        match self.header.budget {
            Budget::Approximate { delta, .. } => format!("epsilon {:.4}", cost.epsilon(delta)),
            Budget::Zcdp { .. } => format!("rho {:.5}", cost.rho()),
            Budget::Gdp { .. } => format!("mu {:.4}", cost.gaussian_mu_squared.sqrt()),
        }
    }
}

/// The Gaussian cost that a budget leaves, as `mu^2`, never negative.
fn remaining(budget: &Budget, spent: Cost) -> f64 {
    let total = match *budget {
        Budget::Approximate { epsilon, delta } if spent.other_rho == 0.0 => conversion::mu_of_budget(epsilon, delta).powi(2),
        Budget::Approximate { epsilon, delta } => 2.0 * (conversion::rho_of_budget(epsilon, delta) - spent.other_rho),
        Budget::Zcdp { rho } => 2.0 * (rho - spent.other_rho),
        Budget::Gdp { mu } => mu * mu,
    };
    (total - spent.gaussian_mu_squared).max(0.0)
}

/// Charges an entry to a ledger; when this returns, the charge is on the disk.
///
/// # Errors
/// Where the ledger can't be used, the charge is of another kind than those before it, or the budget would
/// be exceeded. Nothing is charged then.
pub fn reserve(path: &Path, entry: LedgerEntry) -> Result<Authorisation, LedgerError> {
    let name = path.display().to_string();
    let failed = |source| LedgerError::File { file: name.clone(), source };
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
    // Released when the file is closed, also by a crash.
    file.lock().map_err(failed)?;
    let ledger = Ledger::read(&mut file, &name)?;
    if !ledger.same_kind(&entry) {
        return Err(ledger.incompatible(&entry));
    }
    if !ledger.spent().and(entry.cost).within(&ledger.header.budget) {
        return Err(ledger.over_budget(ledger.spent(), entry.cost));
    }
    // Cuts off what a crash left of a line that never counted.
    file.set_len(ledger.length).map_err(failed)?;
    file.seek(SeekFrom::End(0)).map_err(failed)?;
    let mut bytes = if ledger.unterminated { b"\n".to_vec() } else { Vec::new() };
    bytes.extend(line(&entry));
    file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(Authorisation { cost: entry.cost })
}

/// One line of JSON.
fn line(value: &impl Serialize) -> Vec<u8> {
    // Serialising plain data with string keys into memory can't fail.
    let mut text = serde_json::to_vec(value).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Makes a new name in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn entry(mu_squared: f64) -> LedgerEntry {
        LedgerEntry {
            release: "0".repeat(32),
            mechanism: "causal".into(),
            adjacency: Adjacency::AddRemove,
            max_rows_per_unit: 1,
            cost: Cost { gaussian_mu_squared: mu_squared, other_rho: 0.0 },
        }
    }

    fn ledger(budget: Budget) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        Ledger::create(&path, budget, "test").unwrap();
        (folder, path)
    }

    #[test]
    fn charges_add_up_to_the_budget_and_no_further() {
        let (_folder, path) = ledger(Budget::gdp(1.0).unwrap());
        for _ in 0..4 {
            reserve(&path, entry(0.25)).unwrap();
        }
        assert!(reserve(&path, entry(1e-6)).unwrap_err().is_over_budget());
        let read = Ledger::open(&path).unwrap();
        assert_eq!(read.entries().len(), 4);
        read.check().unwrap();
        assert!(read.summary().remaining_mu_squared < 1e-12);
        assert!(matches!(Ledger::create(&path, Budget::gdp(1.0).unwrap(), ""), Err(LedgerError::Exists { .. })));
    }

    #[test]
    fn a_whole_approximate_budget_fits_exactly_once() {
        let budget = Budget::approximate(1.0, 1e-6).unwrap();
        let (_folder, path) = ledger(budget);
        let whole = budget.total(crate::privacy::AccountantKind::Gdp).gaussian_mu_squared;
        reserve(&path, entry(whole)).unwrap();
        assert!(reserve(&path, entry(whole * 1e-3)).unwrap_err().is_over_budget());
    }

    #[test]
    fn torn_lines_are_cut_off_or_counted() {
        let (_folder, path) = ledger(Budget::gdp(1.0).unwrap());
        reserve(&path, entry(0.25)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let header = whole.iter().position(|&b| b == b'\n').unwrap() + 1;
        for cut in header + 1..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            // A line that lacks only its end still counts.
            let counted = usize::from(cut == whole.len() - 1);
            assert_eq!(Ledger::open(&path).unwrap().entries().len(), counted, "{cut}");
            reserve(&path, entry(0.5)).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text.lines().count(), counted + 2, "{text}");
            assert_eq!(Ledger::open(&path).unwrap().entries().len(), counted + 1);
        }
    }

    #[test]
    fn damage_names_its_line_and_kinds_do_not_mix() {
        let (_folder, path) = ledger(Budget::gdp(1.0).unwrap());
        reserve(&path, entry(0.25)).unwrap();
        let other = LedgerEntry { adjacency: Adjacency::ReplaceOne, ..entry(0.1) };
        assert!(matches!(reserve(&path, other), Err(LedgerError::Incompatible { .. })));
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.insert_str(text.find("\n{\"release").unwrap() + 1, "nonsense\n");
        std::fs::write(&path, text).unwrap();
        assert!(matches!(Ledger::open(&path), Err(LedgerError::Line { line: 2, .. })));
    }

    #[test]
    fn threads_never_exceed_the_budget() {
        let (_folder, path) = ledger(Budget::gdp(1.0).unwrap());
        let granted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..32).map(|_| scope.spawn(|| usize::from(reserve(&path, entry(0.1)).is_ok()))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert_eq!(granted, 10);
        assert_eq!(Ledger::open(&path).unwrap().entries().len(), 10);
    }
}

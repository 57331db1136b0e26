//! Files that appear whole or not at all.
//!
//! An [`AtomicFile`] is written under a temporary name beside its target, flushed to the disk and then
//! renamed over the target: a reader, a crash or a full disk sees the old file or the new one, never a
//! piece. Dropping it without [`AtomicFile::commit`] removes it. A signal that ends the process runs
//! no destructors, so every unfinished file is also listed in one place, which the signal handler
//! empties by [`remove_unfinished`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The unfinished files of a process.
struct Unfinished(Mutex<Paths>);

struct Paths {
    temporary: Vec<PathBuf>,
    /// Set once the process is about to end: no file can be created or committed any more.
    closed: bool,
}

static UNFINISHED: Unfinished = Unfinished::new();

impl Unfinished {
    const fn new() -> Unfinished {
        Unfinished(Mutex::new(Paths {
            temporary: Vec::new(),
            closed: false,
        }))
    }

    /// The list. It stays usable after a panic elsewhere: every change to it is one call on a vector.
    fn lock(&self) -> MutexGuard<'_, Paths> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes every listed file and closes the list.
    fn remove_all(&self) {
        let mut paths = self.lock();
        paths.closed = true;
        for path in paths.temporary.drain(..) {
            // Nothing can be done about a failure in a process that is ending.
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes every unfinished [`AtomicFile`] of the process, for a signal handler that is about to end
/// it. From then on `create` and `commit` fail with [`io::ErrorKind::Interrupted`], so that no thread
/// still at work can leave a file behind the handler's back.
pub fn remove_unfinished() {
    UNFINISHED.remove_all();
}

fn interrupted() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "interrupted")
}

/// A file under construction; see the module's documentation. It does not buffer: wrap it in a
/// [`std::io::BufWriter`], and take it out by `into_inner` before the commit.
pub struct AtomicFile(Sink);

enum Sink {
    Beside(Beside),
    /// A target that can't be replaced by renaming: a device, a pipe, a socket.
    Direct(File),
}

/// Fields drop in this order: the file is gone before the list forgets it.
struct Beside {
    temporary: NamedTempFile,
    target: PathBuf,
    registration: Registration,
}

/// A place in the list of unfinished files.
struct Registration {
    list: &'static Unfinished,
    path: PathBuf,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.list
            .lock()
            .temporary
            .retain(|listed| *listed != self.path);
    }
}

impl AtomicFile {
    /// Starts a file that will stand at `path`. A symbolic link is followed, so that the link stays
    /// and the file behind it is replaced. A device, pipe or socket (`/dev/null`, `/dev/fd/3`) is
    /// written directly, since renaming would destroy it.
    ///
    /// # Errors
    /// Where `path` is a directory or a read-only file, or its directory does not exist or can't be
    /// written.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        AtomicFile::create_listed(path, &UNFINISHED)
    }

    fn create_listed(path: &Path, list: &'static Unfinished) -> io::Result<AtomicFile> {
        let existing = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = match &existing {
            Some(metadata) if metadata.is_dir() => {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            Some(metadata) if !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(path)?;
                return Ok(AtomicFile(Sink::Direct(file)));
            }
            // Renaming would overrule a protection that plain writing respects.
            Some(metadata) if metadata.permissions().readonly() => {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            Some(_) => fs::canonicalize(path)?,
            None => path.to_path_buf(),
        };
        // The list stays locked from before the file exists until it is listed, so that a signal in
        // between waits rather than misses it.
        let mut paths = list.lock();
        if paths.closed {
            return Err(interrupted());
        }
        let temporary = temporary_beside(&target)?;
        if let Some(metadata) = existing {
            fs::set_permissions(temporary.path(), metadata.permissions())?;
        }
        let path = temporary.path().to_path_buf();
        paths.temporary.push(path.clone());
        drop(paths);
        Ok(AtomicFile(Sink::Beside(Beside {
            temporary,
            target,
            registration: Registration { list, path },
        })))
    }

    /// The file itself, for writers that need a handle of their own.
    pub fn as_file(&self) -> &File {
        match &self.0 {
            Sink::Beside(beside) => beside.temporary.as_file(),
            Sink::Direct(file) => file,
        }
    }

    /// Puts the file in its place: its bytes reach the disk, then it takes the target's name, then the
    /// directory reaches the disk.
    ///
    /// # Errors
    /// Where the disk or the directory refuses, or the process was interrupted. Before the renaming
    /// the target is as it was, and the temporary file is removed.
    pub fn commit(self) -> io::Result<()> {
        let Beside {
            mut temporary,
            target,
            registration,
        } = match self.0 {
            Sink::Direct(mut file) => return file.flush(),
            Sink::Beside(beside) => beside,
        };
        temporary.flush()?;
        temporary.as_file().sync_all()?;
        let paths = registration.list.lock();
        if paths.closed {
            return Err(interrupted());
        }
        let renamed = temporary.persist(&target);
        drop(paths);
        renamed.map_err(|failure| failure.error)?;
        sync_directory(directory_of(&target))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Sink::Beside(beside) => beside.temporary.write(bytes),
            Sink::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Sink::Beside(beside) => beside.temporary.flush(),
            Sink::Direct(file) => file.flush(),
        }
    }
}

/// The directory that holds a file.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// An empty temporary file in the target's directory, hence on its file system, with the permissions
/// that any new file of this process gets (temporary files are private by default; a result is not).
fn temporary_beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dpcausal-").suffix(".unfinished");
    #[cfg(unix)]
    let ordinary = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(ordinary);
    builder.tempfile_in(directory_of(target))
}

/// Makes a renaming durable. File systems that can't synchronise a directory say so by these two
/// kinds; there the renaming is as durable as it gets.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory)?.sync_all() {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_commit_replaces_the_target_and_leaves_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("release.json");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(entries(directory.path()).len(), 2);
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(entries(directory.path()), ["release.json"]);
    }

    #[test]
    fn without_a_commit_the_target_stays_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("release.json");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(entries(directory.path()).is_empty());
    }

    #[test]
    fn an_interrupt_removes_what_is_unfinished_and_stops_later_commits() {
        static LIST: Unfinished = Unfinished::new();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.csv");
        let done = AtomicFile::create_listed(&directory.path().join("done.csv"), &LIST).unwrap();
        let mut file = AtomicFile::create_listed(&path, &LIST).unwrap();
        file.write_all(b"a,b\n").unwrap();
        done.commit().unwrap();
        assert_eq!(LIST.lock().temporary.len(), 1);
        LIST.remove_all();
        assert_eq!(entries(directory.path()), ["done.csv"]);
        let kind = file.commit().unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::Interrupted);
        let again = AtomicFile::create_listed(&path, &LIST).err().unwrap();
        assert_eq!(again.kind(), io::ErrorKind::Interrupted);
        assert_eq!(entries(directory.path()), ["done.csv"]);
    }

    #[test]
    fn unwritable_targets_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let kind = |path: &Path| AtomicFile::create(path).err().unwrap().kind();
        assert_eq!(kind(directory.path()), io::ErrorKind::IsADirectory);
        let missing = directory.path().join("no").join("file");
        assert_eq!(kind(&missing), io::ErrorKind::NotFound);
        let protected = directory.path().join("protected");
        fs::write(&protected, "keep").unwrap();
        let mut permissions = fs::metadata(&protected).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&protected, permissions).unwrap();
        assert_eq!(kind(&protected), io::ErrorKind::PermissionDenied);
    }

    #[cfg(unix)]
    #[test]
    fn devices_links_and_permissions_survive() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let mut null = AtomicFile::create(Path::new("/dev/null")).unwrap();
        null.write_all(b"gone").unwrap();
        null.commit().unwrap();
        let kind = fs::metadata("/dev/null").unwrap().file_type();
        assert!(kind.is_char_device());

        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        let mut file = AtomicFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(entries(directory.path()), ["file", "link"]);
    }
}

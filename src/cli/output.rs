//! Where results go: standard output, or a file that appears whole or not at all.

use crate::atomic::AtomicFile;
use crate::report::Style;
use anstream::{AutoStream, ColorChoice};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The width of tables where there is no terminal to ask.
const WIDTH_WITHOUT_TERMINAL: usize = 100;

/// Lines longer than this are hard to read, however wide the terminal is.
const WIDEST: usize = 120;

/// Where a result is written: the value of `-o`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Standard output: `-`, or no `-o`.
    Stdout,
    /// A file, replaced whole once the result is complete.
    File(PathBuf),
}

impl From<OsString> for Destination {
    fn from(text: OsString) -> Destination {
        if text == "-" {
            Destination::Stdout
        } else {
            Destination::File(text.into())
        }
    }
}

impl From<Option<PathBuf>> for Destination {
    /// The absent path and `-` are standard output.
    fn from(path: Option<PathBuf>) -> Destination {
        path.map_or(Destination::Stdout, |path| path.into_os_string().into())
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Stdout => f.write_str("standard output"),
            Destination::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Destination {
    /// Writes what `content` produces, buffered. A file takes its name only after the last byte is on
    /// the disk. A reader that closes standard output early (`| head`) has what it wants: no error.
    ///
    /// # Errors
    /// Where the place can't be written, with what to do about it.
    pub fn write(
        &self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let result = match self {
            Destination::Stdout => match write_buffered(io::stdout().lock(), content) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                result => result.map(drop),
            },
            Destination::File(path) => AtomicFile::create(path)
                .and_then(|file| write_buffered(file, content))
                .and_then(AtomicFile::commit),
        };
        result.map_err(|error| {
            let advice = self.advice(&error);
            anyhow::Error::new(error).context(format!("can't write {self}{advice}"))
        })
    }

    /// Writes a text.
    ///
    /// # Errors
    /// As [`Destination::write`].
    pub fn write_text(&self, text: &str) -> anyhow::Result<()> {
        self.write(|writer| writer.write_all(text.as_bytes()))
    }

    /// Whether a file can be created there, before anything that can't be undone.
    ///
    /// # Errors
    /// As [`Destination::write`].
    pub fn check(&self) -> anyhow::Result<()> {
        match self {
            Destination::Stdout => Ok(()),
            // Opening and closing a pipe would tell its reader that nothing follows.
            Destination::File(path) if path.exists() && !path.is_file() && !path.is_dir() => Ok(()),
            Destination::File(path) => AtomicFile::create(path).map(drop).map_err(|error| {
                let advice = self.advice(&error);
                anyhow::Error::new(error).context(format!("can't write {self}{advice}"))
            }),
        }
    }

    /// How to draw texts that go there: a file and a pipe get plain ones; a terminal gets its own width,
    /// and colour unless `NO_COLOR` or the kind of terminal forbids it.
    pub fn style(&self) -> Style {
        let stdout = io::stdout();
        match self {
            Destination::Stdout if stdout.is_terminal() => {
                let size = terminal_size::terminal_size();
                let width = size.map_or(WIDTH_WITHOUT_TERMINAL, |(width, _)| width.0.into());
                Style {
                    width: width.min(WIDEST),
                    colour: AutoStream::choice(&stdout) != ColorChoice::Never,
                }
            }
            _ => Style::plain(WIDTH_WITHOUT_TERMINAL),
        }
    }

    /// What to do about an error.
    fn advice(&self, error: &io::Error) -> String {
        let directory = match self {
            Destination::File(path) => path.parent().filter(|parent| *parent != Path::new("")),
            Destination::Stdout => None,
        };
        match (error.kind(), directory) {
            (ErrorKind::NotFound, Some(directory)) => {
                format!(": create the directory {} first", directory.display())
            }
            (ErrorKind::IsADirectory, _) => ": it is a directory, name a file in it".into(),
            (ErrorKind::PermissionDenied, _) => {
                ": it or its directory is read-only, choose another place by -o".into()
            }
            (ErrorKind::StorageFull, _) => ": make room or choose another place by -o".into(),
            _ => String::new(),
        }
    }
}

/// Writes through a buffer and gives the writer back, all bytes handed over.
fn write_buffered<W: Write>(
    writer: W,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<W> {
    let mut buffer = BufWriter::with_capacity(1 << 16, writer);
    content(&mut buffer)?;
    buffer.flush()?;
    buffer.into_inner().map_err(|failure| failure.into_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_or_nothing_is_standard_output() {
        assert_eq!(Destination::from(OsString::from("-")), Destination::Stdout);
        assert_eq!(Destination::from(None), Destination::Stdout);
        let file = Destination::from(Some(PathBuf::from("a.json")));
        assert_eq!(file, Destination::File("a.json".into()));
        assert_eq!(file.to_string(), "a.json");
        assert_eq!(file.style(), Style::plain(100));
    }

    #[test]
    fn a_failed_result_leaves_the_old_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        let file = Destination::File(path.clone());
        file.write_text("first").unwrap();
        let failed = file.write(|writer| {
            writer.write_all(&[0; 1 << 20])?;
            Err(io::Error::other("no more rows"))
        });
        assert!(format!("{:#}", failed.unwrap_err()).ends_with("no more rows"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn errors_say_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let message = |path: PathBuf| {
            let error = Destination::File(path).write_text("x").unwrap_err();
            format!("{error:#}")
        };
        let missing = message(directory.path().join("no").join("out"));
        assert!(missing.contains("create the directory"), "{missing}");
        let is_directory = message(directory.path().to_path_buf());
        assert!(is_directory.contains("name a file in it"), "{is_directory}");
    }

    /// A reader that has gone away.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn small_results_meet_a_closed_pipe_too() {
        // The buffer must hand its bytes over before the command says that all is well.
        let error = write_buffered(Closed, |writer| writer.write_all(b"x"));
        assert_eq!(error.err().unwrap().kind(), ErrorKind::BrokenPipe);
    }
}

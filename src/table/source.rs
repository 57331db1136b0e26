//! Where a table comes from, and what is found there: the format is told by content.

use super::TableError;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a table is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Standard,
    /// A file that holds what came by another way, and goes by that way's name in messages.
    Spool {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
}

impl Source {
    /// The source that a command's argument names: `-` is standard input.
    pub fn from_argument(argument: &str) -> Source {
        match argument {
            "-" => Source::Standard,
            path => Source::Path(path.into()),
        }
    }

    /// The name that messages use.
    pub fn name(&self) -> String {
        match self {
            Source::Path(path) => path.display().to_string(),
            Source::Standard => "standard input".into(),
            Source::Spool { name, .. } => name.clone(),
        }
    }

    /// The file, where it is one.
    pub(crate) fn open_file(&self) -> io::Result<File> {
        match self {
            Source::Path(path) | Source::Spool { path, .. } => File::open(path),
            Source::Standard => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "standard input is not a file",
            )),
        }
    }
}

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values in UTF-8; compressed by gzip or zstd where the content says so.
    Csv,
    /// Apache Parquet.
    Parquet,
}

/// How far reading is, in bytes of the file as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The bytes read.
    pub bytes_read: u64,
    /// The file's length, where it is known.
    pub total_bytes: Option<u64>,
}

/// An opened source.
pub(super) enum Opened {
    /// Text, unpacked.
    Text {
        reader: Box<dyn Read + Send>,
        meter: Meter,
    },
    /// A Parquet file that can seek.
    Parquet { file: File, length: u64 },
}

/// The number of bytes that went through a reader.
#[derive(Clone)]
pub(super) struct Meter {
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

impl Meter {
    pub(super) fn progress(&self) -> Progress {
        Progress {
            bytes_read: self.read.load(Ordering::Relaxed),
            total_bytes: self.total,
        }
    }
}

struct Metered<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

const PARQUET_MAGIC: &[u8] = b"PAR1";
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Large enough that the decompressors and the system calls do not show in a profile.
const BUFFER: usize = 1 << 18;

/// Opens a source and finds out what it holds, unless `format` says so.
pub(super) fn open(source: &Source, format: Option<Format>) -> Result<Opened, TableError> {
    let failed = |error| TableError::Read {
        file: source.name(),
        source: error,
    };
    match source {
        Source::Path(_) | Source::Spool { .. } => {
            let mut file = source.open_file().map_err(failed)?;
            let length = file.metadata().map_err(failed)?.len();
            let start = peek(&mut file).map_err(failed)?;
            if is_parquet(&start, format) {
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                return Ok(Opened::Parquet { file, length });
            }
            text(source, start, file, Some(length))
        }
        Source::Standard => {
            let mut input = io::stdin();
            let start = peek(&mut input).map_err(failed)?;
            if is_parquet(&start, format) {
                // Parquet keeps its directory at the end. The spool has no name, so it vanishes with us.
                let mut file = tempfile::tempfile().map_err(failed)?;
                let length = io::copy(&mut Cursor::new(start).chain(input), &mut file);
                let length = length.map_err(failed)?;
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                return Ok(Opened::Parquet { file, length });
            }
            text(source, start, input, None)
        }
    }
}

fn is_parquet(start: &[u8], format: Option<Format>) -> bool {
    match format {
        Some(format) => format == Format::Parquet,
        None => start == PARQUET_MAGIC,
    }
}

/// The first bytes, as many as the longest magic number has.
fn peek(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader
        .take(PARQUET_MAGIC.len() as u64)
        .read_to_end(&mut start)?;
    Ok(start)
}

fn text(
    source: &Source,
    start: Vec<u8>,
    rest: impl Read + Send + 'static,
    total: Option<u64>,
) -> Result<Opened, TableError> {
    let failed = |error| TableError::Read {
        file: source.name(),
        source: error,
    };
    let read = Arc::new(AtomicU64::new(0));
    let meter = Meter {
        read: read.clone(),
        total,
    };
    let (gzip, zstd) = (start.starts_with(GZIP_MAGIC), start.starts_with(ZSTD_MAGIC));
    let stored = Metered {
        inner: Cursor::new(start).chain(rest),
        read,
    };
    if !gzip && !zstd {
        let reader = Box::new(stored);
        return Ok(Opened::Text { reader, meter });
    }
    let stored = BufReader::with_capacity(BUFFER, stored);
    let mut reader: Box<dyn Read + Send> = if gzip {
        // A gzip file may have several members, one after the other.
        Box::new(MultiGzDecoder::new(stored))
    } else {
        Box::new(zstd::stream::read::Decoder::with_buffer(stored).map_err(failed)?)
    };
    let start = peek(&mut reader).map_err(failed)?;
    if start == PARQUET_MAGIC {
        return Err(TableError::PackedParquet {
            file: source.name(),
        });
    }
    Ok(Opened::Text {
        reader: Box::new(Cursor::new(start).chain(reader)),
        meter,
    })
}

//! Where written bytes go: a file that appears only when it is complete, or standard output.

use super::write::Destination;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Few enough calls to the operating system that they do not show in a profile.
const BUFFER: usize = 1 << 18;

/// The level at which zstd is as fast as the disk; gzip has its own default.
const ZSTD_LEVEL: i32 = 3;

/// A destination that is being written.
pub(super) enum Sink {
    /// A file beside the one to be written, which it replaces in the end.
    File {
        temporary: NamedTempFile,
        path: PathBuf,
    },
    Standard,
}

/// A buffered stream into a sink.
pub(super) type Stream = BufWriter<Box<dyn Write + Send>>;

impl Sink {
    pub(super) fn create(destination: &Destination) -> io::Result<Sink> {
        let Destination::Path(path) = destination else {
            return Ok(Sink::Standard);
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".dpcausal-");
        // As other programs create files: readable as far as the user's mask allows.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        Ok(Sink::File {
            temporary: builder.tempfile_in(directory(path))?,
            path: path.clone(),
        })
    }

    /// A stream into the sink. One at a time.
    pub(super) fn stream(&self) -> io::Result<Stream> {
        let target: Box<dyn Write + Send> = match self {
            Sink::File { temporary, .. } => Box::new(temporary.as_file().try_clone()?),
            Sink::Standard => Box::new(io::stdout()),
        };
        Ok(BufWriter::with_capacity(BUFFER, target))
    }

    /// Puts the file in its place, after its bytes reached the disk. What was written to a stream must have
    /// been flushed.
    pub(super) fn commit(self) -> io::Result<()> {
        let Sink::File { temporary, path } = self else {
            return io::stdout().flush();
        };
        temporary.as_file().sync_all()?;
        temporary.persist(&path).map_err(|failed| failed.error)?;
        // The new name reaches the disk with the directory. Not every system can sync one; the file is
        // whole in any case.
        if cfg!(unix)
            && let Ok(directory) = File::open(directory(&path))
        {
            let _ = directory.sync_all();
        }
        Ok(())
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A stream, compressed or not.
pub(super) enum Encoder {
    Plain(Stream),
    Gzip(GzEncoder<Stream>),
    Zstd(zstd::stream::write::Encoder<'static, Stream>),
}

impl Encoder {
    /// The encoder that the destination's name asks for.
    pub(super) fn new(destination: &Destination, stream: Stream) -> io::Result<Encoder> {
        Ok(if destination.has_extension("gz") {
            Encoder::Gzip(GzEncoder::new(stream, flate2::Compression::default()))
        } else if destination.has_extension("zst") {
            Encoder::Zstd(zstd::stream::write::Encoder::new(stream, ZSTD_LEVEL)?)
        } else {
            Encoder::Plain(stream)
        })
    }

    /// Ends the compressed stream and flushes it.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut stream = match self {
            Encoder::Plain(stream) => stream,
            Encoder::Gzip(encoder) => encoder.finish()?,
            Encoder::Zstd(encoder) => encoder.finish()?,
        };
        stream.flush()
    }
}

impl Write for Encoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Encoder::Plain(stream) => stream.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::Plain(stream) => stream.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Zstd(encoder) => encoder.flush(),
        }
    }
}

//! Where written bytes go: a file that appears only when it is complete, or standard output.

use super::write::Destination;
use crate::atomic::AtomicFile;
use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Write};

/// Few enough calls to the operating system that they do not show in a profile.
const BUFFER: usize = 1 << 18;

/// The level at which zstd is as fast as the disk; gzip has its own default.
const ZSTD_LEVEL: i32 = 3;

/// A destination that is being written.
pub(super) enum Sink {
    File(AtomicFile),
    Standard,
}

/// A buffered stream into a sink.
pub(super) type Stream = BufWriter<Box<dyn Write + Send>>;

impl Sink {
    pub(super) fn create(destination: &Destination) -> io::Result<Sink> {
        match destination {
            Destination::Path(path) => Ok(Sink::File(AtomicFile::create(path)?)),
            Destination::Standard => Ok(Sink::Standard),
        }
    }

    /// A stream into the sink. One at a time.
    pub(super) fn stream(&self) -> io::Result<Stream> {
        let target: Box<dyn Write + Send> = match self {
            Sink::File(file) => Box::new(file.as_file().try_clone()?),
            Sink::Standard => Box::new(io::stdout()),
        };
        Ok(BufWriter::with_capacity(BUFFER, target))
    }

    /// Puts the file in its place, after its bytes reached the disk. What was written to a stream must have
    /// been flushed.
    pub(super) fn commit(self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.commit(),
            Sink::Standard => io::stdout().flush(),
        }
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

//! Cuts a stream of CSV text at record ends, so that its pieces can be read in parallel and none but
//! the pieces in flight is ever in memory.

use super::record::{self, Malformation};
use super::{Row, TableError};
use std::io::Read;

/// The size of a piece in bytes: large enough that the cost of a piece does not show, small enough that
/// a few of them per thread are nothing.
pub(super) const PIECE: usize = 4 << 20;

/// The longest record in bytes; a longer one is a quotation mark that was never closed.
const LONGEST_RECORD: usize = 64 << 20;

/// A piece of text that holds whole records.
pub(super) struct Piece {
    /// The text.
    pub text: Vec<u8>,
    /// The line in the file on which it starts.
    pub first_line: u64,
}

/// Cuts a stream into pieces.
pub(super) struct Splitter {
    reader: Box<dyn Read + Send>,
    file: String,
    piece: usize,
    longest: usize,
    /// The start of a record that the last piece did not complete.
    rest: Vec<u8>,
    line: u64,
    ended: bool,
}

impl Splitter {
    pub(super) fn new(reader: Box<dyn Read + Send>, file: String, piece: usize) -> Splitter {
        Splitter {
            reader,
            file,
            piece: piece.max(1),
            longest: LONGEST_RECORD,
            rest: Vec::new(),
            line: 1,
            ended: false,
        }
    }

    /// Takes the header, the first record that is no blank line, from the front of the stream. A byte order
    /// mark before it is dropped.
    pub(super) fn header(&mut self) -> Result<Vec<String>, TableError> {
        let mut piece = self.next()?.unwrap_or(Piece {
            text: Vec::new(),
            first_line: 1,
        });
        if piece.text.starts_with("\u{feff}".as_bytes()) {
            piece.text.drain(..3);
        }
        let mut at = 0;
        loop {
            if at == piece.text.len() {
                // Only blank lines so far.
                match self.next()? {
                    Some(next) => (piece, at) = (next, 0),
                    None => {
                        return Err(TableError::Empty {
                            file: self.file.clone(),
                        });
                    }
                }
                continue;
            }
            let line = piece.first_line + record::line_of(&piece.text[..at], usize::MAX) as u64;
            let found = record::scan(&piece.text[at..])
                .map_err(|malformation| self.malformed(malformation, line))?;
            if found.blank {
                at += found.length;
                continue;
            }
            let header = std::str::from_utf8(&piece.text[at..at + found.length])
                .map_err(|_| self.malformed(Malformation::Encoding, line))?;
            let header = record::cells(header);
            // What follows the header goes back to the front of the stream.
            piece.text.drain(..at + found.length);
            piece.text.append(&mut self.rest);
            self.rest = piece.text;
            self.line = line + found.lines as u64;
            return Ok(header);
        }
    }

    /// The next piece, or `None` at the end. The last record ends in a line end even where the file's does
    /// not.
    pub(super) fn next(&mut self) -> Result<Option<Piece>, TableError> {
        let mut text = std::mem::take(&mut self.rest);
        let mut goal = self.piece;
        loop {
            self.fill(&mut text, goal)?;
            let end = if self.ended {
                if text.last().is_some_and(|&last| last != b'\n') {
                    text.push(b'\n');
                }
                Some(text.len())
            } else {
                record::last_record_end(&text)
            };
            match end {
                Some(0) => return Ok(None),
                Some(end) => {
                    self.rest = text[end..].to_vec();
                    text.truncate(end);
                    let first_line = self.line;
                    self.line += memchr::memchr_iter(b'\n', &text).count() as u64;
                    return Ok(Some(Piece { text, first_line }));
                }
                None if text.len() >= self.longest => return Err(self.too_long(&text)),
                None => goal = text.len().saturating_mul(2).min(self.longest),
            }
        }
    }

    /// Reads until there are `goal` bytes or the stream ends.
    fn fill(&mut self, text: &mut Vec<u8>, goal: usize) -> Result<(), TableError> {
        if self.ended || text.len() >= goal {
            return Ok(());
        }
        let missing = goal - text.len();
        text.reserve(missing + 1);
        let read = self
            .reader
            .by_ref()
            .take(missing as u64)
            .read_to_end(text)
            .map_err(|source| TableError::Read {
                file: self.file.clone(),
                source,
            })?;
        self.ended = read < missing;
        Ok(())
    }

    /// The error for text in which no record ends by the parity of its marks: a misplaced mark, if there is
    /// one, is what turned the parity.
    fn too_long(&self, text: &[u8]) -> TableError {
        let (mut at, mut line) = (0, self.line);
        while at < text.len() {
            match record::scan(&text[at..]) {
                Ok(found) => {
                    at += found.length;
                    line += found.lines as u64;
                }
                Err(Malformation::OpenQuote) => break,
                Err(malformation) => return self.malformed(malformation, line),
            }
        }
        TableError::LongRecord {
            file: self.file.clone(),
            row: Row::Line(line),
            limit: self.longest,
        }
    }

    fn malformed(&self, malformation: Malformation, line: u64) -> TableError {
        malformed(&self.file, malformation, line, 0)
    }
}

/// The error for a malformed record.
pub(super) fn malformed(
    file: &str,
    malformation: Malformation,
    line: u64,
    expected: usize,
) -> TableError {
    let (file, row) = (file.to_owned(), Row::Line(line));
    match malformation {
        Malformation::Ragged(found) => TableError::Ragged {
            file,
            row,
            found,
            expected,
        },
        Malformation::Quote => TableError::Quote { file, row },
        Malformation::OpenQuote => TableError::OpenQuote { file, row },
        Malformation::Encoding => TableError::Encoding { file, row },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn splitter(text: &[u8], piece: usize) -> Splitter {
        Splitter::new(Box::new(Cursor::new(text.to_vec())), "t.csv".into(), piece)
    }

    #[test]
    fn pieces_of_any_size_hold_whole_records() {
        let text = b"\xef\xbb\xbf\n\r\na,\"b\nb\"\n1,2\n\"3\n,\",4\n\n5,\"\"\"\n\"\n7,8";
        for size in 1..40 {
            let mut splitter = splitter(text, size);
            assert_eq!(splitter.header().unwrap(), ["a", "b\nb"]);
            let (mut joined, mut line) = (Vec::new(), 5);
            while let Some(piece) = splitter.next().unwrap() {
                assert_eq!(piece.first_line, line, "{size}");
                assert_eq!(record::check(&piece.text, 2).fault, None, "{size}");
                line += piece.text.iter().filter(|&&b| b == b'\n').count() as u64;
                joined.extend(piece.text);
            }
            assert_eq!(joined, b"1,2\n\"3\n,\",4\n\n5,\"\"\"\n\"\n7,8\n");
        }
    }

    #[test]
    fn a_file_without_a_header_is_empty() {
        for text in ["", "\n", "\u{feff}", "\r\n\n\n"] {
            for size in [1, 2, 100] {
                assert!(matches!(
                    splitter(text.as_bytes(), size).header(),
                    Err(TableError::Empty { .. })
                ));
            }
        }
    }

    #[test]
    fn an_endless_record_is_refused_with_its_line() {
        let mut open = splitter(b"a\n1\n\"222222222222222222222222222222222", 3);
        open.longest = 16;
        open.header().unwrap();
        let error = loop {
            match open.next() {
                Ok(piece) => assert!(piece.is_some()),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(
                error,
                TableError::LongRecord {
                    row: Row::Line(3),
                    ..
                }
            ),
            "{error}"
        );
        let mut stray = splitter(b"a\n1\n2\"222222222222222222222222222222222", 3);
        stray.longest = 16;
        stray.header().unwrap();
        let error = loop {
            match stray.next() {
                Ok(piece) => assert!(piece.is_some()),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(
                error,
                TableError::Quote {
                    row: Row::Line(3),
                    ..
                }
            ),
            "{error}"
        );
    }
}

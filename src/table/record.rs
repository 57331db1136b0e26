//! Records of CSV text: where they end, and whether they are well formed.
//!
//! The dialect is RFC 4180: commas, records that end in LF or CRLF, cells in quotation marks that may
//! hold commas, line ends and doubled quotation marks. A quotation mark anywhere else is an error, not a
//! guess. Blank lines are skipped (an empty cell of a one-column table is written `""`).

use memchr::{memchr, memchr_iter, memchr2, memchr3};

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformation {
    /// It has this many cells, which is not the number in the header.
    Ragged(usize),
    /// A quotation mark where none may stand.
    Quote,
    /// A quoted cell that does not end.
    OpenQuote,
    /// Not UTF-8.
    Encoding,
}

/// The first malformed record of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    /// The number of line ends before it.
    pub line: usize,
    /// What is wrong.
    pub malformation: Malformation,
}

/// What a check of a piece of text found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Checked {
    /// The number of well-formed records, blank lines apart, before the first fault.
    pub records: usize,
    /// Their length in bytes, blank lines included.
    pub length: usize,
    /// Whether there are blank lines among them.
    pub blank_lines: bool,
    /// The first fault.
    pub fault: Option<Fault>,
}

/// Checks text that starts at the start of a record and ends at the end of one: every record must have
/// `cells` cells.
pub(super) fn check(text: &[u8], cells: usize) -> Checked {
    let invalid = std::str::from_utf8(text)
        .err()
        .map(|error| error.valid_up_to());
    if invalid.is_none() && memchr(b'"', text).is_none() {
        check_unquoted(text, cells)
    } else {
        check_quoted(text, cells, invalid)
    }
}

/// The check for text without quotation marks, where lines are records: at the speed of `memchr`.
fn check_unquoted(text: &[u8], cells: usize) -> Checked {
    let (mut records, mut start, mut blank_lines) = (0, 0, false);
    let mut line = 0;
    while start < text.len() {
        let end = memchr(b'\n', &text[start..]).map_or(text.len(), |at| start + at + 1);
        let record = &text[start..end];
        if is_blank(record) {
            blank_lines = true;
        } else {
            let found = memchr_iter(b',', record).count() + 1;
            if found != cells {
                let malformation = Malformation::Ragged(found);
                return Checked {
                    records,
                    length: start,
                    blank_lines,
                    fault: Some(Fault { line, malformation }),
                };
            }
            records += 1;
        }
        line += 1;
        start = end;
    }
    Checked {
        records,
        length: start,
        blank_lines,
        fault: None,
    }
}

fn check_quoted(text: &[u8], cells: usize, invalid: Option<usize>) -> Checked {
    let mut checked = Checked {
        records: 0,
        length: 0,
        blank_lines: false,
        fault: None,
    };
    let mut line = 0;
    while checked.length < text.len() {
        let start = checked.length;
        let record = match scan(&text[start..]) {
            Ok(record) if invalid.is_some_and(|at| at < start + record.length) => {
                Err(Malformation::Encoding)
            }
            Ok(record) if !record.blank && record.cells != cells => {
                Err(Malformation::Ragged(record.cells))
            }
            other => other,
        };
        match record {
            Ok(record) => {
                checked.records += usize::from(!record.blank);
                checked.blank_lines |= record.blank;
                checked.length += record.length;
                line += record.lines;
            }
            Err(malformation) => {
                checked.fault = Some(Fault { line, malformation });
                break;
            }
        }
    }
    checked
}

/// One record, its line end included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// Bytes.
    pub length: usize,
    /// Cells.
    pub cells: usize,
    /// Line ends, those within quotes included.
    pub lines: usize,
    /// Whether it is a blank line.
    pub blank: bool,
}

/// Scans the record at the start of `text`, which must not be empty.
pub(super) fn scan(text: &[u8]) -> Result<Record, Malformation> {
    let (mut at, mut cells, mut lines) = (0, 1, 0);
    loop {
        if text.get(at) == Some(&b'"') {
            let (end, line_ends) = closing_quote(text, at)?;
            lines += line_ends;
            at = end + 1;
            match &text[at..] {
                [] | [b',' | b'\n', ..] => {}
                [b'\r', b'\n', ..] | [b'\r'] => at += 1,
                _ => return Err(Malformation::Quote),
            }
        } else {
            at = memchr3(b',', b'\n', b'"', &text[at..]).map_or(text.len(), |next| at + next);
        }
        match text.get(at) {
            Some(b',') => cells += 1,
            Some(b'"') => return Err(Malformation::Quote),
            end => {
                let length = at + usize::from(end.is_some());
                return Ok(Record {
                    length,
                    cells,
                    lines: lines + usize::from(end.is_some()),
                    blank: is_blank(&text[..length]),
                });
            }
        }
        at += 1;
    }
}

/// The position of the mark that closes the quoted cell at `open`, and the line ends within the cell.
fn closing_quote(text: &[u8], open: usize) -> Result<(usize, usize), Malformation> {
    let (mut at, mut lines) = (open + 1, 0);
    loop {
        at += memchr2(b'"', b'\n', &text[at..]).ok_or(Malformation::OpenQuote)?;
        match (text[at], text.get(at + 1)) {
            (b'\n', _) => {
                lines += 1;
                at += 1;
            }
            (_, Some(b'"')) => at += 2,
            _ => return Ok((at, lines)),
        }
    }
}

/// Whether a record is a blank line.
pub(super) fn is_blank(record: &[u8]) -> bool {
    matches!(record, [] | b"\n" | b"\r\n" | b"\r")
}

/// The cells of one well-formed record of UTF-8 text.
pub(super) fn cells(record: &str) -> Vec<String> {
    let record = record.strip_suffix('\n').unwrap_or(record);
    let record = record.strip_suffix('\r').unwrap_or(record);
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = record.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells.push(cell);
    cells
}

/// The line ends before the record with this index (blank lines do not count as records) of well-formed
/// text.
pub(super) fn line_of(text: &[u8], index: usize) -> usize {
    let (mut at, mut line, mut seen) = (0, 0, 0);
    while at < text.len() {
        match scan(&text[at..]) {
            Ok(record) if !record.blank && seen == index => return line,
            Ok(record) => {
                seen += usize::from(!record.blank);
                line += record.lines;
                at += record.length;
            }
            Err(_) => break,
        }
    }
    line
}

/// Well-formed text without its blank lines.
pub(super) fn without_blank_lines(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let Ok(record) = scan(&text[at..]) else { break };
        if !record.blank {
            kept.extend_from_slice(&text[at..at + record.length]);
        }
        at += record.length;
    }
    kept
}

/// The end of the last complete record in text that starts at the start of a record, found by the parity
/// of quotation marks (exact where the text is well formed), or `None` where no record is complete.
pub(super) fn last_record_end(text: &[u8]) -> Option<usize> {
    let mut open = memchr_iter(b'"', text).count() % 2 == 1;
    let mut end = text.len();
    // From the end backwards: at a line end outside quotes, an even number of marks stands before it.
    while let Some(at) = memchr::memrchr2(b'"', b'\n', &text[..end]) {
        match text[at] {
            b'"' => open = !open,
            _ if !open => return Some(at + 1),
            _ => {}
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &[u8], cells: usize) -> Option<(usize, Malformation)> {
        check(text, cells)
            .fault
            .map(|fault| (fault.line, fault.malformation))
    }

    #[test]
    fn well_formed_text_passes() {
        let text = b"a,b\r\n\"x,\n\"\"y\",2\n\n\"\",\n";
        let checked = check(text, 2);
        assert_eq!(
            checked,
            Checked {
                records: 3,
                length: text.len(),
                blank_lines: true,
                fault: None
            }
        );
        assert_eq!(line_of(text, 2), 4);
        assert_eq!(
            without_blank_lines(text),
            b"a,b\r\n\"x,\n\"\"y\",2\n\"\",\n"
        );
        assert_eq!(check(b"1,2\n\r\n3,4", 2).records, 2);
    }

    #[test]
    fn malformed_records_are_found_with_their_line() {
        assert_eq!(fault(b"1,2\n3\n", 2), Some((1, Malformation::Ragged(1))));
        assert_eq!(
            fault(b"\"\n\",2\n3,4,5\n", 2),
            Some((2, Malformation::Ragged(3)))
        );
        assert_eq!(fault(b"1,2\n3,a\"b\n", 2), Some((1, Malformation::Quote)));
        assert_eq!(fault(b"1,\"a\"b\n", 2), Some((0, Malformation::Quote)));
        assert_eq!(fault(b"1,\"a\r\"\r,\n", 2), Some((0, Malformation::Quote)));
        assert_eq!(
            fault(b"1,2\n3,\"4\n5,6\n", 2),
            Some((1, Malformation::OpenQuote))
        );
        assert_eq!(
            fault(b"1,2\n3,\xff\n4\n", 2),
            Some((1, Malformation::Encoding))
        );
        assert_eq!(fault(b"1\n3,\xff\n", 2), Some((0, Malformation::Ragged(1))));
    }

    #[test]
    fn both_checks_agree_where_no_mark_stands() {
        for text in ["", "a,b\nc,d\n", "a,b\r\n\r\nc\n", "\n\na,b", "a,b,c\n"] {
            let text = text.as_bytes();
            assert_eq!(check_unquoted(text, 2), check_quoted(text, 2, None));
        }
    }

    #[test]
    fn the_last_end_is_outside_quotes() {
        assert_eq!(last_record_end(b"a,b\nc"), Some(4));
        assert_eq!(last_record_end(b"a,\"\n\"\nc,\"\n"), Some(6));
        assert_eq!(last_record_end(b"a,\"\n"), None);
        assert_eq!(last_record_end(b""), None);
    }

    #[test]
    fn cells_lose_their_quotes() {
        assert_eq!(cells("a,\"b,\"\"c\"\"\",\r\n"), ["a", "b,\"c\"", ""]);
    }
}

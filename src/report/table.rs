//! The one look of every table that the command prints: a title, headers over a thin rule, numbers
//! aligned to the right, an optional total under a second rule, and notes beneath.

use comfy_table::presets::NOTHING;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Width};

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const WARNING: &str = "\u{1b}[1;31m";
const PLAIN: &str = "\u{1b}[0m";
const RULE: char = '─';

/// Text columns are not squeezed below this width: narrower ones read letter by letter.
const NARROWEST_TEXT: usize = 10;

/// How a text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// The width in columns that lines are kept within, where the content allows it.
    pub width: usize,
    /// Whether to use bold, dim and red (ANSI escapes).
    pub colour: bool,
}

impl Style {
    /// Plain text of a given width.
    pub fn plain(width: usize) -> Style {
        Style {
            width,
            colour: false,
        }
    }

    /// A line in an escape, where colour is wanted.
    fn paint(self, escape: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("{escape}{text}{PLAIN}")
        } else {
            text.into()
        }
    }

    /// A title.
    pub(super) fn title(self, text: &str) -> String {
        self.paint(BOLD, text)
    }

    /// A warning.
    pub(super) fn warning(self, text: &str) -> String {
        self.paint(WARNING, text)
    }

    /// Something of lesser importance.
    pub(super) fn aside(self, text: &str) -> String {
        self.paint(DIM, text)
    }
}

/// The header of a column and what its cells hold.
#[derive(Debug, Clone)]
pub struct Column {
    pub(super) header: String,
    pub(super) numeric: bool,
}

impl Column {
    /// A column of texts: to the left, broken into lines where the table is too wide.
    pub fn text(header: impl Into<String>) -> Column {
        Column {
            header: header.into(),
            numeric: false,
        }
    }

    /// A column of numbers (written by [`super::numbers`]): to the right, never broken.
    pub fn number(header: impl Into<String>) -> Column {
        Column {
            header: header.into(),
            numeric: true,
        }
    }
}

/// A table; see the module's documentation.
#[derive(Debug, Clone)]
pub struct Table {
    pub(super) title: Option<String>,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) totals: Vec<Vec<String>>,
    pub(super) notes: Vec<String>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        Table {
            title: None,
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
            totals: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Sets the line above the headers.
    pub fn title(mut self, title: impl Into<String>) -> Table {
        self.title = Some(title.into());
        self
    }

    /// Adds a row: one cell per column; missing ones are empty.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a row under the rule at the table's end, for sums.
    pub fn total<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.totals
            .push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a line beneath the table.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The table as text; every line ends with a line feed and none with spaces.
    pub fn render(&self, style: Style) -> String {
        let mut lines = Vec::new();
        if let Some(title) = &self.title {
            lines.push(style.title(&visible(title)));
            lines.push(String::new());
        }
        lines.extend(self.grid(style));
        if !self.notes.is_empty() {
            lines.push(String::new());
            for note in &self.notes {
                lines.extend(wrapped(note, "", style));
            }
        }
        joined(&lines)
    }

    /// The headers, each as many lines high as the highest, with its text at the bottom.
    fn headers(&self) -> Vec<String> {
        let height = |header: &str| header.split('\n').count();
        let heights = self.columns.iter().map(|column| height(&column.header));
        let highest = heights.max().unwrap_or(1);
        let header = |column: &Column| {
            let empty_lines = "\n".repeat(highest - height(&column.header));
            empty_lines + &visible(&column.header)
        };
        self.columns.iter().map(header).collect()
    }

    /// Headers, rules, rows and totals.
    fn grid(&self, style: Style) -> Vec<String> {
        let mut grid = laid_out(style.width);
        *grid.style_mut() = NOTHING.header_separator(LineStyle::none().fill(RULE));
        grid.set_header(self.headers());
        for row in &self.rows {
            grid.add_row(row.iter().map(|cell| visible(cell)));
        }
        if !self.totals.is_empty() {
            // Stands for the second rule until the width is known.
            grid.add_row([RULE.to_string()]);
            for row in &self.totals {
                grid.add_row(row.iter().map(|cell| visible(cell)));
            }
        }
        let widths = grid.column_max_content_widths();
        let last = self.columns.len().saturating_sub(1);
        for (index, (column, width)) in self.columns.iter().zip(widths).enumerate() {
            let Some(laid_out) = grid.column_mut(index) else {
                continue;
            };
            laid_out.set_padding((0, if index == last { 0 } else { 2 }));
            if column.numeric {
                laid_out.set_cell_alignment(CellAlignment::Right);
                laid_out.set_constraint(ColumnConstraint::ContentWidth);
            } else {
                let narrowest = usize::from(width).min(NARROWEST_TEXT) as u16 + 2;
                laid_out.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(narrowest)));
            }
        }
        let lines: Vec<String> = grid.trim_fmt().lines().map(str::to_owned).collect();
        let is_rule = |line: &String| !line.is_empty() && line.chars().all(|c| c == RULE);
        let header = lines.iter().position(is_rule).unwrap_or(0);
        let rule = lines.get(header).cloned().unwrap_or_default();
        lines
            .into_iter()
            .enumerate()
            .map(|(index, line)| match index {
                _ if index < header => style.paint(BOLD, &line),
                _ if line.chars().eq([RULE]) || index == header => style.paint(DIM, &rule),
                _ => line,
            })
            .collect()
    }
}

/// A text, broken into lines within the style's width, dim, the first line behind `mark` and the others
/// indented as far.
pub(super) fn wrapped(text: &str, mark: &str, style: Style) -> Vec<String> {
    let mut grid = laid_out(style.width);
    *grid.style_mut() = NOTHING;
    if mark.is_empty() {
        grid.add_row([visible(text)]);
    } else {
        grid.add_row([mark.to_owned(), visible(text)]);
    }
    let last = usize::from(!mark.is_empty());
    for (index, column) in grid.column_iter_mut().enumerate() {
        column.set_padding((0, u16::from(index != last)));
        if index != last {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    let text = grid.trim_fmt();
    text.lines().map(|line| style.aside(line)).collect()
}

/// Lines with a line feed after each.
pub(super) fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn laid_out(width: usize) -> comfy_table::Table {
    let mut grid = comfy_table::Table::new();
    grid.set_content_arrangement(ContentArrangement::Dynamic);
    grid.set_width(width.clamp(20, 10_000) as u16);
    grid
}

/// The text with control characters made visible: names come from files that others wrote, and an
/// escape sequence in one must not reach the terminal.
fn visible(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\n' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Table {
        let columns = [
            Column::text("Block"),
            Column::number("Cells"),
            Column::number("Sigma"),
            Column::number("Charge"),
        ];
        let mut table = Table::new(columns).title("Plan");
        table.row(["hub", "4", "12.5", "0.0400"]);
        table.row(["leaf:age", "16", "9.25", "0.0123"]);
        table.total(["sum", "20", "", "0.0523"]);
        table.note("Charges are in rho of zero-concentrated differential privacy.");
        table
    }

    #[test]
    fn numbers_stand_to_the_right_and_sums_under_a_rule() {
        let expected = "\
Plan

Block     Cells  Sigma  Charge
──────────────────────────────
hub           4   12.5  0.0400
leaf:age     16   9.25  0.0123
──────────────────────────────
sum          20         0.0523

Charges are in rho of
zero-concentrated differential
privacy.
";
        assert_eq!(plan().render(Style::plain(30)), expected);
    }

    #[test]
    fn colour_changes_no_letter() {
        let plain = plan().render(Style::plain(40));
        let coloured = plan().render(Style {
            width: 40,
            colour: true,
        });
        assert!(coloured.contains("\u{1b}[1mBlock"));
        let stripped = [BOLD, DIM, WARNING, PLAIN]
            .iter()
            .fold(coloured, |text, escape| text.replace(escape, ""));
        assert_eq!(stripped, plain);
    }

    #[test]
    fn long_texts_are_broken_and_numbers_are_not() {
        let mut table = Table::new([Column::text("Name"), Column::number("Value")]);
        table.row(["a rather long name of a block", "1,234,567"]);
        let text = table.render(Style::plain(24));
        assert!(
            text.lines().all(|line| line.chars().count() <= 24),
            "{text}"
        );
        assert!(text.contains("1,234,567"));
    }

    #[test]
    fn escape_sequences_in_names_do_not_reach_the_terminal() {
        let mut table = Table::new([Column::text("Name\u{7}")]).title("\u{1b}]0;x");
        table.row(["\u{1b}[2J"]);
        table.note("\u{9b}31m");
        let text = table.render(Style::plain(40));
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    }
}

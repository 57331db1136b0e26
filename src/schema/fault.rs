//! What is wrong with a document, and where: the errors of schema and workload files.

use super::document::Position;
use std::fmt;

/// Where in a document an error lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a text.
    Text {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
    },
    /// In a document that has no text of its own, such as the one that a release embeds: the element,
    /// for example `columns[3].bounds`; empty for the document as a whole.
    Element(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Place::Text { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Place::Element(path) if path.is_empty() => f.write_str("document"),
            Place::Element(path) => f.write_str(path),
        }
    }
}

/// An error in a document: where, what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct DocumentError {
    /// Where.
    pub place: Place,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl DocumentError {
    pub(crate) fn at(file: &str, position: Position, message: String) -> Self {
        let place = Place::Text {
            file: file.into(),
            line: position.line,
            column: position.column,
        };
        DocumentError { place, message }
    }
}

impl From<Fault> for DocumentError {
    fn from(fault: Fault) -> Self {
        let mut path = String::new();
        for step in &fault.path {
            match step {
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => path.extend([".", key]),
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        DocumentError {
            place: Place::Element(path),
            message: fault.message,
        }
    }
}

/// One step from a value to a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Step::Key(key.into())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// The way from the top of a document to an element; checks carry it along.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path(Vec<Step>);

impl Path {
    /// The way to a part of this element.
    pub fn to(&self, step: impl Into<Step>) -> Path {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Path(steps)
    }

    /// An error of this element.
    pub fn fault(&self, message: impl Into<String>) -> Fault {
        Fault {
            path: self.0.clone(),
            message: message.into(),
        }
    }
}

/// An error of meaning, before its place in the text is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub path: Vec<Step>,
    pub message: String,
}

/// `; did you mean "age"?` where a known name is near, else nothing.
///
/// Near means: at most a third of the longer name's letters, but at least one, are to be changed, and not
/// all of them.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let nearest = known
        .into_iter()
        .map(|k| (strsim::damerau_levenshtein(name, k), k))
        .filter(|(distance, k)| {
            let longer = name.chars().count().max(k.chars().count());
            *distance <= (longer / 3).max(1) && *distance < longer
        })
        .min_by_key(|(distance, _)| *distance);
    nearest.map_or(String::new(), |(_, k)| format!("; did you mean {k:?}?"))
}

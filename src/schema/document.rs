//! A YAML or JSON document as a tree of texts with their positions.
//!
//! Scalars keep the text that the author wrote (`007`, `1.50`, `no`): they become numbers or truth
//! values only where the type that reads them says so. Every node knows its line and column, so that
//! any error, of syntax, of a key or of meaning, can point at the place.

use super::fault::{DocumentError, Fault, Step};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};
use std::collections::HashMap;

/// Deepest nesting that is read; our formats need six levels. Bounds the recursion.
const MAX_DEPTH: usize = 32;

/// Most nodes that are read, keys included and aliases expanded: three columns with the most levels a
/// column can have, each labelled, fit. Bounds the memory that a small file full of aliases can ask for.
const MAX_NODES: usize = 1_000_000;

/// A place in a document, both counted from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub line: usize,
    pub column: usize,
}

impl From<Marker> for Position {
    fn from(marker: Marker) -> Self {
        Position {
            line: marker.line(),
            column: marker.col() + 1,
        }
    }
}

/// A text that may stand as a key, with its place.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub text: String,
    pub position: Position,
}

/// A value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub position: Position,
    pub content: Content,
}

/// What a value holds.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A scalar's text, and whether it stood without quotes.
    Scalar {
        text: String,
        is_plain: bool,
    },
    Sequence(Vec<Node>),
    Mapping(Vec<(Key, Node)>),
}

/// A document and the name of the file that it came from.
#[derive(Debug)]
pub(crate) struct Document<'file> {
    file: &'file str,
    pub root: Node,
}

impl<'file> Document<'file> {
    /// Reads the one document of a text. JSON is read too, being YAML.
    pub fn parse(text: &str, file: &'file str) -> Result<Document<'file>, DocumentError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match Reader::new(text).document() {
            Ok(root) => Ok(Document { file, root }),
            Err((position, message)) => Err(DocumentError::at(file, position, message)),
        }
    }

    /// Refuses a document of another format, before its keys are read: another version may have others.
    pub fn expect_format(&self, format: &str) -> Result<(), DocumentError> {
        let step = Step::Key("format".into());
        match self.root.get(&step) {
            None => Err(self.error(
                self.root.position,
                format!("the document does not say what it is; begin it with \"format: {format}\""),
            )),
            Some(node) => match &node.content {
                Content::Scalar { text, .. } if text == format => Ok(()),
                Content::Scalar { text, .. } => Err(self.error(
                    node.position,
                    format!(
                        "format {text:?} is not the one that is read here ({format}); take the version of dpcausal \
                         that wrote it, or the right file"
                    ),
                )),
                _ => Err(self.error(node.position, format!("expected \"format: {format}\""))),
            },
        }
    }

    /// Reads the document into a type, and turns what the type refuses into an error with a place.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, DocumentError> {
        T::deserialize(&self.root).map_err(|error| {
            let position = error.position.unwrap_or(self.root.position);
            DocumentError::at(self.file, position, error.message)
        })
    }

    /// Gives an error of meaning its place: the deepest node of its path that exists.
    pub fn explain(&self, fault: Fault) -> DocumentError {
        DocumentError::at(self.file, self.locate(&fault.path), fault.message)
    }

    fn error(&self, position: Position, message: String) -> DocumentError {
        DocumentError::at(self.file, position, message)
    }

    fn locate(&self, path: &[Step]) -> Position {
        let mut node = &self.root;
        for step in path {
            match node.get(step) {
                Some(next) => node = next,
                None => break,
            }
        }
        node.position
    }
}

impl Node {
    fn get(&self, step: &Step) -> Option<&Node> {
        match (&self.content, step) {
            (Content::Mapping(entries), Step::Key(key)) => entries
                .iter()
                .find(|(k, _)| k.text == *key)
                .map(|(_, value)| value),
            (Content::Sequence(items), Step::Index(index)) => items.get(*index),
            _ => None,
        }
    }
}

/// What is wrong with a text, and where.
type Refusal = (Position, String);

/// Builds the tree from the parser's events.
struct Reader<'text> {
    parser: Parser<'text, StrInput<'text>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'text> Reader<'text> {
    fn new(text: &'text str) -> Self {
        Reader {
            parser: Parser::new_from_str(text),
            anchors: HashMap::new(),
            nodes: 0,
        }
    }

    fn document(mut self) -> Result<Node, Refusal> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            let position = Position::from(span.start);
            match event {
                Event::StreamEnd => break,
                Event::Nothing
                | Event::StreamStart
                | Event::DocumentStart(_)
                | Event::DocumentEnd => {}
                _ if root.is_some() => {
                    return Err((position, "a second document; keep one in a file".into()));
                }
                event => root = Some(self.node(event, span, 0)?),
            }
        }
        let start = Position { line: 1, column: 1 };
        root.ok_or_else(|| (start, "the document is empty".into()))
    }

    fn next(&mut self) -> Result<(Event<'text>, Span), Refusal> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err((Position::from(*error.marker()), error.info().into())),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// The node that begins with an event.
    fn node(&mut self, event: Event<'text>, span: Span, depth: usize) -> Result<Node, Refusal> {
        let position = Position::from(span.start);
        let refuse = |message: &str| Err((position, message.to_string()));
        if depth > MAX_DEPTH {
            return refuse("nested too deeply");
        }
        self.count(1, position)?;
        let (content, anchor) = match event {
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                return refuse("YAML tags have no meaning here; remove the tag");
            }
            Event::Scalar(text, style, anchor, None) => {
                let is_plain = style == ScalarStyle::Plain;
                let text = text.into_owned();
                (Content::Scalar { text, is_plain }, anchor)
            }
            Event::SequenceStart(anchor, None) => (self.sequence(depth)?, anchor),
            Event::MappingStart(anchor, None) => (self.mapping(depth)?, anchor),
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    return refuse("this alias stands inside the value that it names");
                };
                let mut node = node.clone();
                if depth + node.depth() > MAX_DEPTH {
                    return refuse("nested too deeply");
                }
                node.position = position;
                self.count(node.size(), position)?;
                return Ok(node);
            }
            _ => return refuse("a value is missing here"),
        };
        let node = Node { position, content };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn sequence(&mut self, depth: usize) -> Result<Content, Refusal> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Content::Sequence(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Content, Refusal> {
        let mut entries = Vec::new();
        let mut seen: HashMap<String, Position> = HashMap::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Content::Mapping(entries));
            }
            let key = self.node(event, span, depth + 1)?;
            let position = key.position;
            let Content::Scalar { text, .. } = key.content else {
                return Err((position, "a key must be a text".into()));
            };
            if let Some(first) = seen.insert(text.clone(), position) {
                let message = format!(
                    "key {text:?} stands here and in line {}; remove one",
                    first.line
                );
                return Err((position, message));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            entries.push((Key { text, position }, value));
        }
    }

    fn count(&mut self, nodes: usize, position: Position) -> Result<(), Refusal> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            return Err((position, format!("more than {MAX_NODES} values")));
        }
        Ok(())
    }
}

impl Node {
    fn children(&self) -> Box<dyn Iterator<Item = &Node> + '_> {
        match &self.content {
            Content::Scalar { .. } => Box::new(std::iter::empty()),
            Content::Sequence(items) => Box::new(items.iter()),
            Content::Mapping(entries) => Box::new(entries.iter().map(|(_, value)| value)),
        }
    }

    /// The number of nodes below and with this one. Recursion is bounded by [`MAX_DEPTH`].
    fn size(&self) -> usize {
        1 + self.children().map(Node::size).sum::<usize>()
    }

    /// The number of levels below this one.
    fn depth(&self) -> usize {
        self.children().map(|c| 1 + c.depth()).max().unwrap_or(0)
    }
}

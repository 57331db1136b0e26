//! Reading a document's nodes into types by serde, with the place of whatever a type refuses.

use super::document::{Content, Key, Node, Position};
use super::fault::did_you_mean;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;

/// What a type refused, and where, once known.
#[derive(Debug)]
pub(crate) struct ReadError {
    pub position: Option<Position>,
    pub message: String,
}

impl ReadError {
    fn at(mut self, position: Position) -> Self {
        self.position.get_or_insert(position);
        self
    }

    fn unknown(what: &str, name: &str, expected: &'static [&'static str]) -> Self {
        let nearest = did_you_mean(name, expected.iter().copied());
        let known = expected.join(", ");
        de::Error::custom(format!("unknown {what} {name:?}{nearest} (known: {known})"))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        ReadError {
            position: None,
            message: message.to_string(),
        }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        ReadError::unknown("key", field, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        ReadError::unknown("value", variant, expected)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format!("key {field:?} is missing; add it"))
    }

    fn invalid_type(unexpected: Unexpected, expected: &dyn Expected) -> Self {
        let found = match unexpected {
            Unexpected::Seq => "a list".into(),
            Unexpected::Map => "a mapping".into(),
            Unexpected::Str(text) => format!("{text:?}"),
            Unexpected::Unit => "nothing".into(),
            other => other.to_string(),
        };
        Self::custom(format!("expected {expected}, found {found}"))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::custom(format!("expected {expected}, found {length} values"))
    }
}

/// Whether a plain text stands for "nothing".
fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null")
}

/// A real number as YAML writes it; infinities and NaN are numbers here, for the checks to refuse.
fn real(text: &str) -> Option<f64> {
    match text {
        ".inf" | "+.inf" => Some(f64::INFINITY),
        "-.inf" => Some(f64::NEG_INFINITY),
        ".nan" => Some(f64::NAN),
        _ => text.parse().ok(),
    }
}

impl Node {
    /// The text of a scalar that stands without quotes: numbers and truth values have none.
    fn plain(&self, expected: &str) -> Result<&str, ReadError> {
        match &self.content {
            Content::Scalar {
                text,
                is_plain: true,
            } => Ok(text),
            Content::Scalar { text, .. } => Err(de::Error::custom(format!(
                "expected {expected}, found the quoted text {text:?}; remove the quotes"
            ))),
            Content::Sequence(_) => Err(de::Error::invalid_type(Unexpected::Seq, &expected)),
            Content::Mapping(_) => Err(de::Error::invalid_type(Unexpected::Map, &expected)),
        }
    }

    fn parse<T>(&self, expected: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, ReadError> {
        let parsed = self.plain(expected).and_then(|text| {
            read(text).ok_or_else(|| de::Error::invalid_type(Unexpected::Str(text), &expected))
        });
        parsed.map_err(|e| e.at(self.position))
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match &self.content {
            Content::Scalar { text, .. } => visitor.visit_borrowed_str(text),
            Content::Sequence(items) => {
                let mut items = SeqDeserializer::new(items.iter());
                let read = visitor.visit_seq(&mut items);
                // A tuple's visitor stops early; what is left over is an error.
                read.and_then(|value| items.end().map(|()| value))
            }
            Content::Mapping(entries) => {
                let entries = entries.iter().map(|(key, value)| (key, value));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        };
        read.map_err(|e: ReadError| e.at(self.position))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.content {
            Content::Scalar {
                text,
                is_plain: true,
            } if is_null(text) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_bool(self.parse("true or false", |text| text.parse().ok())?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_u64(self.parse("a whole number, not negative", |text| text.parse().ok())?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let expected = "a whole number from 0 to 4294967295";
        visitor.visit_u32(self.parse(expected, |text| text.parse().ok())?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_f64(self.parse("a number", real)?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let read = match &self.content {
            Content::Scalar { text, .. } => visitor.visit_enum(text.as_str().into_deserializer()),
            Content::Sequence(_) => Err(de::Error::invalid_type(Unexpected::Seq, &"a text")),
            Content::Mapping(_) => Err(de::Error::invalid_type(Unexpected::Map, &"a text")),
        };
        read.map_err(|e: ReadError| e.at(self.position))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> Deserializer<'de> for &'de Key {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = visitor.visit_borrowed_str(&self.text);
        read.map_err(|e: ReadError| e.at(self.position))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, ReadError> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> IntoDeserializer<'de, ReadError> for &'de Key {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

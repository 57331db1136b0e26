//! Values that may be written in several ways: as a text, a list or a mapping.
//!
//! serde's untagged enums try one way after the other on a copy of the value, which loses the place of
//! an error and the text of a scalar; here the shape of what stands there decides.

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A type that can be read from some of the three shapes.
pub(crate) trait Shape<'de>: Sized {
    /// What may stand there, for errors.
    const EXPECTED: &'static str;

    /// Reads a scalar's text, or `None` where it has no meaning.
    fn from_text(_text: &str) -> Option<Self> {
        None
    }

    /// Reads a list.
    fn from_list<A: SeqAccess<'de>>(_list: A) -> Result<Self, A::Error> {
        Err(de::Error::invalid_type(Unexpected::Seq, &Self::EXPECTED))
    }

    /// Reads a mapping.
    fn from_mapping<A: MapAccess<'de>>(_mapping: A) -> Result<Self, A::Error> {
        Err(de::Error::invalid_type(Unexpected::Map, &Self::EXPECTED))
    }
}

/// Reads a value by its shape.
pub(crate) fn read<'de, T: Shape<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(ShapeVisitor(PhantomData))
}

struct ShapeVisitor<T>(PhantomData<T>);

impl<'de, T: Shape<'de>> Visitor<'de> for ShapeVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).ok_or_else(|| E::invalid_type(Unexpected::Str(text), &T::EXPECTED))
    }

    // Numbers and truth values come from JSON, as a release embeds it; our own documents give texts.
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mapping: A) -> Result<T, A::Error> {
        T::from_mapping(mapping)
    }
}

/// Implements `Deserialize` for types that have a [`Shape`].
macro_rules! read_by_shape {
    ($($type:ty),+) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::schema::shape::read(from)
            }
        }
    )+};
}
pub(crate) use read_by_shape;

//! Tests of the room as a whole.

mod sensitivity;
mod sequence;

//! Tests of the room as a whole.

mod audit;
mod sensitivity;
pub(crate) mod sequence;

//! Tests of the room as a whole.

mod audit;
mod sensitivity;
mod sequence;

//! Tests of the fit as a whole.

mod limit;
mod parity;
mod refusal;
mod simulation;

//! Tests of the fit as a whole.

mod limit;
mod parity;
mod population;
mod prior;
mod refusal;
mod simulation;

//! Tests of the room as a whole; those of one file stand in it.

mod combining;
mod coverage;
mod effects;
mod estimands;
mod lalonde;
mod properties;
mod reference;
mod subgroups;

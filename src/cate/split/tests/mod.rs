//! Tests of these learners as a whole.

mod audit;
mod learners;
mod sensitivity;

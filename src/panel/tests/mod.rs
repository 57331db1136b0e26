//! What concerns several methods: figures of others, audits, coverage, size.

pub mod audit;
mod fixtures;
mod large;
pub mod panels;

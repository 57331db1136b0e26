//! The two choices a privacy statement needs beside its numbers: adjacency and accountant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which tables are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Adjacency {
    /// One privacy unit is added or removed; the number of rows is confidential.
    AddRemove,
    /// One privacy unit is replaced by another; the number of rows is public.
    ReplaceOne,
}

/// How charges compose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccountantKind {
    /// Gaussian differential privacy: exact for releases made of Gaussian measurements alone.
    Gdp,
    /// Zero-concentrated differential privacy: for every mechanism here.
    Zcdp,
}

//! The two choices a privacy statement needs beside its numbers: adjacency and accountant.

use std::fmt;

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

impl Adjacency {
    /// How many records of a unit of one row neighbouring tables differ by: one that is there or not, or one that
    /// goes and one that comes.
    pub fn changed_records(self) -> u64 {
        match self {
            Adjacency::AddRemove => 1,
            Adjacency::ReplaceOne => 2,
        }
    }
}

/// How charges compose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccountantKind {
    /// Gaussian differential privacy: exact for releases made of Gaussian measurements alone.
    Gdp,
    /// Zero-concentrated differential privacy: for every mechanism here.
    Zcdp,
    /// Pure differential privacy, without a delta: epsilons add; for releases of pure mechanisms alone.
    Pure,
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Adjacency::AddRemove => "add-remove",
            Adjacency::ReplaceOne => "replace-one",
        })
    }
}

impl fmt::Display for AccountantKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccountantKind::Gdp => "gdp",
            AccountantKind::Zcdp => "zcdp",
            AccountantKind::Pure => "pure",
        })
    }
}

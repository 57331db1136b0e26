//! The choices that a workload makes about privacy.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What neighbouring tables are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Adjacency {
    /// One unit is added or removed; the number of rows is protected.
    AddRemove,
    /// One unit's rows are replaced; the number of rows is public.
    ReplaceOne,
}

/// How charges are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccountantKind {
    /// Gaussian differential privacy: exact for releases of Gaussian measurements alone.
    Gdp,
    /// Zero-concentrated differential privacy: for any composition.
    Zcdp,
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Adjacency::AddRemove => "add-remove",
            Adjacency::ReplaceOne => "replace-one",
        })
    }
}

impl fmt::Display for AccountantKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            AccountantKind::Gdp => "gdp",
            AccountantKind::Zcdp => "zcdp",
        })
    }
}

//! What travels with a synthetic table, so that it can be analyzed without its release.

use super::Kappa;
use crate::release::CheckedRelease;
use crate::schema::SchemaFile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The key under which Parquet files carry a [`TableOrigin`].
pub const METADATA_KEY: &str = "dpcausal";

/// The format of the metadata.
const FORMAT: &str = "dpcausal.table/1";

/// What a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableKind {
    /// One synthetic table.
    Synthetic,
    /// A stack of imputed tables.
    Imputations,
}

/// Where a synthetic table comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableOrigin {
    /// `dpcausal.table/1`.
    pub format: String,
    /// What it is.
    pub kind: TableKind,
    /// The release's identifier.
    pub release: String,
    /// What the draws vary by.
    pub kappa: Kappa,
    /// What has to stand beside adjusted effects computed from the tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// Rows per table.
    pub rows: usize,
    /// The number of records behind the release, public or estimated.
    pub n: f64,
    /// The covariates whose leaf the release measured; `None` in tables of versions that did not say.
    #[serde(default)]
    pub leaves: Option<Vec<String>>,
    /// The schema.
    pub schema: SchemaFile,
}

impl TableOrigin {
    /// The origin of one synthetic table.
    pub fn synthetic(release: &CheckedRelease, rows: usize) -> TableOrigin {
        // One table has no draws to speak of: it varies by the noise of its release.
        TableOrigin::new(TableKind::Synthetic, release, Kappa::Noise, rows)
    }

    /// The origin of a stack of imputed tables of `rows` rows each, from draws that vary by `kappa`.
    pub fn imputations(release: &CheckedRelease, kappa: Kappa, rows: usize) -> TableOrigin {
        TableOrigin::new(TableKind::Imputations, release, kappa, rows)
    }

    fn new(kind: TableKind, release: &CheckedRelease, kappa: Kappa, rows: usize) -> TableOrigin {
        TableOrigin {
            format: FORMAT.into(),
            kind,
            release: release.document.id.to_string(),
            kappa,
            caution: None,
            rows,
            n: release.estimated_rows(),
            leaves: Some(release.leaves()),
            schema: release.document.schema.clone(),
        }
    }

    /// The metadata of a Parquet file.
    pub fn entries(&self) -> BTreeMap<String, String> {
        // Serialising plain data with string keys into memory can't fail.
        BTreeMap::from([(
            METADATA_KEY.to_string(),
            serde_json::to_string(self).unwrap_or_default(),
        )])
    }

    /// Reads the metadata of a Parquet file; `None` where it is not one of ours.
    pub fn from_entry(text: &str) -> Option<TableOrigin> {
        serde_json::from_str::<TableOrigin>(text)
            .ok()
            .filter(|origin| origin.format == FORMAT)
    }
}

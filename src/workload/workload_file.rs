//! The workload document as users write it, in YAML or JSON.
//!
//! The key `mechanism` decides which other keys are valid, so each mechanism has a document type of its
//! own, which refuses what it does not know.

use super::cate_file::CateFile;
use super::causal_aim_file::CausalAimFile;
use super::dpsc_file::DpscFile;
use super::file::CausalFile;
use super::marginals_file::{AimFile, IndependentFile, MstFile, MwemFile};
use crate::schema::DocumentError;
use crate::schema::document::Document;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// A workload document.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum WorkloadFile {
    /// `mechanism: causal`.
    Causal(CausalFile),
    /// `mechanism: causal-aim`.
    CausalAim(CausalAimFile),
    /// `mechanism: independent`.
    Independent(IndependentFile),
    /// `mechanism: mst`.
    Mst(MstFile),
    /// `mechanism: aim`.
    Aim(AimFile),
    /// `mechanism: mwem`.
    Mwem(MwemFile),
    /// `mechanism: dpsc`, of panels.
    Dpsc(DpscFile),
    /// `mechanism: cate`.
    Cate(CateFile),
}

/// The key that decides which document it is.
#[derive(Deserialize)]
struct Head {
    mechanism: MechanismWord,
}

/// The mechanisms.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MechanismWord {
    Causal,
    CausalAim,
    Independent,
    Mst,
    Aim,
    Mwem,
    Dpsc,
    Cate,
}

impl WorkloadFile {
    /// The JSON Schema of the document, for editors.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(WorkloadFile).to_value()
    }

    /// Reads a document of the mechanism that it names.
    pub(super) fn read(document: &Document) -> Result<WorkloadFile, DocumentError> {
        let head: Head = document.read()?;
        Ok(match head.mechanism {
            MechanismWord::Causal => WorkloadFile::Causal(document.read()?),
            MechanismWord::CausalAim => WorkloadFile::CausalAim(document.read()?),
            MechanismWord::Independent => WorkloadFile::Independent(document.read()?),
            MechanismWord::Mst => WorkloadFile::Mst(document.read()?),
            MechanismWord::Aim => WorkloadFile::Aim(document.read()?),
            MechanismWord::Mwem => WorkloadFile::Mwem(document.read()?),
            MechanismWord::Dpsc => WorkloadFile::Dpsc(document.read()?),
            MechanismWord::Cate => WorkloadFile::Cate(document.read()?),
        })
    }
}

/// Of documents that a release embeds, as JSON; texts are read by `WorkloadFile::read`, which keeps places.
impl<'de> Deserialize<'de> for WorkloadFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        let head = Head::deserialize(&value).map_err(D::Error::custom)?;
        match head.mechanism {
            MechanismWord::Causal => CausalFile::deserialize(&value).map(WorkloadFile::Causal),
            MechanismWord::CausalAim => {
                CausalAimFile::deserialize(&value).map(WorkloadFile::CausalAim)
            }
            MechanismWord::Independent => {
                IndependentFile::deserialize(&value).map(WorkloadFile::Independent)
            }
            MechanismWord::Mst => MstFile::deserialize(&value).map(WorkloadFile::Mst),
            MechanismWord::Aim => AimFile::deserialize(&value).map(WorkloadFile::Aim),
            MechanismWord::Mwem => MwemFile::deserialize(&value).map(WorkloadFile::Mwem),
            MechanismWord::Dpsc => DpscFile::deserialize(&value).map(WorkloadFile::Dpsc),
            MechanismWord::Cate => CateFile::deserialize(&value).map(WorkloadFile::Cate),
        }
        .map_err(D::Error::custom)
    }
}

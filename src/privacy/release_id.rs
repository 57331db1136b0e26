//! The name of a release.

use std::fmt;

use rand::TryRng;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};

use super::PrivacyError;

/// A random 128-bit name, written as 32 lower-case hexadecimal digits. It ties a release to its line in
/// the ledger and says nothing about the data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ReleaseId(String);

impl ReleaseId {
    /// A new name from the operating system's random numbers.
    ///
    /// # Errors
    /// [`PrivacyError::Entropy`] where the operating system gives none.
    pub fn random() -> Result<ReleaseId, PrivacyError> {
        let mut bytes = [0u8; 16];
        SysRng.try_fill_bytes(&mut bytes)?;
        Ok(ReleaseId(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    /// The 32 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReleaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ReleaseId> for String {
    fn from(id: ReleaseId) -> String {
        id.0
    }
}

impl TryFrom<String> for ReleaseId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<ReleaseId, Self::Error> {
        let valid = text.len() == 32
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if valid {
            Ok(ReleaseId(text))
        } else {
            Err("a release id is 32 lower-case hexadecimal digits")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_fresh_and_survive_json() {
        let id = ReleaseId::random().unwrap();
        assert_ne!(id, ReleaseId::random().unwrap());
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(serde_json::from_str::<ReleaseId>(&json).unwrap(), id);
        assert!(serde_json::from_str::<ReleaseId>("\"12\"").is_err());
        assert!(ReleaseId::try_from("G".repeat(32)).is_err());
    }
}

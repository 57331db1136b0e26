//! The envelope of every `--json` document.

use serde::Serialize;

/// Why a value could not be written as JSON.
#[derive(Debug, thiserror::Error)]
#[error("can't write the JSON document {format}: {source}")]
pub struct JsonError {
    format: String,
    source: serde_json::Error,
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    format: &'a str,
    version: &'static str,
    #[serde(flatten)]
    payload: &'a T,
}

/// A JSON document: `{"format": "dpcausal.<kind>/1", "version": "<of this command>", ...payload}`,
/// indented, with a line feed at its end.
///
/// The payload is a struct (or map with text keys) without fields `format` and `version`; its keys stand
/// in the order of its fields, so a payload holds ordered maps only. Numbers that are not finite are
/// `null`. The `1` changes when a reader of the document would have to.
///
/// # Errors
/// Where the payload is not an object.
pub fn document<T: Serialize>(kind: &str, payload: &T) -> Result<String, JsonError> {
    let format = format!("dpcausal.{kind}/1");
    let envelope = Envelope {
        format: &format,
        version: env!("CARGO_PKG_VERSION"),
        payload,
    };
    match serde_json::to_string_pretty(&envelope) {
        Ok(text) => Ok(text + "\n"),
        Err(source) => Err(JsonError { format, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Effect, Estimator, Route};
    use crate::report::words::examples::lalonde;

    #[derive(Serialize)]
    struct Effects {
        outcome: &'static str,
        effects: Vec<Effect>,
    }

    #[test]
    fn keys_keep_their_order_and_infinity_is_null() {
        let payload = Effects {
            outcome: "re78",
            effects: vec![lalonde(Route::Moment, Estimator::Model, 1794.34)],
        };
        let text = document("effects", &payload).unwrap();
        let start = format!(
            "{{\n  \"format\": \"dpcausal.effects/1\",\n  \"version\": \"{}\",\n  \"outcome\": \"re78\",\n  \
             \"effects\": [\n    {{\n      \"estimand\": \"ate\",\n      \"contrast\": \"1 - 0\",\n",
            env!("CARGO_PKG_VERSION")
        );
        assert!(text.starts_with(&start), "{text}");
        assert!(text.ends_with("}\n"));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(value["effects"][0]["degrees_of_freedom"].is_null());
        assert_eq!(value["effects"][0]["estimate"], 1794.34);
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        let error = document("plan", &[1, 2]).unwrap_err();
        assert!(error.to_string().contains("dpcausal.plan/1"));
    }
}

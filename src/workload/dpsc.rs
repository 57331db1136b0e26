//! The checked panel workload.

use super::WorkloadError;
use super::dpsc_file::{DpscFile, DpscMethod, SecondStage, WeightSensitivity};
use super::file::WORKLOAD_FORMAT;
use super::workload_file::WorkloadFile;
use crate::schema::document::Document;
use crate::schema::fault::{Fault, Path};
use crate::schema::file::Number;

/// What `index` clips at, in standard deviations of the public forecast. A smaller clip biases the answer
/// where the target's trend differs from the donors'; the noise grows in proportion.
const DEFAULT_CLIP: f64 = 2.0;

/// A checked panel workload.
#[derive(Debug, Clone, PartialEq)]
pub struct DpscWorkload {
    /// How the counterfactual is estimated and released.
    pub method: DpscMethod,
    /// The sensitivity of the ridge weights.
    pub sensitivity: WeightSensitivity,
    /// The ridge penalty, positive; the default depends on the number of donors.
    pub lambda: Option<f64>,
    /// The weights' share of the budget, between 0 and 1.
    pub weights_share: f64,
    /// What is released after the weights.
    pub stage2: SecondStage,
    /// The clip of `index`, in standard deviations.
    pub clip: f64,
}

impl DpscMethod {
    /// Its name, as workload files write it.
    pub fn name(self) -> &'static str {
        match self {
            DpscMethod::Auto => "auto",
            DpscMethod::Index => "index",
            DpscMethod::Balance => "balance",
            DpscMethod::Output => "output",
            DpscMethod::Objective => "objective",
            DpscMethod::Direct => "direct",
            DpscMethod::DifferenceInDifferences => "difference-in-differences",
            DpscMethod::Uniform => "uniform",
        }
    }
}

impl DpscWorkload {
    /// The mechanism's name, as workload files write it.
    pub const MECHANISM: &'static str = "dpsc";

    /// Reads a panel workload, YAML or JSON; `file` names it in errors.
    ///
    /// # Errors
    /// With file, line, column and remedy: where the text is no such document, is of another mechanism, or
    /// does not hold together.
    pub fn parse(text: &str, file: &str) -> Result<(DpscWorkload, DpscFile), WorkloadError> {
        let document = Document::parse(text, file)?;
        document.expect_format(WORKLOAD_FORMAT)?;
        let checked = match WorkloadFile::read(&document)? {
            WorkloadFile::Dpsc(dpsc) => check(&dpsc).map(|workload| (workload, dpsc)),
            _ => Err(Path::default().to("mechanism").fault(
                "the schema describes a panel, and this mechanism is for tables of records; write `mechanism: dpsc`",
            )),
        };
        Ok(checked.map_err(|fault| document.explain(fault))?)
    }

    /// Checks a document that has no text of its own, such as the one that a release embeds.
    ///
    /// # Errors
    /// Where it does not hold together; the error names the element.
    pub fn from_file(file: &DpscFile) -> Result<DpscWorkload, WorkloadError> {
        Ok(check(file)?)
    }
}

fn check(file: &DpscFile) -> Result<DpscWorkload, Fault> {
    let positive = |key: &str, value: Option<Number>| match value {
        Some(Number(value)) if !(value.is_finite() && value > 0.0) => Err(Path::default()
            .to(key)
            .fault(format!("{key} is a positive number, and it is {value}"))),
        value => Ok(value.map(|number| number.0)),
    };
    let lambda = positive("lambda", file.lambda)?;
    let clip = positive("clip", file.clip)?.unwrap_or(DEFAULT_CLIP);
    let weights_share = positive("weights_share", file.weights_share)?.unwrap_or(0.5);
    if weights_share >= 1.0 {
        return Err(Path::default()
            .to("weights_share")
            .fault("the weights' share lies between 0 and 1, and the second stage has the rest"));
    }
    Ok(DpscWorkload {
        method: file.method,
        sensitivity: file.sensitivity,
        lambda,
        weights_share,
        stage2: file.stage2,
        clip,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = "format: dpcausal.workload/1\nmechanism: dpsc\n";

    #[test]
    fn defaults_hold() {
        let (workload, _) = DpscWorkload::parse(MINIMAL, "w.yaml").unwrap();
        assert_eq!(workload.method, DpscMethod::Auto);
        assert_eq!((workload.clip, workload.weights_share), (2.0, 0.5));
        assert_eq!(workload.stage2, SecondStage::Projected);
    }

    #[test]
    fn what_does_not_hold_is_refused_at_its_place() {
        for (line, expected) in [
            ("lambda: -1", "w.yaml:3:9: lambda is a positive number"),
            ("clip: 0", "w.yaml:3:7: clip is a positive number"),
            ("weights_share: 1", "w.yaml:3:16: the weights' share"),
            ("method: indx", "did you mean \"index\"?"),
        ] {
            let error = DpscWorkload::parse(&format!("{MINIMAL}{line}\n"), "w.yaml");
            let message = error.unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let causal = "format: dpcausal.workload/1\nmechanism: causal\n";
        let message = DpscWorkload::parse(causal, "w.yaml")
            .unwrap_err()
            .to_string();
        assert!(message.contains("mechanism: dpsc"), "{message}");
    }
}

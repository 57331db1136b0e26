//! The checked panel workload.

use super::WorkloadError;
use super::dpsc_file::{
    DpscFile, DpscMethod, LambdaFile, LambdaGridFile, SecondStage, WeightSensitivity,
};
use super::file::WORKLOAD_FORMAT;
use super::workload_file::WorkloadFile;
use crate::schema::document::Document;
use crate::schema::fault::{Fault, Path};
use crate::schema::file::Number;

/// What `index` clips at, in standard deviations of the public forecast. A smaller clip biases the answer
/// where the target's trend differs from the donors'; the noise grows in proportion.
const DEFAULT_CLIP: f64 = 2.0;

/// What a choice of the ridge penalty costs, as a share of the budget.
const DEFAULT_GRID_SHARE: f64 = 0.1;

/// A checked panel workload.
#[derive(Debug, Clone, PartialEq)]
pub struct DpscWorkload {
    /// How the counterfactual is estimated and released.
    pub method: DpscMethod,
    /// The sensitivity of the ridge weights.
    pub sensitivity: WeightSensitivity,
    /// The ridge penalty, positive, where it is fixed; the default depends on the number of donors.
    pub lambda: Option<f64>,
    /// The grid from which the ridge penalty is chosen, where it is not fixed.
    pub grid: Option<PenaltyGrid>,
    /// The weights' share of the budget, between 0 and 1.
    pub weights_share: f64,
    /// What is released after the weights.
    pub stage2: SecondStage,
    /// The clip of `index`, in standard deviations.
    pub clip: f64,
    /// How many periods are averaged before anything is estimated, at least one.
    pub block: usize,
    /// The share of the budget for the measure of fit, zero for none.
    pub fit_share: f64,
}

/// A public grid of ridge penalties.
#[derive(Debug, Clone, PartialEq)]
pub struct PenaltyGrid {
    /// The candidates, positive and ascending, at least two.
    pub candidates: Vec<f64>,
    /// The share of the budget that the choice costs, between 0 and 1.
    pub share: f64,
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

    /// Whether it is a ridge regression, which has a penalty.
    pub fn is_ridge(self) -> bool {
        matches!(
            self,
            DpscMethod::Output | DpscMethod::Objective | DpscMethod::Direct
        )
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
    let top = Path::default();
    let optional = |key: &str, value: Option<Number>| -> Result<Option<f64>, Fault> {
        value.map(|n| positive(&top.to(key), key, n)).transpose()
    };
    let (lambda, grid) = match &file.lambda {
        None => (None, None),
        Some(LambdaFile::Fixed(value)) => {
            let lambda = positive(&top.to("lambda"), "lambda", *value)?;
            (Some(lambda), None)
        }
        Some(LambdaFile::Grid(grid)) => (None, Some(check_grid(grid, file.method, &top)?)),
    };
    let clip = optional("clip", file.clip)?.unwrap_or(DEFAULT_CLIP);
    let weights_share = optional("weights_share", file.weights_share)?.unwrap_or(0.5);
    if weights_share >= 1.0 {
        return Err(top
            .to("weights_share")
            .fault("the weights' share lies between 0 and 1, and the second stage has the rest"));
    }
    let fit_share = optional("fit_share", file.fit_share)?.unwrap_or(0.0);
    let aside = fit_share + grid.as_ref().map_or(0.0, |grid| grid.share);
    if aside >= 1.0 {
        return Err(top.to("fit_share").fault(
            "the shares of the fit and of the choice of lambda leave nothing for the answer itself; take .1 or .2",
        ));
    }
    if file.block == Some(0) {
        return Err(top
            .to("block")
            .fault("a block has at least one period; leave `block` out where each stands alone"));
    }
    Ok(DpscWorkload {
        method: file.method,
        sensitivity: file.sensitivity,
        lambda,
        grid,
        weights_share,
        stage2: file.stage2,
        clip,
        block: file.block.unwrap_or(1),
        fit_share,
    })
}

fn positive(at: &Path, name: &str, Number(value): Number) -> Result<f64, Fault> {
    match value.is_finite() && value > 0.0 {
        true => Ok(value),
        false => Err(at.fault(format!("{name} is a positive number, and it is {value}"))),
    }
}

fn check_grid(file: &LambdaGridFile, method: DpscMethod, top: &Path) -> Result<PenaltyGrid, Fault> {
    let at = top.to("lambda");
    if !method.is_ridge() {
        return Err(at.fault(format!(
            "the method {} has no penalty, and choosing one would spend a share of the budget on nothing; leave `lambda` \
             out, or take `method: direct`",
            method.name()
        )));
    }
    let mut candidates = Vec::with_capacity(file.grid.len());
    for (index, value) in file.grid.iter().enumerate() {
        candidates.push(positive(&at.to("grid").to(index), "lambda", *value)?);
    }
    candidates.sort_unstable_by(f64::total_cmp);
    candidates.dedup();
    if candidates.len() < 2 {
        return Err(at.to("grid").fault(
            "a choice needs two different candidates at least; write `lambda: NUMBER` for a fixed one",
        ));
    }
    let share = match file.share {
        Some(share) => positive(&at.to("share"), "share", share)?,
        None => DEFAULT_GRID_SHARE,
    };
    match share < 1.0 {
        true => Ok(PenaltyGrid { candidates, share }),
        false => Err(at
            .to("share")
            .fault("the share of the choice lies between 0 and 1; the answer has the rest")),
    }
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
    fn a_grid_is_read_and_kept_in_order() {
        let text = format!("{MINIMAL}method: direct\nlambda: {{grid: [640, 40.5], share: .2}}\n");
        let (workload, file) = DpscWorkload::parse(&text, "w.yaml").unwrap();
        let grid = workload.grid.clone().unwrap();
        assert_eq!((grid.candidates, grid.share), (vec![40.5, 640.0], 0.2));
        let json = serde_json::to_string(&file).unwrap();
        let back: DpscFile = serde_json::from_str(&json).unwrap();
        assert_eq!(DpscWorkload::from_file(&back).unwrap(), workload);
    }

    #[test]
    fn what_does_not_hold_is_refused_at_its_place() {
        for (line, expected) in [
            ("lambda: -1", "w.yaml:3:9: lambda is a positive number"),
            ("clip: 0", "w.yaml:3:7: clip is a positive number"),
            ("weights_share: 1", "w.yaml:3:16: the weights' share"),
            ("method: indx", "did you mean \"index\"?"),
            ("block: 0", "w.yaml:3:8: a block has at least one period"),
            ("fit_share: 1", "leave nothing for the answer"),
            ("lambda: many", "a positive number or a grid"),
            ("lambda: {grid: [1, 2]}", "the method auto has no penalty"),
            (
                "method: direct\nlambda: {grid: [2, 2]}",
                "two different candidates",
            ),
            (
                "method: direct\nlambda: {grid: [2, -1]}",
                "w.yaml:4:20: lambda is a positive number",
            ),
            (
                "method: direct\nlambda: {grid: [2, 3], share: 1}",
                "the share of the choice",
            ),
            (
                "method: direct\nfit_share: 0.5\nlambda: {grid: [2, 3], share: 0.5}",
                "leave nothing for the answer",
            ),
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

//! The effect workload, checked against a schema: conditional average treatment effects.

use super::cate_file::{CateFile, CateLearner, CateSharesFile, ProductsFile};
use super::cate_split::{self, SplitSettings};
use super::check::{WorkloadError, causal_roles, check_leaves};
use super::effects::check_squares;
use super::file::{ModelFile, WORKLOAD_FORMAT};
use super::workload_file::WorkloadFile;
use crate::privacy::{AccountantKind, Adjacency};
use crate::schema::Schema;
use crate::schema::document::Document;
use crate::schema::fault::{Fault, Path};

/// The default of the overlap bound.
const DEFAULT_OVERLAP: f64 = 0.08;

/// A stage of the release, in the order in which they are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CateStage {
    /// Arms, outcome and covariates: sums and sums of squares.
    Hub,
    /// Second moments of the basis, by arm.
    Gram,
    /// Products of basis and outcome, by arm.
    Cross,
    /// The spread of the pseudo-outcome.
    Spread,
    /// Products of basis and pseudo-outcome.
    Effect,
}

impl CateStage {
    /// All stages, in order.
    pub const ALL: [CateStage; 5] = [
        CateStage::Hub,
        CateStage::Gram,
        CateStage::Cross,
        CateStage::Spread,
        CateStage::Effect,
    ];

    /// Its name, as workloads and releases write it.
    pub fn name(self) -> &'static str {
        match self {
            CateStage::Hub => "hub",
            CateStage::Gram => "gram",
            CateStage::Cross => "cross",
            CateStage::Spread => "spread",
            CateStage::Effect => "effect",
        }
    }
}

/// A checked effect workload.
#[derive(Debug, Clone, PartialEq)]
pub struct CateWorkload {
    /// What neighbouring tables are.
    pub adjacency: Adjacency,
    /// How charges are added up.
    pub accountant: AccountantKind,
    /// Index of the treatment, which has two arms.
    pub treatment: usize,
    /// Index of the outcome.
    pub outcome: usize,
    /// The covariates, ascending.
    pub columns: Vec<usize>,
    /// The numeric covariates whose square and cube are in the basis.
    pub curves: Vec<usize>,
    /// Which products are in the basis.
    pub products: ProductsFile,
    /// The overlap bound eta.
    pub overlap: f64,
    /// The clip of the pseudo-outcome: of `adaptive` in multiples of its spread, where the workload states it; of the
    /// others in those of [`SplitSettings::clip_unit`], always.
    pub clip: Option<f64>,
    /// How effects are learnt.
    pub learner: CateLearner,
    /// The settings of `dr`, `r` and `s`; none of `adaptive`.
    pub split: Option<SplitSettings>,
    /// The stages' shares, summing to 1.
    pub shares: CateSharesFile,
}

impl CateWorkload {
    /// The mechanism's name, as workload files write it.
    pub const MECHANISM: &'static str = "cate";

    /// A stage's share of the budget's `mu^2`.
    pub fn share(&self, stage: CateStage) -> f64 {
        match stage {
            CateStage::Hub => self.shares.hub,
            CateStage::Gram => self.shares.gram,
            CateStage::Cross => self.shares.cross,
            CateStage::Spread => self.shares.spread,
            CateStage::Effect => self.shares.effect,
        }
    }

    /// Whether a text is an effect workload's document, valid or not.
    pub fn is_cate(text: &str) -> bool {
        #[derive(serde::Deserialize)]
        struct Head {
            mechanism: String,
        }
        let head = Document::parse(text, "").and_then(|document| document.read::<Head>());
        head.is_ok_and(|head| head.mechanism == Self::MECHANISM)
    }

    /// Reads an effect workload, YAML or JSON, for a schema; `file` names it in errors.
    ///
    /// # Errors
    /// With file, line, column and remedy: where the text is no such document, is of another mechanism, or
    /// does not fit the schema.
    pub fn parse(
        text: &str,
        file: &str,
        schema: &Schema,
    ) -> Result<(CateWorkload, CateFile), WorkloadError> {
        let document = Document::parse(text, file)?;
        document.expect_format(WORKLOAD_FORMAT)?;
        let checked = match WorkloadFile::read(&document)? {
            WorkloadFile::Cate(cate) => check(&cate, schema).map(|workload| (workload, cate)),
            _ => Err(Path::default()
                .to("mechanism")
                .fault("this is another mechanism's workload; write `mechanism: cate`")),
        };
        Ok(checked.map_err(|fault| document.explain(fault))?)
    }

    /// Checks a document that has no text of its own, such as the one that a release embeds.
    ///
    /// # Errors
    /// Where it does not fit the schema; the error names the element.
    pub fn from_file(file: &CateFile, schema: &Schema) -> Result<CateWorkload, WorkloadError> {
        Ok(check(file, schema)?)
    }
}

fn check(file: &CateFile, schema: &Schema) -> Result<CateWorkload, Fault> {
    let top = Path::default();
    super::check::check_common(file.adjacency, ModelFile::default(), schema, &top)?;
    if file.accountant == AccountantKind::Pure {
        return Err(top.to("accountant").fault(
            "sums of tables are released with Gaussian noise, which has no pure guarantee; use `gdp` or `zcdp`",
        ));
    }
    let (treatment, outcome) = causal_roles(schema, &top)?;
    let arms = schema.columns[treatment].levels();
    if arms != 2 {
        return Err(top.to("mechanism").fault(format!(
            "conditional effects are of a treatment with two arms, and this one has {arms}; keep two arms in the \
             schema and the table, or use `mechanism: causal`"
        )));
    }
    let columns = check_leaves(&file.columns, schema, &top.to("columns"))?;
    if columns.is_empty() {
        return Err(top.to("columns").fault(
            "effects depend on nothing then; name a covariate, or use `mechanism: causal`",
        ));
    }
    let curves = check_squares(&file.curves, &columns, schema, &top.to("curves"))?;
    let between = |key: &str, value: Option<f64>, default: f64, least: f64, most: f64| {
        let value = value.unwrap_or(default);
        match value >= least && value <= most {
            true => Ok(value),
            false => Err(top.to(key).fault(format!(
                "{key} lies between {least} and {most}, and it is {value}"
            ))),
        }
    };
    let split = cate_split::check(file, schema, &columns, &top)?;
    let two_levels = schema.columns[outcome].bounds().is_none();
    let stated = file.clip.map(|n| n.0);
    let clip = match &split {
        None => stated.map(|n| between("clip", Some(n), n, 0.5, 10.0)),
        Some(settings) => {
            let default = settings.default_clip(two_levels);
            Some(between("clip", stated, default, 0.01, 10.0))
        }
    };
    Ok(CateWorkload {
        adjacency: file.adjacency,
        accountant: file.accountant,
        learner: file.learner,
        split,
        treatment,
        outcome,
        columns,
        curves,
        products: file.products,
        overlap: between(
            "overlap",
            file.overlap.map(|n| n.0),
            DEFAULT_OVERLAP,
            0.001,
            0.4,
        )?,
        clip: clip.transpose()?,
        shares: check_shares(file.stages.unwrap_or_default(), &top.to("stages"))?,
    })
}

/// The shares, scaled to sum to 1.
fn check_shares(shares: CateSharesFile, at: &Path) -> Result<CateSharesFile, Fault> {
    let CateSharesFile {
        hub,
        gram,
        cross,
        spread,
        effect,
    } = shares;
    let named = [
        ("hub", hub),
        ("gram", gram),
        ("cross", cross),
        ("spread", spread),
        ("effect", effect),
    ];
    for (name, share) in named {
        if !(share.is_finite() && share > 0.0) {
            return Err(at.to(name).fault(format!(
                "a stage's share is a positive number, and {name} has {share}; only proportions count"
            )));
        }
    }
    let sum = hub + gram + cross + spread + effect;
    Ok(CateSharesFile {
        hub: hub / sum,
        gram: gram / sum,
        cross: cross / sum,
        spread: spread / sum,
        effect: effect / sum,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = "
format: dpcausal.schema/1
columns:
  - {name: t, role: treatment, type: boolean}
  - {name: age, type: integer, bounds: [17, 95], bins: 5}
  - {name: sex, type: categorical, levels: [f, m]}
  - {name: y, role: outcome, type: boolean}
";
    const MINIMAL: &str = "format: dpcausal.workload/1\nmechanism: cate\n";

    fn schema() -> Schema {
        Schema::parse(SCHEMA, "s.yaml").unwrap().0
    }

    #[test]
    fn defaults_hold() {
        assert!(CateWorkload::is_cate(MINIMAL));
        assert!(!CateWorkload::is_cate("mechanism: causal"));
        let (workload, _) = CateWorkload::parse(MINIMAL, "w.yaml", &schema()).unwrap();
        assert_eq!(
            (workload.columns.as_slice(), workload.curves.as_slice()),
            (&[1, 2][..], &[1][..])
        );
        assert_eq!((workload.overlap, workload.clip), (0.08, None));
        let sum: f64 = CateStage::ALL
            .iter()
            .map(|&stage| workload.share(stage))
            .sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_hold_is_refused_at_its_place() {
        for (line, expected) in [
            (
                "base: ebm",
                "w.yaml:3:7: `base` belongs to the learners dr, r and s",
            ),
            (
                "learner: dr\ncurves: none",
                "w.yaml:4:9: `curves` belongs to the learner adaptive",
            ),
            (
                "learner: s\nsplit: {outcome: .5}",
                "w.yaml:4:8: the learner s looks at all records at once",
            ),
            (
                "learner: r\nsplit: {outcome: 0}",
                "w.yaml:4:18: a part's share is a positive number",
            ),
            (
                "learner: r\nbase: ebm\nbasis: hat",
                "w.yaml:5:8: `basis` belongs to `base: second-moment`",
            ),
            (
                "learner: r\nboosting: {rounds: 3}",
                "w.yaml:4:11: `boosting` belongs to `base: ebm`",
            ),
            (
                "learner: r\nbase: ebm\nboosting: {rate: 2}",
                "w.yaml:5:18: rate lies between",
            ),
            (
                "learner: r\nbase: ebm\ncompat: published",
                "w.yaml:5:9: the published code is repeated for `learner: dr` with `base: ebm`",
            ),
            ("overlap: 0.5", "w.yaml:3:10: overlap lies between"),
            ("clip: 0", "w.yaml:3:7: clip lies between"),
            ("curves: [sex]", "is not numeric"),
            ("stages: {hub: 0}", "positive number"),
            ("accountant: pure", "no pure guarantee"),
            ("adjacency: replace-one", "no `rows`"),
            ("learner: adptive", "did you mean \"adaptive\"?"),
        ] {
            let error = CateWorkload::parse(&format!("{MINIMAL}{line}\n"), "w.yaml", &schema());
            let message = error.unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let three = SCHEMA.replace(
            "type: boolean}\n  - {name: age",
            "type: categorical, levels: [a, b, c]}\n  - {name: age",
        );
        let schema = Schema::parse(&three, "s.yaml").unwrap().0;
        let message = CateWorkload::parse(MINIMAL, "w.yaml", &schema)
            .unwrap_err()
            .to_string();
        assert!(message.contains("two arms"), "{message}");
    }
}

//! The effects block of the causal workload: which scores are adjusted for, and how the budget of the
//! adaptive release is divided over its stages.

use super::check::{causal_roles, check_leaves, find_covariate};
use super::file::{EffectsFile, KeepFile, KeepWord, PairWord, SquaresFile, StageSharesFile};
use crate::schema::fault::{Fault, Path};
use crate::schema::{Design, Schema, Score, ScoreForm};
use serde::{Deserialize, Serialize};
use std::fmt;

/// With more scores than this, `keep: auto` selects. Above it, the noise that further scores bring to all
/// others costs more than leaving some out (simulated on survey data).
const MOST_UNSELECTED: usize = 10;

/// How many scores `keep: auto` selects.
const KEPT: usize = 8;

/// A stage of the effects release, in the order in which they are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Per arm, the number of records and the sum of outcomes.
    Arms,
    /// Sums of numeric scores and their squares, which narrow the ranges.
    Ranges,
    /// Histogram of the sizes of outcome residuals, which sets their clip.
    Scale,
    /// Choice of scores.
    Selection,
    /// Per arm, the sum of squared residuals.
    Spread,
    /// Per arm, the sum of residuals.
    OutcomeMeans,
    /// The sum of the scores.
    ScoreMeans,
    /// The imbalance of the scores between the arms.
    Imbalance,
    /// Per arm, the sum of scores times residuals.
    Cross,
    /// Per arm, the sum of products of scores.
    Covariance,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Stage; 10] = [
        Stage::Arms,
        Stage::Ranges,
        Stage::Scale,
        Stage::Selection,
        Stage::Spread,
        Stage::OutcomeMeans,
        Stage::ScoreMeans,
        Stage::Imbalance,
        Stage::Cross,
        Stage::Covariance,
    ];

    /// Its name, as workloads and releases write it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Arms => "arms",
            Stage::Ranges => "ranges",
            Stage::Scale => "scale",
            Stage::Selection => "selection",
            Stage::Spread => "spread",
            Stage::OutcomeMeans => "outcome-means",
            Stage::ScoreMeans => "score-means",
            Stage::Imbalance => "imbalance",
            Stage::Cross => "cross",
            Stage::Covariance => "covariance",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The checked effects block.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectsBlock {
    /// Index of the treatment in [`Schema::columns`].
    pub treatment: usize,
    /// Index of the outcome in [`Schema::columns`].
    pub outcome: usize,
    /// Whether the outcome is numeric; else it has two levels.
    pub numeric: bool,
    /// Its share of the whole budget.
    pub share: f64,
    /// The candidate scores; none in a randomised design.
    pub scores: Vec<Score>,
    /// How many of them are kept, at least 1 where there are any.
    pub keep: usize,
    /// The stages' shares as the document gives them, or the design's defaults.
    pub shares: StageSharesFile,
}

impl EffectsBlock {
    /// Whether scores are selected, which charges a mechanism that is not Gaussian.
    pub fn selects(&self) -> bool {
        self.keep < self.scores.len()
    }

    /// The scores that stand for numeric values.
    pub fn values(&self) -> impl Iterator<Item = &Score> {
        self.scores.iter().filter(|s| s.form == ScoreForm::Value)
    }

    /// Whether a stage has anything to measure.
    pub fn has_work(&self, stage: Stage) -> bool {
        match stage {
            Stage::Arms | Stage::OutcomeMeans => true,
            // Of two levels, the mean tells the variance, and the residuals' range is known.
            Stage::Scale | Stage::Spread => self.numeric,
            Stage::Ranges => self.values().next().is_some(),
            Stage::Selection => self.selects(),
            Stage::ScoreMeans | Stage::Imbalance | Stage::Cross | Stage::Covariance => {
                !self.scores.is_empty()
            }
        }
    }

    /// The stages that have work, with their shares of the effects' budget, which sum to 1. `arms`
    /// replaces the share of [`Stage::Arms`] among them.
    pub fn stages(&self, arms: Option<f64>) -> Vec<(Stage, f64)> {
        let listed = |stage| match stage {
            Stage::Arms => self.shares.arms,
            Stage::Ranges => self.shares.ranges,
            Stage::Scale => self.shares.scale,
            Stage::Selection => self.shares.selection,
            Stage::Spread => self.shares.spread,
            Stage::OutcomeMeans => self.shares.outcome_means,
            Stage::ScoreMeans => self.shares.score_means,
            Stage::Imbalance => self.shares.imbalance,
            Stage::Cross => self.shares.cross,
            Stage::Covariance => self.shares.covariance,
        };
        let mut stages: Vec<(Stage, f64)> = Stage::ALL
            .into_iter()
            .filter(|&stage| self.has_work(stage))
            .map(|stage| (stage, listed(stage)))
            .collect();
        normalise(&mut stages, 1.0);
        if let Some(arms) = arms {
            // The hub comes first, and always has work.
            stages[0].1 = arms;
            normalise(&mut stages[1..], 1.0 - arms);
        }
        stages
    }
}

fn normalise(stages: &mut [(Stage, f64)], total: f64) {
    let sum: f64 = stages.iter().map(|(_, share)| share).sum();
    for (_, share) in stages {
        *share *= total / sum;
    }
}

pub(super) fn check(
    file: &EffectsFile,
    has_blocks: bool,
    schema: &Schema,
    top: &Path,
) -> Result<EffectsBlock, Fault> {
    let (treatment, outcome) = causal_roles(schema, top)?;
    let at = top.to("effects");
    check_share(file.share, has_blocks, &at.to("share"))?;
    let columns = check_leaves(&file.columns, schema, &at.to("columns"))?;
    let squares = check_squares(&file.squares, &columns, schema, &at.to("squares"))?;
    let (scores, default_shares) = match schema.design {
        Design::Observational => (
            schema.scores(&columns, &squares),
            StageSharesFile::OBSERVATIONAL,
        ),
        Design::Randomised { .. } => (Vec::new(), StageSharesFile::RANDOMISED),
    };
    let shares = file.stages.unwrap_or(default_shares);
    check_stages(&shares, &at.to("stages"))?;
    if schema.columns[outcome].levels() != 2 && schema.columns[outcome].bounds().is_none() {
        return Err(at.fault("effects need a numeric outcome or one with two levels"));
    }
    let keep = match file.keep {
        KeepFile::Word(KeepWord::Auto) if scores.len() > MOST_UNSELECTED => KEPT,
        KeepFile::Word(_) => scores.len(),
        KeepFile::Count(0) => {
            return Err(at
                .to("keep")
                .fault("nothing would be adjusted for; keep at least one score"));
        }
        KeepFile::Count(count) => count.min(scores.len()),
    };
    Ok(EffectsBlock {
        treatment,
        outcome,
        numeric: schema.columns[outcome].bounds().is_some(),
        share: file.share,
        scores,
        keep,
        shares,
    })
}

fn check_share(share: f64, has_blocks: bool, at: &Path) -> Result<(), Fault> {
    if !(share > 0.0 && share <= 1.0) {
        return Err(at.fault(format!(
            "the effects' share is a number above 0 and at most 1, and it is {share}"
        )));
    }
    if has_blocks && share == 1.0 {
        return Err(at.fault(
            "the effects take the whole budget and leave the blocks nothing; lower the share or leave `blocks` out",
        ));
    }
    if !has_blocks && share != 1.0 {
        return Err(at.fault(
            "without `blocks` the effects have the whole budget; write `share: 1`, or add blocks for microdata",
        ));
    }
    Ok(())
}

pub(super) fn check_squares(
    file: &SquaresFile,
    columns: &[usize],
    schema: &Schema,
    at: &Path,
) -> Result<Vec<usize>, Fault> {
    let is_numeric = |column: usize| schema.columns[column].bounds().is_some();
    let names = match file {
        SquaresFile::Word(PairWord::None) => return Ok(Vec::new()),
        SquaresFile::Word(PairWord::All) => {
            return Ok(columns.iter().copied().filter(|&c| is_numeric(c)).collect());
        }
        SquaresFile::List(names) => names,
    };
    let mut squares = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let at = at.to(index);
        let column = find_covariate(schema, name, &at)?;
        if !columns.contains(&column) {
            return Err(at.fault(format!(
                "{name:?} is not among the effects' columns; add it there, or remove it here"
            )));
        }
        if !is_numeric(column) {
            return Err(at.fault(format!(
                "{name:?} is not numeric, so its square says nothing new; remove it"
            )));
        }
        if squares.contains(&column) {
            return Err(at.fault(format!("{name:?} stands twice; remove one")));
        }
        squares.push(column);
    }
    Ok(squares)
}

fn check_stages(shares: &StageSharesFile, at: &Path) -> Result<(), Fault> {
    let all = [
        ("arms", shares.arms),
        ("ranges", shares.ranges),
        ("scale", shares.scale),
        ("selection", shares.selection),
        ("score_means", shares.score_means),
        ("spread", shares.spread),
        ("outcome_means", shares.outcome_means),
        ("imbalance", shares.imbalance),
        ("cross", shares.cross),
        ("covariance", shares.covariance),
    ];
    for (name, share) in all {
        if !(share.is_finite() && share > 0.0) {
            return Err(at.to(name).fault(format!(
                "a stage's share is a positive number, and {name} has {share}; only proportions count"
            )));
        }
    }
    Ok(())
}

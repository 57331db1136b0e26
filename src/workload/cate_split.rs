//! The settings of the effect learners that split the sample: `dr`, `r`, and `s`, which does not need to.

use super::cate_file::{
    BoostingFile, CateBase, CateFile, CateLearner, MomentBasisKind, ProductsFile, SplitSharesFile,
};
use super::file::{PairWord, SquaresFile};
use crate::schema::fault::{Fault, Path};
use crate::schema::{Design, Schema};

/// The most codes of a covariate: one byte holds them while a sum of step functions is boosted, and a basis of
/// indicators as long as this has nothing but noise in it.
pub const MOST_CODES: usize = 240;

/// The default clips of the pseudo-outcome, in units of `1 / eta` half-ranges. A stated propensity is attained, so what is
/// clipped below `1 / eta` is bias; eta of an estimated one is a bound that few records come near, and noise counts more
/// (chosen by simulation).
const STATED_CLIP: f64 = 1.0;
const ESTIMATED_CLIP: f64 = 0.125;

/// An outcome with two levels lies at the ends of its range: residuals are up to so much larger.
const TWO_LEVEL_CLIP: f64 = 1.5;

/// A part of the records, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SplitPart {
    /// The propensity.
    Propensity,
    /// The outcome regression.
    Outcome,
    /// The effect.
    Effect,
}

impl SplitPart {
    /// Its name, as workloads and releases write it.
    pub fn name(self) -> &'static str {
        match self {
            SplitPart::Propensity => "propensity",
            SplitPart::Outcome => "outcome",
            SplitPart::Effect => "effect",
        }
    }
}

/// Checked settings.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitSettings {
    /// What is regressed with.
    pub base: CateBase,
    /// The basis of second moments.
    pub basis: MomentBasisKind,
    /// The settings of boosting.
    pub boosting: BoostingFile,
    /// The parts in the order in which they are used, and their shares, which sum to 1.
    pub parts: Vec<(SplitPart, f64)>,
    /// The treated arm's probability, where the design states it.
    pub known_propensity: Option<f64>,
    /// Whether the propensity is the same for everyone, stated or not.
    pub is_randomised: bool,
    /// Whether the published code's faults are kept: not private.
    pub published: bool,
}

impl SplitSettings {
    /// The overlap bound eta: the design's, where it states the propensity.
    pub fn overlap(&self, stated: f64) -> f64 {
        self.known_propensity
            .map_or(stated, |share| share.min(1.0 - share))
    }

    /// Whether a part's regression is boosted: not that of a propensity which is one number.
    pub fn boosts(&self, part: SplitPart) -> bool {
        self.base == CateBase::Ebm && !(part == SplitPart::Propensity && self.is_randomised)
    }

    /// `1 / eta`: what overlap allows a residual of 1 to become by weighting. In these units, of half the outcome's range, is the
    /// pseudo-outcome's clip.
    pub fn clip_unit(&self, stated: f64) -> f64 {
        1.0 / self.overlap(stated)
    }

    /// The clip unless another is given, in those units.
    pub fn default_clip(&self, two_level_outcome: bool) -> f64 {
        let clip = match self.known_propensity {
            Some(_) => STATED_CLIP,
            None => ESTIMATED_CLIP,
        };
        clip * if two_level_outcome {
            TWO_LEVEL_CLIP
        } else {
            1.0
        }
    }
}

/// Checks the keys of these learners, and that `adaptive` has none of them.
pub(super) fn check(
    file: &CateFile,
    schema: &Schema,
    columns: &[usize],
    top: &Path,
) -> Result<Option<SplitSettings>, Fault> {
    if file.learner == CateLearner::Adaptive {
        return match own_keys(file).into_iter().find(|(_, given)| *given) {
            None => Ok(None),
            Some((key, _)) => Err(top.to(key).fault(format!(
                "`{key}` belongs to the learners dr, r and s; name one (`learner: dr`), or leave the key out"
            ))),
        };
    }
    if let Some((key, _)) = foreign_keys(file).into_iter().find(|(_, given)| *given) {
        return Err(top.to(key).fault(format!(
            "`{key}` belongs to the learner adaptive; leave it out, or use `learner: adaptive`"
        )));
    }
    let base = file.base.unwrap_or_default();
    check_base(file, base, top)?;
    check_codes(schema, columns, top)?;
    if schema.unit.max_rows() > 1 {
        return Err(top.to("learner").fault(format!(
            "the learner {} divides rows at random, and the rows of one privacy unit would lie in several parts, each \
             of which the unit would have to pay for; give the table one row per unit, or use `learner: adaptive`, which \
             divides nothing",
            file.learner.name()
        )));
    }
    let known_propensity = match &schema.design {
        Design::Randomised {
            propensity: Some(propensity),
        } => Some(propensity[1]),
        _ => None,
    };
    if file.compat.is_some() && schema.design != Design::Observational {
        return Err(top.to("compat").fault(
            "the published code estimates every propensity; use `design: observational` in the schema, or leave \
             `compat` out",
        ));
    }
    Ok(Some(SplitSettings {
        base,
        basis: file.basis.unwrap_or_default(),
        boosting: check_boosting(file.boosting.unwrap_or_default(), &top.to("boosting"))?,
        parts: check_parts(file, known_propensity.is_some(), &top.to("split"))?,
        known_propensity,
        is_randomised: schema.design != Design::Observational,
        published: file.compat.is_some(),
    }))
}

fn own_keys(file: &CateFile) -> [(&'static str, bool); 5] {
    [
        ("base", file.base.is_some()),
        ("basis", file.basis.is_some()),
        ("split", file.split.is_some()),
        ("boosting", file.boosting.is_some()),
        ("compat", file.compat.is_some()),
    ]
}

fn foreign_keys(file: &CateFile) -> [(&'static str, bool); 3] {
    [
        ("curves", file.curves != SquaresFile::Word(PairWord::All)),
        ("products", file.products != ProductsFile::Auto),
        ("stages", file.stages.is_some()),
    ]
}

fn check_base(file: &CateFile, base: CateBase, top: &Path) -> Result<(), Fault> {
    if base == CateBase::Ebm && file.basis.is_some() {
        return Err(top.to("basis").fault(
            "`basis` belongs to `base: second-moment`; leave it out, as step functions find their own bins",
        ));
    }
    if base == CateBase::SecondMoment && file.boosting.is_some() {
        return Err(top
            .to("boosting")
            .fault("`boosting` belongs to `base: ebm`; add that, or leave it out"));
    }
    if file.compat.is_some() && (base, file.learner) != (CateBase::Ebm, CateLearner::Dr) {
        return Err(top.to("compat").fault(
            "the published code is repeated for `learner: dr` with `base: ebm` only; use these, or leave `compat` out",
        ));
    }
    Ok(())
}

fn check_codes(schema: &Schema, columns: &[usize], top: &Path) -> Result<(), Fault> {
    for &column in columns {
        let column = &schema.columns[column];
        if column.levels() > MOST_CODES {
            return Err(top.to("columns").fault(format!(
                "the covariate {:?} has {} levels, and these learners take at most {MOST_CODES}; give it fewer levels or \
                 bins in the schema, leave it out of `columns`, or use `learner: adaptive`",
                column.name,
                column.levels()
            )));
        }
    }
    Ok(())
}

fn check_boosting(boosting: BoostingFile, at: &Path) -> Result<BoostingFile, Fault> {
    let between =
        |key: &str, value: f64, least: f64, most: f64| match value >= least && value <= most {
            true => Ok(()),
            false => Err(at.to(key).fault(format!(
                "{key} lies between {least} and {most}, and it is {value}"
            ))),
        };
    between("rounds", f64::from(boosting.rounds), 1.0, 10_000.0)?;
    between("rate", boosting.rate, 0.001, 1.0)?;
    between("bins_share", boosting.bins_share, 0.001, 0.9)?;
    Ok(boosting)
}

/// The parts and their shares, scaled to sum to 1.
fn check_parts(
    file: &CateFile,
    propensity_is_known: bool,
    at: &Path,
) -> Result<Vec<(SplitPart, f64)>, Fault> {
    if file.learner == CateLearner::S {
        return match file.split {
            None => Ok(vec![(SplitPart::Effect, 1.0)]),
            Some(_) => Err(at.fault(
                "the learner s looks at all records at once; leave `split` out, or use `learner: dr`",
            )),
        };
    }
    let shares = file.split.unwrap_or_default();
    let SplitSharesFile {
        propensity,
        outcome,
        effect,
    } = shares;
    let mut parts = vec![
        (SplitPart::Propensity, propensity),
        (SplitPart::Outcome, outcome),
        (SplitPart::Effect, effect),
    ];
    if propensity_is_known {
        parts.remove(0);
    }
    for (part, share) in &parts {
        if !(share.is_finite() && *share > 0.0) {
            return Err(at.to(part.name()).fault(format!(
                "a part's share is a positive number, and {} has {share}; only proportions count",
                part.name()
            )));
        }
    }
    let sum: f64 = parts.iter().map(|(_, share)| share).sum();
    Ok(parts
        .into_iter()
        .map(|(part, share)| (part, share / sum))
        .collect())
}

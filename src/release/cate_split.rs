//! What a release of the learners that split the sample holds beside its noisy sums.

use super::{Accounting, AdditiveModel, DeploymentCard};
use crate::privacy::Cost;
use crate::schema::Schema;
use crate::workload::{CateBase, SplitPart, SplitSettings};
use serde::{Deserialize, Serialize};

/// What stands wherever a release of the published code is read.
pub const NOT_PRIVATE: &str = "NOT PRIVATE: drawn as by the published code (`compat: published`), whose ranges come from the data and whose noise is too small for its residuals; it protects nobody";

/// How parallel composition is stated.
const COMPOSITION: &str = "parallel composition in f-differential privacy: records were divided at random, each into one part by a draw of its own; every part had the whole budget, and the whole costs what its costliest part does";

/// How the records were divided, and the boosted regressions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitRelease {
    /// Why the whole costs no more than a part.
    pub composition: String,
    /// The parts, in the order in which they were used.
    pub parts: Vec<ReleasedPart>,
    /// The boosted regressions, of parts that have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boosted: Vec<BoostedModel>,
    /// That the release is not private, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_private: Option<String>,
}

/// A part of the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleasedPart {
    /// What it is for: `propensity`, `outcome` or `effect`.
    pub name: String,
    /// The probability of a record to lie in it.
    pub share: f64,
    /// What was spent on it.
    pub spent: Cost,
}

/// A boosted regression: a function of noisy sums, of which there are too many to keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoostedModel {
    /// The part that it was fitted on.
    pub part: String,
    /// The number of turns, each with the noisy sums of three leaves.
    pub turns: u32,
    /// The share of a leaf's mean residual that a turn added.
    pub rate: f64,
    /// Sums are in units of `2^-lattice_bits` of half the target's range.
    pub lattice_bits: i32,
    /// The standard deviation of the discrete Gaussian noise of each sum, in those units.
    pub scale: u64,
    /// How far neighbouring tables' sums of a turn lie apart, in those units.
    pub sensitivity: u64,
    /// What all turns cost.
    pub cost: Cost,
    /// The fit, in halves of the target's range.
    pub model: AdditiveModel,
}

impl SplitRelease {
    /// A statement about these parts.
    pub fn new(parts: Vec<ReleasedPart>, boosted: Vec<BoostedModel>) -> SplitRelease {
        SplitRelease {
            composition: COMPOSITION.into(),
            parts,
            boosted,
            not_private: None,
        }
    }

    /// The names of the measurements that such settings lead to: second moments by part, or counts of bins.
    pub fn measurement_names(settings: &SplitSettings) -> Vec<String> {
        if settings.published {
            return Vec::new();
        }
        let name = |(part, _): &(SplitPart, f64)| match settings.boosts(*part) {
            true => format!("{} bins", part.name()),
            false => part.name().into(),
        };
        settings.parts.iter().map(name).collect()
    }

    /// The boosted regression of a part.
    pub fn model(&self, part: SplitPart) -> Option<&AdditiveModel> {
        let found = self.boosted.iter().find(|model| model.part == part.name());
        found.map(|model| &model.model)
    }

    pub(super) fn is_sound(&self, settings: &SplitSettings, schema: &Schema) -> bool {
        let names = self.parts.iter().map(|part| part.name.as_str());
        let boosted = settings
            .parts
            .iter()
            .filter(|(part, _)| settings.boosts(*part));
        let models = self.boosted.iter().map(|model| model.part.as_str());
        names.eq(settings.parts.iter().map(|(part, _)| part.name()))
            && models.eq(boosted.map(|(part, _)| part.name()))
            && self
                .boosted
                .iter()
                .all(|boosted| boosted.model.fits(schema))
            && self.not_private.is_some() == settings.published
    }
}

impl DeploymentCard {
    /// The card of a release of the learners that split the sample.
    pub fn of_cate_split(
        schema: &Schema,
        accounting: &Accounting,
        settings: &SplitSettings,
        split: &SplitRelease,
    ) -> DeploymentCard {
        let turns: u32 = split.boosted.iter().map(|model| model.turns).sum();
        let mut card = DeploymentCard::new(schema, accounting, settings.parts.len());
        card.justification = "sums are of whole numbers whose length is bounded record by record, so their sensitivity is exact; every charge was taken before its noise was drawn; a part's sums depend on the other parts through their noisy sums only".into();
        card.composition = format!("{}; within a part: {}", split.composition, card.composition);
        card.preprocessing.push(
            "records are divided at random, by one draw each that does not depend on any record; outcome, propensity and pseudo-outcome are clipped by public bounds".into(),
        );
        card.postprocessing = vec![
            "propensity, outcome regression, conditional effects, shape functions and averages are computed from the noisy sums alone".into(),
        ];
        if settings.base == CateBase::Ebm && turns > 0 {
            card.mechanisms.push(format!(
                "{turns} turns of boosting, each with discrete Gaussian noise on the integer sums of clipped residuals by leaf; the fits are released, the sums are not kept"
            ));
        }
        if let Some(statement) = &split.not_private {
            card.guarantee.clone_from(statement);
            card.justification.clone_from(statement);
            card.composition.clone_from(statement);
            card.mechanisms = vec![
                "Gaussian noise in floating point, on sums whose sensitivity the published code understates".into(),
            ];
        }
        card
    }
}

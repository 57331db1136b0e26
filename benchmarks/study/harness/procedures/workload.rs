//! Mechanisms by name: `aim+rounds=50+draws=10` is the project's `workloads/aim.yaml` with some settings.
//!
//! `draws` (posterior draws), `ratio` (rows per imputed table over records) and `bins` (of a numeric outcome) are
//! about the reading. Any other setting replaces a value of the workload file, at a path whose steps are parted by
//! dots; `null` removes what stands there.

use anyhow::{Context, Result, bail, ensure};
use dpcausal::schema::file::{BinsFile, RoleFile};
use dpcausal::schema::{Schema, SchemaFile};
use serde_yaml::{Mapping, Value};
use std::path::{Path, PathBuf};

/// A workload file with some settings.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The workload as a document.
    pub text: String,
    /// Posterior draws, where not the study's.
    pub draws: Option<usize>,
    /// Rows per imputed table over records.
    pub ratio: f64,
    /// The number of bins of a numeric outcome, where not the schema's.
    pub outcome_bins: Option<u32>,
}

/// What a study sets in a workload before anything else: here the causal workload is its microdata alone, as
/// published, because `effects` is studied by itself.
const STUDY_SETTINGS: [(&str, &str); 1] = [("causal", "effects=null")];

/// The workload files of the project.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads")
}

impl Variant {
    /// The workload of a name with some settings; `None` where the project has no such file.
    ///
    /// # Errors
    /// A setting that is none.
    pub fn named(name: &str, settings: &[&str]) -> Result<Option<Variant>> {
        let path = folder().join(format!("{name}.yaml"));
        let plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        if !plain || !path.is_file() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("workload {name}"))?;
        Variant::of_text(name, &text, settings).map(Some)
    }

    fn of_text(name: &str, text: &str, settings: &[&str]) -> Result<Variant> {
        let mut document: Value = serde_yaml::from_str(text)?;
        let mut variant = Variant {
            text: String::new(),
            draws: None,
            ratio: 1.0,
            outcome_bins: None,
        };
        let of_study = STUDY_SETTINGS.iter().filter(|(of, _)| *of == name);
        for setting in of_study.map(|(_, setting)| setting).chain(settings) {
            variant
                .set(&mut document, setting)
                .with_context(|| format!("setting {setting:?}"))?;
        }
        variant.text = serde_yaml::to_string(&document)?;
        Ok(variant)
    }

    fn set(&mut self, document: &mut Value, setting: &str) -> Result<()> {
        let (name, value) = setting
            .split_once('=')
            .context("a setting is given as name=value")?;
        match name {
            "draws" => {
                let draws = value.parse()?;
                ensure!(draws >= 2, "a posterior needs two draws at least");
                self.draws = Some(draws);
            }
            "ratio" => {
                self.ratio = value.parse()?;
                ensure!(
                    self.ratio > 0.0 && self.ratio.is_finite(),
                    "a ratio is positive"
                );
            }
            "bins" => self.outcome_bins = Some(value.parse()?),
            path => put(document, path, serde_yaml::from_str(value)?)?,
        }
        Ok(())
    }
}

/// Puts a value at a path of a document, or removes what stands there.
fn put(document: &mut Value, path: &str, value: Value) -> Result<()> {
    let (parents, last) = path.rsplit_once('.').unwrap_or(("", path));
    let mut at = document;
    for step in parents.split('.').filter(|step| !step.is_empty()) {
        let Value::Mapping(mapping) = at else {
            bail!("{step:?} is no key of what it stands in");
        };
        at = mapping
            .entry(step.into())
            .or_insert(Value::Mapping(Mapping::new()));
    }
    let Value::Mapping(mapping) = at else {
        bail!("{last:?} is no key of what it stands in");
    };
    match value {
        Value::Null => {
            mapping.remove(last);
        }
        value => {
            mapping.insert(last.into(), value);
        }
    }
    Ok(())
}

/// A schema whose numeric outcome has so many bins of equal widths.
///
/// # Errors
/// Where the outcome is not numeric.
pub fn with_outcome_bins(document: &SchemaFile, bins: u32) -> Result<(Schema, SchemaFile)> {
    let mut document = document.clone();
    let outcome = (document.columns.iter_mut())
        .find(|column| column.role == RoleFile::Outcome)
        .context("the schema has no outcome")?;
    ensure!(
        outcome.bounds.is_some(),
        "bins are for numeric outcomes, and {} is none",
        outcome.name
    );
    outcome.bins = Some(BinsFile::Count(bins));
    Ok((Schema::from_file(&document)?, document))
}

#[cfg(test)]
mod tests {
    use super::super::super::datasets;
    use super::super::super::study::Study;
    use super::*;
    use dpcausal::workload::Workload;

    const TEXT: &str = "
mechanism: aim
effects: {share: 1}
model: {max_cells: 10}
";

    #[test]
    fn settings_replace_values() {
        let settings = [
            "rounds=7",
            "model.max_cells=20",
            "marginals.degree=2",
            "effects=null",
            "draws=3",
            "ratio=2.5",
            "bins=4",
        ];
        let variant = Variant::of_text("aim", TEXT, &settings).unwrap();
        let expected: Value = serde_yaml::from_str(
            "{mechanism: aim, model: {max_cells: 20}, rounds: 7, marginals: {degree: 2}}",
        )
        .unwrap();
        let found: Value = serde_yaml::from_str(&variant.text).unwrap();
        assert_eq!(found, expected);
        assert_eq!(
            (variant.draws, variant.ratio, variant.outcome_bins),
            (Some(3), 2.5, Some(4))
        );
    }

    #[test]
    fn mistakes_are_refused() {
        for setting in ["rounds", "mechanism.x=1", "draws=1", "ratio=-1", "bins=x"] {
            assert!(
                Variant::of_text("aim", TEXT, &[setting]).is_err(),
                "{setting}"
            );
        }
        assert!(Variant::named("../schemas/ihdp", &[]).unwrap().is_none());
        assert!(Variant::named("nothing", &[]).unwrap().is_none());
    }

    /// What the committed studies run are workloads of the schemas that they are run on: here those of the simulated
    /// populations, which have columns of every kind.
    #[test]
    fn committed_mechanisms_are_valid() {
        let population = datasets::load("simulated-normal-30", Path::new("")).unwrap();
        let mut count = 0;
        for text in [
            include_str!("../../main-table.yaml"),
            include_str!("../../ablations.yaml"),
        ] {
            let study = Study::parse(text).unwrap();
            for name in study
                .cells
                .iter()
                .flat_map(|cell| study.mechanisms_of(cell))
            {
                let mut parts = name.split('+');
                let base = parts.next().unwrap();
                if ["floor", "effects"].contains(&base) {
                    continue;
                }
                let settings: Vec<&str> = parts.collect();
                let variant = Variant::named(base, &settings).unwrap().unwrap();
                let parsed = Workload::parse(&variant.text, name, &population.schema);
                assert!(parsed.is_ok(), "{name}: {}", parsed.unwrap_err());
                if let Some(bins) = variant.outcome_bins {
                    let (schema, _) = with_outcome_bins(&population.document, bins).unwrap();
                    let outcome = schema.outcome().unwrap();
                    assert_eq!(schema.columns[outcome].levels(), bins as usize);
                }
                count += 1;
            }
        }
        assert!(count > 20);
    }

    #[test]
    fn the_causal_workload_is_microdata_alone() {
        let variant = Variant::named("causal", &[]).unwrap().unwrap();
        let document: Value = serde_yaml::from_str(&variant.text).unwrap();
        assert!(document.get("effects").is_none() && document.get("blocks").is_some());
    }
}

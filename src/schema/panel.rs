//! A checked panel schema: which column is what, who is treated from when on, who may serve as a donor.

use super::SchemaError;
use super::document::Document;
use super::fault::{Fault, Path};
use super::panel_file::{DonorsFile, PANEL_FORMAT, PanelFile};
use std::collections::HashSet;

/// The scale on which series are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transform {
    /// As they are.
    Level,
    /// By their logarithms; both bounds are positive.
    Log,
}

impl Transform {
    /// A value on that scale.
    pub fn apply(self, value: f64) -> f64 {
        match self {
            Transform::Level => value,
            Transform::Log => value.ln(),
        }
    }

    /// The value back.
    pub fn invert(self, value: f64) -> f64 {
        match self {
            Transform::Level => value,
            Transform::Log => value.exp(),
        }
    }
}

/// Who may serve as a donor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Donors {
    /// Every unit that is neither treated nor a placebo.
    All,
    /// These.
    Listed(Vec<String>),
}

/// A checked panel schema.
#[derive(Debug, Clone, PartialEq)]
pub struct PanelSchema {
    /// A title for people.
    pub title: Option<String>,
    /// The column of the units' names.
    pub unit: String,
    /// The column of the periods.
    pub time: String,
    /// The column of the outcome.
    pub outcome: String,
    /// What the outcome is, for people.
    pub label: Option<String>,
    /// The outcome's public bounds, the lower one below the upper one.
    pub bounds: [f64; 2],
    /// The treated units, at least one, no name twice.
    pub treated: Vec<String>,
    /// The first period with the intervention, as the table writes it.
    pub intervention: String,
    /// Who may serve as a donor.
    pub donors: Donors,
    /// Untreated units whose series are public and which are analysed as if treated.
    pub placebos: Vec<String>,
    /// The number of periods of a season; 1 where there are no seasons.
    pub season: usize,
    /// Columns that are not read.
    pub ignored: Vec<String>,
}

impl PanelSchema {
    /// Whether a document is a panel's schema, told by its format line; what else it is does not matter.
    pub fn is_panel(text: &str) -> bool {
        Document::parse(text, "").is_ok_and(|document| document.expect_format(PANEL_FORMAT).is_ok())
    }

    /// Reads a panel schema document, YAML or JSON; `file` names it in errors.
    ///
    /// # Errors
    /// With file, line, column and remedy: where the text is no such document, or does not hold together.
    pub fn parse(text: &str, file: &str) -> Result<(PanelSchema, PanelFile), SchemaError> {
        let document = Document::parse(text, file)?;
        document.expect_format(PANEL_FORMAT)?;
        let panel_file: PanelFile = document.read()?;
        let schema = check(&panel_file).map_err(|fault| document.explain(fault))?;
        Ok((schema, panel_file))
    }

    /// Checks a document that has no text of its own, such as the one that a release embeds.
    ///
    /// # Errors
    /// Where the document does not hold together; the error names the element.
    pub fn from_file(file: &PanelFile) -> Result<PanelSchema, SchemaError> {
        Ok(check(file)?)
    }

    /// The units whose series are public, treated ones first.
    pub fn targets(&self) -> impl Iterator<Item = &String> {
        self.treated.iter().chain(&self.placebos)
    }

    /// The scale on which series are compared: logarithms where the bounds allow them.
    pub fn transform(&self) -> Transform {
        match self.bounds[0] > 0.0 {
            true => Transform::Log,
            false => Transform::Level,
        }
    }

    /// A value within the bounds, as a number from -1 to 1.
    pub fn to_unit(&self, value: f64) -> f64 {
        let [lower, upper] = self.bounds;
        (2.0 * (value.clamp(lower, upper) - lower) / (upper - lower) - 1.0).clamp(-1.0, 1.0)
    }

    /// The value that a number on the unit scale stands for.
    pub fn from_unit(&self, value: f64) -> f64 {
        let [lower, upper] = self.bounds;
        lower + (value + 1.0) / 2.0 * (upper - lower)
    }
}

fn check(file: &PanelFile) -> Result<PanelSchema, Fault> {
    let top = Path::default();
    check_columns(file, &top)?;
    let [lower, upper] = file.outcome.bounds.map(|bound| bound.0);
    if !(lower.is_finite() && upper.is_finite() && lower < upper) {
        return Err(top.to("outcome").to("bounds").fault(
            "the bounds are two numbers, the smaller one first; state them from public knowledge, never from the data",
        ));
    }
    if file.treated.0.is_empty() {
        return Err(top
            .to("treated")
            .fault("no unit is treated; name the treated unit"));
    }
    let mut seen = HashSet::new();
    for (key, units) in [("treated", &file.treated.0), ("placebos", &file.placebos.0)] {
        for unit in units {
            if !seen.insert(unit.as_str()) {
                return Err(top.to(key).fault(format!(
                    "unit {unit:?} stands twice among the treated units and the placebos; remove one"
                )));
            }
        }
    }
    let donors = check_donors(&file.donors, file, &top.to("donors"))?;
    if file.season.is_some_and(|season| season < 2) {
        return Err(top
            .to("season")
            .fault("a season has at least two periods; leave `season` out where there is none"));
    }
    Ok(PanelSchema {
        title: file.title.clone(),
        unit: file.unit.clone(),
        time: file.time.clone(),
        outcome: file.outcome.column.clone(),
        label: file.outcome.label.clone(),
        bounds: [lower, upper],
        treated: file.treated.0.clone(),
        intervention: file.intervention.clone(),
        donors,
        placebos: file.placebos.0.clone(),
        season: file.season.unwrap_or(1),
        ignored: file.ignored.clone(),
    })
}

fn check_columns(file: &PanelFile, top: &Path) -> Result<(), Fault> {
    let named = [
        (top.to("unit"), &file.unit),
        (top.to("time"), &file.time),
        (top.to("outcome").to("column"), &file.outcome.column),
    ];
    let ignored = file.ignored.iter().enumerate();
    let ignored = ignored.map(|(index, name)| (top.to("ignored").to(index), name));
    let mut seen = HashSet::new();
    for (at, name) in named.into_iter().chain(ignored) {
        if name.is_empty() {
            return Err(at.fault("a column has a name; write the one in the table's header"));
        }
        if !seen.insert(name) {
            return Err(at.fault(format!(
                "column {name:?} is named twice; every column has one meaning"
            )));
        }
    }
    Ok(())
}

fn check_donors(donors: &DonorsFile, file: &PanelFile, at: &Path) -> Result<Donors, Fault> {
    let DonorsFile::List(names) = donors else {
        return Ok(Donors::All);
    };
    let mut seen = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        let at = at.to(index);
        if file.treated.0.contains(name) {
            return Err(at.fault(format!(
                "unit {name:?} is treated, so what happened to it says nothing of an untreated world; remove it \
                 from the donors"
            )));
        }
        if file.placebos.0.contains(name) {
            return Err(at.fault(format!(
                "unit {name:?} is a placebo, whose series is public; a donor's is confidential: remove it from one list"
            )));
        }
        if !seen.insert(name) {
            return Err(at.fault(format!("unit {name:?} stands twice; remove one")));
        }
    }
    if names.is_empty() {
        return Err(
            at.fault("without donors nothing can be learned; name some, or write `donors: all`")
        );
    }
    Ok(Donors::Listed(names.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALIFORNIA: &str = "\
format: dpcausal.panel/1
unit: state
time: year
outcome: {column: cigsale, bounds: [30, 300]}
treated: California
intervention: 1989
";

    fn message(from: &str, to: &str) -> String {
        let text = CALIFORNIA.replace(from, to);
        assert_ne!(text, CALIFORNIA);
        PanelSchema::parse(&text, "p.yaml").unwrap_err().to_string()
    }

    #[test]
    fn a_panel_is_read() {
        let (schema, file) = PanelSchema::parse(CALIFORNIA, "p.yaml").unwrap();
        assert_eq!(schema.treated, ["California"]);
        assert_eq!(schema.intervention, "1989");
        assert_eq!((schema.season, schema.donors.clone()), (1, Donors::All));
        assert_eq!(schema.transform(), Transform::Log);
        let json = serde_json::to_string(&file).unwrap();
        let back: PanelFile = serde_json::from_str(&json).unwrap();
        assert_eq!(PanelSchema::from_file(&back).unwrap(), schema);
    }

    #[test]
    fn values_go_to_the_unit_scale_and_back() {
        let (schema, _) = PanelSchema::parse(CALIFORNIA, "p.yaml").unwrap();
        for (value, unit) in [
            (30.0, -1.0),
            (165.0, 0.0),
            (300.0, 1.0),
            (1e9, 1.0),
            (-5.0, -1.0),
        ] {
            assert!((schema.to_unit(value) - unit).abs() < 1e-15);
        }
        assert!((schema.from_unit(schema.to_unit(123.4)) - 123.4).abs() < 1e-12);
    }

    #[test]
    fn faults_name_place_and_remedy() {
        let bounds = message("[30, 300]", "[300, 30]");
        assert!(
            bounds.starts_with("p.yaml:4:") && bounds.contains("smaller one first"),
            "{bounds}"
        );
        let twice = message("treated: California", "treated: [California, California]");
        assert!(twice.contains("stands twice"), "{twice}");
        let donor = message(
            "intervention: 1989",
            "intervention: 1989\ndonors: [Utah, California]",
        );
        assert!(
            donor.starts_with("p.yaml:7:16: unit \"California\" is treated"),
            "{donor}"
        );
        let column = message("time: year", "time: state");
        assert!(column.contains("named twice"), "{column}");
        let key = message("treated", "treaded");
        assert!(key.contains("did you mean \"treated\""), "{key}");
    }
}

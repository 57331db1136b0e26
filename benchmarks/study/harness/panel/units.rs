//! The panels of the placebo study.

use super::super::source::DataFile;
use super::factors;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;

/// What a name may be, for messages.
pub const NAMES: &str = "panel-prop99, panel-german, panel-texas, panel-geolift, panel-walmart, panel-walmart-others, \
    panel-factor600, panel-factor3000, and panel-factor600-K and panel-factor3000-K (K from 0, paths of their own)";

/// Untreated units over periods.
pub struct Units {
    /// Public bounds.
    pub bounds: [f64; 2],
    pub season: Option<usize>,
    pub pre_periods: usize,
    pub rows: Vec<Vec<f64>>,
    /// The units that take the target's part.
    pub targets: Vec<usize>,
}

/// The counties that the figures to reach are about: 60 at random, once. A few large ones decide the figure, so that
/// `panel-walmart-others` asks the same of all others.
const COUNTIES: [u32; 60] = [
    18157, 51165, 32003, 47109, 42129, 18141, 12075, 5055, 22127, 42085, 12051, 1103, 47151, 21213,
    1073, 13033, 51089, 19181, 17181, 45035, 13189, 48401, 48309, 12033, 28057, 18067, 47029,
    17183, 17113, 29143, 51650, 21217, 17063, 45055, 54053, 48373, 8075, 18143, 54069, 42117,
    41067, 21177, 1089, 51700, 18071, 12071, 28001, 47179, 54099, 28121, 23011, 8001, 45011, 47051,
    21107, 29105, 45071, 37019, 54003, 19103,
];

/// What to read of a file: name, file, columns of unit, time and outcome, the treated unit, periods before, bounds.
type Source = (
    &'static str,
    &'static str,
    [&'static str; 3],
    &'static str,
    usize,
    [f64; 2],
);

const WALMART: &str = "walmart";
const OTHERS: &str = "walmart-others";

const SOURCES: [Source; 5] = [
    (
        "prop99",
        "smoking_data.csv",
        ["state", "year", "cigsale"],
        "California",
        19,
        [26.0, 312.0],
    ),
    (
        "german",
        "german_reunification.csv",
        ["country", "year", "gdp"],
        "West Germany",
        30,
        [300.0, 60000.0],
    ),
    (
        "texas",
        "texas_prisons.csv",
        ["state", "year", "bmprison"],
        "Texas",
        8,
        [50.0, 100000.0],
    ),
    (
        "geolift",
        "geolift_test_data.csv",
        ["location", "date", "Y"],
        "",
        90,
        [500.0, 20000.0],
    ),
    (
        WALMART,
        "walmart_county_employment.csv",
        ["cty_fips", "year", "emps_n10"],
        "",
        10,
        [100.0, 1e6],
    ),
];

/// The panel of a dataset's name.
///
/// # Errors
/// Where there is no such name, or its data are not in the folder.
pub fn named(name: &str, data: &Path) -> Result<Units> {
    let name = name.strip_prefix("panel-").unwrap_or(name);
    if let Some(model) = name.strip_prefix("factor") {
        let number = |text: &str| text.parse::<usize>().ok();
        let (donors, draw) = model
            .split_once('-')
            .map_or((model, None), |(n, k)| (n, Some(k)));
        let donors = number(donors).filter(|donors| *donors >= factors::TARGETS);
        return match (donors, draw, draw.and_then(number)) {
            (Some(donors), None, _) => Ok(factors::on_the_path_to_reach(donors)),
            (Some(donors), _, Some(draw)) => Ok(factors::on_a_path_of_its_own(donors, draw as u64)),
            _ => bail!("there is no panel {name:?}; there are {NAMES}"),
        };
    }
    let is_of_others = name == OTHERS;
    let name = if is_of_others { WALMART } else { name };
    let source = SOURCES.iter().find(|source| source.0 == name);
    let source =
        source.with_context(|| format!("there is no panel {name:?}; there are {NAMES}"))?;
    read(*source, is_of_others, data)
}

/// Units without the treated one and without units that lack a period or lie below the bounds. Of Walmart's, the 60 counties
/// are targets, or all others.
fn read(source: Source, is_of_others: bool, data: &Path) -> Result<Units> {
    let (name, file, columns, treated, pre_periods, bounds) = source;
    let file = DataFile::read(&data.join("panel").join(file))?;
    let text = |cell: &str| Some(cell.to_owned());
    let names = file.column(columns[0], text)?;
    let times = file.column(columns[1], text)?;
    let values = file.column(columns[2], |cell| Some(cell.parse::<f64>().ok()))?;
    let mut units: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for ((unit, time), value) in names.into_iter().zip(times).zip(values) {
        if let Some(value) = value {
            units.entry(unit).or_default().insert(time, value);
        }
    }
    units.remove(treated);
    let periods = units.values().map(BTreeMap::len).max().unwrap_or(0);
    units.retain(|_, series| {
        series.len() == periods && series.values().all(|&value| value > bounds[0].min(50.0))
    });
    let is_among_the_60 =
        |unit: &String| unit.parse().is_ok_and(|county| COUNTIES.contains(&county));
    let is_target = |unit: &String| name != WALMART || is_among_the_60(unit) != is_of_others;
    let numbered = units.keys().enumerate();
    let targets = numbered
        .filter(|&(_, unit)| is_target(unit))
        .map(|(i, _)| i)
        .collect();
    Ok(Units {
        bounds,
        season: (name == "geolift").then_some(7),
        pre_periods,
        rows: units
            .into_values()
            .map(|series| series.into_values().collect())
            .collect(),
        targets,
    })
}

//! The panels of the placebo table.

use std::collections::BTreeMap;

/// Untreated units over periods.
pub struct Units {
    pub name: String,
    /// Public bounds.
    pub bounds: [f64; 2],
    pub season: Option<usize>,
    pub pre_periods: usize,
    pub rows: Vec<Vec<f64>>,
    /// The units that take the target's part.
    pub targets: Vec<usize>,
}

/// The counties that the figures to reach are about: 60 at random, once. A few large ones decide the figure.
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
        "walmart",
        "walmart_county_employment.csv",
        ["cty_fips", "year", "emps_n10"],
        "",
        10,
        [100.0, 1e6],
    ),
];

/// All panels that are present.
pub fn panels() -> Vec<Units> {
    let mut panels = Vec::new();
    if let Some(folder) = std::env::var_os("DPCAUSAL_DATA") {
        for source in SOURCES {
            let path = std::path::Path::new(&folder).join("panel").join(source.1);
            match std::fs::read_to_string(&path) {
                Ok(text) => panels.push(read(source, &text)),
                Err(error) => eprintln!("skipped {}: {error}", path.display()),
            }
        }
    }
    for n in [600, 3000] {
        panels.push(super::factors::on_the_path_to_reach(n));
    }
    for draw in 0..super::factors::DRAWS {
        panels.push(super::factors::on_a_path_of_its_own(600, draw));
    }
    panels
}

/// Units without the treated one and without units that lack a period or lie below the bounds.
fn read((name, _, columns, treated, pre_periods, bounds): Source, text: &str) -> Units {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let at = columns.map(|column| header.iter().position(|h| *h == column).expect("a column"));
    let mut units: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        if let Ok(value) = cells[at[2]].parse::<f64>() {
            units
                .entry(cells[at[0]])
                .or_default()
                .insert(cells[at[1]], value);
        }
    }
    units.remove(treated);
    let periods = units.values().map(BTreeMap::len).max().unwrap_or(0);
    units.retain(|_, series| {
        series.len() == periods && series.values().all(|&value| value > bounds[0].min(50.0))
    });
    let is_target = |unit: &&str| {
        name != "walmart"
            || unit
                .parse()
                .is_ok_and(|county: u32| COUNTIES.contains(&county))
    };
    let numbered = units.keys().enumerate();
    let targets = numbered
        .filter(|&(_, unit)| is_target(unit))
        .map(|(i, _)| i)
        .collect();
    Units {
        name: name.into(),
        bounds,
        season: (name == "geolift").then_some(7),
        pre_periods,
        rows: units
            .into_values()
            .map(|series| series.into_values().collect())
            .collect(),
        targets,
    }
}

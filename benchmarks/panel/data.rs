//! The panels of the placebo table.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use std::collections::BTreeMap;

/// Untreated units over periods.
pub struct Units {
    pub name: String,
    /// Public bounds.
    pub bounds: [f64; 2],
    pub season: Option<usize>,
    pub pre_periods: usize,
    pub rows: Vec<Vec<f64>>,
    /// At most so many of them take the target's part.
    pub most_targets: usize,
}

impl Units {
    /// Which units take the target's part: all, or a fixed choice.
    pub fn targets(&self) -> Vec<usize> {
        let n = self.rows.len();
        if n <= self.most_targets {
            return (0..n).collect();
        }
        let mut rng = SmallRng::seed_from_u64(1);
        (0..self.most_targets)
            .map(|_| rng.random_range(0..n))
            .collect()
    }
}

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
        panels.push(factor_model(n));
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
    let complete = units.into_values().filter(|series| {
        series.len() == periods && series.values().all(|&value| value > bounds[0].min(50.0))
    });
    Units {
        name: name.into(),
        bounds,
        season: (name == "geolift").then_some(7),
        pre_periods,
        rows: complete
            .map(|series| series.into_values().collect())
            .collect(),
        most_targets: 60,
    }
}

/// Levels about 100, as logarithms three random walks with unit loadings, and noise.
fn factor_model(donors: usize) -> Units {
    let mut rng = SmallRng::seed_from_u64(7 + donors as u64);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let mut level = [0.0; 3];
    let common: Vec<[f64; 3]> = (0..40)
        .map(|_| {
            let steps = [0.04, 0.03, 0.03].map(|size| size * normal());
            level = [
                level[0] + steps[0],
                level[1] + steps[1],
                level[2] + steps[2],
            ];
            level
        })
        .collect();
    let mut row = || -> Vec<f64> {
        let (base, loadings) = (0.3 * normal(), [1.0 + 0.5 * normal(), normal(), normal()]);
        let mut value = |f: &[f64; 3]| {
            let shared: f64 = loadings.iter().zip(f).map(|(l, f)| l * f).sum();
            100.0 * (base + shared + 0.02 * normal()).exp()
        };
        common.iter().map(&mut value).collect()
    };
    let rows = (0..=donors).map(|_| row()).collect();
    Units {
        name: format!("factor{donors}"),
        bounds: [5.0, 2000.0],
        season: None,
        pre_periods: 28,
        rows,
        most_targets: 40,
    }
}

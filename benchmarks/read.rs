//! How long counting takes beside merely reading: `answer` on a causal workload against Polars' own CSV
//! reader with its default options, on the same file, in turn, in one run.
//!
//!     cargo bench --bench read -- FILE.csv
//!
//! The file has the columns of [`schema`]: a million rows of the American Community Survey, for instance.

use dpcausal::schema::{Axis, Bin, Column, Feature, Kind, Level, PrivacyUnit, Query, Role, Schema};
use dpcausal::table::{Source, answer};
use polars::prelude::{CsvReadOptions, SerReader};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Runs of each, in turn; the fastest counts, since all that disturbs a run slows it.
const RUNS: usize = 7;

/// The categorical columns and their levels.
const LEVELS: [(&str, &str); 11] = [
    (
        "state",
        "AK AL AR AZ CA CO CT DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM \
         NV NY OH OK OR PA PR RI SC SD TN TX UT VA VT WA WI WV WY",
    ),
    ("region", "midwest northeast puerto_rico south west"),
    ("sex", "female male"),
    ("race", "white black asian other two_plus"),
    ("marital", "married divorced never separated widowed"),
    (
        "workclass",
        "private nonprofit self_not_inc self_inc local_gov state_gov federal_gov unpaid",
    ),
    (
        "occ_group",
        "bus cln cmm cms con eat edu eng ent ext fff fin hls lgl med mgr mil off prd prs prt rpr sal sci trn",
    ),
    (
        "citizenship",
        "born_us born_territory born_abroad naturalized non_citizen",
    ),
    (
        "commute_mode",
        "car home walked bus subway railroad bicycle taxi ferry motorcycle streetcar",
    ),
    ("moved", "same_house moved_us from_abroad"),
    ("foreign_born", "0 1"),
];

/// The numeric columns: lower and upper bound, number of bins.
const NUMBERS: [(&str, i64, i64, i64); 4] = [
    ("income", 0, 1_500_000, 16),
    ("age", 17, 95, 8),
    ("schl", 1, 24, 8),
    ("commute_min", 0, 200, 8),
];

fn column(name: &str, kind: Kind) -> Column {
    let role = match name {
        "foreign_born" => Role::Treatment,
        "income" => Role::Outcome,
        _ => Role::Covariate,
    };
    Column {
        name: name.into(),
        label: None,
        role,
        kind,
        missing: Vec::new(),
    }
}

fn level(code: &str) -> Level {
    Level {
        code: code.into(),
        label: None,
    }
}

fn schema() -> Schema {
    let categorical = LEVELS.iter().map(|(name, levels)| {
        let kind = Kind::Categorical {
            levels: levels.split_whitespace().map(level).collect(),
            other: Some(level("any_other")),
            ordered: false,
        };
        column(name, kind)
    });
    let numeric = NUMBERS.iter().map(|&(name, lower, upper, parts)| {
        let edge = |part| lower + (upper - lower + 1) * part / parts;
        let bin = |part| Bin {
            lower: edge(part) as f64,
            upper: (edge(part + 1) - 1) as f64,
        };
        let bins = (0..parts).map(bin).collect();
        column(name, Kind::Integer { lower, upper, bins })
    });
    Schema {
        title: None,
        unit: PrivacyUnit::Row,
        rows: None,
        design: Default::default(),
        columns: categorical.chain(numeric).collect(),
        structural_zeros: Vec::new(),
    }
}

/// A hub, a leaf per covariate, all pairs of the first five covariates, and the spread.
fn queries(schema: &Schema) -> Vec<Query> {
    let (Some(treatment), Some(outcome)) = (schema.treatment(), schema.outcome()) else {
        return Vec::new();
    };
    let axis = |column, feature| Axis { column, feature };
    let query = |name: String, axes: &[Axis]| Query {
        name,
        axes: axes.to_vec(),
    };
    let arms = axis(treatment, Feature::Levels);
    let split = axis(outcome, Feature::Split);
    let spread = axis(outcome, Feature::Spread);
    let bins = axis(outcome, Feature::Levels);
    let mut queries = vec![
        query("hub".into(), &[arms, bins]),
        query("spread".into(), &[arms, spread]),
    ];
    let covariates = schema.covariates();
    for (index, &a) in covariates.iter().enumerate() {
        let levels = axis(a, Feature::Levels);
        queries.push(query(format!("leaf:{a}"), &[arms, levels, split]));
        for &b in covariates.iter().take(5).take(index) {
            let other = axis(b, Feature::Levels);
            queries.push(query(format!("pair:{a}:{b}"), &[levels, other]));
        }
    }
    queries
}

/// The most memory that the process held so far, where the system tells.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.trim_start_matches("VmHWM:").trim().to_owned())
}

fn timed(
    run: impl FnOnce() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(path) = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
    else {
        println!("read: no file given, nothing measured");
        return Ok(());
    };
    let path = PathBuf::from(path);
    let schema = schema();
    let queries = queries(&schema);
    let source = Source::Path(path.clone());
    let count = || -> Result<(), Box<dyn std::error::Error>> {
        answer(&source, None, &schema, &queries, &|_| ())?;
        Ok(())
    };
    let read = || -> Result<(), Box<dyn std::error::Error>> {
        CsvReadOptions::default()
            .try_into_reader_with_file_path(Some(path.clone()))?
            .finish()?;
        Ok(())
    };
    count()?;
    println!(
        "answer: {} queries, peak memory {}",
        queries.len(),
        peak_memory().unwrap_or_default()
    );
    let (mut counting, mut reading) = (Duration::MAX, Duration::MAX);
    for _ in 0..RUNS {
        reading = reading.min(timed(read)?);
        counting = counting.min(timed(count)?);
    }
    println!(
        "answer {:.3} s, Polars' reader {:.3} s, ratio {:.2}",
        counting.as_secs_f64(),
        reading.as_secs_f64(),
        counting.as_secs_f64() / reading.as_secs_f64()
    );
    Ok(())
}

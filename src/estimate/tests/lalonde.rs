//! The published differences in means of the LaLonde experiments, where their files lie beside the
//! project.

use std::path::Path;

use crate::estimate::fixtures::{column, integer, real, schema, table};
use crate::estimate::{Estimand, Estimator, Options, Rows, estimate};
use crate::schema::{Kind, Role, Schema};
use crate::table::CodedTable;

/// Above the largest earnings in the experiments, so that nothing is clamped.
const EARNINGS: f64 = 65_536.0;

fn read(file: &str) -> Option<(Schema, CodedTable)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/lalonde");
    let Ok(text) = std::fs::read_to_string(folder.join(file)) else {
        eprintln!("SKIPPED: {file} is not in ../shared/data/lalonde");
        return None;
    };
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let rows: Vec<Vec<f64>> = lines
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    let codes = |name: &str| rows.iter().map(|row| row[at(name)] as u16).collect();
    let mut columns = vec![column("treat", Role::Treatment, Kind::Boolean)];
    let mut coded = vec![codes("treat")];
    for (name, upper) in [("age", 60), ("education", 18)] {
        columns.push(column(name, Role::Covariate, integer(upper)));
        coded.push(codes(name));
    }
    for name in ["black", "hispanic", "married", "nodegree"] {
        columns.push(column(name, Role::Covariate, Kind::Boolean));
        coded.push(codes(name));
    }
    columns.push(column("re78", Role::Outcome, real(0.0, EARNINGS)));
    let outcome: Vec<f64> = rows.iter().map(|row| row[at("re78")] / EARNINGS).collect();
    Some((schema(columns), table(coded, &outcome)))
}

#[test]
fn published_differences_in_means() {
    for (file, published) in [("nsw_dw.csv", 1794.34), ("nsw_lalonde.csv", 886.30)] {
        let Some((schema, table)) = read(file) else {
            continue;
        };
        let ask = |estimator| {
            let options = Options::default();
            estimate(
                &table,
                &Rows::All,
                &schema,
                estimator,
                Estimand::Ate,
                1,
                &options,
            )
            .unwrap()
        };
        // Printed to a cent; the fixed-point unit is 65536 / 2^20 = 1/16 dollar, so each mean is
        // within 1/32.
        let difference = ask(Estimator::DifferenceInMeans);
        assert!((difference.value - published).abs() < 0.005 + 1.0 / 16.0);
        // Randomised: adjustment moves the estimate by less than a standard error or so.
        for estimator in [Estimator::Ipw, Estimator::Aipw, Estimator::Regression] {
            let adjusted = ask(estimator);
            let distance = (adjusted.value - difference.value).abs();
            assert!(distance < difference.variance.sqrt(), "{estimator:?}");
        }
    }
}

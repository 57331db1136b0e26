//! The placebo table of the panel workload: how far the private synthetic control of an untreated unit is from what
//! happened to it.
//!
//! Every donor of a panel, or some of them, takes the treated unit's part and is predicted from the others; the figure is
//! the root mean square error of the path over targets, periods and repetitions, in the outcome's units, by method and
//! epsilon. The forecast of the target's own past (epsilon 0) stands beside, and non-private equal weights on the same
//! scale. Real panels are read from the folder that `DPCAUSAL_DATA` names; factor models are always there.
//!
//! ```text
//! DPCAUSAL_DATA=../shared/data cargo bench --bench panel [-- NAME...]
//! ```

mod data;

use data::Units;
use dpcausal::panel::{PanelDocuments, PanelPlan, Share, forecast_effect, run, synthetic_series};
use dpcausal::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use dpcausal::schema::{PanelFrame, PanelSchema, TargetSeries};
use dpcausal::workload::DpscWorkload;

const EPSILONS: [f64; 4] = [0.5, 1.0, 2.0, 5.0];
const DELTA: f64 = 1e-6;
const METHODS: [&str; 4] = ["auto", "index", "balance", "difference-in-differences"];
/// Draws of the noise per target and cell.
const REPETITIONS: u64 = 20;

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    println!("| panel | donors | forecast | method | .5 | 1 | 2 | 5 |");
    println!("|---|---|---|---|---|---|---|---|");
    for panel in data::panels() {
        if wanted.is_empty() || wanted.contains(&panel.name) {
            table(&panel);
        }
    }
}

/// Prints the lines of one panel.
fn table(panel: &Units) {
    let targets = &panel.targets;
    let forecast = mean_square(targets.iter().map(|&target| {
        let case = Case::new(panel, target, "index");
        case.of_forecast()
    }));
    for method in METHODS {
        let cells: Vec<String> = EPSILONS
            .iter()
            .map(|&epsilon| {
                let errors = targets.iter().flat_map(|&target| {
                    let case = Case::new(panel, target, method);
                    (0..REPETITIONS)
                        .map(move |k| case.error(epsilon, method, k))
                        .collect::<Vec<_>>()
                });
                format!("{:.1}", mean_square(errors))
            })
            .collect();
        println!(
            "| {} | {} | {forecast:.1} | {method} | {} |",
            panel.name,
            panel.rows.len() - 1,
            cells.join(" | ")
        );
    }
}

fn mean_square(squares: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for square in squares {
        sum += square;
        count += 1.0;
    }
    f64::sqrt(sum / count)
}

/// One target with its donors.
struct Case {
    schema: PanelSchema,
    workload: DpscWorkload,
    documents: PanelDocuments,
    frame: PanelFrame,
    donors: Vec<Vec<f64>>,
}

impl Case {
    fn new(panel: &Units, target: usize, method: &str) -> Case {
        let [lower, upper] = panel.bounds;
        let season = panel
            .season
            .map_or(String::new(), |season| format!("season: {season}\n"));
        let schema = format!(
            "format: dpcausal.panel/1\nunit: u\ntime: t\noutcome: {{column: x, bounds: [{lower}, {upper}]}}\n\
             treated: y\nintervention: {}\n{season}",
            panel.pre_periods
        );
        let workload = format!("format: dpcausal.workload/1\nmechanism: dpsc\nmethod: {method}\n");
        let (schema, schema_file) = PanelSchema::parse(&schema, "schema").expect("a schema");
        let (workload, workload_file) =
            DpscWorkload::parse(&workload, "workload").expect("a workload");
        let donors: Vec<Vec<f64>> = (0..panel.rows.len())
            .filter(|&i| i != target)
            .map(|i| panel.rows[i].clone())
            .collect();
        let own = panel.rows[target].clone();
        Case {
            schema,
            workload,
            documents: PanelDocuments {
                schema: schema_file,
                workload: workload_file,
            },
            frame: PanelFrame {
                periods: (0..own.len()).map(|t| t.to_string()).collect(),
                pre_periods: panel.pre_periods,
                donors: (0..donors.len()).map(|i| i.to_string()).collect(),
                targets: vec![TargetSeries {
                    unit: "y".into(),
                    placebo: false,
                    values: own,
                }],
            },
            donors,
        }
    }

    fn plan(&self, budget: Budget) -> PanelPlan {
        let (schema, workload) = (self.schema.clone(), self.workload.clone());
        PanelPlan::new(schema, workload, self.frame.clone(), budget).expect("a plan")
    }

    /// The mean squared error of the path that the target's own past forecasts.
    fn of_forecast(&self) -> f64 {
        let plan = self.plan(Budget::pure(1.0).expect("a budget"));
        let setting = plan.setting(0);
        debug_assert!(matches!(setting.share, Share::Pure(_)));
        debug_assert!(forecast_effect(&setting).deviation > 0.0);
        let path = setting.forecast().path;
        let path: Vec<f64> = path
            .iter()
            .map(|&x| self.schema.transform().invert(x))
            .collect();
        self.square(&path)
    }

    /// The mean squared error of one private path.
    fn error(&self, epsilon: f64, method: &str, seed: u64) -> f64 {
        let budget = match method {
            "auto" | "balance" => Budget::approximate(epsilon, DELTA),
            _ => Budget::pure(epsilon),
        };
        let plan = self.plan(budget.expect("a budget"));
        let id = ReleaseId::random().expect("random numbers");
        let authorisation =
            Authorisation::without_ledger(id, plan.cost, &plan.budget).expect("a budget kept");
        let mut noise = NoiseSource::insecure_seed(1000 * seed + (10.0 * epsilon) as u64);
        let donors = Confidential::new(self.donors.clone());
        let release = run(
            &plan,
            self.documents.clone(),
            &donors,
            authorisation,
            &mut noise,
        );
        let release = release
            .expect("a release")
            .check("release")
            .expect("a sound release");
        let series = synthetic_series(&release).expect("a series");
        let path: Vec<f64> = series.iter().filter_map(|row| row.synthetic).collect();
        self.square(&path)
    }

    fn square(&self, path: &[f64]) -> f64 {
        let observed = &self.frame.targets[0].values[self.frame.pre_periods..];
        let squares = observed.iter().zip(path).map(|(y, p)| (y - p).powi(2));
        squares.sum::<f64>() / path.len() as f64
    }
}

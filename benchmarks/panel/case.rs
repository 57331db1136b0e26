//! One target with its donors, and what a method makes of it.

use super::data::Units;
use super::simplex::synthetic_control;
use dpcausal::panel::{PanelDocuments, PanelPlan, effects, run, synthetic_series};
use dpcausal::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use dpcausal::release::CheckedPanelRelease;
use dpcausal::schema::{PanelFrame, PanelSchema, TargetSeries};
use dpcausal::workload::DpscWorkload;

const DELTA: f64 = 1e-6;

/// A method with the further lines of its workload, and whether it takes a delta.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    pub name: &'static str,
    pub workload: &'static str,
    pub has_delta: bool,
}

/// One target with its donors.
pub struct Case {
    number: u64,
    schema: PanelSchema,
    workload: DpscWorkload,
    documents: PanelDocuments,
    frame: PanelFrame,
    donors: Vec<Vec<f64>>,
    has_delta: bool,
}

/// What the intervals of one release hold: periods within, periods, the mean within, and the mean's interval's length.
pub struct Coverage {
    pub periods: usize,
    pub of_periods: usize,
    pub mean: bool,
    pub length: f64,
}

impl Case {
    pub fn new(panel: &Units, target: usize, variant: Variant) -> Case {
        let [lower, upper] = panel.bounds;
        let season = panel
            .season
            .map_or(String::new(), |season| format!("season: {season}\n"));
        let schema = format!(
            "format: dpcausal.panel/1\nunit: u\ntime: t\noutcome: {{column: x, bounds: [{lower}, {upper}]}}\n\
             treated: y\nintervention: {}\n{season}",
            panel.pre_periods
        );
        let workload = variant.workload;
        let workload = format!("format: dpcausal.workload/1\nmechanism: dpsc\n{workload}\n");
        let (schema, schema_file) = PanelSchema::parse(&schema, "schema").expect("a schema");
        let (workload, workload_file) =
            DpscWorkload::parse(&workload, "workload").expect("a workload");
        let donors: Vec<Vec<f64>> = (0..panel.rows.len())
            .filter(|&i| i != target)
            .map(|i| panel.rows[i].clone())
            .collect();
        let own = panel.rows[target].clone();
        Case {
            number: target as u64,
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
            has_delta: variant.has_delta,
        }
    }

    fn plan(&self, budget: Budget) -> PanelPlan {
        let (schema, workload) = (self.schema.clone(), self.workload.clone());
        PanelPlan::new(schema, workload, self.frame.clone(), budget).expect("a plan")
    }

    /// The mean squared error of the path that the target's own past forecasts.
    pub fn of_forecast(&self) -> f64 {
        let plan = self.plan(Budget::pure(1.0).expect("a budget"));
        let path = plan.setting(0, None).forecast().path;
        let transform = self.schema.transform();
        let path: Vec<f64> = path.iter().map(|&x| transform.invert(x)).collect();
        self.square(&path)
    }

    /// The mean squared error of synthetic control without privacy.
    pub fn of_simplex(&self) -> f64 {
        let target = &self.frame.targets[0].values;
        self.square(&synthetic_control(
            target,
            &self.donors,
            self.frame.pre_periods,
        ))
    }

    /// A release, from a seed of this target's own.
    pub fn release(&self, epsilon: f64, repetition: u64) -> CheckedPanelRelease {
        let budget = match self.has_delta {
            true => Budget::approximate(epsilon, DELTA),
            false => Budget::pure(epsilon),
        };
        let plan = self.plan(budget.expect("a budget"));
        let id = ReleaseId::random().expect("random numbers");
        let authorisation =
            Authorisation::without_ledger(id, plan.cost, &plan.budget).expect("a budget kept");
        let seed = (self.number * 1000 + repetition) * 100 + (10.0 * epsilon) as u64;
        let mut noise = NoiseSource::insecure_seed(seed);
        let donors = Confidential::new(self.donors.clone());
        let documents = self.documents.clone();
        let release = run(&plan, documents, &donors, authorisation, &mut noise);
        let release = release.expect("a release").check("release");
        release.expect("a sound release")
    }

    /// The mean squared error of one private path.
    pub fn error(&self, release: &CheckedPanelRelease) -> f64 {
        let series = synthetic_series(release).expect("a series");
        let path: Vec<f64> = series.iter().filter_map(|row| row.synthetic).collect();
        self.square(&path)
    }

    /// Whether the intervals of nominal 95 % hold the effect of no intervention, zero.
    pub fn coverage(&self, release: &CheckedPanelRelease) -> Coverage {
        let target = effects(release, 0.95, self.number)
            .expect("effects")
            .remove(0);
        let holds = |[low, high]: [f64; 2]| low <= 0.0 && 0.0 <= high;
        let within = target.periods.iter().filter(|p| holds(p.effect.interval));
        let [low, high] = target.att.interval;
        Coverage {
            periods: within.count(),
            of_periods: target.periods.len(),
            mean: holds(target.att.interval),
            length: high - low,
        }
    }

    fn square(&self, path: &[f64]) -> f64 {
        let observed = &self.frame.targets[0].values[self.frame.pre_periods..];
        let squares = observed.iter().zip(path).map(|(y, p)| (y - p).powi(2));
        squares.sum::<f64>() / path.len() as f64
    }
}

//! Panels for the tests.

use crate::impute::{Purpose, stream};
use crate::panel::channel::Share;
use crate::panel::method::Setting;
use crate::privacy::{Accountant, Authorisation, Budget, Cost, ReleaseId};
use crate::schema::{PanelFrame, PanelSchema, TargetSeries};
use crate::table::DonorRows;
use crate::workload::DpscWorkload;
use rand_distr::{Distribution, StandardNormal};

/// Everything that a setting refers to.
pub struct Panel {
    pub schema: PanelSchema,
    pub workload: DpscWorkload,
    pub frame: PanelFrame,
    pub rows: DonorRows,
}

impl Panel {
    /// A panel of these bounds, target and donors; `workload` are further lines of the workload.
    pub fn new(
        bounds: [f64; 2],
        pre: usize,
        target: Vec<f64>,
        rows: DonorRows,
        workload: &str,
    ) -> Panel {
        let text = format!(
            "format: dpcausal.panel/1\nunit: u\ntime: t\noutcome: {{column: x, bounds: [{}, {}]}}\ntreated: y\n\
             intervention: {pre}\n",
            bounds[0], bounds[1]
        );
        let frame = PanelFrame {
            periods: (0..target.len()).map(|t| t.to_string()).collect(),
            pre_periods: pre,
            donors: (0..rows.len()).map(|i| i.to_string()).collect(),
            targets: vec![TargetSeries {
                unit: "y".into(),
                placebo: false,
                values: target,
            }],
        };
        let text = (
            text,
            format!("format: dpcausal.workload/1\nmechanism: dpsc\n{workload}"),
        );
        Panel {
            schema: PanelSchema::parse(&text.0, "p.yaml").unwrap().0,
            workload: DpscWorkload::parse(&text.1, "w.yaml").unwrap().0,
            frame,
            rows,
        }
    }

    pub fn setting(&self, share: Share) -> Setting<'_> {
        Setting {
            schema: &self.schema,
            workload: &self.workload,
            frame: &self.frame,
            target: 0,
            share,
            penalty: None,
        }
    }

    /// Levels about 100 driven by common shocks and unit ones, as logarithms: a factor model.
    pub fn factor_model(n: usize, pre: usize, periods: usize, seed: u64) -> Panel {
        let mut rng = stream(seed, Purpose::Simulation, n as u64);
        let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
        let (mut level, mut common) = ([0.0; 2], Vec::new());
        for _ in 0..periods {
            level = [level[0] + 0.04 * normal(), level[1] + 0.03 * normal()];
            common.push(level);
        }
        let mut series = || -> Vec<f64> {
            let (base, loading) = (0.3 * normal(), [1.0 + 0.5 * normal(), normal()]);
            let value = |f: &[f64; 2]| {
                100.0 * (base + loading[0] * f[0] + loading[1] * f[1] + 0.02 * normal()).exp()
            };
            common.iter().map(value).collect()
        };
        let target = series();
        let rows = (0..n).map(|_| series()).collect();
        Panel::new([10.0, 1000.0], pre, target, rows, "")
    }
}

/// An accountant with room for a cost.
pub fn accountant(cost: Cost) -> Accountant {
    let budget = match cost.is_gaussian() {
        true => Budget::gdp(1e6),
        false => Budget::pure(1e9),
    };
    let id = ReleaseId::random().unwrap();
    Accountant::new(Authorisation::without_ledger(id, cost, &budget.unwrap()).unwrap())
}

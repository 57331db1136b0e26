//! One placebo unit with its donors, and what a method makes of it.

use super::units::Units;
use anyhow::{Result, ensure};
use dpcausal::panel::{PanelDocuments, PanelPlan, run, synthetic_series};
use dpcausal::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use dpcausal::release::CheckedPanelRelease;
use dpcausal::schema::{PanelFrame, PanelSchema, TargetSeries};
use dpcausal::workload::DpscWorkload;

/// One placebo unit with its donors.
pub struct Case {
    schema: PanelSchema,
    workload: DpscWorkload,
    documents: PanelDocuments,
    frame: PanelFrame,
    donors: Vec<Vec<f64>>,
}

impl Case {
    /// A unit of a panel in the treated one's part, with a workload's text.
    ///
    /// # Errors
    /// Where panel or workload don't hold together.
    pub fn new(panel: &Units, unit: usize, workload: &str) -> Result<Case> {
        let [lower, upper] = panel.bounds;
        let season = panel
            .season
            .map_or(String::new(), |season| format!("season: {season}\n"));
        let schema = format!(
            "format: dpcausal.panel/1\nunit: u\ntime: t\noutcome: {{column: x, bounds: [{lower}, {upper}]}}\n\
             treated: y\nintervention: {}\n{season}",
            panel.pre_periods
        );
        let (schema, schema_file) = PanelSchema::parse(&schema, "the study's schema")?;
        let (workload, workload_file) = DpscWorkload::parse(workload, "the study's workload")?;
        let own = panel.rows[unit].clone();
        let mut donors = panel.rows.clone();
        donors.remove(unit);
        Ok(Case {
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
        })
    }

    /// The effects, period by period, that a counterfactual path leaves.
    fn effects(&self, path: &[f64]) -> Vec<f64> {
        let observed = &self.frame.targets[0].values[self.frame.pre_periods..];
        observed.iter().zip(path).map(|(y, p)| y - p).collect()
    }

    fn plan(&self, budget: Budget) -> Result<PanelPlan> {
        let (schema, workload) = (self.schema.clone(), self.workload.clone());
        Ok(PanelPlan::new(
            schema,
            workload,
            self.frame.clone(),
            budget,
        )?)
    }

    /// The effects by the forecast of the unit's own past, which costs nothing.
    ///
    /// # Errors
    /// Where there can be no plan.
    pub fn by_forecast(&self) -> Result<Vec<f64>> {
        // The forecast depends on no budget, but a plan has one.
        let plan = self.plan(Budget::pure(1.0)?)?;
        let transform = self.schema.transform();
        let path = plan.setting(0, None).forecast().path;
        let path: Vec<f64> = path.iter().map(|&x| transform.invert(x)).collect();
        Ok(self.effects(&path))
    }

    /// The effects by synthetic control without privacy.
    pub fn by_simplex(&self) -> Vec<f64> {
        let target = &self.frame.targets[0].values;
        let pre = self.frame.pre_periods;
        self.effects(&super::simplex::synthetic_control(
            target,
            &self.donors,
            pre,
        ))
    }

    /// A release.
    ///
    /// # Errors
    /// Where workload, panel and budget don't go together.
    pub fn release(&self, budget: Budget, seed: u64) -> Result<CheckedPanelRelease> {
        let plan = self.plan(budget)?;
        let authorisation =
            Authorisation::without_ledger(ReleaseId::random()?, plan.cost, &plan.budget)?;
        let mut noise = NoiseSource::insecure_seed(seed);
        let donors = Confidential::new(self.donors.clone());
        let documents = self.documents.clone();
        Ok(run(&plan, documents, &donors, authorisation, &mut noise)?.check("the release")?)
    }
}

/// The effects, period by period (or block of periods), that a release's path leaves.
///
/// # Errors
/// Where the release has a mean in the place of a path.
pub fn effects_of(release: &CheckedPanelRelease) -> Result<Vec<f64>> {
    let series = synthetic_series(release)?;
    let effect = |row: &dpcausal::panel::SeriesRow| row.synthetic.map(|path| row.observed - path);
    let effects: Vec<f64> = series.iter().filter_map(effect).collect();
    ensure!(!effects.is_empty(), "a release without a path");
    Ok(effects)
}

//! Measuring a sample as the `measure` command measures a file, in process and with a seed.

use super::{Budget, Input};
use anyhow::{Context, Result};
use dpcausal::measure::{self, Counted, Documents, Guarantee, Plan};
use dpcausal::privacy::{self, Authorisation, Confidential, NoiseSource, ReleaseId};
use dpcausal::release::{CheckedRelease, Release};
use dpcausal::table::Counter;
use dpcausal::workload::{Workload, WorkloadFile};

/// The plan of a workload that spends the input's whole budget.
///
/// # Errors
/// Where there is no budget, or workload and schema don't go together.
pub fn plan(input: &Input, workload: &str) -> Result<(Plan, WorkloadFile)> {
    let Budget { epsilon, delta } = input
        .budget
        .context("a private procedure without a budget")?;
    let (workload, file) = Workload::parse(workload, "the study's workload", input.schema)?;
    let guarantee = Guarantee::new(privacy::Budget::approximate(epsilon, delta)?, input.schema);
    Ok((Plan::new(input.schema.clone(), workload, guarantee)?, file))
}

/// The release of a workload at the input's whole budget, read back as its users read it.
///
/// # Errors
/// As [`plan`] and [`release`].
pub fn checked_release(input: &Input, workload: &str) -> Result<CheckedRelease> {
    let (plan, file) = plan(input, workload)?;
    let text = release(input, &plan, file)?.to_json();
    Ok(CheckedRelease::parse(&text, "the release")?)
}

/// Carries out a plan on the input's table.
///
/// # Errors
/// Where the privacy room refuses.
pub fn release(input: &Input, plan: &Plan, workload: WorkloadFile) -> Result<Release> {
    let mut counter = Counter::new(&plan.schema, &plan.queries())?;
    counter.add(&input.rows.table);
    let documents = Documents {
        schema: input.document.clone(),
        workload,
    };
    let budget = &plan.guarantee.budget;
    let authorisation = Authorisation::without_ledger(ReleaseId::random()?, plan.cost, budget)?;
    let mut noise = NoiseSource::insecure_seed(input.seed);
    Ok(measure::run(
        plan,
        documents,
        Counted {
            answers: counter.answers(),
            rows: plan
                .keeps_rows()
                .then(|| Confidential::new(input.rows.table.clone())),
        },
        authorisation,
        &mut noise,
    )?)
}

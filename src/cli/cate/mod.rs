//! The verbs on conditional effects. Each verb's own file turns here where it is given an effect workload or its release.

mod analyze;
mod documents;
mod measure;
mod plan;

pub use analyze::analyze;
pub use documents::is_cate;
pub use measure::measure;
pub use plan::plan;

use super::status::{ExitStatus, Failure};

/// What to run instead of a verb that makes tables.
pub fn no_tables(verb: &str) -> Failure {
    Failure::because(
        ExitStatus::Usage,
        format!(
            "`dpcausal {verb}` makes tables, and this release holds conditional effects and no microdata; read it with \
             `dpcausal analyze RELEASE --rows TABLE`, or measure microdata with another workload (`mechanism: causal`)"
        ),
    )
}

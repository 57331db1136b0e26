//! The verbs on panels. Each verb's own file turns here where it is given a panel's schema or release.

mod analyze;
mod documents;
mod measure;
mod plan;
mod quickstart;
mod series;

pub use analyze::analyze;
pub use documents::is_panel;
pub use measure::measure;
pub use plan::plan;
pub use quickstart::quickstart;
pub use series::{impute, reconstruct};

//! Ridge regression on noisy second moments.
//!
//! | file | what |
//! |---|---|
//! | [`basis`] | the covariates' functions, in whole units, and the exact bound on their length |
//! | [`moments`](mod@moments) | the sums, their sensitivity |
//! | [`fit`](mod@fit) | from noisy sums to an additive model |

pub mod basis;
pub mod fit;
pub mod moments;

pub use basis::{MOMENT_SCALE, MomentBasis};
pub use fit::{MomentFit, fit};
pub use moments::{MomentQuestion, moments, reach};

//! What can be wrong with a question put to a table, or with the table.

/// Why there is no estimate. Never a NaN instead.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EstimateError {
    /// The schema or the table has no treatment.
    #[error("no column has the role `treatment`: name it in the schema")]
    NoTreatment,
    /// The schema or the table has no outcome.
    #[error("no column has the role `outcome`: name it in the schema")]
    NoOutcome,
    /// The arm is the reference arm, or the treatment has no such level.
    #[error(
        "arm {arm} has no such row: the treatment has {levels} levels, and arm 0 is the reference that the others are contrasted with"
    )]
    NotAnArm {
        /// The arm asked for.
        arm: u16,
        /// The number of the treatment's levels.
        levels: usize,
    },
    /// A risk ratio of a mean that is not positive.
    #[error("a mean outcome came out as {mean}: a risk ratio needs risks above 0")]
    NoRisk {
        /// The mean.
        mean: f64,
    },
    /// A risk ratio of a numeric outcome.
    #[error(
        "`{outcome}` is numeric, and a risk ratio compares the risks of a two-level outcome: ask for ate, att, atc or arm-mean"
    )]
    NumericRisk {
        /// The outcome's column.
        outcome: String,
    },
    /// A subgroup without rows.
    #[error("nobody has {column} = {level}")]
    EmptySubgroup {
        /// The subgroup's column.
        column: String,
        /// Its level.
        level: String,
    },
    /// A column that can't divide the rows into subgroups.
    #[error("there are no subgroups by `{column}`: {reason}")]
    NotASubgroup {
        /// The column.
        column: String,
        /// Why.
        reason: String,
    },
    /// [`Estimator::Model`](super::Estimator::Model) was asked of a table.
    #[error("the estimator `model` reads a fitted model, not a table: choose another one")]
    NeedsModel,
    /// The table does not fit its schema.
    #[error("the table does not fit the schema: {0}")]
    Malformed(String),
    /// A subgroup of a column that the model does not have.
    #[error("the release measured nothing of `{column}`: there are no subgroups by it")]
    NotMeasured {
        /// The column.
        column: String,
    },
    /// A release without an effects part.
    #[error(
        "the release measured no effects; add `effects: {{share: 0.5}}` to the workload and measure again"
    )]
    NoEffects,
    /// Released moments that no release can contain.
    #[error("the released moments cannot be used: {0} is not finite, has the wrong sign or shape")]
    Moments(String),
    /// Nobody is in an arm.
    #[error("arm `{arm}` is empty: nobody to compare")]
    EmptyArm {
        /// The arm's level.
        arm: String,
    },
    /// An arm has too few rows for the estimator.
    #[error(
        "arm `{arm}` has {rows} rows, the estimator needs at least {needed}: merge levels or use a simpler estimator"
    )]
    TooFewRows {
        /// The arm's level.
        arm: String,
        /// Its rows (of a model: its expected number).
        rows: f64,
        /// The number needed.
        needed: f64,
    },
    /// The propensity of every row of an arm was clipped.
    #[error(
        "no overlap: every row of arm `{arm}` has a propensity outside [{clip}, 1 - {clip}]; the covariates separate the arms"
    )]
    NoOverlap {
        /// The arm's level.
        arm: String,
        /// The clipping bound.
        clip: f64,
    },
    /// Newton's method stopped before the propensity model was fitted.
    #[error("the propensity model did not converge in {iterations} iterations")]
    NotConverged {
        /// The iterations made.
        iterations: usize,
    },
    /// The arithmetic gave no finite number.
    #[error("the estimate is not a finite number: check the outcome's bounds")]
    NotFinite,
    /// An option is out of its range.
    #[error("{0}")]
    Option(&'static str),
    /// Fewer than two draws to combine.
    #[error("{draws} draws cannot be combined: at least two are needed for a between-variance")]
    TooFewDraws {
        /// The draws given.
        draws: usize,
    },
    /// The same, in one table of a stack.
    #[error("imputation {imputation}: {source}")]
    InImputation {
        /// The imputation's number.
        imputation: u32,
        /// What is wrong there.
        source: Box<EstimateError>,
    },
    /// The same, in one posterior draw.
    #[error("posterior draw {draw}: {source}")]
    InDraw {
        /// The draw's number, from 1.
        draw: usize,
        /// What is wrong there.
        source: Box<EstimateError>,
    },
    /// A plan can't be simulated.
    #[error("the plan can't be simulated: {0}")]
    Simulation(String),
    /// A model can't answer.
    #[error(transparent)]
    Model(#[from] crate::model::ModelError),
}

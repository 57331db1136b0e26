//! What can go wrong in this room.

/// An error of the model room.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A domain without variables.
    #[error("the model has no variables")]
    NoVariables,
    /// A domain whose names and sizes do not pair up.
    #[error("{names} variable names for {sizes} variable sizes")]
    NamesAndSizes {
        /// Number of names.
        names: usize,
        /// Number of sizes.
        sizes: usize,
    },
    /// A variable without levels.
    #[error("variable `{name}` has no levels")]
    NoLevels {
        /// Its name.
        name: String,
    },
    /// A variable with more levels than codes (`u16`) can tell apart.
    #[error("variable `{name}` has {levels} levels, more than the 65536 that codes can name")]
    TooManyLevels {
        /// Its name.
        name: String,
        /// Its number of levels.
        levels: usize,
    },
    /// An index beyond the domain.
    #[error("variable {index} does not exist: the model has {variables} variables")]
    UnknownVariable {
        /// The index.
        index: usize,
        /// The number of variables of the domain.
        variables: usize,
    },
    /// A variable that is listed twice where each may stand once.
    #[error("variable `{name}` is listed twice in {context}")]
    RepeatedVariable {
        /// Its name.
        name: String,
        /// Where it is listed.
        context: String,
    },
    /// An array of the wrong length.
    #[error("{context} needs {expected} values but has {found}")]
    Length {
        /// What the array is for.
        context: String,
        /// The length it should have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A NaN or an infinity where a finite number is needed.
    #[error("{context} holds a value that is not finite")]
    NotFinite {
        /// Where it stands.
        context: String,
    },
    /// A noise scale that is not a positive finite number.
    #[error(
        "measurement `{measurement}` has standard deviation {sigma}; it must be positive and finite"
    )]
    Sigma {
        /// The measurement's name.
        measurement: String,
        /// The standard deviation.
        sigma: f64,
    },
    /// A number of records that is not a positive finite number.
    #[error("the number of records is {total}; it must be positive and finite")]
    Total {
        /// The number given.
        total: f64,
    },
    /// Structural zeros that leave nothing possible.
    #[error("the structural zeros rule out every combination of levels; remove some of them")]
    Impossible,
    /// A model or a marginal above the size limit.
    #[error(
        "{context} would need {cells} cells, above the limit of {limit}; the largest clique is ({}). \
         Ask for fewer or smaller marginals over these variables, or raise the limit",
        clique.join(", ")
    )]
    TooLarge {
        /// What was to be allocated.
        context: String,
        /// The names of the variables of the largest clique.
        clique: Vec<String>,
        /// The number of cells needed, saturating.
        cells: u128,
        /// The limit.
        limit: u128,
    },
    /// A code beyond its variable's levels.
    #[error("code {code} of variable {index}, which has {levels} levels")]
    Code {
        /// The variable.
        index: usize,
        /// The code.
        code: usize,
        /// The number of levels.
        levels: usize,
    },
    /// More rows than a sample can have.
    #[error("{rows} rows are more than a sample can have (2^32 - 1)")]
    TooManyRows {
        /// The number asked for.
        rows: usize,
    },
    /// The optimiser's driver failed.
    #[error("calibration failed: {0}")]
    Optimiser(String),
}

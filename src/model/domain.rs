//! The variables of a model and their numbers of levels.

use super::ModelError;

/// The variables of a discrete model. A variable is an index; its levels are the codes
/// `0..sizes[variable]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    names: Vec<String>,
    sizes: Vec<usize>,
}

impl Domain {
    /// A domain with these variables, `names[i]` having `sizes[i]` levels.
    ///
    /// # Errors
    /// If there is no variable, if names and sizes do not pair up, or if a variable has no level or
    /// more levels than `u16` codes can name.
    pub fn new(names: Vec<String>, sizes: Vec<usize>) -> Result<Domain, ModelError> {
        if names.len() != sizes.len() {
            return Err(ModelError::NamesAndSizes {
                names: names.len(),
                sizes: sizes.len(),
            });
        }
        if sizes.is_empty() {
            return Err(ModelError::NoVariables);
        }
        for (name, &levels) in names.iter().zip(&sizes) {
            let name = name.clone();
            match levels {
                0 => return Err(ModelError::NoLevels { name }),
                1..=65536 => {}
                _ => return Err(ModelError::TooManyLevels { name, levels }),
            }
        }
        Ok(Domain { names, sizes })
    }

    /// The number of variables.
    pub fn variables(&self) -> usize {
        self.sizes.len()
    }

    /// The number of levels of each variable.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The name of each variable.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The numbers of levels of some variables, in the order given.
    pub fn shape(&self, variables: &[usize]) -> Vec<usize> {
        variables.iter().map(|&v| self.sizes[v]).collect()
    }

    /// The names of some variables, in the order given.
    pub fn names_of(&self, variables: &[usize]) -> Vec<String> {
        variables.iter().map(|&v| self.names[v].clone()).collect()
    }

    /// The number of cells of the table over some variables, saturating at `u128::MAX`.
    pub fn cells(&self, variables: &[usize]) -> u128 {
        variables.iter().fold(1u128, |cells, &v| {
            cells.saturating_mul(self.sizes[v] as u128)
        })
    }

    /// Checks that the variables exist and that none stands twice; `context` says where they stand.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`] or [`ModelError::RepeatedVariable`].
    pub fn check(&self, variables: &[usize], context: &str) -> Result<(), ModelError> {
        for (position, &variable) in variables.iter().enumerate() {
            if variable >= self.variables() {
                return Err(ModelError::UnknownVariable {
                    index: variable,
                    variables: self.variables(),
                });
            }
            if variables[..position].contains(&variable) {
                return Err(ModelError::RepeatedVariable {
                    name: self.names[variable].clone(),
                    context: context.to_string(),
                });
            }
        }
        Ok(())
    }
}

//! Subgroups: the rows that share a level of a covariate.
//!
//! Within a subgroup an effect is identified from the arm, the outcome and the other covariates *among its
//! rows*. A release knows of them what the covariate's leaf measured (arm by outcome moments by level); of a
//! covariate without a leaf it knows at most the pairs that it stands in, the model would fill in that its
//! levels don't matter to the effect, and an interval around that would be believed. So it is refused.

use super::{EstimateError, Rows};
use crate::schema::{Role, Schema};
use crate::table::CodedTable;
use serde::{Deserialize, Serialize};

/// A subgroup, by the schema's column and code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group {
    /// Index into [`Schema::columns`].
    pub column: usize,
    /// The level's code.
    pub code: u16,
}

/// A subgroup, by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subgroup {
    /// The covariate.
    pub column: String,
    /// The level that its rows share, as the schema names it.
    pub level: String,
}

impl Group {
    /// Its names.
    pub fn named(self, schema: &Schema) -> Subgroup {
        let column = &schema.columns[self.column];
        Subgroup {
            column: column.name.clone(),
            level: column.level_name(self.code),
        }
    }

    /// Why there is nothing to estimate where it has no rows.
    pub(super) fn empty(self, schema: &Schema) -> EstimateError {
        let Subgroup { column, level } = self.named(schema);
        EstimateError::EmptySubgroup { column, level }
    }

    /// Those of some rows of a table that belong to it.
    pub(super) fn rows(
        self,
        table: &CodedTable,
        rows: &Rows,
        schema: &Schema,
    ) -> Result<Vec<usize>, EstimateError> {
        let codes = table
            .codes
            .get(self.column)
            .and_then(Option::as_ref)
            .filter(|codes| codes.len() == table.rows)
            .ok_or_else(|| EstimateError::NotASubgroup {
                column: schema.columns[self.column].name.clone(),
                reason: "the table does not hold it".into(),
            })?;
        let mut rows = rows.indices(table.rows)?;
        rows.retain(|&row| codes[row] == self.code);
        Ok(rows)
    }
}

impl std::fmt::Display for Subgroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}", self.column, self.level)
    }
}

/// The levels of some covariates, one covariate after the other (not crossed). `leaves` are the covariates
/// whose leaf was measured; `None` where nothing was measured because the rows themselves are at hand.
///
/// # Errors
/// A name that is no covariate, or a covariate that the workload measured no leaf of, with the line that
/// would.
pub fn subgroups(
    schema: &Schema,
    names: &[String],
    leaves: Option<&[String]>,
) -> Result<Vec<Group>, EstimateError> {
    let mut groups = Vec::new();
    for (position, name) in names.iter().enumerate() {
        let refuse = |reason: String| EstimateError::NotASubgroup {
            column: name.clone(),
            reason,
        };
        let found = schema.columns.iter().position(|c| c.name == *name);
        let column = found.ok_or_else(|| refuse(format!("no such column; {}", known(schema))))?;
        let role = match schema.columns[column].role {
            Role::Covariate => None,
            Role::Treatment => Some("the treatment"),
            Role::Outcome => Some("the outcome"),
            Role::Id => Some("an identifier"),
            Role::Ignored => Some("ignored"),
        };
        if let Some(role) = role {
            return Err(refuse(format!("it is {role}; {}", known(schema))));
        }
        if let Some(leaves) = leaves.filter(|leaves| !leaves.contains(name)) {
            let columns: Vec<&str> = leaves.iter().chain([name]).map(String::as_str).collect();
            return Err(refuse(format!(
                "the workload measured no leaf of {name} (arm by outcome by {name}), so the release says nothing of \
                 effects within its levels; put `leaves: {{share: ..., columns: [{}]}}` under `blocks` in the workload \
                 and measure again",
                columns.join(", ")
            )));
        }
        if names[..position].contains(name) {
            continue;
        }
        groups.extend((0..schema.columns[column].levels()).map(|code| Group {
            column,
            // A column has at most 2^16 levels.
            code: code as u16,
        }));
    }
    Ok(groups)
}

fn known(schema: &Schema) -> String {
    let names: Vec<&str> = (schema.covariates().into_iter())
        .map(|c| schema.columns[c].name.as_str())
        .collect();
    format!("the covariates are {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::fixtures::{categorical, column, integer, schema};
    use crate::schema::Kind;

    fn three() -> Schema {
        schema(vec![
            column("t", Role::Treatment, Kind::Boolean),
            column("x", Role::Covariate, integer(2)),
            column("g", Role::Covariate, categorical(&["a", "b"])),
            column("y", Role::Outcome, Kind::Boolean),
        ])
    }

    fn ask(names: &[&str], leaves: Option<&[&str]>) -> Result<Vec<Group>, String> {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let leaves = leaves.map(owned);
        subgroups(&three(), &owned(names), leaves.as_deref()).map_err(|e| e.to_string())
    }

    #[test]
    fn columns_stand_one_after_the_other() {
        let groups = ask(&["g", "x", "g"], None).unwrap();
        let found: Vec<(usize, u16)> = groups.iter().map(|g| (g.column, g.code)).collect();
        assert_eq!(found, [(2, 0), (2, 1), (1, 0), (1, 1), (1, 2)]);
        assert_eq!(groups[1].named(&three()).to_string(), "g = b");
    }

    #[test]
    fn refusals_say_what_would_do() {
        let error = ask(&["x"], Some(&["g"])).unwrap_err();
        assert!(error.contains("measured no leaf of x"), "{error}");
        assert!(error.contains("columns: [g, x]"), "{error}");
        assert!(ask(&["g"], Some(&["g"])).is_ok());
        for (name, why) in [
            ("t", "the treatment"),
            ("y", "the outcome"),
            ("z", "no such"),
        ] {
            let error = ask(&[name], None).unwrap_err();
            assert!(
                error.contains(why) && error.contains("covariates are x, g"),
                "{error}"
            );
        }
    }
}

//! Which cell of a record belongs to which column of the schema.

use super::TableError;
use crate::schema::{PrivacyUnit, Role, Schema};
use std::collections::HashSet;

/// The name of the first column of a stack of imputed tables.
pub(super) const IMPUTATION: &str = "imputation";

/// What a table is read for, which decides the columns that must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be counted: the privacy unit's column is read too.
    Counting,
    /// To be counted and kept: as [`Purpose::Counting`], with the values of numeric covariates beside.
    Measuring,
    /// To be kept whole as a public population: with the values of numeric covariates, without identifiers.
    Simulating,
    /// To be kept in codes: the first column may be [`IMPUTATION`], and identifiers are not read.
    Keeping,
}

/// The columns of a file that are read. Positions count within the columns read, not within the file.
#[derive(Debug)]
pub(super) struct Layout {
    /// The number of cells of a record.
    pub cells: usize,
    /// The file's columns that are read, ascending.
    pub read: Vec<usize>,
    /// For each column of the schema its position, where it is coded.
    pub coded: Vec<Option<usize>>,
    /// The position of the privacy unit's column, where there is one.
    pub unit: Option<usize>,
    /// The position of the imputation's number, where the table is a stack.
    pub imputation: Option<usize>,
}

impl Layout {
    /// Matches a header with the schema.
    ///
    /// Every column of the file must be declared, and every coded column must be in the file; ignored
    /// columns, and identifiers that are not the privacy unit, may be absent.
    pub(super) fn new(
        file: &str,
        header: &[String],
        schema: &Schema,
        purpose: Purpose,
    ) -> Result<Layout, TableError> {
        let known = |name: &String| schema.column(name).is_some();
        if !header.iter().any(known) {
            return Err(TableError::NoHeader { file: file.into() });
        }
        let is_stack = purpose == Purpose::Keeping
            && header[0] == IMPUTATION
            && schema.column(IMPUTATION).is_none();
        let mut seen = HashSet::new();
        for (index, name) in header.iter().enumerate() {
            if !seen.insert(name.as_str()) {
                return Err(TableError::DuplicateColumn {
                    file: file.into(),
                    column: name.clone(),
                });
            }
            let is_imputation = is_stack && index == 0;
            if !(known(name) || is_imputation) {
                return Err(TableError::UnknownColumn {
                    file: file.into(),
                    column: name.clone(),
                    nearest: nearest(name, header, schema),
                });
            }
        }
        let unit_column = match (&schema.unit, purpose) {
            (PrivacyUnit::Column { column, .. }, Purpose::Counting | Purpose::Measuring) => {
                Some(*column)
            }
            _ => None,
        };
        let find = |column: usize| {
            let name = &schema.columns[column].name;
            let position = header.iter().position(|cell| cell == name);
            position.ok_or_else(|| TableError::MissingColumn {
                file: file.into(),
                column: name.clone(),
            })
        };
        let coded = (0..schema.columns.len())
            .map(|column| {
                let wanted = schema.columns[column].is_coded();
                wanted.then(|| find(column)).transpose()
            })
            .collect::<Result<Vec<_>, _>>()?;
        let unit = unit_column.map(find).transpose()?;
        let imputation = is_stack.then_some(0);

        let all = coded.iter().flatten().chain(&unit).chain(&imputation);
        let mut read: Vec<usize> = all.copied().collect();
        read.sort_unstable();
        read.dedup();
        let position = |cell: usize| read.iter().position(|&other| other == cell);
        Ok(Layout {
            cells: header.len(),
            coded: coded.into_iter().map(|c| c.and_then(position)).collect(),
            unit: unit.and_then(position),
            imputation: imputation.and_then(position),
            read,
        })
    }
}

/// The column of the schema that the file lacks and whose name is nearest, if any is near.
fn nearest(name: &str, header: &[String], schema: &Schema) -> Option<String> {
    let absent = |candidate: &&str| !header.iter().any(|cell| cell == candidate);
    schema
        .columns
        .iter()
        .filter(|column| column.role != Role::Ignored)
        .map(|column| column.name.as_str())
        .filter(absent)
        .map(|candidate| {
            let (a, b) = (name.trim().to_lowercase(), candidate.to_lowercase());
            (strsim::damerau_levenshtein(&a, &b), candidate)
        })
        // A third of the letters wrong is no slip of the keyboard any more.
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).max(1))
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::testing::schema;

    fn layout(header: &str, purpose: Purpose) -> Result<Layout, TableError> {
        let header: Vec<String> = header.split(',').map(String::from).collect();
        Layout::new("t.csv", &header, &schema(), purpose)
    }

    #[test]
    fn order_is_free_and_ignored_columns_may_be_absent() {
        let layout = layout(
            "wage,person,treated,age,region,sex,score",
            Purpose::Counting,
        )
        .unwrap();
        assert_eq!(layout.read, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(layout.unit, Some(1));
        let coded = [
            None,
            Some(2),
            Some(3),
            Some(4),
            Some(5),
            Some(6),
            None,
            Some(0),
        ];
        assert_eq!(layout.coded, coded);
    }

    #[test]
    fn an_imputation_is_a_first_column_of_kept_tables_only() {
        let header = "imputation,treated,age,region,sex,score,wage";
        let kept = layout(header, Purpose::Keeping).unwrap();
        assert_eq!((kept.imputation, kept.unit), (Some(0), None));
        assert!(matches!(
            layout(header, Purpose::Counting),
            Err(TableError::UnknownColumn { .. })
        ));
        let header = "treated,imputation,age,region,sex,score,wage";
        assert!(layout(header, Purpose::Keeping).is_err());
    }

    #[test]
    fn headers_that_do_not_fit_are_explained() {
        let message = |header| layout(header, Purpose::Counting).unwrap_err().to_string();
        assert!(
            message("person,treated,Age,region,sex,score,wage").contains("did you mean `age`?")
        );
        assert!(
            message("person,treated,age,region,sex,score,wage,zip").contains("`role: ignored`")
        );
        assert!(
            message("person,treated,age,region,sex,score").contains("column `wage` of the schema")
        );
        assert!(message("treated,age,region,sex,score,wage").contains("column `person`"));
        assert!(message("person,treated,age,age,sex,score,wage").contains("twice"));
        let no_header = message("p1,1,33,N,male,0.5,1000");
        assert!(no_header.contains("header line missing") && !no_header.contains("1000"));
    }
}

//! From a schema document to a [`Schema`]: what must hold, and the error where it does not.

use super::column::{Column, Role};
use super::document::Document;
use super::fault::{DocumentError, Fault, Path, did_you_mean};
use super::file::{
    ColumnFile, DesignFile, DesignWord, RoleFile, SCHEMA_FORMAT, SchemaFile, UnitFile,
};
use super::{Design, PrivacyUnit, Schema, kinds, structural_zeros};
use std::collections::HashMap;

/// Whole numbers of smaller magnitude are exact as `f64`, and so are their differences as `i64`.
pub(crate) const INTEGER_LIMIT: f64 = (1_u64 << 53) as f64;

/// The most codes of a column, which are stored as `u16`.
pub(crate) const MAX_LEVELS: usize = u16::MAX as usize;

/// A schema document that can't be read or does not hold together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct SchemaError(#[from] pub DocumentError);

impl From<Fault> for SchemaError {
    fn from(fault: Fault) -> Self {
        SchemaError(fault.into())
    }
}

impl Schema {
    /// Reads a schema document, YAML or JSON; `file` names it in errors.
    ///
    /// # Errors
    /// With file, line, column and remedy: where the text is no such document, or does not hold together.
    pub fn parse(text: &str, file: &str) -> Result<(Schema, SchemaFile), SchemaError> {
        let document = Document::parse(text, file)?;
        document.expect_format(SCHEMA_FORMAT)?;
        let schema_file: SchemaFile = document.read()?;
        let schema = check(&schema_file).map_err(|fault| document.explain(fault))?;
        Ok((schema, schema_file))
    }

    /// Checks a document that has no text of its own, such as the one that a release embeds.
    ///
    /// # Errors
    /// Where the document does not hold together; the error names the element.
    pub fn from_file(file: &SchemaFile) -> Result<Schema, SchemaError> {
        Ok(check(file)?)
    }
}

fn check(file: &SchemaFile) -> Result<Schema, Fault> {
    let top = Path::default();
    if file.rows == Some(0) {
        return Err(top.to("rows").fault(
            "a table without rows can't be released; state the public number of rows or remove `rows`",
        ));
    }
    let columns = check_columns(&file.columns, &top.to("columns"))?;
    check_roles(&columns, &top.to("columns"))?;
    let unit = check_unit(&file.unit, &columns, &top.to("unit"))?;
    let design = check_design(&file.design, &columns, &top.to("design"))?;
    let structural_zeros = structural_zeros::check(
        &file.structural_zeros,
        &columns,
        &top.to("structural_zeros"),
    )?;
    Ok(Schema {
        title: file.title.clone(),
        unit,
        rows: file.rows,
        design,
        columns,
        structural_zeros,
    })
}

fn check_design(file: &DesignFile, columns: &[Column], at: &Path) -> Result<Design, Fault> {
    let probabilities = match file {
        DesignFile::Word(DesignWord::Observational) => return Ok(Design::Observational),
        DesignFile::Word(DesignWord::Randomised) => {
            return Ok(Design::Randomised { propensity: None });
        }
        DesignFile::Known(known) => known.propensity.iter().map(|p| p.0).collect::<Vec<f64>>(),
    };
    let at = at.to("propensity");
    let treatment = columns.iter().find(|c| c.role == Role::Treatment);
    let arms = treatment.map_or(0, Column::levels);
    if probabilities.len() != arms {
        return Err(at.fault(format!(
            "the treatment has {arms} arms, and there are {} probabilities; give one per arm, in the order \
             of its levels",
            probabilities.len()
        )));
    }
    let sum: f64 = probabilities.iter().sum();
    if probabilities.iter().any(|p| !(*p > 0.0 && *p < 1.0)) || (sum - 1.0).abs() > 1e-6 {
        return Err(at.fault("probabilities lie between 0 and 1 and sum to 1; correct them"));
    }
    Ok(Design::Randomised {
        propensity: Some(probabilities),
    })
}

fn check_columns(files: &[ColumnFile], at: &Path) -> Result<Vec<Column>, Fault> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut columns = Vec::with_capacity(files.len());
    for (index, file) in files.iter().enumerate() {
        let at = at.to(index);
        if file.name.is_empty() {
            return Err(at
                .to("name")
                .fault("a column needs a name, as in the table's header"));
        }
        if let Some(first) = seen.insert(&file.name, index) {
            return Err(at.to("name").fault(format!(
                "column {:?} is declared twice (it is number {} too); remove one",
                file.name,
                first + 1
            )));
        }
        columns.push(check_column(file, &at)?);
    }
    if !columns.iter().any(Column::is_coded) {
        return Err(
            at.fault("no column is released; declare at least one treatment, outcome or covariate")
        );
    }
    Ok(columns)
}

fn check_column(file: &ColumnFile, at: &Path) -> Result<Column, Fault> {
    let role = match file.role {
        RoleFile::Treatment => Role::Treatment,
        RoleFile::Outcome => Role::Outcome,
        RoleFile::Covariate => Role::Covariate,
        RoleFile::Id => Role::Id,
        RoleFile::Ignored => Role::Ignored,
    };
    let is_coded = !matches!(role, Role::Id | Role::Ignored);
    let kind = if is_coded {
        kinds::check(file, at)?
    } else {
        kinds::UNCODED
    };
    let column = Column {
        name: file.name.clone(),
        label: file.label.clone(),
        role,
        kind,
        missing: file.missing.clone(),
    };
    if is_coded {
        kinds::check_missing(&column, at)?;
        check_role(&column, at)?;
    }
    Ok(column)
}

/// What a column's role asks of its type.
fn check_role(column: &Column, at: &Path) -> Result<(), Fault> {
    let name = &column.name;
    let is_numeric = column.bins().is_some();
    let refuse_missing = |why: &str| {
        if column.missing.is_empty() {
            return Ok(());
        }
        Err(at.to("missing").fault(format!(
            "{why} {name:?} can't have missing codes: an effect is defined only where it is known; \
             drop or complete such rows beforehand, and say so in the analysis"
        )))
    };
    match column.role {
        Role::Treatment => {
            if is_numeric {
                return Err(at.to("type").fault(format!(
                    "treatment {name:?} is a number; list its arms: `type: categorical` and `levels`"
                )));
            }
            if kinds::has_other(&column.kind) {
                return Err(at.to("other").fault(format!(
                    "treatment {name:?} can't have `other`: an arm must be one treatment; list every arm"
                )));
            }
            if column.declared_levels() < 2 {
                return Err(at.to("levels").fault(format!(
                    "treatment {name:?} has one arm; list at least two, the reference arm first"
                )));
            }
            refuse_missing("treatment")
        }
        Role::Outcome => {
            if !is_numeric && column.declared_levels() != 2 {
                return Err(at.to("levels").fault(format!(
                    "outcome {name:?} has {} levels; a categorical outcome has two, the second counts 1 \
                     (or make it numeric, with bounds and bins)",
                    column.declared_levels()
                )));
            }
            refuse_missing("outcome")
        }
        Role::Covariate | Role::Id | Role::Ignored => Ok(()),
    }
}

/// At most one treatment and one outcome.
fn check_roles(columns: &[Column], at: &Path) -> Result<(), Fault> {
    for (role, what) in [(Role::Treatment, "treatment"), (Role::Outcome, "outcome")] {
        let mut of_role = (0..columns.len()).filter(|&i| columns[i].role == role);
        if let (Some(first), Some(second)) = (of_role.next(), of_role.next()) {
            return Err(at.to(second).to("role").fault(format!(
                "{:?} is a second {what} beside {:?}; one column has that role, make the other a covariate",
                columns[second].name, columns[first].name
            )));
        }
    }
    Ok(())
}

fn check_unit(file: &UnitFile, columns: &[Column], at: &Path) -> Result<PrivacyUnit, Fault> {
    let unit = match file {
        UnitFile::Row(_) => return Ok(PrivacyUnit::Row),
        UnitFile::Column(unit) => unit,
    };
    let column = find_column(columns, &unit.column, &at.to("column"))?;
    if columns[column].role == Role::Ignored {
        return Err(at.to("column").fault(format!(
            "the privacy unit {:?} has the role `ignored`, which is not read; give it `role: id`",
            unit.column
        )));
    }
    if unit.max_rows < 1 {
        return Err(at
            .to("max_rows")
            .fault("a unit contributes at least one row; give `max_rows: 1` or more"));
    }
    Ok(PrivacyUnit::Column {
        column,
        max_rows: unit.max_rows,
    })
}

/// The column with a name, or an error with the nearest one.
pub(crate) fn find_column(columns: &[Column], name: &str, at: &Path) -> Result<usize, Fault> {
    columns.iter().position(|c| c.name == name).ok_or_else(|| {
        let nearest = did_you_mean(name, columns.iter().map(|c| c.name.as_str()));
        at.fault(format!("no column is named {name:?}{nearest}"))
    })
}

//! The functions of single covariates, in whole units: the schema and the workload alone decide them.
//!
//! | covariate | `linear` | `hat` | `one-hot` |
//! |---|---|---|---|
//! | numeric | the value, mapped to `[-1, 1]` | five hats on even knots between the bounds: at most two are not 0, and they sum to 1 | an indicator per bin |
//! | two levels, none missing | -1, 1 | as `linear` | as `linear` |
//! | other | an indicator per level | an indicator per level | an indicator per level |
//! | missing codes of numeric ones | an indicator each | an indicator each | an indicator each |
//!
//! So every covariate's functions have a squared length of at most 1 and entries in `[-1, 1]`, in whole units as well:
//! with the constant, `|phi|^2 <= 1 + d` for `d` covariates.

use crate::release::{AdditiveModel, AdditiveTerm, Curve};
use crate::schema::{Column, Schema};
use crate::table::CodedTable;
use crate::workload::MomentBasisKind;

/// The units of the basis: 1 is so many.
pub const MOMENT_SCALE: i64 = 1 << 12;

/// The number of hats.
const HATS: usize = 5;

/// The largest position of a numeric value.
const LARGEST_POSITION: i64 = u16::MAX as i64;

/// How a covariate's functions come from a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockForm {
    /// The value on a line.
    Line,
    /// Hats of the value.
    Hats,
    /// The sign of two levels.
    Sign,
    /// An indicator per code.
    Codes,
}

/// One covariate's functions.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Index of the covariate.
    pub column: usize,
    /// Its name.
    name: String,
    /// Their form.
    pub form: BlockForm,
    /// The index of the first.
    pub first: usize,
    /// Of forms of the value: the codes from this one on are missing codes.
    declared: usize,
    /// The number of codes.
    levels: usize,
    /// Whether neighbouring functions belong together: hats, bins, ordered levels.
    pub is_ordered: bool,
}

/// The basis: the constant, then the covariates' functions.
#[derive(Debug, Clone, PartialEq)]
pub struct MomentBasis {
    /// By covariate.
    pub blocks: Vec<Block>,
    /// The number of functions, with the constant.
    pub size: usize,
}

impl Block {
    /// The number of functions that are not of missing codes.
    pub fn of_values(&self) -> usize {
        match self.form {
            BlockForm::Line | BlockForm::Sign => 1,
            BlockForm::Hats => HATS,
            BlockForm::Codes => self.declared,
        }
    }

    /// The number of functions.
    pub fn size(&self) -> usize {
        match self.form {
            BlockForm::Sign => 1,
            _ => self.of_values() + self.levels - self.declared,
        }
    }

    /// Calls `set` with each function that is not 0, and its value in whole units.
    fn each(&self, table: &CodedTable, row: usize, mut set: impl FnMut(usize, i64)) {
        let code = usize::from(table.codes[self.column].as_ref().expect("a coded column")[row]);
        let position = || {
            let values = table.values[self.column].as_ref();
            i64::from(values.expect("a column with values")[row])
        };
        match self.form {
            BlockForm::Codes => set(self.first + code, MOMENT_SCALE),
            BlockForm::Sign => set(
                self.first,
                if code == 1 {
                    MOMENT_SCALE
                } else {
                    -MOMENT_SCALE
                },
            ),
            // A missing code's indicator comes after the functions of values.
            _ if code >= self.declared => {
                set(
                    self.first + self.of_values() + code - self.declared,
                    MOMENT_SCALE,
                );
            }
            BlockForm::Line => set(
                self.first,
                (2 * position() - LARGEST_POSITION) * MOMENT_SCALE / LARGEST_POSITION,
            ),
            BlockForm::Hats => {
                let place = position() * (HATS as i64 - 1) * MOMENT_SCALE / LARGEST_POSITION;
                let knot = (place / MOMENT_SCALE).min(HATS as i64 - 2);
                let right = place - knot * MOMENT_SCALE;
                set(self.first + knot as usize, MOMENT_SCALE - right);
                set(self.first + knot as usize + 1, right);
            }
        }
    }

    /// Places to look at, and the values of the covariate's functions there: of a line its ends and middle, else every code.
    pub fn places(&self, column: &Column) -> Vec<(String, Vec<f64>)> {
        let mut places = Vec::new();
        let mut add = |label: String, own: Option<usize>, value: f64| {
            let mut functions = vec![0.0; self.size()];
            if let Some(own) = own {
                functions[own] = value;
            }
            places.push((label, functions));
        };
        // Codes are below 65536: see the checks of the schema.
        let name = |code: usize| column.level_name(code as u16);
        match (self.form, column.bounds()) {
            (BlockForm::Line, Some((lower, upper))) => {
                for value in [-1.0, 0.0, 1.0] {
                    let at = f64::midpoint(lower, upper) + value * (upper - lower) / 2.0;
                    add(format!("{at}"), Some(0), value);
                }
                for missing in self.declared..self.levels {
                    add(name(missing), Some(1 + missing - self.declared), 1.0);
                }
            }
            (BlockForm::Sign, _) => {
                add(name(0), Some(0), -1.0);
                add(name(1), Some(0), 1.0);
            }
            _ => (0..self.levels).for_each(|code| add(name(code), Some(code), 1.0)),
        }
        places
    }

    /// The covariate's function with these coefficients, one per function of the basis.
    pub fn term(&self, coefficients: &[f64]) -> AdditiveTerm {
        let own = &coefficients[self.first..self.first + self.size()];
        let (values, missing) = own.split_at(self.of_values());
        let mut codes = vec![0.0; self.declared];
        codes.extend(missing);
        let curve = |knots: Vec<u16>, values: Vec<f64>| Curve {
            // Codes are below 65536: see the checks of the schema.
            covers: self.declared as u16,
            joined: true,
            knots,
            values,
        };
        let (codes, curve) = match self.form {
            BlockForm::Codes => (own.to_vec(), None),
            BlockForm::Sign => (vec![-own[0], own[0]], None),
            BlockForm::Line => (
                codes,
                Some(curve(vec![0, u16::MAX], vec![-values[0], values[0]])),
            ),
            BlockForm::Hats => {
                let last = HATS - 1;
                let knot = |k: usize| (k * usize::from(u16::MAX) / last) as u16;
                (
                    codes,
                    Some(curve((0..HATS).map(knot).collect(), values.to_vec())),
                )
            }
        };
        AdditiveTerm {
            name: self.name.clone(),
            column: self.column,
            codes,
            curve,
        }
    }
}

impl MomentBasis {
    /// The basis of these covariates.
    pub fn new(schema: &Schema, columns: &[usize], kind: MomentBasisKind) -> MomentBasis {
        let mut size = 1;
        let mut blocks = Vec::with_capacity(columns.len());
        for &index in columns {
            let block = block(&schema.columns[index], index, kind, size);
            size += block.size();
            blocks.push(block);
        }
        MomentBasis { blocks, size }
    }

    /// The constant alone.
    pub fn constant() -> MomentBasis {
        MomentBasis {
            blocks: Vec::new(),
            size: 1,
        }
    }

    /// The bound on the squared length of a row's functions.
    pub fn squared_length(&self) -> i64 {
        1 + self.blocks.len() as i64
    }

    /// Calls `set` with each function of a row that is not 0, in ascending order, and its value in units of
    /// `1 / MOMENT_SCALE`.
    ///
    /// # Panics
    /// If the table is not of the schema, or was read without the values of numeric covariates.
    pub fn each(&self, table: &CodedTable, row: usize, mut set: impl FnMut(usize, i64)) {
        set(0, MOMENT_SCALE);
        for block in &self.blocks {
            block.each(table, row, &mut set);
        }
    }

    /// The model with these coefficients, one per function.
    pub fn model(&self, coefficients: &[f64], treatment: f64) -> AdditiveModel {
        AdditiveModel {
            intercept: coefficients[0],
            treatment,
            terms: self
                .blocks
                .iter()
                .map(|block| block.term(coefficients))
                .collect(),
        }
    }
}

fn block(column: &Column, index: usize, kind: MomentBasisKind, first: usize) -> Block {
    let (declared, levels) = (column.declared_levels(), column.levels());
    let numeric = column.bounds().is_some();
    let form = match kind {
        MomentBasisKind::Linear if numeric => BlockForm::Line,
        MomentBasisKind::Hat if numeric => BlockForm::Hats,
        _ if levels == 2 && declared == 2 && !numeric => BlockForm::Sign,
        _ => BlockForm::Codes,
    };
    let ordered = matches!(
        column.kind,
        crate::schema::Kind::Categorical { ordered: true, .. }
    );
    Block {
        column: index,
        name: column.name.clone(),
        form,
        first,
        declared,
        levels,
        is_ordered: form == BlockForm::Hats || (form == BlockForm::Codes && (numeric || ordered)),
    }
}

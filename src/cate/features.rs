//! From a coded row to features in `[-1, 1]`, and the terms of the basis that are made of them. The schema and the
//! workload alone decide both.
//!
//! They are the [scores](crate::schema::Score) of the house: a numeric covariate has one, its bounds mapped to -1 and 1; an
//! ordered one an even grid; an unordered one an indicator (`+-sqrt(1/3)`) per level but the first; every missing code
//! has one, and the covariate's other features are 0 there. All have a second moment of about 1/3, which the hub's clip
//! counts on.

use crate::measure::effects::ScoreSource;
use crate::schema::{SCORE_SCALE, Schema, Score, ScoreForm};
use crate::table::CodedTable;
use crate::workload::{CateWorkload, ProductsFile};

/// The units of a feature: 1 is so many.
pub const FEATURE_SCALE: i64 = 1 << 16;

/// With more features than this, `products: auto` has none: their number grows with the square, and so does the
/// dimension that the noise is spread over (simulated up to nine).
pub const MOST_FEATURES_WITH_PRODUCTS: usize = 9;

/// A feature of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Its name: `age`, `married=true`.
    pub name: String,
    /// Index of its column.
    pub column: usize,
    /// Whether it has two values.
    pub is_binary: bool,
    /// Whether its square and cube are in the basis.
    pub is_curved: bool,
    /// Its values by code in units of `1 / FEATURE_SCALE`; none where the column's number counts.
    codes: Option<Vec<i64>>,
    /// The codes from this one on are missing codes.
    declared: u16,
}

/// A term of the basis: of standardised features `z`, scaled so that its variance is 1 for normal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// 1.
    Constant,
    /// `z_i`.
    Linear(usize),
    /// `(z_i^2 - 1) / sqrt 2`.
    Square(usize),
    /// `z_i z_j`.
    Product(usize, usize),
    /// `(z_i^3 - 3 z_i) / sqrt 6`.
    Cube(usize),
}

/// The features of a workload and the terms made of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// The features.
    pub list: Vec<Feature>,
    /// The terms: the constant first, then linear ones in the features' order, squares, products, cubes.
    pub terms: Vec<Term>,
}

impl Features {
    /// The features and terms of a workload.
    pub fn new(schema: &Schema, workload: &CateWorkload) -> Features {
        let scores = schema.scores(&workload.columns, &[]);
        let list: Vec<Feature> = scores
            .into_iter()
            .map(|score| feature(score, schema, &workload.curves))
            .collect();
        let terms = terms(&list, workload.products);
        Features { list, terms }
    }

    /// The number of terms that are neither constant nor linear.
    pub fn nonlinear(&self) -> usize {
        self.terms.len() - 1 - self.list.len()
    }

    /// The position of a numeric value's feature in `[-1, 1]`, for values from 0 to 65535.
    pub fn of_position(position: u16) -> i64 {
        (i64::from(position) * 2 - i64::from(u16::MAX)) * FEATURE_SCALE / i64::from(u16::MAX)
    }
}

impl Feature {
    /// The values of the feature by code, in units of `1 / FEATURE_SCALE`; none where the column's number counts.
    pub fn by_code(&self) -> Option<&[i64]> {
        self.codes.as_deref()
    }
}

fn feature(score: Score, schema: &Schema, curves: &[usize]) -> Feature {
    let codes = match score.form {
        ScoreForm::Codes(codes) => {
            let unit = FEATURE_SCALE / SCORE_SCALE;
            Some(codes.iter().map(|code| code * unit).collect::<Vec<i64>>())
        }
        ScoreForm::Value | ScoreForm::Square => None,
    };
    let is_binary = codes.as_ref().is_some_and(|codes| {
        let mut distinct = codes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.len() <= 2
    });
    Feature {
        name: score.name,
        column: score.column,
        is_binary,
        is_curved: codes.is_none() && curves.contains(&score.column),
        codes,
        // Codes are below 65536: see the checks of the schema.
        declared: schema.columns[score.column].declared_levels() as u16,
    }
}

fn terms(features: &[Feature], products: ProductsFile) -> Vec<Term> {
    let count = features.len();
    let curved = || (0..count).filter(|&i| features[i].is_curved);
    let has_products = match products {
        ProductsFile::Auto => count <= MOST_FEATURES_WITH_PRODUCTS,
        ProductsFile::All => true,
        ProductsFile::None => false,
    };
    let mut terms = vec![Term::Constant];
    terms.extend((0..count).map(Term::Linear));
    terms.extend(curved().map(Term::Square));
    if has_products {
        for i in 0..count {
            // Indicators of one column exclude each other: their product says nothing new.
            let others = (i + 1..count).filter(|&j| features[i].column != features[j].column);
            terms.extend(others.map(|j| Term::Product(i, j)));
        }
    }
    terms.extend(curved().map(Term::Cube));
    terms
}

impl ScoreSource for Features {
    fn len(&self) -> usize {
        self.list.len()
    }

    /// # Panics
    /// If the table is not of the schema, or was read without the values of numeric covariates.
    fn fill(&self, table: &CodedTable, row: usize, out: &mut [i64]) {
        for (slot, feature) in out.iter_mut().zip(&self.list) {
            let code = table.codes[feature.column]
                .as_ref()
                .expect("a coded column")[row];
            *slot = match &feature.codes {
                Some(codes) => codes[usize::from(code)],
                None if code >= feature.declared => 0,
                None => {
                    let values = table.values[feature.column].as_ref();
                    Features::of_position(values.expect("a column with values")[row])
                }
            };
        }
    }
}

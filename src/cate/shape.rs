//! Shape functions: what each covariate adds to the effect, and which pairs add more together.
//!
//! ```text
//! effect(x) = average + sum over covariates f_j(x_j) + sum over pairs c_ij (z_i z_j - mean)
//! ```
//!
//! Every `f_j` has mean zero over the records, as far as the release says.

use super::effect::ConditionalEffect;
use super::features::{Features, Term};
use crate::schema::{Column, Kind, Schema};
use serde::Serialize;

/// The points of a numeric covariate's shape, fewer where there are fewer whole numbers.
const POINTS: u16 = 11;

/// What a covariate adds to the effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shape {
    /// The covariate.
    pub column: String,
    /// Whether points lie on a line, rather than being levels.
    pub numeric: bool,
    /// The shape, by ascending value or by level.
    pub points: Vec<ShapePoint>,
}

/// A point of a shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapePoint {
    /// The value or the level, as people read it.
    pub label: String,
    /// The value, of a numeric covariate; none for levels and missing codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// What is added to the average effect, in the outcome's units.
    pub effect: f64,
}

/// What two features add together beyond what each adds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interaction {
    /// The features' names.
    pub features: [String; 2],
    /// What is added where both lie one standard deviation above their means, in the outcome's units.
    pub effect: f64,
}

/// Where a covariate lies.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// At a position between its bounds.
    Position(u16),
    /// At a code.
    Code(u16),
}

/// An effect that is a sum over covariates, apart from pairs.
pub(super) trait ShapeSource {
    /// The covariates, in the schema's order.
    fn columns(&self) -> Vec<usize>;

    /// Whether a covariate's value counts, rather than its bin or level.
    fn is_curve(&self, column: usize) -> bool;

    /// What a covariate's own terms add at a place, or on average.
    fn addition(&self, column: usize, place: Option<Place>) -> f64;
}

/// The shapes of all covariates, in the schema's order.
pub(super) fn shapes(effect: &dyn ShapeSource, schema: &Schema) -> Vec<Shape> {
    effect
        .columns()
        .iter()
        .map(|&column| shape(effect, &schema.columns[column], column))
        .collect()
}

/// The pairs of features, the largest effects first.
pub fn interactions(effect: &ConditionalEffect) -> Vec<Interaction> {
    let name = |i: usize| effect.features.list[i].name.clone();
    let mut pairs: Vec<Interaction> = effect
        .basis
        .terms
        .iter()
        .zip(&effect.coefficients)
        .filter_map(|(&term, coefficient)| match term {
            Term::Product(i, j) => Some(Interaction {
                features: [name(i), name(j)],
                effect: coefficient * effect.basis.curve_weight,
            }),
            _ => None,
        })
        .collect();
    pairs.sort_by(|a, b| b.effect.abs().total_cmp(&a.effect.abs()));
    pairs
}

fn shape(effect: &dyn ShapeSource, column: &Column, index: usize) -> Shape {
    let mean = effect.addition(index, None);
    let declared = column.declared_levels() as u16;
    let level = |code: u16| ShapePoint {
        label: column.level_name(code),
        value: None,
        effect: effect.addition(index, Some(Place::Code(code))) - mean,
    };
    let missing = declared..column.levels() as u16;
    let Some((lower, upper)) = column.bounds().filter(|_| effect.is_curve(index)) else {
        return Shape {
            column: column.name.clone(),
            numeric: false,
            points: (0..declared).chain(missing).map(level).collect(),
        };
    };
    let whole = matches!(column.kind, Kind::Integer { .. });
    let value = |step: u16| {
        let value = lower + (upper - lower) * f64::from(step) / f64::from(POINTS - 1);
        if whole { value.round() } else { value }
    };
    let mut values: Vec<f64> = (0..POINTS).map(value).collect();
    // Few whole numbers between the bounds round to each other.
    values.dedup();
    let point = |value: f64| {
        let share = (value - lower) / (upper - lower);
        let position = (share * f64::from(u16::MAX)).round() as u16;
        ShapePoint {
            label: number(value),
            value: Some(value),
            effect: effect.addition(index, Some(Place::Position(position))) - mean,
        }
    };
    Shape {
        column: column.name.clone(),
        numeric: true,
        points: values
            .into_iter()
            .map(point)
            .chain(missing.map(level))
            .collect(),
    }
}

/// A number without needless digits.
fn number(value: f64) -> String {
    let rounded = (value * 1e4).round() / 1e4;
    format!("{rounded}")
}

impl ShapeSource for ConditionalEffect {
    fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.features.list.iter().map(|f| f.column).collect();
        columns.dedup();
        columns
    }

    fn is_curve(&self, _column: usize) -> bool {
        true
    }

    fn addition(&self, column: usize, place: Option<Place>) -> f64 {
        let own = |i: usize| self.features.list[i].column == column;
        let value = |i: usize| {
            let feature = &self.features.list[i];
            match (place, feature.by_code()) {
                (Some(Place::Position(position)), None) => Features::of_position(position),
                // A value that is not missing has the same code as any other such value to the missing codes' indicators.
                (Some(Place::Position(_)), Some(codes)) => codes[0],
                (Some(Place::Code(code)), Some(codes)) => codes[usize::from(code)],
                _ => 0,
            }
        };
        let terms = self.basis.terms.iter().zip(&self.coefficients);
        terms
            .zip(&self.mean_basis)
            .filter(|((term, _), _)| match term {
                Term::Linear(i) | Term::Square(i) | Term::Cube(i) => own(*i),
                Term::Constant | Term::Product(..) => false,
            })
            .map(|((&term, coefficient), mean)| match place {
                None => coefficient * mean,
                Some(_) => {
                    let basis = &self.basis;
                    coefficient * basis.term(term, |i| basis.standardised(i, value(i)))
                }
            })
            .sum()
    }
}

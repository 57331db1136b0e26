//! The design matrix: public scores of every covariate code.
//!
//! A row's scores are a function of its *codes* only, so confidential, synthetic and modelled data are
//! analysed by the same estimator, and a model's marginals are enough to take expectations of scores.
//! Scores lie in `[-1, 1]`:
//!
//! | column | scores |
//! |---|---|
//! | integer, real | one linear score, the bin's midpoint mapped to `[-1, 1]` by the bounds; of a real column also an indicator per point bin (a repeated edge, such as zero earnings) |
//! | ordered categorical | one linear score, the level's rank mapped to `[-1, 1]`; an indicator of `other` |
//! | unordered categorical, boolean | an indicator per level but the first |
//! | any | an indicator per missing code, whose linear score is 0 |

use ndarray::Array2;

use crate::schema::{Column, Kind, Schema};

/// One covariate's scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Covariate {
    /// Index into [`Schema::columns`].
    pub column: usize,
    /// Scores by code: as many rows as the column has levels, one column per score (possibly none).
    pub scores: Array2<f64>,
    /// The names of the scores, such as `age` or `married=true`.
    pub names: Vec<String>,
}

/// The scores of all covariates, in column order.
#[derive(Debug, Clone, PartialEq)]
pub struct DesignMatrix {
    /// The covariates.
    pub covariates: Vec<Covariate>,
}

impl DesignMatrix {
    /// The scores that the schema implies.
    pub fn from_schema(schema: &Schema) -> DesignMatrix {
        let covariates = schema
            .covariates()
            .into_iter()
            .map(|column| Covariate::new(column, &schema.columns[column]))
            .collect();
        DesignMatrix { covariates }
    }

    /// The number of scores, without the intercept.
    pub fn score_count(&self) -> usize {
        self.covariates.iter().map(|c| c.names.len()).sum()
    }

    /// The names of the scores, in order.
    pub fn score_names(&self) -> Vec<&str> {
        self.covariates
            .iter()
            .flat_map(|c| c.names.iter().map(String::as_str))
            .collect()
    }

    /// Writes the scores of one row into `scores`, of length [`DesignMatrix::score_count`]. `code(j)` is
    /// the row's code of the covariate at position `j`.
    ///
    /// # Panics
    /// If a code is not below its column's number of levels.
    pub fn fill(&self, code: impl Fn(usize) -> u16, scores: &mut [f64]) {
        let mut slots = scores.iter_mut();
        for (position, covariate) in self.covariates.iter().enumerate() {
            let row = covariate.scores.row(usize::from(code(position)));
            for (score, slot) in row.iter().zip(&mut slots) {
                *slot = *score;
            }
        }
    }
}

impl Covariate {
    fn new(index: usize, column: &Column) -> Covariate {
        let levels = column.levels();
        let declared = column.declared_levels();
        let mut names = Vec::new();
        let mut scores: Vec<Vec<f64>> = Vec::new();
        if let Some(linear) = linear_score(column) {
            names.push(column.name.clone());
            scores.push(linear);
        }
        for code in 0..levels {
            if code >= declared || has_indicator(column, code) {
                names.push(format!("{}={}", column.name, level_name(column, code)));
                scores.push((0..levels).map(|c| f64::from(c == code)).collect());
            }
        }
        let scores = Array2::from_shape_fn((levels, names.len()), |(l, k)| scores[k][l]);
        Covariate {
            column: index,
            scores,
            names,
        }
    }
}

/// The linear score by code; `None` for unordered columns, and where it would be constant.
fn linear_score(column: &Column) -> Option<Vec<f64>> {
    let mut scores: Vec<f64> = match &column.kind {
        Kind::Integer { bins, .. } | Kind::Real { bins, .. } => {
            let (lower, upper) = column.bounds()?;
            if bins.len() < 2 || upper <= lower {
                return None;
            }
            let centre = f64::midpoint(lower, upper);
            let half_width = (upper - lower) / 2.0;
            bins.iter()
                .map(|bin| (bin.midpoint() - centre) / half_width)
                .collect()
        }
        Kind::Categorical {
            levels,
            ordered: true,
            ..
        } if levels.len() > 1 => {
            let last = (levels.len() - 1) as f64;
            (0..levels.len())
                .map(|rank| 2.0 * rank as f64 / last - 1.0)
                .collect()
        }
        _ => return None,
    };
    // `other` and the missing codes have no place on the scale; their indicators carry them.
    scores.resize(column.levels(), 0.0);
    Some(scores)
}

/// Whether a declared code has an indicator.
fn has_indicator(column: &Column, code: usize) -> bool {
    match &column.kind {
        // The bins of an integer column are often single values by construction; only a real column's
        // repeated edge says that the value is a point mass.
        Kind::Integer { .. } => false,
        Kind::Real { bins, .. } => bins.len() > 1 && bins[code].is_point(),
        Kind::Categorical {
            levels,
            ordered: true,
            ..
        } => code >= levels.len(),
        Kind::Categorical { .. } | Kind::Boolean => code > 0,
    }
}

fn level_name(column: &Column, code: usize) -> String {
    u16::try_from(code).map_or_else(|_| code.to_string(), |code| column.level_name(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::fixtures::{column, levels, schema};
    use crate::schema::{Bin, Role};

    fn bin(lower: f64, upper: f64) -> Bin {
        Bin { lower, upper }
    }

    #[test]
    fn scores_follow_the_table_of_the_room() {
        let mut earnings = column(
            "earnings",
            Role::Covariate,
            Kind::Real {
                lower: 0.0,
                upper: 8.0,
                bins: vec![bin(0.0, 0.0), bin(0.0, 4.0), bin(4.0, 8.0)],
            },
        );
        earnings.missing = vec!["NA".into()];
        let degree = Kind::Categorical {
            levels: levels(&["low", "mid", "high"]),
            other: levels(&["else"]).pop(),
            ordered: true,
        };
        let region = Kind::Categorical {
            levels: levels(&["n", "s", "w"]),
            other: None,
            ordered: false,
        };
        let schema = schema(vec![
            column("t", Role::Treatment, Kind::Boolean),
            earnings,
            column("degree", Role::Covariate, degree),
            column("region", Role::Covariate, region),
        ]);
        let design = DesignMatrix::from_schema(&schema);
        assert_eq!(
            design.score_names(),
            [
                "earnings",
                "earnings=0",
                "earnings=NA",
                "degree",
                "degree=else",
                "region=s",
                "region=w"
            ]
        );
        let mut scores = vec![9.0; design.score_count()];
        let row = [1, 2, 2];
        design.fill(|j| row[j], &mut scores);
        assert_eq!(scores, [-0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        let row = [3, 3, 0];
        design.fill(|j| row[j], &mut scores);
        assert_eq!(scores, [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
        let row = [0, 0, 1];
        design.fill(|j| row[j], &mut scores);
        assert_eq!(scores, [-1.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_constant_column_has_no_score() {
        let constant = Kind::Integer {
            lower: 0,
            upper: 4,
            bins: vec![bin(0.0, 4.0)],
        };
        let schema = schema(vec![column("x", Role::Covariate, constant)]);
        let design = DesignMatrix::from_schema(&schema);
        assert_eq!(design.score_count(), 0);
        assert_eq!(design.covariates[0].scores.dim(), (1, 0));
    }
}

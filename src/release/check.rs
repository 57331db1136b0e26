//! Whether a release document's parts fit each other.

use super::{CheckedRelease, MarginalSelection, Measurement, Release, ReleaseError};
use crate::schema::{Axis, Feature, Query, SCALE, Schema};
use crate::workload::Workload;

impl Release {
    /// Checks that the document's parts fit each other.
    pub(super) fn check(self, file: &str) -> Result<CheckedRelease, ReleaseError> {
        let inconsistent = |message: String| ReleaseError::Inconsistent {
            file: file.into(),
            message,
        };
        let schema = Schema::from_file(&self.schema)
            .map_err(|e| inconsistent(format!("its schema does not hold: {e}")))?;
        let workload = Workload::from_file(&self.workload, &schema)
            .map_err(|e| inconsistent(format!("its workload does not hold: {e}")))?;
        if self.measurements.is_empty() && self.effects.is_none() {
            return Err(inconsistent("it holds no measurement".into()));
        }
        if let Some(effects) = &self.effects {
            let block = workload.effects().ok_or_else(|| {
                inconsistent("it holds effects that its workload did not ask for".into())
            })?;
            effects
                .check(schema.columns[block.treatment].levels(), block.numeric)
                .map_err(inconsistent)?;
        }
        if let Some(selection) = &self.selection {
            let names: Vec<&str> = self.measurements.iter().map(|m| m.name.as_str()).collect();
            selection.check(&schema, &names).map_err(inconsistent)?;
        }
        let mut queries = Vec::with_capacity(self.measurements.len());
        for measurement in &self.measurements {
            let query = measurement.query(&schema).map_err(inconsistent)?;
            let shape = measurement
                .expected_shape(&query, &schema, self.selection.as_ref())
                .map_err(inconsistent)?;
            let cells = shape.iter().try_fold(1usize, |n, &m| n.checked_mul(m));
            if shape != measurement.shape || cells != Some(measurement.values.len()) {
                return Err(inconsistent(format!(
                    "measurement {:?} does not have the shape that its axes imply",
                    measurement.name
                )));
            }
            if measurement.sigma == 0 || measurement.scale != SCALE {
                return Err(inconsistent(format!(
                    "measurement {:?} has no noise or another scale",
                    measurement.name
                )));
            }
            if measurement.sigma_squared != u128::from(measurement.sigma).pow(2).to_string() {
                return Err(inconsistent(format!(
                    "measurement {:?} states two noise scales",
                    measurement.name
                )));
            }
            queries.push(query);
        }
        Ok(CheckedRelease {
            document: self,
            schema,
            workload,
            queries,
        })
    }
}

impl Measurement {
    /// The shape that a measurement of this query must have.
    fn expected_shape(
        &self,
        query: &Query,
        schema: &Schema,
        selection: Option<&MarginalSelection>,
    ) -> Result<Vec<usize>, String> {
        let mut shape = query.shape(schema);
        for (axis, cells) in self.axes.iter().zip(&mut shape) {
            if axis.merged {
                let merging = selection.and_then(|s| s.merging(&axis.column));
                *cells = merging
                    .filter(|_| axis.feature == Feature::Levels)
                    .ok_or_else(|| {
                        format!(
                            "measurement {:?} merges levels of {:?}, and it does not say which",
                            self.name, axis.column
                        )
                    })?
                    .count();
            }
        }
        Ok(shape)
    }

    /// The query that the measurement answers.
    fn query(&self, schema: &Schema) -> Result<Query, String> {
        let mut axes = Vec::with_capacity(self.axes.len());
        for axis in &self.axes {
            let column = schema
                .column(&axis.column)
                .filter(|&c| schema.columns[c].is_coded())
                .ok_or_else(|| {
                    format!(
                        "measurement {:?} names a column that the schema lacks",
                        self.name
                    )
                })?;
            if axis.feature != Feature::Levels && schema.outcome() != Some(column) {
                return Err(format!(
                    "measurement {:?} takes an outcome's moments of another column",
                    self.name
                ));
            }
            axes.push(Axis {
                column,
                feature: axis.feature,
            });
        }
        Ok(Query {
            name: self.name.clone(),
            axes,
        })
    }
}

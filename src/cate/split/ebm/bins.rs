//! Bins of features: even and public at first, then swept together by noisy counts.

use super::boost::WEIGHT_SCALE;
use crate::measure::effects::Reach;
use crate::release::{AdditiveTerm, Curve};
use crate::schema::Schema;

/// Equal-width bins of a numeric covariate's range: twice as many as are left after the sweep.
pub const COARSE: usize = 62;

/// The sweep closes a bin when it holds one part in so many of the feature's noisy mass.
const SWEPT: f64 = 31.0;

/// What a feature is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureForm {
    /// The value of a numeric covariate; missing codes have bins of their own.
    Value {
        /// The codes from this one on are missing codes.
        declared: usize,
        /// The number of missing codes.
        missing: usize,
    },
    /// The code of another covariate or of the treatment.
    Code {
        /// The number of codes.
        levels: usize,
    },
}

/// A feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Index of its column.
    pub column: usize,
    /// Its column's name.
    pub name: String,
    /// What it is made of.
    pub form: FeatureForm,
}

impl Feature {
    /// The feature of a column.
    pub fn new(schema: &Schema, index: usize) -> Feature {
        let column = &schema.columns[index];
        let (declared, levels) = (column.declared_levels(), column.levels());
        Feature {
            column: index,
            name: column.name.clone(),
            form: match column.bounds() {
                Some(_) => FeatureForm::Value {
                    declared,
                    missing: levels - declared,
                },
                None => FeatureForm::Code { levels },
            },
        }
    }

    /// The number of bins before the sweep: at most 256, as columns of more codes are refused.
    pub fn coarse(&self) -> usize {
        match self.form {
            FeatureForm::Value { missing, .. } => COARSE + missing,
            FeatureForm::Code { levels } => levels,
        }
    }

    /// The bin of a row, before the sweep.
    pub fn of(&self, code: u16, position: u16) -> u8 {
        let code = usize::from(code);
        let bin = match self.form {
            FeatureForm::Value { declared, .. } if code >= declared => COARSE + code - declared,
            FeatureForm::Value { .. } => usize::from(position) * COARSE / (1 << 16),
            FeatureForm::Code { .. } => code,
        };
        // At most 255: see `coarse`.
        bin as u8
    }
}

/// A feature's bins after the sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureBins {
    /// By coarse bin, the bin that it is part of.
    pub map: Vec<u8>,
    /// By bin, its noisy count, not negative.
    pub weights: Vec<f64>,
    /// By bin of values, the coarse bin that it begins with; of features that are codes, empty.
    starts: Vec<usize>,
}

impl FeatureBins {
    /// Sweeps a feature's noisy counts.
    pub fn new(feature: &Feature, counts: &[f64]) -> FeatureBins {
        let values = counts.iter().take(COARSE).map(|count| count.max(0.0));
        FeatureBins::swept(feature, counts, values.sum::<f64>() / SWEPT)
    }

    /// Sweeps a feature's noisy counts; a bin of values is closed when it holds `enough`.
    pub fn swept(feature: &Feature, counts: &[f64], enough: f64) -> FeatureBins {
        let counts: Vec<f64> = counts.iter().map(|count| count.max(0.0)).collect();
        if let FeatureForm::Code { levels } = feature.form {
            return FeatureBins {
                map: (0..levels).map(|code| code as u8).collect(),
                weights: counts,
                starts: Vec::new(),
            };
        }
        let (values, missing) = counts.split_at(COARSE);
        let mut swept = FeatureBins {
            map: Vec::new(),
            weights: vec![0.0],
            starts: vec![0],
        };
        for (coarse, count) in values.iter().enumerate() {
            let last = swept.weights.len() - 1;
            swept.map.push(last as u8);
            swept.weights[last] += count;
            let more = coarse + 1 < COARSE;
            if more && swept.weights[last] >= enough && swept.weights[last] > 0.0 {
                swept.weights.push(0.0);
                swept.starts.push(coarse + 1);
            }
        }
        // What is left over at the right end, too little for a bin, joins the last one.
        let last = swept.weights.len() - 1;
        if last > 0 && swept.weights[last] < enough {
            let rest = swept.weights.remove(last);
            swept.weights[last - 1] += rest;
            swept.starts.remove(last);
            for bin in &mut swept.map {
                *bin = (*bin).min(last as u8 - 1);
            }
        }
        for count in missing {
            swept.map.push(swept.weights.len() as u8);
            swept.weights.push(*count);
        }
        swept
    }

    /// The number of bins.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there are none, which can't be.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The covariate's function with these values, one per bin.
    pub fn term(&self, feature: &Feature, values: &[f64]) -> AdditiveTerm {
        let (codes, curve) = match feature.form {
            FeatureForm::Code { .. } => (values.to_vec(), None),
            FeatureForm::Value { declared, .. } => {
                let (of_values, missing) = values.split_at(self.starts.len());
                let mut codes = vec![0.0; declared];
                codes.extend(missing);
                // The smallest position of a coarse bin: `position * COARSE / 2^16` rounds down.
                let knot = |&start: &usize| (start << 16).div_ceil(COARSE) as u16;
                let curve = Curve {
                    covers: declared as u16,
                    joined: false,
                    knots: self.starts.iter().map(knot).collect(),
                    values: of_values.to_vec(),
                };
                (codes, Some(curve))
            }
        };
        AdditiveTerm {
            name: feature.name.clone(),
            column: feature.column,
            codes,
            curve,
        }
    }
}

/// How far a record's counts reach, in units of `1 / WEIGHT_SCALE`, for so many features and weights of at most this.
pub fn reach(features: usize, weight_bound: f64) -> Reach {
    let most = weight_bound * weight_bound * WEIGHT_SCALE as f64;
    Reach::acute(((features as f64).sqrt() * most * (1.0 + 1e-14)).ceil() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(missing: usize) -> Feature {
        Feature {
            column: 0,
            name: "x".into(),
            form: FeatureForm::Value {
                declared: 4,
                missing,
            },
        }
    }

    #[test]
    fn even_counts_are_swept_in_pairs() {
        let bins = FeatureBins::new(&value(0), &[10.0; COARSE]);
        assert_eq!(bins.len(), 31);
        assert!(bins.weights.iter().all(|weight| *weight == 20.0));
        assert_eq!(bins.map[..4], [0, 0, 1, 1]);
    }

    /// Mass is kept, every bin of values but none has enough, and a position is in the bin whose knot is the last at or
    /// before it.
    #[test]
    fn bins_and_curves_agree() {
        let counts: Vec<f64> = (0..COARSE + 2)
            .map(|k| ((k * 37) % 11) as f64 - 2.0)
            .collect();
        let feature = value(2);
        let bins = FeatureBins::new(&feature, &counts);
        let mass: f64 = counts.iter().map(|count| count.max(0.0)).sum();
        assert!((bins.weights.iter().sum::<f64>() - mass).abs() < 1e-9);
        let values: Vec<f64> = (0..bins.len()).map(|bin| bin as f64).collect();
        let term = bins.term(&feature, &values);
        let curve = term.curve.unwrap();
        for position in 0..=u16::MAX {
            let bin = bins.map[usize::from(feature.of(0, position))];
            assert_eq!(curve.at(position), f64::from(bin), "{position}");
        }
        let last = bins.len() as f64;
        assert_eq!(term.codes, [0.0, 0.0, 0.0, 0.0, last - 2.0, last - 1.0]);
        assert_eq!(bins.map[COARSE + 1], bins.len() as u8 - 1);
    }

    #[test]
    fn nothing_but_noise_is_one_bin() {
        let bins = FeatureBins::new(&value(0), &[-1.0; COARSE]);
        assert_eq!((bins.len(), bins.weights[0]), (1, 0.0));
    }
}

//! Public parameters of later stages, computed from the noisy answers of earlier ones.

use super::scorer::Range;
use crate::schema::{Design, Schema};

/// The least number of records that an arm is taken to have.
const LEAST_COUNT: f64 = 20.0;

/// The arms' numbers of records from noisy ones: what is public of them is used.
///
/// Where the number of rows is public, the noise of the arms' sum is known, and taken off in equal parts.
/// Where the probabilities `p_t` of a randomised design are known, `N_t` is binomial, and the noisy number and
/// `n p_t` are averaged by precision.
pub fn arm_counts(schema: &Schema, noisy: &[f64], noise: f64) -> Vec<f64> {
    let sum: f64 = noisy.iter().sum();
    let records = schema.rows.map_or(sum, |rows| rows as f64).max(0.0);
    let off = (sum - records) / noisy.len() as f64;
    let propensity = match &schema.design {
        Design::Randomised { propensity } => propensity.as_ref(),
        Design::Observational => None,
    };
    let count = |(arm, noisy): (usize, &f64)| {
        let measured = noisy - off;
        let blended = propensity.map_or(measured, |p| {
            let chance = records * p[arm] * (1.0 - p[arm]);
            let weight = chance / (chance + noise * noise);
            weight * measured + (1.0 - weight) * records * p[arm]
        });
        blended.max(LEAST_COUNT)
    };
    noisy.iter().enumerate().map(count).collect()
}

/// The range of a score with this noisy mean and second moment: `reach` standard deviations to each side,
/// the noise's own included, within the schema's range.
pub fn range_of(mean: f64, second_moment: f64, noise: f64, reach: f64) -> Range {
    let deviation = ((second_moment - mean * mean).max(0.01) + noise).sqrt();
    let mean = mean.clamp(-0.9, 0.9);
    Range {
        lower: (mean - reach * deviation).max(-1.0),
        upper: (mean + reach * deviation).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_probabilities_and_rows_steady_the_arms() {
        let schema = |rows: &str, design: &str| {
            let text = format!(
                "format: dpcausal.schema/1\n{rows}\ndesign: {design}\ncolumns:\n  - {{name: t, role: treatment, type: boolean}}\n"
            );
            Schema::parse(&text, "s.yaml").unwrap().0
        };
        let noisy = [80.0, 40.0];
        let plain = arm_counts(&schema("", "randomised"), &noisy, 10.0);
        assert_eq!(plain, [80.0, 40.0]);
        let rows = arm_counts(&schema("rows: 100", "randomised"), &noisy, 10.0);
        assert_eq!(rows, [70.0, 30.0]);
        // n p (1 - p) = 25 against a noise of 25 and of none: half way to 50, and not at all.
        let known = schema("rows: 100", "{propensity: [0.5, 0.5]}");
        assert_eq!(arm_counts(&known, &noisy, 5.0), [60.0, 40.0]);
        assert_eq!(arm_counts(&known, &noisy, 0.0), [70.0, 30.0]);
        // Noise that leaves nothing of an arm leaves the least count.
        assert_eq!(
            arm_counts(&schema("", "randomised"), &[-5.0, 9.0], 1.0),
            [20.0, 20.0]
        );
    }
}

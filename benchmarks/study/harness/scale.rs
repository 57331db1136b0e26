//! The axes of the pictures: from values to shares of an axis, and ticks at round numbers.

/// From values to a share of an axis.
pub struct Scale {
    lower: f64,
    upper: f64,
    logarithmic: bool,
}

impl Scale {
    /// A logarithmic axis that holds the positive ones of some values, with a little room.
    pub fn logarithmic(values: &[f64]) -> Scale {
        let valid = values.iter().filter(|v| v.is_finite() && **v > 0.0);
        let (low, high) = valid.fold((f64::MAX, 0.0f64), |(l, h), v| (l.min(*v), h.max(*v)));
        let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 10.0) };
        // A tenth at each end, so that no mark stands on the frame.
        Scale {
            lower: low / 1.15,
            upper: high * 1.15,
            logarithmic: true,
        }
    }

    /// As [`Scale::logarithmic`], widened to round numbers, so that there are two ticks at least.
    pub fn rounded(values: &[f64]) -> Scale {
        let Scale { lower, upper, .. } = Scale::logarithmic(values);
        let decades = lower.log10().floor() as i32..=upper.log10().ceil() as i32;
        let round: Vec<f64> = decades
            .flat_map(|decade| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(decade)))
            .collect();
        let below = round.iter().copied().rfind(|&tick| tick <= lower);
        let above = round.iter().copied().find(|&tick| tick >= upper);
        Scale {
            lower: below.unwrap_or(lower),
            upper: above.unwrap_or(upper),
            logarithmic: true,
        }
    }

    /// A linear axis up to 1 that holds shares, and .9 at least.
    pub fn coverage(values: &[f64]) -> Scale {
        let lowest = values
            .iter()
            .copied()
            .filter(|v| v.is_finite())
            .fold(0.9f64, f64::min);
        Scale {
            lower: (lowest - 0.02).max(-0.02),
            upper: 1.01,
            logarithmic: false,
        }
    }

    /// Where a value stands: 0 at the lower end, 1 at the upper; what lies beyond, at the end.
    pub fn share(&self, value: f64) -> f64 {
        let position = |value: f64| if self.logarithmic { value.ln() } else { value };
        let (lower, upper) = (position(self.lower), position(self.upper));
        ((position(value.clamp(self.lower, self.upper)) - lower) / (upper - lower)).clamp(0.0, 1.0)
    }

    /// Round numbers on the axis: of a logarithmic one 1, 2 and 5 times powers of ten (powers alone where
    /// that would be many).
    pub fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            let step = if self.upper - self.lower > 0.4 {
                0.2
            } else {
                0.05
            };
            let first = (self.lower / step).ceil() as i64;
            let ticks = (first..).map(|k| k as f64 * step);
            return ticks.take_while(|tick| *tick <= 1.0 + 1e-9).collect();
        }
        let decades = self.lower.log10().floor() as i32..=self.upper.log10().ceil() as i32;
        let factors: &[f64] = if self.upper / self.lower > 200.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        decades
            .flat_map(|decade| {
                factors
                    .iter()
                    .map(move |factor| factor * 10f64.powi(decade))
            })
            .filter(|tick| (self.lower..=self.upper).contains(tick))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values_and_have_ticks() {
        for values in [&[0.0541, 0.0543][..], &[1.0, 334.0], &[3.0], &[]] {
            let scale = Scale::rounded(values);
            let ticks = scale.ticks();
            assert!((2..10).contains(&ticks.len()), "{values:?}: {ticks:?}");
            for value in values {
                assert!((0.0..=1.0).contains(&scale.share(*value)));
                assert!((scale.lower..=scale.upper).contains(value));
            }
        }
        assert!(Scale::coverage(&[0.95]).ticks().len() >= 2);
        assert!(Scale::coverage(&[0.0]).ticks().len() >= 2);
    }
}

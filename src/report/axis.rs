//! The axis of a plot: its range and its ticks.

use super::numbers;
use super::svg::text_width;

/// Values beyond this are drawn at it, so that differences on the axis stay finite.
const LARGEST: f64 = 1e300;

/// More intervals between ticks than this are clutter.
const MOST_INTERVALS: f64 = 7.0;

/// The least space between two tick labels, in pixels.
const SPACE: f64 = 14.0;

/// The part of the range that is left free at each end, so that no mark stands on the edge.
const FREE: f64 = 0.03;

/// An axis from `lower` to `upper`, holding zero, with ticks at the multiples of `step`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    lower: f64,
    upper: f64,
    step: f64,
}

impl Axis {
    /// The axis that holds zero and all values that are finite, with as many ticks as have room for their
    /// labels on so many pixels.
    pub(super) fn holding(values: impl IntoIterator<Item = f64>, pixels: f64) -> Axis {
        let values = values
            .into_iter()
            .filter(|value| value.is_finite())
            .map(|value| value.clamp(-LARGEST, LARGEST));
        let (lowest, highest) = values.fold((0.0f64, 0.0f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let range = highest - lowest;
        // Below this a step would lose its digits.
        if range < 1e-300 {
            return Axis {
                lower: -1.0,
                upper: 1.0,
                step: 0.5,
            };
        }
        let mut axis = Axis {
            lower: lowest - FREE * range,
            upper: highest + FREE * range,
            step: nice_at_least(range / MOST_INTERVALS),
        };
        // A step beyond half the range could leave zero as the only tick, which says nothing of the scale.
        while !axis.has_room(pixels) {
            let step = nice_at_least(1.5 * axis.step);
            if step > 0.5 * range {
                break;
            }
            axis.step = step;
        }
        axis
    }

    fn has_room(&self, pixels: f64) -> bool {
        let widths = self.ticks().map(|tick| text_width(&self.label(tick)));
        let widest = widths.fold(0.0, f64::max);
        let distance = pixels * self.step / (self.upper - self.lower);
        widest + SPACE <= distance
    }

    /// Where a value stands: 0 at the lower end, 1 at the upper end; what lies beyond, at the end.
    pub(super) fn share(&self, value: f64) -> f64 {
        (value.clamp(self.lower, self.upper) - self.lower) / (self.upper - self.lower)
    }

    /// The ticks, ascending; zero is exactly zero.
    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> {
        // The range is at most a dozen steps long and holds zero, so these are small numbers.
        let first = (self.lower / self.step).ceil() as i64;
        let last = (self.upper / self.step).floor() as i64;
        let step = self.step;
        (first..=last).map(move |tick| tick as f64 * step)
    }

    /// A tick's label, with the decimals that tell ticks apart.
    pub(super) fn label(&self, tick: f64) -> String {
        let decimals = -self.step.log10().floor();
        if (-15.0..=6.0).contains(&decimals) {
            numbers::fixed(tick, decimals.max(0.0) as usize)
        } else {
            numbers::significant(tick, 3)
        }
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `step`, which is positive.
fn nice_at_least(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|nice| *nice >= step)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(values: &[f64]) -> Vec<String> {
        let axis = Axis::holding(values.iter().copied(), 360.0);
        axis.ticks().map(|tick| axis.label(tick)).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let dollars = ["-1,000", "0", "1,000", "2,000", "3,000", "4,000"];
        assert_eq!(labels(&[-1436.0, 4121.0]), dollars);
        let small = ["0.00", "0.02", "0.04", "0.06"];
        assert_eq!(labels(&[0.012, 0.0712]), small);
        let long = ["-1,000,000", "0", "1,000,000"];
        assert_eq!(labels(&[-1.5e6, 1.7e6]), long);
        assert_eq!(labels(&[]), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(labels(&[3e-12]), ["0", "1e-12", "2e-12", "3e-12"]);
    }

    proptest! {
        #[test]
        fn the_axis_holds_zero_and_every_value(values in prop::collection::vec(any::<f64>(), 0..5)) {
            let axis = Axis::holding(values.iter().copied(), 360.0);
            let ticks: Vec<f64> = axis.ticks().collect();
            prop_assert!(ticks.contains(&0.0));
            prop_assert!((2..=8).contains(&ticks.len()), "{:?}", axis);
            for value in values.into_iter().filter(|v| v.is_finite()) {
                let value = value.clamp(-LARGEST, LARGEST);
                let slack = 1e-9 * axis.step;
                prop_assert!(axis.lower - slack <= value && value <= axis.upper + slack);
                prop_assert!((0.0..=1.0).contains(&axis.share(value)));
            }
        }
    }
}

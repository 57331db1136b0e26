//! Bisection to the last bit: where a monotone condition on positive numbers changes.

/// The range searched: exponents beyond it have no use as privacy parameters.
const SMALLEST: f64 = 1e-150;
const LARGEST: f64 = 1e150;

/// The largest positive `x` that satisfies a condition which holds for small `x`; the condition holds
/// at the result. `None` where it fails at 1e-150; 1e150 where it never fails below.
pub(super) fn largest(holds: impl Fn(f64) -> bool) -> Option<f64> {
    if holds(LARGEST) {
        return Some(LARGEST);
    }
    if !holds(SMALLEST) {
        return None;
    }
    Some(bisect(SMALLEST, LARGEST, holds).0)
}

/// The smallest positive `x` that satisfies a condition which holds for large `x`; the condition holds
/// at the result. `None` where it fails at 1e150; 1e-150 where it holds there already.
pub(super) fn smallest(holds: impl Fn(f64) -> bool) -> Option<f64> {
    if holds(SMALLEST) {
        return Some(SMALLEST);
    }
    if !holds(LARGEST) {
        return None;
    }
    Some(bisect(SMALLEST, LARGEST, |x| !holds(x)).1)
}

/// Two neighbouring floats, the condition true at the first and false at the second.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> (f64, f64) {
    // Positive floats are ordered as their bits are: halving those takes at most 63 turns.
    while high.to_bits() - low.to_bits() > 1 {
        let middle = f64::from_bits(low.to_bits() + (high.to_bits() - low.to_bits()) / 2);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boundary_is_found_to_the_last_bit() {
        assert_eq!(largest(|x| x <= 3.25), Some(3.25));
        assert_eq!(smallest(|x| x > 3.25), Some(3.25f64.next_up()));
        assert_eq!(largest(|_| false), None);
        assert_eq!(smallest(|_| false), None);
        assert_eq!(largest(|_| true), Some(LARGEST));
        assert_eq!(smallest(|_| true), Some(SMALLEST));
    }
}

//! Sets of columns in lexicographic order: how many there are, and the one at a place.

/// The number of sets of `size` out of `count`, or `u64::MAX` where it is larger.
pub(super) fn binomial(count: usize, size: usize) -> u64 {
    if size > count {
        return 0;
    }
    // After step i the product is the number of sets of i, so every division is exact.
    let product = (1..=size).try_fold(1u128, |product, i| {
        let next = product.checked_mul((count - size + i) as u128)? / i as u128;
        (next <= u128::from(u64::MAX)).then_some(next)
    });
    product.map_or(u64::MAX, |product| product as u64)
}

/// The set at a place, from 0, in lexicographic order of all sets of `size` out of `0..count`.
///
/// # Panics
/// If there are not so many sets.
pub(super) fn subset(count: usize, size: usize, mut place: u64) -> Vec<usize> {
    let mut members = Vec::with_capacity(size);
    let mut member = 0;
    while members.len() < size {
        assert!(member < count, "a place of the {size}-sets of {count}");
        // The sets that go on with this member.
        let with = binomial(count - member - 1, size - members.len() - 1);
        if place < with {
            members.push(member);
        } else {
            place -= with;
        }
        member += 1;
    }
    members
}

/// At most `limit` of the places `0..count`: all, or the middles of `limit` equal stretches.
pub(super) fn evenly_spaced(count: u64, limit: usize) -> Vec<u64> {
    let limit = limit as u64;
    if count <= limit {
        return (0..count).collect();
    }
    let middle = |i: u64| u128::from(2 * i + 1) * u128::from(count) / u128::from(2 * limit);
    (0..limit).map(|i| middle(i) as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_stand_in_lexicographic_order() {
        let all: Vec<Vec<usize>> = (0..binomial(5, 3)).map(|i| subset(5, 3, i)).collect();
        assert_eq!(all.len(), 10);
        assert_eq!(all[..4], [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 2, 3]]);
        assert_eq!(all[9], [2, 3, 4]);
        assert!(all.is_sorted());
    }

    #[test]
    fn counts_saturate() {
        assert_eq!(binomial(15, 3), 455);
        assert_eq!(binomial(100, 3), 161_700);
        assert_eq!(binomial(2, 3), 0);
        assert_eq!(binomial(100_000, 5), u64::MAX);
    }

    #[test]
    fn a_sample_of_places_is_spread_evenly() {
        assert_eq!(evenly_spaced(3, 5), [0, 1, 2]);
        assert_eq!(evenly_spaced(10, 5), [1, 3, 5, 7, 9]);
        assert_eq!(evenly_spaced(10, 3), [1, 5, 8]);
    }
}

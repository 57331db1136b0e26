//! From a number to the bin that holds it.

use crate::schema::Bin;

/// The largest number of distinct integers for which the bin is looked up and not searched.
const LOOKUP: i64 = 1 << 16;

/// Finds the bin of a number within a column's bounds.
#[derive(Debug, Clone)]
pub(crate) struct Bins {
    bins: Vec<Bin>,
    whole: bool,
    /// For integers of a small range: the bin of `first + index`.
    lookup: Vec<u16>,
    first: i64,
}

impl Bins {
    /// The bins of an integer column within `lower..=upper`.
    pub(crate) fn integer(bins: &[Bin], lower: i64, upper: i64) -> Bins {
        let mut found = Bins {
            bins: bins.to_vec(),
            whole: true,
            lookup: Vec::new(),
            first: lower,
        };
        if upper.checked_sub(lower).is_some_and(|width| width < LOOKUP) {
            found.lookup = (lower..=upper).map(|v| found.search(v as f64)).collect();
        }
        found
    }

    /// The bins of a real column.
    pub(crate) fn real(bins: &[Bin]) -> Bins {
        Bins {
            bins: bins.to_vec(),
            whole: false,
            lookup: Vec::new(),
            first: 0,
        }
    }

    /// The bin of an integer within the bounds.
    pub(crate) fn of_integer(&self, value: i64) -> u16 {
        let offset = value.wrapping_sub(self.first) as usize;
        match self.lookup.get(offset) {
            Some(&bin) => bin,
            None => self.search(value as f64),
        }
    }

    /// The bin of a number within the bounds.
    pub(crate) fn of_real(&self, value: f64) -> u16 {
        self.search(value)
    }

    /// The first bin that reaches the value: a point bin takes its value from the bins that it touches, and
    /// the last bin takes its upper end.
    fn search(&self, value: f64) -> u16 {
        let below =
            |bin: &Bin| bin.upper < value || (bin.upper == value && !self.whole && !bin.is_point());
        let bin = self.bins.partition_point(below);
        bin.min(self.bins.len() - 1) as u16
    }

    /// The bin itself.
    pub(crate) fn get(&self, code: u16) -> Bin {
        self.bins[usize::from(code)]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(in crate::table) fn bins(edges: &[(f64, f64)]) -> Vec<Bin> {
        let bin = |&(lower, upper)| Bin { lower, upper };
        edges.iter().map(bin).collect()
    }

    #[test]
    fn real_bins_include_lower_ends_points_and_the_last_upper_end() {
        let found = Bins::real(&bins(&[
            (0.0, 0.0),
            (0.0, 1.0),
            (1.0, 1.0),
            (1.0, 2.0),
            (2.0, 3.0),
        ]));
        let values = [0.0, -0.0, 0.5, 1.0, 1.5, 2.0, 3.0];
        assert_eq!(values.map(|v| found.of_real(v)), [0, 0, 1, 2, 3, 4, 4]);
        let last_point = Bins::real(&bins(&[(0.0, 1.0), (1.0, 1.0)]));
        assert_eq!([0.9, 1.0].map(|v| last_point.of_real(v)), [0, 1]);
    }

    #[test]
    fn looked_up_and_searched_integers_agree() {
        let edges = bins(&[(-5.0, -1.0), (0.0, 0.0), (1.0, 10.0), (11.0, 12.0)]);
        let found = Bins::integer(&edges, -5, 12);
        assert_eq!(
            [-5, -1, 0, 1, 10, 11, 12].map(|v| found.of_integer(v)),
            [0, 0, 1, 2, 2, 3, 3]
        );
        for value in -5..=12 {
            assert_eq!(found.of_integer(value), found.search(value as f64));
        }
        let wide = Bins::integer(
            &bins(&[(0.0, 99_999.0), (100_000.0, 1e9)]),
            0,
            1_000_000_000,
        );
        assert_eq!(
            [0, 99_999, 100_000, 1_000_000_000].map(|v| wide.of_integer(v)),
            [0, 0, 1, 1]
        );
    }
}

//! How far apart the answers on two neighbouring tables can be.

use super::{Adjacency, PrivacyError};

/// The square of an L2 sensitivity, exact, in squared lattice units (a record is 2^20 units).
///
/// A privacy unit contributes at most `max_rows` rows, each a vector of L2 norm at most `record_norm`
/// ([`Query::record_norm`](crate::schema::Query::record_norm)), so by the triangle inequality a vector
/// `u` of norm at most `max_rows * record_norm = c`.
///
/// * Add-remove: the answers differ by `u`: `Delta^2 = c^2`.
/// * Replace-one: they differ by `u - v`. In general `|u - v| <= 2 c`, so `Delta^2 = 4 c^2`; if no row
///   contributes anything negative, `u . v >= 0`, so `|u - v|^2 = |u|^2 + |v|^2 - 2 u . v <= 2 c^2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sensitivity {
    squared: u128,
}

impl Sensitivity {
    /// The sensitivity of a sum of contributions none of which has a negative part, such as counts.
    ///
    /// # Errors
    /// [`PrivacyError::Sensitivity`] where the norm or `max_rows` is not positive, or the square exceeds
    /// 2^126.
    pub fn of_non_negative_sum(
        record_norm: i64,
        adjacency: Adjacency,
        max_rows: u32,
    ) -> Result<Sensitivity, PrivacyError> {
        let factor = match adjacency {
            Adjacency::AddRemove => 1,
            Adjacency::ReplaceOne => 2,
        };
        Sensitivity::scaled(record_norm, max_rows, factor)
    }

    /// The sensitivity of a sum of contributions of either sign.
    ///
    /// # Errors
    /// As [`Sensitivity::of_non_negative_sum`].
    pub fn of_signed_sum(
        record_norm: i64,
        adjacency: Adjacency,
        max_rows: u32,
    ) -> Result<Sensitivity, PrivacyError> {
        let factor = match adjacency {
            Adjacency::AddRemove => 1,
            Adjacency::ReplaceOne => 4,
        };
        Sensitivity::scaled(record_norm, max_rows, factor)
    }

    /// The sensitivity of a sum over rows whose contributions have an L2 norm of at most `record_norm` and
    /// lie at most `diameter` apart, in lattice units.
    ///
    /// Add-remove: as ever, `max_rows * record_norm`. Replace-one: pair the two units' rows, and rows
    /// without a partner with nothing, which is `record_norm` away: the sums differ by at most
    /// `max_rows * max(diameter, record_norm)` by the triangle inequality. The general bounds on a
    /// diameter are `2 record_norm`, and `sqrt(2) record_norm` where no two contributions have a negative inner product.
    ///
    /// # Errors
    /// As [`Sensitivity::of_non_negative_sum`].
    pub fn of_sum(
        record_norm: i64,
        diameter: i64,
        adjacency: Adjacency,
        max_rows: u32,
    ) -> Result<Sensitivity, PrivacyError> {
        let reach = match adjacency {
            Adjacency::AddRemove => record_norm,
            Adjacency::ReplaceOne => diameter.max(record_norm),
        };
        Sensitivity::scaled(reach, max_rows, 1)
    }

    fn scaled(record_norm: i64, max_rows: u32, factor: u128) -> Result<Sensitivity, PrivacyError> {
        let refused = PrivacyError::Sensitivity {
            record_norm,
            max_rows,
        };
        // Below 2^63 * 2^32 = 2^95; its square may overflow.
        let contribution = match u128::try_from(record_norm) {
            Ok(norm) if norm > 0 && max_rows > 0 => norm * u128::from(max_rows),
            _ => return Err(refused),
        };
        match contribution.checked_mul(contribution) {
            Some(squared) if squared <= 1 << 124 => Ok(Sensitivity {
                squared: squared * factor,
            }),
            _ => Err(refused),
        }
    }

    /// `Delta^2` in squared lattice units: at least 1, at most 2^126.
    pub fn squared(&self) -> u128 {
        self.squared
    }

    /// `Delta^2` in squared records, rounded up.
    pub fn squared_records(&self) -> f64 {
        // A power of two: exact.
        let scale = crate::schema::SCALE as f64;
        self.squared_rounded_up() / (scale * scale)
    }

    /// `Delta^2` as a float, rounded up.
    pub(super) fn squared_rounded_up(&self) -> f64 {
        let nearest = self.squared as f64;
        if (nearest as u128) < self.squared {
            nearest.next_up()
        } else {
            nearest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of contributions of up to two rows over three cells, each row of squared norm at most
    /// 9, all of them tried: the bound is never exceeded, and is met where theory says it is tight.
    #[test]
    fn brute_force_over_neighbours() {
        for lowest in [0i64, -3] {
            let rows: Vec<[i64; 3]> = (0..7i64.pow(3))
                .map(|i| [i % 7 - 3, i / 7 % 7 - 3, i / 49 - 3])
                .filter(|r| r.iter().all(|&x| x >= lowest) && norm(r) <= 9)
                .collect();
            for max_rows in [1u32, 2] {
                let units: Vec<[i64; 3]> = match max_rows {
                    1 => rows.clone(),
                    _ => rows
                        .iter()
                        .flat_map(|a| rows.iter().map(|b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]))
                        .collect::<std::collections::BTreeSet<_>>()
                        .into_iter()
                        .collect(),
                };
                let sensitivity = |adjacency| match lowest {
                    0 => Sensitivity::of_non_negative_sum(3, adjacency, max_rows),
                    _ => Sensitivity::of_signed_sum(3, adjacency, max_rows),
                };
                let add_remove = units.iter().map(norm).max().unwrap();
                let replace = units
                    .iter()
                    .flat_map(|u| {
                        units
                            .iter()
                            .map(move |v| [u[0] - v[0], u[1] - v[1], u[2] - v[2]])
                    })
                    .map(|d| norm(&d))
                    .max()
                    .unwrap();
                for (worst, adjacency) in [
                    (add_remove, Adjacency::AddRemove),
                    (replace, Adjacency::ReplaceOne),
                ] {
                    let bound = sensitivity(adjacency).unwrap().squared();
                    assert_eq!(worst as u128, bound);
                }
            }
        }
    }

    fn norm(x: &[i64; 3]) -> i64 {
        x.iter().map(|x| x * x).sum()
    }

    #[test]
    fn out_of_range_is_an_error_and_rounding_is_outward() {
        for (norm, rows) in [(0, 1), (-1, 1), (1, 0), (i64::MAX, u32::MAX)] {
            assert!(Sensitivity::of_non_negative_sum(norm, Adjacency::AddRemove, rows).is_err());
        }
        let odd = Sensitivity::of_signed_sum((1 << 40) + 1, Adjacency::AddRemove, 1).unwrap();
        assert!(odd.squared_rounded_up() as u128 > odd.squared());
        let record = Sensitivity::of_non_negative_sum(1 << 20, Adjacency::ReplaceOne, 3).unwrap();
        assert_eq!(record.squared_records(), 18.0);
    }
}

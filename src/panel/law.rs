//! The law of a measurement's noise, for everything that comes after the release: draws and moments.
//!
//! These are draws of the continuous laws, in floating point: the lattice is finer than 2^-29 of the noise's scale,
//! and nothing confidential is left to protect.

use crate::release::NoiseLaw;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Gamma, StandardNormal};

/// A draw of `cells` coordinates of noise, in the statistic's own units.
pub fn coordinates<R: Rng + ?Sized>(
    law: NoiseLaw,
    scale: f64,
    cells: usize,
    rng: &mut R,
) -> Vec<f64> {
    match law {
        NoiseLaw::KNormL2 => leading_coordinates(scale, cells, cells, rng),
        NoiseLaw::KNormLInfinity => {
            let radius = scale * gamma(cells as f64 + 1.0, rng);
            (0..cells)
                .map(|_| radius * rng.random_range(-1.0..=1.0))
                .collect()
        }
        NoiseLaw::DiscreteGaussian => (0..cells).map(|_| scale * normal(rng)).collect(),
        NoiseLaw::SymmetricDiscreteGaussian => {
            // d (d + 1) / 2 cells.
            let order = (((8 * cells + 1) as f64).sqrt() as usize - 1) / 2;
            let cells = (0..order).flat_map(|i| (i..order).map(move |j| i == j));
            cells
                .map(|diagonal| if diagonal { scale } else { scale / 2f64.sqrt() })
                .map(|scale| scale * normal(rng))
                .collect()
        }
    }
}

/// The first `count` coordinates of noise of Euclid's K-norm in `dimension` coordinates: a direction's coordinates are
/// those of a normal vector over its length.
pub fn leading_coordinates<R: Rng + ?Sized>(
    scale: f64,
    dimension: usize,
    count: usize,
    rng: &mut R,
) -> Vec<f64> {
    let leading: Vec<f64> = (0..count).map(|_| normal(rng)).collect();
    let own: f64 = leading.iter().map(|x| x * x).sum();
    let rest = match dimension - count {
        0 => 0.0,
        // A chi-square variable is twice a Gamma variable of half its degrees of freedom.
        others => 2.0 * gamma(others as f64 / 2.0, rng),
    };
    let radius = scale * gamma(dimension as f64, rng) / (own + rest).sqrt();
    leading.into_iter().map(|x| radius * x).collect()
}

/// The standard deviation of one coordinate.
pub fn deviation(law: NoiseLaw, scale: f64, dimension: usize) -> f64 {
    let d = dimension as f64;
    match law {
        NoiseLaw::KNormL2 => scale * (d + 1.0).sqrt(),
        // E r^2 / 3 with r of a Gamma law of shape d + 1.
        NoiseLaw::KNormLInfinity => scale * ((d + 1.0) * (d + 2.0) / 3.0).sqrt(),
        NoiseLaw::DiscreteGaussian | NoiseLaw::SymmetricDiscreteGaussian => scale,
    }
}

fn normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    StandardNormal.sample(rng)
}

fn gamma<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    // Shapes are half-integers from 1/2 on, and scale 1 is valid.
    Gamma::new(shape, 1.0).map_or(shape, |law| law.sample(rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impute::{Purpose, stream};

    const DRAWS: usize = 40_000;

    /// The mean square of the first coordinate of so many draws, over its expectation.
    fn ratio(law: NoiseLaw, cells: usize) -> f64 {
        let mut rng = stream(1, Purpose::Posterior, cells as u64);
        let sum: f64 = (0..DRAWS)
            .map(|_| coordinates(law, 2.5, cells, &mut rng)[0].powi(2))
            .sum();
        sum / DRAWS as f64 / deviation(law, 2.5, cells).powi(2)
    }

    /// The squares' kurtosis is below 24 (Laplace's, the heaviest tail here), so a mean of 40,000 of them is
    /// within 5 standard errors, 0.12, of its expectation but once in 10^6 runs.
    #[test]
    fn deviations_are_those_of_the_draws() {
        for law in [
            NoiseLaw::KNormL2,
            NoiseLaw::KNormLInfinity,
            NoiseLaw::DiscreteGaussian,
        ] {
            for cells in [1, 3, 12] {
                let ratio = ratio(law, cells);
                assert!((ratio - 1.0).abs() < 0.12, "{law:?} {cells}: {ratio}");
            }
        }
        assert!((ratio(NoiseLaw::SymmetricDiscreteGaussian, 6) - 1.0).abs() < 0.12);
    }

    #[test]
    fn leading_coordinates_have_the_law_of_all() {
        let mut rng = stream(2, Purpose::Posterior, 0);
        let square = |rng: &mut _| leading_coordinates(1.0, 40, 3, rng)[1].powi(2);
        let mean = (0..DRAWS).map(|_| square(&mut rng)).sum::<f64>() / DRAWS as f64;
        assert!((mean / 41.0 - 1.0).abs() < 0.12, "{mean}");
    }
}

//! The dispersion of the donors about their mean, as a measure of fit.
//!
//! The number is the sum over donors of `|u_i|^2` of the clipped coordinates, which lie between 0 and `(kappa rho)^2`; each is
//! counted from the middle of that range. **Sensitivity.** Replacing a donor moves the sum by at most `(kappa rho)^2`,
//! attained by coordinates of no length and of full length. A donor that is like the target has `E |u|^2 = rho^2` by the
//! target's own past, so less the squared mean (released, without what its noise adds)
//!
//! ```text
//! phi = (mean of |u_i|^2 - |mean of u_i|^2) / rho^2
//! ```
//!
//! is how much of that the donors really have about their mean, which is what the target has about it, too, where it is one
//! of them. `phi` is at most `kappa^2`; donors beyond the clip are counted at the clip.

use super::{Index, Question, coordinates};
use crate::panel::PanelError;
use crate::panel::channel::{Lattice, Rounding};
use crate::panel::fit::{Factor, FitMeasure, squared_length};
use crate::panel::linear::dot;
use crate::panel::method::expect;
use crate::privacy::Confidential;
use crate::release::PanelMeasurement;
use crate::table::DonorRows;

/// The measure.
pub struct Dispersion<'m, 'a>(pub &'m Index<'a>);

/// The public question to the donors.
struct OfLengths<'a> {
    question: Question<'a>,
    lattice: Lattice,
}

fn sum_of_squares(rows: &DonorRows, of: &OfLengths<'_>) -> Vec<i64> {
    let middle = of.question.radius.powi(2) / 2.0;
    let mut sum = vec![0];
    for row in rows {
        let u = coordinates(row, &of.question);
        of.lattice.add(&mut sum, &[dot(&u, &u) - middle]);
    }
    sum
}

impl FitMeasure for Dispersion<'_, '_> {
    fn sensitivity(&self) -> f64 {
        self.0.radius.powi(2)
    }

    fn rounding(&self) -> Rounding {
        Rounding::Sum
    }

    fn ask(&self, donors: &Confidential<DonorRows>, lattice: Lattice) -> Confidential<Vec<i64>> {
        let question = self.0.question();
        donors.ask(&OfLengths { question, lattice }, sum_of_squares)
    }

    fn factor(&self, measurements: &[PanelMeasurement]) -> Result<Factor, PanelError> {
        let index = self.0;
        let [measured] = expect(measurements, [(super::NAME, index.rank)])?;
        let n = index.donors as f64;
        let mean: Vec<f64> = measured.numbers().iter().map(|sum| sum / n).collect();
        let noise = (index.channel.deviation(index.rank) / n).powi(2);
        // rho^2 of the retained directions.
        let typical = (index.radius / index.clip).powi(2);
        let middle = index.radius.powi(2) / 2.0;
        Ok(Factor::Linear {
            base: (middle - squared_length(&mean, noise)) / typical,
            slope: 1.0 / (n * typical),
            most: index.clip.powi(2),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::channel::Share;
    use crate::panel::method::Method;
    use crate::panel::tests::panels::{Panel, accountant};
    use crate::privacy::NoiseSource;

    /// Rows within and far beyond the bounds: one donor for another moves the integer by no more than the charge is for,
    /// and a donor without errors for one at the clip moves it by all of it.
    #[test]
    fn the_sensitivity_holds_and_is_attained() {
        let panel = Panel::factor_model(5, 12, 16, 3);
        let setting = panel.setting(Share::Pure(2.0));
        let index = Index::new(&setting).unwrap();
        let fit = Dispersion(&index);
        let channel = fit.channel(Share::Pure(0.5)).unwrap();
        let of = OfLengths {
            question: index.question(),
            lattice: channel.lattice(),
        };
        let one = |row: Vec<f64>| sum_of_squares(&vec![row], &of)[0];
        let row = |seed: usize, size: f64| -> Vec<f64> {
            (0..16)
                .map(|t| (4.6 + size * ((seed + 3 * t) as f64).sin()).exp())
                .collect()
        };
        let donors = Confidential::new(panel.rows.clone());
        let mut noise = NoiseSource::insecure_seed(3);
        let mut account = accountant(channel.cost());
        let share = Share::Pure(0.5);
        let measured = fit
            .measure(share, &donors, &mut account, &mut noise)
            .unwrap();
        let sums: Vec<i64> = (0..1500)
            .map(|k| one(row(k, 0.02 * (k % 60) as f64)))
            .collect();
        let most = sums.iter().max().unwrap() - sums.iter().min().unwrap();
        assert!(most as u64 <= measured.sensitivity);
        let as_forecast = |factor: f64| -> Vec<f64> {
            let before = (0..12).map(|_| 100.0);
            before
                .chain(
                    index
                        .forecast
                        .drift
                        .iter()
                        .map(|d| 100.0 * d.exp() * factor),
                )
                .collect()
        };
        let attained = one(as_forecast(10.0)) - one(as_forecast(1.0));
        assert!(attained as u64 <= measured.sensitivity);
        assert!(attained as f64 > 0.999 * measured.sensitivity as f64);
    }

    /// Without noise to speak of, the factor is what a direct computation gives.
    #[test]
    fn the_factor_is_the_variance_about_the_mean() {
        let panel = Panel::factor_model(60, 12, 16, 8);
        let setting = panel.setting(Share::Pure(1e6));
        let index = Index::new(&setting).unwrap();
        let donors = Confidential::new(panel.rows.clone());
        let mut noise = NoiseSource::insecure_seed(3);
        let measured = index
            .measure(&donors, &mut accountant(index.cost()), &mut noise)
            .unwrap();
        let (fit, share) = (Dispersion(&index), Share::Pure(1e6));
        let mut account = accountant(fit.channel(share).unwrap().cost());
        let number = fit
            .measure(share, &donors, &mut account, &mut noise)
            .unwrap();
        let factor = fit.released(&number, &measured).unwrap().factor();
        let question = index.question();
        let u: Vec<Vec<f64>> = panel
            .rows
            .iter()
            .map(|row| coordinates(row, &question))
            .collect();
        let mean = |k: usize| u.iter().map(|u| u[k]).sum::<f64>() / 60.0;
        let about = |u: &Vec<f64>| (0..u.len()).map(|k| (u[k] - mean(k)).powi(2)).sum::<f64>();
        let expected =
            u.iter().map(about).sum::<f64>() / 60.0 / (index.radius / index.clip).powi(2);
        assert!(
            (factor / expected - 1.0).abs() < 1e-3,
            "{factor} {expected}"
        );
    }
}

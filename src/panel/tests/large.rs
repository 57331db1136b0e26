//! Thousands of donors: the smaller system is solved, and nothing is quadratic in their number.

use super::panels::{Panel, accountant};
use crate::panel::channel::Share;
use crate::privacy::{Confidential, NoiseSource};
use crate::workload::DpscMethod;
use std::time::Instant;

#[test]
fn three_thousand_donors_are_measured_by_every_method() {
    let base = Panel::factor_model(3000, 100, 112, 9);
    for (method, workload, share) in [
        (DpscMethod::Index, "", Share::Pure(1.0)),
        (DpscMethod::Balance, "", Share::Gaussian(0.05)),
        (DpscMethod::Direct, "lambda: 12000\n", Share::Pure(1.0)),
        (DpscMethod::Output, "lambda: 12000\n", Share::Pure(1.0)),
        (DpscMethod::Objective, "lambda: 12000\n", Share::Pure(1.0)),
        (DpscMethod::DifferenceInDifferences, "", Share::Pure(1.0)),
    ] {
        let target = base.frame.targets[0].values.clone();
        let panel = Panel::new([10.0, 1000.0], 100, target, base.rows.clone(), workload);
        let setting = panel.setting(share);
        let donors = Confidential::new(panel.rows.clone());
        let mut noise = NoiseSource::insecure_seed(4);
        let start = Instant::now();
        let made = setting.method(method).unwrap();
        let measured = made
            .measure(&donors, &mut accountant(made.cost()), &mut noise)
            .unwrap();
        let control = made.control(&measured).unwrap();
        // Shown by `--nocapture`; a machine under load is no reason to fail.
        eprintln!("{}: {:.3} s", method.name(), start.elapsed().as_secs_f64());
        assert_eq!(control.path.len(), 12);
        assert!(control.path.iter().all(|value| value.is_finite()));
    }
}

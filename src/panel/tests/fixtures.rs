//! Figures of others: weights and counterfactuals given the noise, on Proposition 99 where the fixtures are present, and a
//! small case of our own. The fixtures' noise has a radius of the wrong law; given the noise, the estimators agree.

use crate::panel::objective::Calibration;
use crate::panel::ridge::{Ridge, weighted_sum};
use crate::panel::sensitivity;
use serde_json::Value;

/// A file of the panels' data.
fn data(name: &str) -> Option<String> {
    let folder = std::env::var("DPCAUSAL_DATA")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data").into());
    let path = format!("{folder}/panel/{name}");
    std::fs::read_to_string(&path)
        .inspect_err(|_| eprintln!("SKIPPED: no {path}"))
        .ok()
}

/// A fixture.
fn fixture(name: &str) -> Option<Value> {
    let text = data(&format!("fixtures/{name}"))?;
    Some(serde_json::from_str(&text).expect("a fixture is JSON"))
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// Agreement with a list of a case, where it has that list: Gaussian cases have fewer.
fn agree_with(ours: &[f64], case: &Value, name: &str) {
    if let Some(theirs) = case.get(name) {
        let theirs = match theirs.as_f64() {
            Some(number) => vec![number],
            None => numbers(theirs),
        };
        agree(ours, &theirs, name);
    }
}

/// Agreement to 1e-8 of the largest value.
fn agree(ours: &[f64], theirs: &[f64], what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let size = theirs.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() <= 1e-8 * size, "{what}: {a} is not {b}");
    }
}

struct Prop99 {
    rows: Vec<Vec<f64>>,
    y: Vec<f64>,
    pre: usize,
}

fn panel(name: &str) -> Option<Prop99> {
    let panel = fixture(name)?;
    let by_time: Vec<Vec<f64>> = panel["X_rows_are_time"]
        .as_array()
        .expect("rows")
        .iter()
        .map(numbers)
        .collect();
    let donors = by_time[0].len();
    Some(Prop99 {
        rows: (0..donors)
            .map(|i| by_time.iter().map(|t| t[i]).collect())
            .collect(),
        y: numbers(&panel["y"]),
        pre: panel["T0"].as_u64().expect("T0") as usize,
    })
}

/// Checks every case of a file; `weights` finds the private ones from ridge, past and case.
fn check(file: &str, weights: impl Fn(&Ridge<'_>, &[f64], &Value) -> Vec<f64>) -> Option<usize> {
    let cases = fixture(file)?;
    let Prop99 { rows, y, pre } = panel(cases["panel"].as_str().expect("a panel"))?;
    let ridge = Ridge::new(&rows, pre);
    let past = &y[..pre];
    let shared = cases.get("w_unit").map(numbers);
    let cases = cases["cases"].as_array().expect("cases");
    for case in cases {
        let lambda = case["lam"].as_f64().expect("lambda");
        let plain = ridge.weights(past, lambda);
        agree_with(&plain, case, "f_non_private");
        agree_with(&weighted_sum(&rows, &plain, 0), case, "cf_non_private");
        let private = weights(&ridge, past, case);
        agree(&private, &numbers(&case["f_private"]), "private weights");
        agree_with(&weighted_sum(&rows, &private, 0), case, "cf_noW");
        // The second stage's noise, by time and donor.
        let own = case.get("w_unit").map(numbers);
        let unit = own.as_ref().or(shared.as_ref()).expect("second noise");
        let scale = case["info"]["donor_scale"].as_f64().expect("a scale");
        let noisy: Vec<Vec<f64>> = rows
            .iter()
            .enumerate()
            .map(|(i, row)| {
                let add = |(t, x): (usize, &f64)| x + scale * unit[t * rows.len() + i];
                row.iter().enumerate().map(add).collect()
            })
            .collect();
        let path = weighted_sum(&noisy, &private, 0);
        agree(
            &path,
            &numbers(&case["cf_private"]),
            "private counterfactual",
        );
        let effects: f64 = (pre..y.len()).map(|t| y[t] - path[t]).sum();
        agree_with(&[effects / (y.len() - pre) as f64], case, "att_private");
    }
    Some(cases.len())
}

#[test]
fn output_perturbation_agrees_given_the_noise() {
    for file in ["dpsc_output_raw.json", "dpsc_output_unit.json"] {
        let checked = check(file, |ridge, past, case| {
            let lambda = case["lam"].as_f64().expect("lambda");
            let noise = numbers(&case["stage1_noise"]);
            ridge
                .weights(past, lambda)
                .iter()
                .zip(noise)
                .map(|(f, v)| f + v)
                .collect()
        });
        assert!(checked.is_none_or(|cases| cases == 15), "{file}");
    }
}

#[test]
fn objective_perturbation_agrees_given_the_noise() {
    for file in ["dpsc_objective_raw.json", "dpsc_objective_unit.json"] {
        let checked = check(file, |ridge, past, case| {
            let lambda = case["lam"].as_f64().expect("lambda");
            let epsilon = case["eps1"].as_f64().expect("epsilon");
            let curvature = sensitivity::curvature(38, 19);
            let ours = Calibration::new(epsilon, lambda, curvature);
            let info = |name: &str| case["info"][name].as_f64().expect("a number");
            agree(&[curvature], &[info("curvature")], "curvature");
            agree(&[ours.epsilon0], &[info("epsilon0")], "epsilon0");
            agree(
                &[1.0 + ours.slack],
                &[1.0 + info("curvature_slack")],
                "slack",
            );
            if case["delta"].as_f64() == Some(0.0) {
                let scale = crate::panel::objective::gradient_of_paper(38, 19) / ours.epsilon0;
                agree(&[scale], &[info("noise_scale")], "the paper's noise scale");
            }
            let noise = numbers(&case["stage1_noise"]);
            ridge.perturbed(past, lambda + ours.slack, &noise, f64::INFINITY)
        });
        assert!(checked.is_none_or(|cases| cases == 18), "{file}");
    }
}

/// The other package's whole runs draw their noise from a generator of their own, so of those the effect without
/// privacy is what can be reproduced: of every mechanism, penalty and budget, and the spec's rounded figures.
#[test]
fn effects_without_privacy_agree_in_every_published_run() {
    let Some(fixture) = fixture("mlsynth_estimator_runs_raw.json") else {
        return;
    };
    let Some(Prop99 { rows, y, pre }) = panel("prop99_panel_raw.json") else {
        return;
    };
    let ridge = Ridge::new(&rows, pre);
    let runs = fixture["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 30);
    for run in runs {
        let lambda = run["lam"].as_f64().expect("lambda");
        let path = weighted_sum(&rows, &ridge.weights(&y[..pre], lambda), pre);
        let gaps = y[pre..].iter().zip(&path).map(|(y, c)| y - c);
        let effect = gaps.sum::<f64>() / path.len() as f64;
        agree_with(&[effect], run, "att_non_private");
        let known = [(1.0, -15.393), (10.0, -15.230), (100.0, -15.246)];
        let rounded = known.iter().find(|(of, _)| *of == lambda);
        assert!(
            rounded.is_none_or(|(_, att)| (effect - att).abs() < 5e-4),
            "{effect}"
        );
    }
}

#[test]
fn published_sensitivities_agree() {
    let Some(fixture) = fixture("sensitivity.json") else {
        return;
    };
    let number = |case: &Value, name: &str| case[name].as_f64().expect("a number");
    for case in fixture["witness"].as_array().expect("witnesses") {
        let (n, pre) = (number(case, "n") as usize, number(case, "T0") as usize);
        let lambda = number(case, "lam");
        let exact = sensitivity::weights((pre as f64).sqrt(), pre, lambda);
        agree(&[exact], &[number(case, "exact_bound")], "exact bound");
        agree(&[exact], &[number(case, "l2_distance")], "witness");
        let paper = sensitivity::weights_of_paper(n, pre, lambda);
        agree(&[paper], &[number(case, "paper_bound")], "paper's bound");
    }
    let searches = fixture["search"].as_array().expect("searches");
    for case in searches.iter().filter(|case| case.get("exact").is_some()) {
        let pre = number(case, "T0") as usize;
        let exact = sensitivity::weights((pre as f64).sqrt(), pre, number(case, "lam"));
        agree(&[exact], &[number(case, "exact")], "exact");
        assert!(number(case, "found_l2") <= exact * (1.0 + 1e-9));
    }
}

/// Computed by numpy 2.4.6 from the normal equations.
#[test]
fn a_small_case_agrees_with_numpy() {
    let rows = vec![
        vec![0.2, -0.5, 0.9, 0.4, -0.1],
        vec![-0.3, 0.8, 0.1, -0.6, 0.7],
        vec![0.5, 0.5, -0.2, 0.3, -0.9],
    ];
    let y = [0.1, -0.4, 0.6];
    let ridge = Ridge::new(&rows, 3);
    let near = |ours: &[f64], theirs: &[f64]| {
        ours.iter()
            .zip(theirs)
            .for_each(|(a, b)| assert!((a - b).abs() < 2e-12, "{a} {b}"));
    };
    for (lambda, weights, path, perturbed) in [
        (
            0.5,
            [0.516846465783, -0.075636896331, -0.103853392576],
            [0.220964706339, -0.011162420691],
            [0.363713335545, -0.004880151365, -0.217324769898],
        ),
        (
            4.0,
            [0.229453166695, -0.068958461971, -0.070244097928],
            [0.112083114482, -0.007996551914],
            [0.175265207132, -0.036035433951, -0.095262413448],
        ),
    ] {
        let ours = ridge.weights(&y, lambda);
        near(&ours, &weights);
        near(&weighted_sum(&rows, &ours, 3), &path);
        near(
            &ridge.perturbed(&y, lambda + 0.25, &[0.3, -0.2, 0.1], f64::INFINITY),
            &perturbed,
        );
    }
}

/// Of a series with weeks: computed by numpy 2.4.6 from the formulas of the forecast's documentation, on logarithms of
/// Atlanta's sales plus one.
#[test]
fn a_seasonal_forecast_agrees_with_numpy() {
    let Some(text) = data("geolift_test_data.csv") else {
        return;
    };
    let atlanta = text.lines().filter(|line| line.starts_with("atlanta,"));
    let value = |line: &str| line.rsplit(',').next()?.parse::<f64>().ok();
    let y: Vec<f64> = atlanta.filter_map(value).map(|x| (x + 1.0).ln()).collect();
    let forecast = crate::panel::forecast::Forecast::new(&y[..90], 15, 7, 0.005);
    let covariance = &forecast.covariance;
    for (ours, theirs) in [
        (forecast.step_variance, 0.0003084882405051409),
        (forecast.observation_variance, 0.0037581643218543253),
        (forecast.path[0], 8.178765981062),
        (forecast.path[6], 8.110048362711),
        (covariance[(0, 0)], 0.007885417220871029),
        (covariance[(2, 9)], 0.004744229380026986),
        (covariance[(14, 14)], 0.012204252587943002),
    ] {
        assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} is not {theirs}");
    }
}

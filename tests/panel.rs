//! The panel workload as a user runs it: Proposition 99 from the table to effects, and what is refused.

mod common;

use common::Scratch;

/// The quickstart's folder.
fn california() -> Scratch {
    let scratch = Scratch::new();
    scratch.run("quickstart --panel --insecure-seed 7 --epsilon 2 -o .");
    scratch
}

/// `measure` with these words after the documents.
fn measure(scratch: &Scratch, words: &str) {
    scratch.run(&format!(
        "measure prop99.csv --schema panel.yaml --insecure-seed 1 {words} -o release.json"
    ));
}

#[test]
fn quickstart_leaves_every_file_of_the_pipeline() {
    let scratch = california();
    for name in [
        "prop99.csv",
        "panel.yaml",
        "dpsc.yaml",
        "panel-release.json",
        "panel.svg",
        "panel.html",
    ] {
        assert!(scratch.names().contains(&name.to_string()), "{name}");
    }
    let effects: serde_json::Value =
        serde_json::from_slice(&scratch.read("panel-effects.json")).unwrap();
    let att = &effects["targets"][0]["att"];
    let estimate = att["estimate"].as_f64().unwrap();
    // The forecast alone says -15, synthetic control without privacy -19.5; noise has a deviation near 1.5.
    assert!((-30.0..-8.0).contains(&estimate), "{estimate}");
    assert!(att["privacy_deviation"].as_f64().unwrap() < 3.0);
    let interval = &att["interval"];
    assert!(interval[0].as_f64().unwrap() < estimate && estimate < interval[1].as_f64().unwrap());
    assert_eq!(
        effects["targets"][0]["periods"].as_array().unwrap().len(),
        12
    );
}

#[test]
fn a_release_holds_nothing_of_the_donors_but_noisy_integers() {
    let scratch = california();
    let text = String::from_utf8(scratch.read("panel-release.json")).unwrap();
    // Alabama's outcomes of 1970 and 2000 and their like stand nowhere.
    let table = String::from_utf8(scratch.read("prop99.csv")).unwrap();
    let release: serde_json::Value = serde_json::from_str(&text).unwrap();
    let own = release["frame"]["targets"][0]["values"].to_string();
    let rest = text.replace(char::is_whitespace, "").replace(&own, "");
    for line in table
        .lines()
        .skip(1)
        .filter(|line| !line.starts_with("California"))
    {
        let value = line.rsplit(',').next().unwrap();
        if value.contains('.') {
            assert!(!rest.contains(&format!("{value},")), "{line}");
        }
    }
    assert_eq!(
        release["accounting"]["spent"]["pure_epsilon"]
            .as_f64()
            .unwrap()
            .round(),
        2.0
    );
    assert!(release["accounting"]["delta"].is_null());
}

#[test]
fn every_method_goes_through_every_verb() {
    let scratch = california();
    for (method, more, budget) in [
        ("index", "", "--epsilon 1"),
        ("balance", "", "--epsilon 1 --delta 1e-3"),
        ("output", "", "--epsilon 1"),
        ("output", "stage2: matrix\n", "--epsilon 1 --delta 1e-3"),
        ("objective", "stage2: projected\n", "--epsilon 1"),
        ("direct", "lambda: 100\n", "--epsilon 1"),
        ("difference-in-differences", "", "--epsilon 1"),
        ("uniform", "", "--rho 0.1"),
        (
            "direct",
            "lambda: {grid: [100, 1000, 10000]}\n",
            "--epsilon 4",
        ),
        (
            "output",
            "lambda: {grid: [100, 1000], share: .2}\n",
            "--epsilon 4 --delta 1e-3",
        ),
        (
            "objective",
            "lambda: {grid: [1000, 5000]}\nfit_share: .1\n",
            "--epsilon 4",
        ),
        ("index", "fit_share: .2\n", "--epsilon 1"),
        ("uniform", "fit_share: .2\n", "--rho 0.1"),
    ] {
        scratch.write(
            "w.yaml",
            format!("format: dpcausal.workload/1\nmechanism: dpsc\nmethod: {method}\n{more}"),
        );
        scratch.run(&format!(
            "plan --schema panel.yaml --workload w.yaml --panel prop99.csv {budget}"
        ));
        measure(&scratch, &format!("--workload w.yaml {budget}"));
        let page = scratch.run("analyze release.json --json --level .9").json();
        assert_eq!(page["targets"][0]["method"], method);
        let series = scratch.run("reconstruct release.json").text();
        assert_eq!(series.lines().count(), 1 + 31, "{method}");
        let imputed = scratch.run("impute release.json -m 3 --format csv").text();
        assert_eq!(imputed.lines().count(), 1 + 3 * 31, "{method}");
    }
}

#[test]
fn a_page_holds_table_picture_and_terms() {
    let scratch = california();
    measure(&scratch, "--epsilon 2");
    scratch.run("analyze release.json --html page.html");
    let page = String::from_utf8(scratch.read("page.html")).unwrap();
    for part in [
        "<caption>Effects on",
        "mean (ATT)",
        "<svg",
        "Terms of the release",
        "replace-one",
        // The noise of the test's release is seeded, and the page says so before everything else.
        "NOT PRIVATE",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script") && !page.contains("http-equiv"));
    let twice = scratch.run_for("analyze release.json --html a.html --svg a.html", 2);
    assert!(twice.stderr.contains("the same place"), "{}", twice.stderr);
}

#[test]
fn a_penalty_is_chosen_and_the_release_names_nothing_but_the_choice() {
    let scratch = california();
    scratch.write(
        "w.yaml",
        "format: dpcausal.workload/1\nmechanism: dpsc\nmethod: direct\nlambda: {grid: [150, 1500, 15000], share: 0.25}\n",
    );
    scratch.run("ledger init l.jsonl --epsilon 8 --delta 0");
    measure(&scratch, "--workload w.yaml --epsilon 8 --ledger l.jsonl");
    let release: serde_json::Value = serde_json::from_slice(&scratch.read("release.json")).unwrap();
    let choice = release["controls"][0]["penalty"].as_object().unwrap();
    let mut keys: Vec<&String> = choice.keys().collect();
    keys.sort();
    assert_eq!(keys, ["cost", "epsilon", "lambda"]);
    let lambda = choice["lambda"].as_f64().unwrap();
    assert!([150.0, 1500.0, 15000.0].contains(&lambda));
    let epsilon = choice["cost"]["pure_epsilon"].as_f64().unwrap();
    assert!(epsilon <= 2.0 && epsilon > 1.999, "{epsilon}");
    let spent = release["accounting"]["spent"]["pure_epsilon"]
        .as_f64()
        .unwrap();
    assert!(spent <= 8.0 && spent > 7.99, "{spent}");
    let page = scratch.run("analyze release.json --json").json();
    assert_eq!(page["targets"][0]["lambda"].as_f64().unwrap(), lambda);
    // A choice that is not of the grid is not this workload's.
    let text = String::from_utf8(scratch.read("release.json")).unwrap();
    let release = release
        .to_string()
        .replace(&format!("\"lambda\":{lambda:.1}"), "\"lambda\":151.0");
    assert_ne!(release, text);
    scratch.write("other.json", release);
    let refused = scratch.run_for("analyze other.json", 3);
    assert!(refused.stderr.contains("grid"), "{}", refused.stderr);
}

#[test]
fn blocks_of_periods_are_released_and_the_mean_keeps_its_meaning() {
    let scratch = california();
    scratch.write(
        "w.yaml",
        "format: dpcausal.workload/1\nmechanism: dpsc\nmethod: index\nblock: 3\n",
    );
    scratch.run("plan --schema panel.yaml --workload w.yaml --panel prop99.csv --epsilon 50");
    measure(&scratch, "--workload w.yaml --epsilon 50");
    let page = scratch.run("analyze release.json --json").json();
    let target = &page["targets"][0];
    let periods = target["periods"].as_array().unwrap();
    assert_eq!(periods.len(), 4);
    assert_eq!(periods[0]["period"], "1989 to 1991");
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let mean = periods.iter().map(|p| number(&p["estimate"])).sum::<f64>() / 4.0;
    let att = number(&target["att"]["estimate"]);
    assert!((mean - att).abs() < 1e-9);
    // Twelve years, as without blocks.
    assert!((number(&target["cumulative"]["estimate"]) - 12.0 * att).abs() < 1e-6);
    let observed: f64 = periods.iter().map(|p| number(&p["observed"])).sum::<f64>() / 4.0;
    let table = String::from_utf8(scratch.read("prop99.csv")).unwrap();
    let later: Vec<f64> = table
        .lines()
        .filter_map(|line| line.strip_prefix("California,"))
        .filter_map(|line| line.split_once(','))
        .filter(|(year, _)| year.parse::<u32>().unwrap() >= 1989)
        .map(|(_, value)| value.parse().unwrap())
        .collect();
    assert!((observed - later.iter().sum::<f64>() / 12.0).abs() < 1e-9);
    // With little noise, within a pack or two of the effect without blocks.
    scratch.write(
        "single.yaml",
        "format: dpcausal.workload/1\nmechanism: dpsc\nmethod: index\n",
    );
    measure(&scratch, "--workload single.yaml --epsilon 50");
    let single = scratch.run("analyze release.json --json").json();
    let single = number(&single["targets"][0]["att"]["estimate"]);
    assert!((single - att).abs() < 4.0, "{single} {att}");
    scratch.write(
        "w.yaml",
        "format: dpcausal.workload/1\nmechanism: dpsc\nblock: 5\n",
    );
    let refused = scratch.run_for(
        "measure prop99.csv --schema panel.yaml --workload w.yaml --epsilon 1",
        2,
    );
    assert!(
        refused.stderr.contains("(1, 2, 3, 4, 6, 12)"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_released_fit_takes_the_place_of_the_targets_own_past() {
    let scratch = california();
    let att = |workload: &str| {
        scratch.write(
            "w.yaml",
            format!("format: dpcausal.workload/1\nmechanism: dpsc\nmethod: index\n{workload}"),
        );
        measure(&scratch, "--workload w.yaml --epsilon 2");
        scratch.run("analyze release.json --json").json()["targets"][0].clone()
    };
    let without = att("");
    let with = att("fit_share: 0.2\n");
    assert!(without["fit"].is_null());
    let ratio = with["fit"]["ratio"].as_f64().unwrap();
    let interval = &with["fit"]["interval"];
    assert!(interval[0].as_f64().unwrap() <= ratio && ratio <= interval[1].as_f64().unwrap());
    let departure = |of: &serde_json::Value| of["att"]["departure_deviation"].as_f64().unwrap();
    assert!(departure(&with) < 2.0 * departure(&without));
    let text = scratch.run("analyze release.json").text();
    assert!(text.contains("from the released fit"), "{text}");
    let release: serde_json::Value = serde_json::from_slice(&scratch.read("release.json")).unwrap();
    assert_eq!(
        release["controls"][0]["fit"]["values"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    // A share that was asked for and is not there.
    let mut bare = release.clone();
    bare["controls"][0].as_object_mut().unwrap().remove("fit");
    scratch.write("bare.json", bare.to_string());
    let refused = scratch.run_for("analyze bare.json", 3);
    assert!(
        refused.stderr.contains("measure of fit"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_mean_alone_has_an_effect_and_no_series() {
    let scratch = california();
    scratch.write(
        "w.yaml",
        "format: dpcausal.workload/1\nmechanism: dpsc\nmethod: direct\nstage2: att\n",
    );
    measure(&scratch, "--workload w.yaml --epsilon 1");
    let page = scratch
        .run("analyze release.json --json --svg picture.svg")
        .json();
    assert_eq!(page["targets"][0]["periods"].as_array().unwrap().len(), 0);
    assert!(
        String::from_utf8(scratch.read("picture.svg"))
            .unwrap()
            .ends_with("</svg>\n")
    );
    let refused = scratch.run_for("reconstruct release.json", 2);
    assert!(
        refused.stderr.contains("stage2: projected"),
        "{}",
        refused.stderr
    );
}

#[test]
fn several_targets_and_placebos_share_the_budget() {
    let scratch = california();
    let schema = String::from_utf8(scratch.read("panel.yaml")).unwrap();
    let schema = schema.replace(
        "treated: California",
        "treated: [California, Utah]\nplacebos: [Ohio]",
    );
    scratch.write("panel.yaml", schema);
    scratch.run("ledger init l.jsonl --epsilon 3 --delta 0");
    measure(&scratch, "--epsilon 3 --ledger l.jsonl");
    let page = scratch.run("analyze release.json --json").json();
    let targets = page["targets"].as_array().unwrap();
    let units: Vec<&str> = targets
        .iter()
        .map(|t| t["unit"].as_str().unwrap())
        .collect();
    assert_eq!(units, ["California", "Utah", "Ohio"]);
    assert_eq!(targets[2]["placebo"], true);
    let ledger = scratch.run("ledger show l.jsonl --json").json();
    let spent = ledger["spent"]["pure_epsilon"].as_f64().unwrap();
    assert!(spent > 2.99 && spent <= 3.0, "{spent}");
    let over = scratch.run_for(
        "measure prop99.csv --schema panel.yaml --epsilon 1 --ledger l.jsonl -o r.json",
        4,
    );
    assert!(over.stderr.contains("over budget"), "{}", over.stderr);
}

#[test]
fn what_does_not_fit_is_refused_with_a_remedy() {
    let scratch = california();
    scratch.write(
        "balance.yaml",
        "format: dpcausal.workload/1\nmechanism: dpsc\nmethod: balance\n",
    );
    scratch.write(
        "index.yaml",
        "format: dpcausal.workload/1\nmechanism: dpsc\nmethod: index\n",
    );
    for (words, code, expected) in [
        (
            "measure prop99.csv --schema panel.yaml --workload balance.yaml --epsilon 1",
            2,
            "--delta",
        ),
        (
            "measure prop99.csv --schema panel.yaml --workload workload.yaml --epsilon 1",
            2,
            "mechanism: dpsc",
        ),
        (
            "measure lalonde.csv --schema schema.yaml --workload dpsc.yaml --epsilon 1",
            2,
            "dpcausal.panel/1",
        ),
        (
            "measure prop99.csv --schema panel.yaml --workload index.yaml --mu 1",
            2,
            "GDP",
        ),
        ("plan --schema panel.yaml --epsilon 1", 2, "--panel FILE"),
        ("analyze panel-release.json --by state", 2, "leave them out"),
        ("impute panel-release.json --rows 5", 2, "--rows"),
    ] {
        let run = scratch.run_for(words, code);
        assert!(run.stderr.contains(expected), "{words}\n{}", run.stderr);
    }
    let table = String::from_utf8(scratch.read("prop99.csv")).unwrap();
    scratch.write("short.csv", table.replace("Utah,1990,", "Utah,1990,secret"));
    let run = scratch.run_for("measure short.csv --schema panel.yaml --epsilon 1", 3);
    assert!(
        run.stderr.contains("\"Utah\" in period \"1990\""),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("secret"));
}

#[test]
fn plan_says_whether_spending_is_worth_it() {
    let scratch = california();
    let plan = |epsilon: &str| {
        scratch.run(&format!(
            "plan --schema panel.yaml --panel prop99.csv --epsilon {epsilon} --json"
        ))
    };
    let rich = plan("5").json();
    let poor = plan("0.01").json();
    assert_eq!(rich["targets"][0]["is_worth_it"], true);
    assert_eq!(poor["targets"][0]["is_worth_it"], false);
    // What the donors have to explain grows as the budget shrinks, up to the half that shrinkage makes of all.
    let break_even = |plan: &serde_json::Value| plan["targets"][0]["break_even"].as_f64().unwrap();
    assert!(break_even(&rich) < 0.2 && break_even(&poor) > 0.4 && break_even(&poor) <= 0.5);
    let text = scratch
        .run("plan --schema panel.yaml --panel prop99.csv --epsilon 0.01")
        .text();
    assert!(text.contains("SPENDING IS HARDLY WORTH IT"), "{text}");
}

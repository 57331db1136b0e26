//! Hostile and arbitrary documents, and documents that must survive being written.

use super::*;
use proptest::prelude::*;

#[test]
fn hostile_nesting_and_aliases_are_refused() {
    for text in [
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "{a: ".repeat(100_000),
        "? ".repeat(100_000),
    ] {
        assert!(parse(&text).is_err());
    }
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..20 {
        let alias = format!("*a{}", level - 1);
        bomb.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            vec![alias; 10].join(", ")
        ));
    }
    let error = parse(&bomb).unwrap_err();
    assert!(error.contains("more than 1000000 values"), "{error}");
    assert!(parse("a: &a [*a]").is_err());
}

/// Documents that hold together, of a few columns.
fn documents() -> impl Strategy<Value = String> {
    let column = prop_oneof![
        (-1000_i64..1000, 1_i64..500, 1_u32..40).prop_map(|(lower, width, bins)| format!(
            "type: integer\n    bounds: [{lower}, {}]\n    bins: {bins}",
            lower + width
        )),
        (-1e6..1e6_f64, 1e-3..1e6_f64, 1_u32..40).prop_map(|(lower, width, bins)| {
            format!(
                "type: real\n    bounds: [{lower:?}, {:?}]\n    bins: {bins}\n    missing: [NA]",
                lower + width
            )
        }),
        prop::collection::btree_set("[a-z0-9.~ ]{0,4}", 1..6).prop_map(|levels| {
            let levels: Vec<String> = levels.iter().map(|l| format!("{l:?}")).collect();
            format!("type: categorical\n    levels: [{}]", levels.join(", "))
        }),
        Just("type: boolean".to_string()),
    ];
    prop::collection::vec(column, 1..6).prop_map(|columns| {
        let mut text = String::from("format: dpcausal.schema/1\ncolumns:\n");
        for (index, column) in columns.iter().enumerate() {
            text.push_str(&format!("  - name: c{index}\n    {column}\n"));
        }
        text
    })
}

/// A valid document after a few small accidents.
fn mutated() -> impl Strategy<Value = String> {
    let accident = (
        any::<prop::sample::Index>(),
        0_usize..6,
        "[\\[\\]{}:,&*!|>\"'%@~?# \n\ta-z0-9.-]{0,3}",
    );
    prop::collection::vec(accident, 1..6).prop_map(|accidents| {
        let mut text: Vec<char> = DOCUMENT.chars().collect();
        for (at, removed, inserted) in accidents {
            let at = at.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, inserted.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}|[\\[\\]{}:,&*!|>\"'%@~?# \n\ta-z0-9.-]{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn mutated_documents_never_panic(text in mutated()) {
        if let Ok((schema, file)) = Schema::parse(&text, "x.yaml") {
            prop_assert_eq!(Schema::from_file(&file).unwrap(), schema);
        }
    }

    #[test]
    fn documents_survive_yaml_and_json(text in documents()) {
        let (schema, file) = Schema::parse(&text, "x.yaml").map_err(|e| TestCaseError::fail(e.to_string()))?;
        let yaml = serde_yaml::to_string(&file).unwrap();
        prop_assert_eq!(&parse(&yaml).map_err(TestCaseError::fail)?, &schema);
        let json = serde_json::to_string(&file).unwrap();
        prop_assert_eq!(&parse(&json).map_err(TestCaseError::fail)?, &schema);
        let embedded: SchemaFile = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&embedded, &file);
        prop_assert_eq!(Schema::from_file(&embedded).unwrap(), schema);
    }

    #[test]
    fn bins_partition_the_integers(lower in -50_i64..50, width in 1_i64..100, count in 1_u32..120) {
        let text = format!(
            "format: dpcausal.schema/1\ncolumns:\n  - {{name: a, type: integer, bounds: [{lower}, {}], bins: {count}}}",
            lower + width
        );
        let schema = parse(&text).map_err(TestCaseError::fail)?;
        let bins = schema.columns[0].bins().unwrap();
        prop_assert_eq!(bins.len() as i64, i64::from(count).min(width + 1));
        let sizes: Vec<f64> = bins.iter().map(|b| b.upper - b.lower + 1.0).collect();
        let (least, most) = sizes.iter().fold((f64::MAX, 0.0_f64), |(l, m), &s| (l.min(s), m.max(s)));
        prop_assert!(least >= 1.0 && most - least <= 1.0);
        prop_assert_eq!(bins[0].lower, lower as f64);
        prop_assert_eq!(bins[bins.len() - 1].upper, (lower + width) as f64);
        prop_assert!(bins.windows(2).all(|pair| pair[1].lower == pair[0].upper + 1.0));
    }
}

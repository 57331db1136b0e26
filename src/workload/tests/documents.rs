//! Documents survive other forms, and nothing panics.

use super::*;
use proptest::prelude::*;

#[test]
fn documents_survive_yaml_and_json() {
    let schema = schema();
    for text in [WORKLOAD, include_str!("../../../workloads/causal.yaml")] {
        let (workload, file) = Workload::parse(text, "w.yaml", &schema).unwrap();
        let yaml = serde_yaml::to_string(&file).unwrap();
        assert_eq!(parse(&yaml, &schema).unwrap(), workload);
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(parse(&json, &schema).unwrap(), workload);
        let embedded: WorkloadFile = serde_json::from_str(&json).unwrap();
        assert_eq!(embedded, file);
        assert_eq!(Workload::from_file(&embedded, &schema).unwrap(), workload);
    }
    let json = WorkloadFile::json_schema().to_string();
    assert!(json.contains("\"max_cells\"") && json.contains("\"replace-one\""));
}

proptest! {
    #[test]
    fn arbitrary_and_mutated_documents_never_panic(
        arbitrary in "\\PC{0,100}",
        accidents in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..6, "[\\[\\]{}:,&*!|>\"'%@~?# \n\ta-z0-9.-]{0,3}"), 1..6),
    ) {
        let schema = schema();
        let _ = parse(&arbitrary, &schema);
        let mut text: Vec<char> = WORKLOAD.chars().collect();
        for (at, removed, inserted) in accidents {
            let at = at.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, inserted.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(workload) = parse(&text, &schema) {
            let sum: f64 = workload.queries(&schema).iter().map(|q| q.share).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9);
        }
    }
}

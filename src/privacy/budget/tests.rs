use super::*;

#[test]
fn constructors_and_files_refuse_meaningless_budgets() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Budget::zcdp(bad).is_err());
        assert!(Budget::gdp(bad).is_err());
        assert!(Budget::approximate(bad, 1e-6).is_err());
    }
    assert!(Budget::approximate(1.0, 0.0).is_err());
    assert!(Budget::approximate(1.0, 1.0).is_err());
    for text in [
        r#"{"zcdp":{"rho":-1.0}}"#,
        r#"{"approximate":{"epsilon":1.0,"delta":2.0}}"#,
        r#"{"gdp":{"mu":1.0,"extra":1}}"#,
    ] {
        assert!(serde_json::from_str::<Budget>(text).is_err(), "{text}");
    }
    let budget = Budget::approximate(1.0, 1e-6).unwrap();
    let text = serde_json::to_string(&budget).unwrap();
    assert_eq!(text, r#"{"approximate":{"epsilon":1.0,"delta":1e-6}}"#);
    assert_eq!(serde_json::from_str::<Budget>(&text).unwrap(), budget);
}

use super::*;
use proptest::prelude::*;

const SCHEMA: &str = "\
format: dpcausal.panel/1
unit: state
time: year
outcome: {column: sales, bounds: [1, 300]}
treated: CA
intervention: 1989
";

fn read_text(schema: &str, text: &str) -> Result<(PanelFrame, DonorRows), PanelError> {
    let (schema, _) = PanelSchema::parse(schema, "p.yaml").unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    let source = Source::Spool {
        path: file.path().into(),
        name: "p.csv".into(),
    };
    Cells::read(&source, None, &schema, true)?.arrange(&schema)
}

fn table(rows: &str) -> String {
    let mut text = "year,state,sales\n".to_string();
    text.extend(rows.split_whitespace().map(|row| format!("{row}\n")));
    text
}

const ROWS: &str =
    "1989,CA,3 1987,CA,1 1988,CA,2 1989,UT,6.5 1988,UT,5 1987,UT,4 1987,AL,7 1988,AL,8 1989,AL,9";

fn message(schema: &str, rows: &str) -> String {
    read_text(schema, &table(rows)).unwrap_err().to_string()
}

#[test]
fn a_panel_is_put_in_order() {
    let (frame, rows) = read_text(SCHEMA, &table(ROWS)).unwrap();
    assert_eq!(frame.periods, ["1987", "1988", "1989"]);
    assert_eq!((frame.pre_periods, frame.post_periods()), (2, 1));
    assert_eq!(frame.donors, ["AL", "UT"]);
    assert_eq!(frame.targets[0].values, [1.0, 2.0, 3.0]);
    assert_eq!(rows, [[7.0, 8.0, 9.0], [4.0, 5.0, 6.5]]);
    frame.check().unwrap();
}

#[test]
fn errors_name_unit_and_period_and_no_value() {
    let cases = [
        (
            ROWS.replace("1988,UT,5 ", ""),
            "unit \"UT\" has no row for period \"1988\"",
        ),
        (
            ROWS.replace("1988,UT", "1987,UT"),
            "line 7: unit \"UT\" has a second row for period \"1987\"",
        ),
        (
            ROWS.replace("1988,UT,5", "1988,UT,"),
            "line 6: the outcome of unit \"UT\" in period \"1988\"",
        ),
        (
            ROWS.replace("1988,UT,5", "1988,UT,secret"),
            "line 6: the outcome of unit \"UT\" in period \"1988\"",
        ),
        (ROWS.replace("1988,UT,5", "1988,UT,inf"), "infinite"),
        (
            ROWS.replace("1988,UT", "soon,UT"),
            "period \"soon\" of unit \"UT\" can't be put in order",
        ),
        (ROWS.replace("1988,UT", ",UT"), "the period is empty"),
        (ROWS.replace("1988,UT", "1988,"), "the unit is empty"),
        (
            ROWS.replace("CA", "CB"),
            "the treated unit \"CA\"; did you mean \"CB\"?",
        ),
    ];
    for (rows, expected) in cases {
        let message = message(SCHEMA, &rows);
        assert!(message.contains(expected), "{message}");
        assert!(
            message.starts_with("p.csv") && !message.contains("secret"),
            "{message}"
        );
    }
}

#[test]
fn the_intervention_needs_periods_on_both_sides() {
    let early = message(&SCHEMA.replace("1989", "1988"), ROWS);
    assert!(
        early.contains("1 periods lie before") && early.contains("at least two"),
        "{early}"
    );
    let late = message(&SCHEMA.replace("1989", "1990"), ROWS);
    assert!(late.contains("no effect to estimate"), "{late}");
    let between = read_text(&SCHEMA.replace("1989", "1988.5"), &table(ROWS)).unwrap();
    assert_eq!(between.0.pre_periods, 2);
}

#[test]
fn listed_donors_leave_other_units_unread() {
    let schema = format!("{SCHEMA}donors: [AL]\n");
    let (frame, rows) =
        read_text(&schema, &table(&ROWS.replace("1988,UT,5", "1988,UT,?"))).unwrap();
    assert_eq!((frame.donors, rows.len()), (vec!["AL".to_string()], 1));
    let absent = message(&format!("{SCHEMA}donors: [AX]\n"), ROWS);
    assert!(absent.contains("the donor unit \"AX\""), "{absent}");
    let nobody = message(SCHEMA, "1987,CA,1 1988,CA,2 1989,CA,3");
    assert!(nobody.contains("no donors"), "{nobody}");
}

#[test]
fn columns_that_are_not_declared_are_explained() {
    let text = table(ROWS)
        .replace("sales", "sales,region")
        .replace('\n', ",x\n");
    let error = read_text(SCHEMA, &text).unwrap_err().to_string();
    assert!(error.contains("`ignored`"), "{error}");
    let text = table(ROWS).replace("sales", "sale");
    let error = read_text(SCHEMA, &text).unwrap_err().to_string();
    assert!(error.contains("did you mean \"sales\""), "{error}");
}

#[test]
fn the_public_part_is_read_without_the_donors_values() {
    let (schema, _) = PanelSchema::parse(SCHEMA, "p.yaml").unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let text = table(&ROWS.replace("1988,UT,5", "1988,UT,none"));
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    let source = Source::Path(file.path().into());
    let frame = read_panel_frame(&source, None, &schema).unwrap();
    assert_eq!(frame.targets[0].values, [1.0, 2.0, 3.0]);
    assert_eq!(frame.donors.len(), 2);
}

proptest! {
    /// Whatever stands in a file, reading it is a result, never a panic.
    #[test]
    fn any_text_is_read_or_refused(text in "[a-cA0-9,\n\" .]{0,80}") {
        let _ = read_text(SCHEMA, &format!("year,state,sales\n{text}"));
    }
}

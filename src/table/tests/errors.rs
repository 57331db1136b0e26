//! What is refused, and what is said of it.

use super::*;

/// What reading the text as CSV says is wrong.
fn message(text: &str) -> String {
    let file = file("csv", text.as_bytes());
    let error = answers(file.path(), &schema(), split::PIECE).unwrap_err();
    let message = error.to_string();
    // No message may depend on the size of the pieces.
    for piece in [1, 7, 50] {
        let other = answers(file.path(), &schema(), piece)
            .unwrap_err()
            .to_string();
        assert_eq!(message, other);
    }
    message.replace(&file.path().display().to_string(), "FILE")
}

#[test]
fn errors_name_line_and_column_and_never_the_value() {
    let good = "p,1,40,01,male,0.5,250\n";
    for (bad, expected) in [
        (
            "p,1,SECRET,01,male,0.5,250",
            "FILE, line 3, column `age`: the cell is not a number",
        ),
        (
            "p,SECRET,40,01,male,0.5,250",
            "FILE, line 3, column `treated`: the cell is not boolean",
        ),
        (
            "p,1,40,01,SECRET,0.5,250",
            "FILE, line 3, column `sex`: the cell is not a declared",
        ),
        (
            "p,1,40,,male,0.5,250",
            "FILE, line 3, column `region`: the cell is empty",
        ),
        (
            "p,1,40.987,01,male,0.5,250",
            "FILE, line 3, column `age`: the cell is not a whole",
        ),
        (
            "p,1,40,01,male,NaN,250",
            "FILE, line 3, column `score`: the cell is NaN or infinite",
        ),
        (
            "p,1,40,01,male,0.5,-inf",
            "FILE, line 3, column `wage`: the cell is NaN or infinite",
        ),
        (
            ",1,40,01,male,0.5,250",
            "FILE, line 3, column `person`: the privacy unit is empty",
        ),
        (
            "p,1,40,01,male,0.5,250,SECRET",
            "FILE, line 3: the record has 8 cells where the header has 7",
        ),
        ("p,1,40,01,male,0.5", "FILE, line 3: the record has 6 cells"),
        (
            "p,1,40,0\"SECRET\",male,0.5,250",
            "FILE, line 3: a quotation mark stands inside a cell",
        ),
        (
            "p,1,40,\"SECRET,male,0.5,250",
            "FILE, line 3: a quoted cell that starts in this record",
        ),
    ] {
        for rest in ["", good] {
            // An open quote swallows what follows, but not what stands before.
            let text = format!("{HEADER}{good}{bad}\n{rest}");
            let message = message(&text);
            assert!(message.starts_with(expected), "{message}");
            for secret in ["SECRET", "987", "-inf"] {
                assert!(!message.contains(secret), "{message}");
            }
        }
    }
    let earlier = format!("{HEADER}{good}p,1,40,01,x,0.5,250\np,1,x,01,male,0.5,250\np\n");
    assert!(message(&earlier).contains("line 3, column `sex`"));
    let later_column = format!("{HEADER}{good}p,1,40,01,x,x,250\n");
    assert!(message(&later_column).contains("line 3, column `sex`"));
    assert!(message("").contains("the file is empty"));
}

#[test]
fn text_that_is_not_utf8_is_an_error_with_its_line() {
    let mut table = file("csv", HEADER.as_bytes());
    table
        .write_all(b"p,1,40,01,male,0.5,250\np,1,40,\xe9t\xe9,male,0.5,250\n")
        .unwrap();
    let error = answers(table.path(), &schema(), split::PIECE).unwrap_err();
    assert!(
        matches!(
            error,
            TableError::Encoding {
                row: Row::Line(3),
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn structural_zeros_are_enforced() {
    let mut schema = schema();
    schema.structural_zeros = vec![StructuralZero {
        conditions: vec![(2, vec![0]), (4, vec![1, 2])],
    }];
    let good = "p,1,20,01,male,0.5,250\nq,1,40,01,female,0.5,250\n";
    let table = file("csv", format!("{HEADER}{good}").as_bytes());
    assert!(answers(table.path(), &schema, split::PIECE).is_ok());
    let table = file(
        "csv",
        format!("{HEADER}{good}r,1,20,01,NA,0,0\n").as_bytes(),
    );
    let message = answers(table.path(), &schema, split::PIECE)
        .unwrap_err()
        .to_string();
    assert!(message.contains("line 4: the record is in a combination of `age` and `sex`"));
}

//! Counting is what it is by definition, however a table is cut.

use super::*;

/// The answers by definition: a product of features, row by row.
fn by_definition(table: &CodedTable, schema: &Schema, query: &Query) -> Vec<i64> {
    let mut sums = vec![0; query.cells(schema).unwrap()];
    for row in 0..table.rows {
        // Entries of the outer product: index and value in units of 1/SCALE.
        let mut entries = vec![(0, SCALE)];
        for axis in &query.axes {
            let y = table.outcome.get(row).map_or(0, |&y| i64::from(y));
            let feature = match axis.feature {
                Feature::Levels => {
                    let code = table.codes[axis.column].as_ref().unwrap()[row];
                    let mut one_hot = vec![0; schema.columns[axis.column].levels()];
                    one_hot[usize::from(code)] = SCALE;
                    one_hot
                }
                Feature::Split => vec![SCALE - y, y],
                Feature::Spread => vec![y * (SCALE - y) / SCALE],
            };
            entries = entries
                .iter()
                .flat_map(|&(index, value)| {
                    let cells = feature.len();
                    let product = move |(at, &f): (usize, &i64)| {
                        // One factor is a one-hot, so the product is exact.
                        (index * cells + at, value * f / SCALE)
                    };
                    feature.iter().enumerate().map(product).collect::<Vec<_>>()
                })
                .collect();
        }
        for (index, value) in entries {
            sums[index] += value;
        }
    }
    sums
}

#[test]
fn counting_is_the_product_of_features() {
    let (schema, table) = (schema(), table(500, 1));
    let answers = tabulate(&table, &schema, &queries()).unwrap();
    for (query, answer) in queries().iter().zip(&answers) {
        assert_eq!(
            answer,
            &by_definition(&table, &schema, query),
            "{}",
            query.name
        );
        if query.partitions_records() {
            assert_eq!(answer.iter().sum::<i64>(), 500 * SCALE);
        }
    }
}

#[test]
fn parts_of_a_table_merge_in_any_order() {
    let schema = schema();
    let (first, second) = (table(300, 2), table(77, 3));
    let part = |table: &CodedTable| {
        let mut counter = Counter::new(&schema, &queries()).unwrap();
        counter.add(table);
        counter
    };
    let mut forwards = part(&first);
    forwards.merge(part(&second));
    let mut backwards = part(&second);
    backwards.add(&first);
    assert_eq!(forwards.sums(), backwards.sums());
}

#[test]
fn queries_that_have_no_answer_are_refused() {
    let refused = |axes: &[Axis]| {
        let query = Query {
            name: "q".into(),
            axes: axes.to_vec(),
        };
        Counter::new(&schema(), &[query]).is_err()
    };
    assert!(refused(&[axis(0, Feature::Levels)]), "an identifier");
    assert!(refused(&[axis(99, Feature::Levels)]), "no column");
    assert!(refused(&[axis(2, Feature::Split)]), "not the outcome");
    assert!(
        refused(&[axis(7, Feature::Split), axis(7, Feature::Spread)]),
        "twice"
    );
    assert!(refused(&[axis(2, Feature::Levels); 20]), "5^20 cells");
}

#[test]
fn answers_do_not_depend_on_pieces_threads_or_order() {
    let mut schema = schema();
    schema.unit = PrivacyUnit::Row;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let table = table(2000, 7);
    let destination = Destination::Path(path.clone());
    write(&table, &schema, &destination, WriteOptions::default()).unwrap();
    let expected = tabulate(&table, &schema, &queries()).unwrap();
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            for piece in [200, 5000, split::PIECE] {
                assert_eq!(answers(&path, &schema, piece).unwrap(), expected);
            }
        });
    }
    let mut reversed = table;
    reversed
        .codes
        .iter_mut()
        .flatten()
        .for_each(|codes| codes.reverse());
    reversed.outcome.reverse();
    assert_eq!(tabulate(&reversed, &schema, &queries()).unwrap(), expected);
}

#[test]
fn the_first_rows_of_a_unit_count() {
    // Unit a has three rows, of which the last does not count; b's rows do not depend on it.
    let row = |unit: &str, wage: u32| format!("{unit},1,40,01,male,0,{wage}\n");
    let rows = [
        row("a", 0),
        row("b", 250),
        row("a", 500),
        row("a", 1000),
        row("b", 0),
    ];
    let mut table = file("csv", HEADER.as_bytes());
    table.write_all(rows.concat().as_bytes()).unwrap();
    for piece in [1, 60, split::PIECE] {
        let answers = answers(table.path(), &schema(), piece).unwrap();
        assert_eq!(answers[0], [4 * SCALE]);
        // Wages of the treated sum to 750 of 1000.
        assert_eq!(answers[1][3], 3 * SCALE / 4);
    }
    let mut row_unit = schema();
    row_unit.unit = PrivacyUnit::Row;
    let all = answers(table.path(), &row_unit, split::PIECE).unwrap();
    assert_eq!(all[0], [5 * SCALE]);
}

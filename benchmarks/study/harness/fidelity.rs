//! How far a synthetic table's marginals are from the data's: total variation, half the L1 distance of the
//! shares, averaged over all columns and over all pairs of columns.
//!
//! It is computed on the confidential table itself: a number of studies, never of releases.

use dpcausal::schema::Schema;
use dpcausal::table::CodedTable;

/// Mean total variation of the marginals of one and of two columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fidelity {
    pub one_way: f64,
    pub two_way: f64,
}

/// A coded column and its number of levels.
type Coded<'a> = (&'a [u16], usize);

/// The distance of two tables; `None` where one of them lacks a column of the schema.
pub fn fidelity(synthetic: &CodedTable, data: &CodedTable, schema: &Schema) -> Option<Fidelity> {
    let columns = |table| coded(table, schema);
    let (ours, theirs) = (columns(synthetic)?, columns(data)?);
    let (mut one_way, mut two_way) = (Vec::new(), Vec::new());
    for first in 0..ours.len() {
        one_way.push(distance(&shares(&[ours[first]]), &shares(&[theirs[first]])));
        for second in first + 1..ours.len() {
            two_way.push(distance(
                &shares(&[ours[first], ours[second]]),
                &shares(&[theirs[first], theirs[second]]),
            ));
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    Some(Fidelity {
        one_way: mean(&one_way),
        two_way: mean(&two_way),
    })
}

fn coded<'a>(table: &'a CodedTable, schema: &Schema) -> Option<Vec<Coded<'a>>> {
    let column = |index: usize| {
        let codes = table.codes.get(index)?.as_deref()?;
        Some((codes, schema.columns[index].levels()))
    };
    schema.coded().into_iter().map(column).collect()
}

/// The shares of the joint levels of some columns.
fn shares(columns: &[Coded]) -> Vec<f64> {
    let size = columns.iter().map(|(_, levels)| levels).product();
    let rows = columns.first().map_or(0, |(codes, _)| codes.len());
    let mut counts = vec![0u32; size];
    for row in 0..rows {
        let cell = columns.iter().fold(0, |cell, (codes, levels)| {
            cell * levels + usize::from(codes[row])
        });
        counts[cell] += 1;
    }
    (counts.iter())
        .map(|&count| f64::from(count) / rows as f64)
        .collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        let text = "
format: dpcausal.schema/1
columns:
  - {name: a, type: boolean}
  - {name: b, type: categorical, levels: [x, y, z]}
";
        let (schema, _) = Schema::parse(text, "schema").unwrap();
        let table = |a: Vec<u16>, b: Vec<u16>| CodedTable {
            rows: a.len(),
            codes: vec![Some(a), Some(b)],
            ..CodedTable::default()
        };
        let data = table(vec![0, 0, 1, 1], vec![0, 1, 1, 2]);
        assert_eq!(
            fidelity(&data, &data, &schema),
            Some(Fidelity {
                one_way: 0.0,
                two_way: 0.0
            })
        );
        // a: (1/2, 1/2) against (1, 0); b: (1/4, 1/2, 1/4) against (1/2, 1/2, 0); pairs: a quarter each at
        // (0,0), (0,1), (1,1), (1,2) against a half at (0,0) and at (0,1).
        let other = table(vec![0, 0], vec![0, 1]);
        let found = fidelity(&other, &data, &schema).unwrap();
        assert!((found.one_way - (0.5 + 0.25) / 2.0).abs() < 1e-12);
        assert!((found.two_way - 0.5).abs() < 1e-12);
        let lacking = CodedTable {
            codes: vec![Some(vec![0]), None],
            rows: 1,
            ..CodedTable::default()
        };
        assert_eq!(fidelity(&lacking, &data, &schema), None);
    }
}

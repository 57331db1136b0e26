//! Total variation between two tables: half the L1 distance of their shares, over all marginals of a degree.

use crate::tables::Coded;
use dpcausal::table::CodedTable;

/// The mean over all sets of `degree` columns.
pub fn mean(data: &Coded, synthetic: &CodedTable, degree: usize) -> f64 {
    let (mut sum, mut count) = (0.0, 0usize);
    let mut set: Vec<usize> = (0..degree).collect();
    loop {
        sum += of_marginal(data, synthetic, &set);
        count += 1;
        // The next set in the order of a dictionary: the last column that can move does.
        let columns = data.sizes.len();
        let Some(moved) = (0..degree).rfind(|&i| set[i] < columns - degree + i) else {
            return sum / count as f64;
        };
        set[moved] += 1;
        for later in moved + 1..degree {
            set[later] = set[later - 1] + 1;
        }
    }
}

fn of_marginal(data: &Coded, synthetic: &CodedTable, set: &[usize]) -> f64 {
    let cells = set.iter().map(|&c| data.sizes[c]).product();
    let mut difference = vec![0.0; cells];
    add(&data.table, data, set, 1.0, &mut difference);
    add(synthetic, data, set, -1.0, &mut difference);
    difference.iter().map(|d: &f64| d.abs()).sum::<f64>() / 2.0
}

fn add(table: &CodedTable, data: &Coded, set: &[usize], sign: f64, cells: &mut [f64]) {
    let share = sign / table.rows as f64;
    let columns: Vec<(&[u16], usize)> = set
        .iter()
        .map(|&c| {
            let codes = table.codes[c].as_deref();
            (codes.expect("every column is in the model"), data.sizes[c])
        })
        .collect();
    for row in 0..table.rows {
        let cell =
            |cell: usize, (codes, size): &(&[u16], usize)| cell * size + usize::from(codes[row]);
        cells[columns.iter().fold(0, cell)] += share;
    }
}

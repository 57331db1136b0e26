//! The tables: Adult as it is coded for these mechanisms, and a wide simulated one.

use dpcausal::table::CodedTable;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;
use std::path::Path;

/// A table of categorical columns.
pub struct Coded {
    pub names: Vec<String>,
    /// The number of levels of each column.
    pub sizes: Vec<usize>,
    pub table: CodedTable,
}

impl Coded {
    fn new(names: Vec<String>, sizes: Vec<usize>, columns: Vec<Vec<u16>>) -> Coded {
        let table = CodedTable {
            rows: columns.first().map_or(0, Vec::len),
            codes: columns.into_iter().map(Some).collect(),
            ..CodedTable::default()
        };
        Coded {
            names,
            sizes,
            table,
        }
    }

    /// The schema document: levels are named by their codes.
    pub fn schema(&self) -> String {
        let mut text = String::from("format: dpcausal.schema/1\ncolumns:\n");
        for (name, &size) in self.names.iter().zip(&self.sizes) {
            let levels: Vec<String> = (0..size).map(|level| format!("\"{level}\"")).collect();
            text += &format!(
                "  - {{name: \"{name}\", role: covariate, type: categorical, levels: [{}]}}\n",
                levels.join(", ")
            );
        }
        text
    }
}

/// Adult: 14 columns of codes counted from 0, with the number of levels of each beside them.
pub fn adult(folder: &Path) -> Coded {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let domain: HashMap<String, usize> =
        serde_json::from_str(&read("adult-domain.json")).expect("sizes by name");
    let text = read("adult_pgm_coded.csv");
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    let names: Vec<String> = header.split(',').map(String::from).collect();
    let mut columns = vec![Vec::new(); names.len()];
    for line in lines {
        for (column, code) in columns.iter_mut().zip(line.split(',')) {
            column.push(code.parse().expect("a code"));
        }
    }
    let sizes = names.iter().map(|name| domain[name]).collect();
    Coded::new(names, sizes, columns)
}

/// Columns of 2 to 6 levels in a random tree: two in three records follow the column before, the others are uniform.
pub fn wide(columns: usize, rows: usize) -> Coded {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut codes: Vec<Vec<u16>> = Vec::with_capacity(columns);
    let mut sizes = Vec::with_capacity(columns);
    for column in 0..columns {
        let size = 2 + column % 5;
        let parent = random.random_range(0..column.max(1));
        let parent = codes.get(parent).cloned();
        let code = |row: usize| match &parent {
            Some(parent) if random.random_bool(2.0 / 3.0) => parent[row] % size as u16,
            _ => random.random_range(0..size as u16),
        };
        codes.push((0..rows).map(code).collect());
        sizes.push(size);
    }
    let names = (0..columns).map(|column| format!("c{column}")).collect();
    Coded::new(names, sizes, codes)
}

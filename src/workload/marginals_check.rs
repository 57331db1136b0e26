//! From the documents of mechanisms without roles to a [`Workload`].

use super::check::check_common;
use super::file::ModelFile;
use super::marginals::{AimRule, MarginalsBlock, Method, MstRule, MwemRule, WeightedMarginal};
use super::marginals_file::{
    AimFile, ColumnsFile, IndependentFile, MarginalsFile, MstFile, MstSharesFile, MwemFile,
};
use super::{Mechanism, Workload};
use crate::privacy::{AccountantKind, Adjacency};
use crate::schema::fault::{Fault, Path, did_you_mean};
use crate::schema::{Schema, find_column};

/// Rounds of AIM per column, as published.
const AIM_ROUNDS_PER_COLUMN: usize = 16;

/// The most marginals that a degree may stand for: choices among more take more time than they are worth.
const MOST_MARGINALS: usize = 200_000;

pub(super) fn independent(file: &IndependentFile, schema: &Schema) -> Result<Workload, Fault> {
    let top = Path::default();
    check_common(file.adjacency, file.model, schema, &top)?;
    let block = MarginalsBlock {
        columns: check_columns(&file.columns, schema, &top)?,
        together: Vec::new(),
        method: Method::Independent,
    };
    Ok(workload(
        block,
        file.adjacency,
        file.accountant,
        &file.model,
    ))
}

pub(super) fn mst(file: &MstFile, schema: &Schema) -> Result<Workload, Fault> {
    let top = Path::default();
    check_common(file.adjacency, file.model, schema, &top)?;
    let columns = check_columns(&file.columns, schema, &top)?;
    let sets: Vec<Vec<String>> = file.together.iter().map(|pair| pair.to_vec()).collect();
    let together = check_together(&sets, &columns, schema, &top)?;
    refuse_cycles(&together, schema, &top)?;
    if !(file.compression.is_finite() && file.compression >= 0.0) {
        return Err(top.to("compression").fault(format!(
            "the threshold is a number of standard deviations, at least 0, and this is {}; 3 is the usual one",
            file.compression
        )));
    }
    let pairs = columns.len() - 1;
    let rule = MstRule {
        compression: file.compression,
        ..mst_shares(&file.shares, pairs, pairs - together.len(), &top)?
    };
    let block = MarginalsBlock {
        columns,
        together,
        method: Method::Mst(rule),
    };
    Ok(workload(
        block,
        file.adjacency,
        AccountantKind::Zcdp,
        &file.model,
    ))
}

pub(super) fn aim(file: &AimFile, schema: &Schema) -> Result<Workload, Fault> {
    let top = Path::default();
    check_common(file.adjacency, file.model, schema, &top)?;
    let columns = check_columns(&file.columns, schema, &top)?;
    let together = check_together(&file.together, &columns, schema, &top)?;
    check_share("selection_share", file.selection_share, &top)?;
    let rounds = file.rounds.unwrap_or(AIM_ROUNDS_PER_COLUMN * columns.len());
    let first = columns.len() + together.len();
    if rounds <= first {
        return Err(top.to("rounds").fault(format!(
            "the {first} marginals measured at the start take a round's noise each, and these are {rounds} rounds; \
             give at least {}",
            first + 1
        )));
    }
    let rule = AimRule {
        marginals: check_marginals(&file.marginals, &columns, schema, &top)?,
        rounds,
        selection_share: file.selection_share,
    };
    let block = MarginalsBlock {
        columns,
        together,
        method: Method::Aim(rule),
    };
    Ok(workload(
        block,
        file.adjacency,
        AccountantKind::Zcdp,
        &file.model,
    ))
}

pub(super) fn mwem(file: &MwemFile, schema: &Schema) -> Result<Workload, Fault> {
    let top = Path::default();
    check_common(file.adjacency, file.model, schema, &top)?;
    let columns = check_columns(&file.columns, schema, &top)?;
    let together = check_together(&file.together, &columns, schema, &top)?;
    check_share("selection_share", file.selection_share, &top)?;
    check_share("total_share", file.total_share, &top)?;
    let rounds = file.rounds.unwrap_or(columns.len());
    if rounds == 0 || rounds < together.len() {
        return Err(top.to("rounds").fault(format!(
            "{rounds} rounds are too few for {} sets of columns to keep together; give at least {}",
            together.len(),
            together.len().max(1)
        )));
    }
    let rule = MwemRule {
        marginals: check_marginals(&file.marginals, &columns, schema, &top)?,
        rounds,
        selection_share: file.selection_share,
        total_share: schema.rows.map_or(file.total_share, |_| 0.0),
    };
    let block = MarginalsBlock {
        columns,
        together,
        method: Method::Mwem(rule),
    };
    Ok(workload(
        block,
        file.adjacency,
        AccountantKind::Zcdp,
        &file.model,
    ))
}

fn workload(
    block: MarginalsBlock,
    adjacency: Adjacency,
    accountant: AccountantKind,
    model: &ModelFile,
) -> Workload {
    Workload {
        mechanism: Mechanism::Marginals(block),
        adjacency,
        accountant,
        max_cells: model.max_cells,
    }
}

fn check_columns(file: &ColumnsFile, schema: &Schema, top: &Path) -> Result<Vec<usize>, Fault> {
    let at = top.to("columns");
    let columns = match file {
        ColumnsFile::Word(_) => schema.coded(),
        ColumnsFile::List(names) => find_columns(names, schema, &at)?,
    };
    if columns.is_empty() {
        return Err(at.fault(
            "there is no column to release; name some, or give columns of the schema a role",
        ));
    }
    Ok(columns)
}

/// Columns by name, ascending, each once.
fn find_columns(names: &[String], schema: &Schema, at: &Path) -> Result<Vec<usize>, Fault> {
    let mut columns = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let at = at.to(index);
        let column = find_column(&schema.columns, name, &at)?;
        if !schema.columns[column].is_coded() {
            let coded = schema.coded();
            let names = coded.iter().map(|&c| schema.columns[c].name.as_str());
            let nearest = did_you_mean(name, names);
            return Err(at.fault(format!(
                "{name:?} is an identifier or ignored, and never released; name other columns{nearest}"
            )));
        }
        if columns.contains(&column) {
            return Err(at.fault(format!("{name:?} stands twice; remove one")));
        }
        columns.push(column);
    }
    columns.sort_unstable();
    Ok(columns)
}

/// A set of two or more of the released columns.
fn find_set(
    names: &[String],
    columns: &[usize],
    schema: &Schema,
    at: &Path,
) -> Result<Vec<usize>, Fault> {
    let set = find_columns(names, schema, at)?;
    if let Some(other) = set.iter().find(|c| !columns.contains(c)) {
        return Err(at.fault(format!(
            "{:?} is not among the workload's columns; add it there or leave it out here",
            schema.columns[*other].name
        )));
    }
    Ok(set)
}

fn check_together(
    sets: &[Vec<String>],
    columns: &[usize],
    schema: &Schema,
    top: &Path,
) -> Result<Vec<Vec<usize>>, Fault> {
    let at = top.to("together");
    let mut together: Vec<Vec<usize>> = Vec::with_capacity(sets.len());
    for (index, names) in sets.iter().enumerate() {
        let at = at.to(index);
        let set = find_set(names, columns, schema, &at)?;
        if set.len() < 2 {
            return Err(at.fault("a set to keep together has two columns or more"));
        }
        if together.contains(&set) {
            return Err(at.fault("this set stands twice (the order does not matter); remove one"));
        }
        together.push(set);
    }
    Ok(together)
}

/// Pairs of a tree have no cycle.
fn refuse_cycles(pairs: &[Vec<usize>], schema: &Schema, top: &Path) -> Result<(), Fault> {
    let mut component: Vec<usize> = (0..schema.columns.len()).collect();
    for (index, pair) in pairs.iter().enumerate() {
        let [from, to] = [component[pair[0]], component[pair[1]]];
        if from == to {
            return Err(top.to("together").to(index).fault(
                "with the pairs before it, this pair closes a cycle, and the pairs of `mst` make a tree; leave one out, \
                 or use `mechanism: aim`",
            ));
        }
        component
            .iter_mut()
            .filter(|c| **c == from)
            .for_each(|c| *c = to);
    }
    Ok(())
}

fn check_share(name: &'static str, share: f64, top: &Path) -> Result<(), Fault> {
    if share > 0.0 && share < 1.0 {
        return Ok(());
    }
    Err(top.to(name).fault(format!(
        "a share here is a number between 0 and 1, and this is {share}"
    )))
}

/// The shares, those of stages without work given to the others in proportion.
fn mst_shares(
    file: &MstSharesFile,
    pairs: usize,
    choices: usize,
    top: &Path,
) -> Result<MstRule, Fault> {
    let at = top.to("shares");
    let stages = [
        ("one_way", file.one_way, true),
        ("selection", file.selection, choices > 0),
        ("two_way", file.two_way, pairs > 0),
    ];
    for (name, share, has_work) in stages {
        if !(share.is_finite() && share >= 0.0) || (has_work && share == 0.0) {
            return Err(at.to(name).fault(format!(
                "a stage's share is a positive number, and {name} has {share}; only the proportions of the \
                 shares count"
            )));
        }
    }
    let working = stages.map(|(_, share, has_work)| if has_work { share } else { 0.0 });
    // Positive: the one-way marginals have work.
    let total: f64 = working.iter().sum();
    Ok(MstRule {
        one_way: working[0] / total,
        selection: working[1] / total,
        two_way: working[2] / total,
        compression: 0.0,
    })
}

fn check_marginals(
    file: &MarginalsFile,
    columns: &[usize],
    schema: &Schema,
    top: &Path,
) -> Result<Vec<WeightedMarginal>, Fault> {
    let at = top.to("marginals");
    let list = match file {
        MarginalsFile::Degree(file) => {
            return all_of_degree(file.degree, file.max_cells, columns, schema, &at);
        }
        MarginalsFile::List(list) => list,
    };
    let mut marginals: Vec<WeightedMarginal> = Vec::with_capacity(list.len());
    for (index, marginal) in list.iter().enumerate() {
        let at = at.to(index);
        let set = find_set(&marginal.columns, columns, schema, &at.to("columns"))?;
        if set.is_empty() {
            return Err(at.fault("a marginal has one column or more; name them"));
        }
        if !(marginal.weight.is_finite() && marginal.weight > 0.0) {
            return Err(at.to("weight").fault(format!(
                "a weight is a positive number, and this is {}; leave a marginal out that does not matter",
                marginal.weight
            )));
        }
        if marginals.iter().any(|m| m.columns == set) {
            return Err(
                at.fault("this marginal stands twice (the order does not matter); remove one")
            );
        }
        marginals.push(WeightedMarginal {
            columns: set,
            weight: marginal.weight,
        });
    }
    if marginals.is_empty() {
        return Err(at.fault(
            "there is no marginal to choose; list some, or give a degree such as `{degree: 2}`",
        ));
    }
    Ok(marginals)
}

fn all_of_degree(
    degree: usize,
    max_cells: u64,
    columns: &[usize],
    schema: &Schema,
    at: &Path,
) -> Result<Vec<WeightedMarginal>, Fault> {
    if degree == 0 || degree > columns.len() {
        return Err(at.to("degree").fault(format!(
            "a marginal of the workload has 1 to {} columns, and this says {degree}",
            columns.len()
        )));
    }
    let mut sets: Vec<(Vec<usize>, u64)> = vec![(Vec::new(), 1)];
    for _ in 0..degree {
        let mut longer = Vec::new();
        for (set, cells) in &sets {
            for &column in columns.iter().filter(|&c| set.last().is_none_or(|l| c > l)) {
                let cells = cells.saturating_mul(schema.columns[column].levels() as u64);
                if cells <= max_cells {
                    longer.push(([set.as_slice(), &[column]].concat(), cells));
                }
            }
            if longer.len() > MOST_MARGINALS {
                return Err(at.to("degree").fault(format!(
                    "there are more than {MOST_MARGINALS} marginals of {degree} columns; lower the degree or \
                     `max_cells`, or list those that matter"
                )));
            }
        }
        sets = longer;
    }
    if sets.is_empty() {
        return Err(at.to("max_cells").fault(format!(
            "no marginal of {degree} columns has {max_cells} cells or fewer; raise `max_cells` or lower the degree"
        )));
    }
    let marginal = |(columns, _)| WeightedMarginal {
        columns,
        weight: 1.0,
    };
    Ok(sets.into_iter().map(marginal).collect())
}

//! From a workload document to a [`Workload`]: what must hold, and the error where it does not.

use super::causal::CausalBlocks;
use super::file::{
    BlocksFile, CausalFile, LeafColumnsFile, ModelFile, PairColumnsFile, PairWord, WORKLOAD_FORMAT,
};
use super::workload_file::WorkloadFile;
use super::{Mechanism, Workload, causal_aim, effects, marginals_check};
use crate::privacy::{AccountantKind, Adjacency};
use crate::schema::document::Document;
use crate::schema::fault::{Fault, Path, did_you_mean};
use crate::schema::{DocumentError, Role, Schema, find_column};

/// How far the sum of the shares may lie from 1: far more than the rounding of a few decimal fractions,
/// far less than anyone would leave unspent on purpose.
const SHARE_TOLERANCE: f64 = 1e-9;

/// A workload document that can't be read, or does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct WorkloadError(#[from] pub DocumentError);

impl From<Fault> for WorkloadError {
    fn from(fault: Fault) -> Self {
        WorkloadError(fault.into())
    }
}

impl Workload {
    /// Reads a workload document, YAML or JSON, for a schema; `file` names it in errors.
    ///
    /// # Errors
    /// With file, line, column and remedy: where the text is no such document, or does not fit the schema.
    pub fn parse(
        text: &str,
        file: &str,
        schema: &Schema,
    ) -> Result<(Workload, WorkloadFile), WorkloadError> {
        let document = Document::parse(text, file)?;
        document.expect_format(WORKLOAD_FORMAT)?;
        let workload_file = WorkloadFile::read(&document)?;
        let workload = check(&workload_file, schema).map_err(|fault| document.explain(fault))?;
        Ok((workload, workload_file))
    }

    /// Checks a document that has no text of its own, such as the one that a release embeds.
    ///
    /// # Errors
    /// Where the document does not fit the schema; the error names the element.
    pub fn from_file(file: &WorkloadFile, schema: &Schema) -> Result<Workload, WorkloadError> {
        Ok(check(file, schema)?)
    }
}

fn check(file: &WorkloadFile, schema: &Schema) -> Result<Workload, Fault> {
    let workload = check_mechanism(file, schema)?;
    if workload.accountant == AccountantKind::Pure {
        return Err(Path::default().to("accountant").fault(
            "sums of tables are released with Gaussian noise, which has no pure guarantee; use `gdp` or `zcdp`",
        ));
    }
    Ok(workload)
}

fn check_mechanism(file: &WorkloadFile, schema: &Schema) -> Result<Workload, Fault> {
    match file {
        WorkloadFile::Causal(file) => check_causal(file, schema),
        WorkloadFile::CausalAim(file) => causal_aim::check(file, schema),
        WorkloadFile::Independent(file) => marginals_check::independent(file, schema),
        WorkloadFile::Mst(file) => marginals_check::mst(file, schema),
        WorkloadFile::Aim(file) => marginals_check::aim(file, schema),
        WorkloadFile::Mwem(file) => marginals_check::mwem(file, schema),
        WorkloadFile::Dpsc(_) => Err(Path::default().to("mechanism").fault(
            "the mechanism dpsc is for panels, and this schema describes a table of records; give a panel's \
             schema (`format: dpcausal.panel/1`)",
        )),
        WorkloadFile::Cate(_) => Err(Path::default().to("mechanism").fault(
            "the mechanism cate gives effects and no microdata; use it with `plan`, `measure` and `analyze`",
        )),
    }
}

/// What every mechanism asks of adjacency and size limit.
pub(super) fn check_common(
    adjacency: Adjacency,
    model: ModelFile,
    schema: &Schema,
    top: &Path,
) -> Result<(), Fault> {
    if adjacency == Adjacency::ReplaceOne && schema.rows.is_none() {
        return Err(top.to("adjacency").fault(
            "replace-one adjacency takes the number of rows as public, but the schema has no `rows`; add `rows: N` \
             there if it is public knowledge, or use `adjacency: add-remove`",
        ));
    }
    if model.max_cells == 0 {
        return Err(top
            .to("model")
            .to("max_cells")
            .fault("a model has at least one cell; leave `max_cells` out for the default"));
    }
    Ok(())
}

fn check_causal(file: &CausalFile, schema: &Schema) -> Result<Workload, Fault> {
    let top = Path::default();
    check_common(file.adjacency, file.model, schema, &top)?;
    let effects = file
        .effects
        .as_ref()
        .map(|effects| effects::check(effects, file.blocks.is_some(), schema, &top))
        .transpose()?;
    if effects.is_none() && file.blocks.is_none() {
        return Err(top.to("mechanism").fault(
            "the workload measures nothing; add `effects: {share: 1}` for effects, `blocks: {hub: {share: 1}}` \
             for microdata, or both",
        ));
    }
    let microdata = file
        .blocks
        .as_ref()
        .map(|blocks| check_blocks(blocks, schema, &top))
        .transpose()?;
    Ok(Workload {
        mechanism: Mechanism::Causal { effects, microdata },
        adjacency: file.adjacency,
        accountant: file.accountant,
        max_cells: file.model.max_cells,
    })
}

fn check_blocks(file: &BlocksFile, schema: &Schema, top: &Path) -> Result<CausalBlocks, Fault> {
    let (treatment, outcome) = causal_roles(schema, top)?;
    let at = top.to("blocks");
    let leaf_columns = match &file.leaves {
        Some(leaves) => check_leaves(&leaves.columns, schema, &at.to("leaves").to("columns"))?,
        None => Vec::new(),
    };
    let pair_columns = match &file.pairs {
        Some(pairs) => check_pairs(&pairs.columns, schema, &at.to("pairs").to("columns"))?,
        None => Vec::new(),
    };
    let shares = [
        ("hub", Some(file.hub.share), true),
        (
            "leaves",
            file.leaves.as_ref().map(|b| b.share),
            !leaf_columns.is_empty(),
        ),
        (
            "pairs",
            file.pairs.as_ref().map(|b| b.share),
            !pair_columns.is_empty(),
        ),
        (
            "spread",
            file.spread.map(|b| b.share),
            schema.columns[outcome].bins().is_some(),
        ),
    ];
    let [hub, leaves, pairs, spread] = effective_shares(shares, &at)?;
    Ok(CausalBlocks {
        treatment,
        outcome,
        hub,
        leaves,
        leaf_columns,
        pairs,
        pair_columns,
        spread,
    })
}

/// The treatment and the outcome; there must be covariates too.
pub(super) fn causal_roles(schema: &Schema, top: &Path) -> Result<(usize, usize), Fault> {
    let at_mechanism = top.to("mechanism");
    let lacks = |what: &str| {
        at_mechanism.fault(format!(
            "the causal workload needs {what}, but the schema declares none; give a column `role: {what}`",
        ))
    };
    let treatment = schema.treatment().ok_or_else(|| lacks("treatment"))?;
    let outcome = schema.outcome().ok_or_else(|| lacks("outcome"))?;
    if schema.covariates().is_empty() {
        return Err(lacks("covariate"));
    }
    Ok((treatment, outcome))
}

/// The shares of the blocks that have work, so scaled that they sum to 1: what a block without work would
/// have had is shared out to the others in proportion. Of each block: its name, its share, if it is
/// there, and whether it has work.
pub(super) fn effective_shares<const N: usize>(
    blocks: [(&str, Option<f64>, bool); N],
    at: &Path,
) -> Result<[f64; N], Fault> {
    for (name, share, has_work) in blocks {
        let Some(share) = share else { continue };
        let at = at.to(name).to("share");
        if !share.is_finite() || share < 0.0 {
            return Err(at.fault(format!(
                "a share is a number from 0 to 1, and {name} has {share}; all shares sum to 1"
            )));
        }
        if has_work && share == 0.0 {
            return Err(at.fault(format!(
                "{name} has work but no share, and nothing can be measured without one; give it a share{}",
                if name == "hub" { "" } else { " or leave the block out" }
            )));
        }
    }
    let sum: f64 = blocks.iter().filter_map(|(_, share, _)| *share).sum();
    if (sum - 1.0).abs() > SHARE_TOLERANCE {
        // Nine decimals show whatever the tolerance refuses.
        let text = format!("{sum:.9}");
        return Err(at.fault(format!(
            "the shares sum to {}, not 1; change them so that they do",
            text.trim_end_matches('0').trim_end_matches('.')
        )));
    }
    let of_work = blocks.map(|(_, share, has_work)| share.filter(|_| has_work).unwrap_or(0.0));
    // Positive: the hub has work, so its share is.
    let total: f64 = of_work.iter().sum();
    Ok(of_work.map(|share| share / total))
}

pub(super) fn check_leaves(
    file: &LeafColumnsFile,
    schema: &Schema,
    at: &Path,
) -> Result<Vec<usize>, Fault> {
    let names = match file {
        LeafColumnsFile::Word(_) => return Ok(schema.covariates()),
        LeafColumnsFile::List(names) => names,
    };
    let mut columns = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let at = at.to(index);
        let column = find_covariate(schema, name, &at)?;
        if columns.contains(&column) {
            return Err(at.fault(format!("{name:?} stands twice; remove one")));
        }
        columns.push(column);
    }
    columns.sort_unstable();
    Ok(columns)
}

fn check_pairs(
    file: &PairColumnsFile,
    schema: &Schema,
    at: &Path,
) -> Result<Vec<(usize, usize)>, Fault> {
    let names = match file {
        PairColumnsFile::Word(PairWord::None) => return Ok(Vec::new()),
        PairColumnsFile::Word(PairWord::All) => {
            let covariates = schema.covariates();
            let after = |(i, &a): (usize, &usize)| {
                let later = covariates[i + 1..].iter();
                later.map(move |&b| (a, b)).collect::<Vec<_>>()
            };
            return Ok(covariates.iter().enumerate().flat_map(after).collect());
        }
        PairColumnsFile::List(names) => names,
    };
    let mut pairs = Vec::with_capacity(names.len());
    for (index, [first, second]) in names.iter().enumerate() {
        let at = at.to(index);
        let a = find_covariate(schema, first, &at.to(0))?;
        let b = find_covariate(schema, second, &at.to(1))?;
        if a == b {
            return Err(at.fault(format!(
                "a pair is of two columns, and this one names {first:?} twice; its leaf has that column alone"
            )));
        }
        let pair = (a.min(b), a.max(b));
        if pairs.contains(&pair) {
            return Err(at.fault(format!(
                "the pair {first:?}, {second:?} stands twice (the order does not matter); remove one"
            )));
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

pub(super) fn find_covariate(schema: &Schema, name: &str, at: &Path) -> Result<usize, Fault> {
    let column = find_column(&schema.columns, name, at)?;
    match schema.columns[column].role {
        Role::Covariate => Ok(column),
        Role::Treatment | Role::Outcome => Err(at.fault(format!(
            "{name:?} is the treatment or the outcome, which hub and leaves measure; name covariates here"
        ))),
        Role::Id | Role::Ignored => {
            let covariates = schema.columns.iter().filter(|c| c.role == Role::Covariate);
            let nearest = did_you_mean(name, covariates.map(|c| c.name.as_str()));
            Err(at.fault(format!(
                "{name:?} is not released; name covariates here{nearest}"
            )))
        }
    }
}

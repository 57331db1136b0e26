//! What `analyze` is given: a release, imputed tables or one table, told apart by content.

use super::args::Posterior;
use super::documents::read_schema;
use super::status::{ExitStatus, Failure, OrStatus};
use crate::estimate::Imputed;
use crate::impute::{Kappa, METADATA_KEY, TableKind, TableOrigin, laplace};
use crate::release::{AnyRelease, CheckedCateRelease, CheckedPanelRelease, CheckedRelease};
use crate::schema::Schema;
use crate::table::{self, CodedTable, Source};
use std::io::Read;
use std::path::Path;

/// The input of an analysis, of any kind.
pub enum AnyInput {
    /// The release of a panel.
    Panel(Box<CheckedPanelRelease>),
    /// The release of conditional effects.
    Cate(Box<CheckedCateRelease>),
    /// What came of a table of records.
    Records(Box<Input>),
}

/// What came of a table of records.
pub enum Input {
    /// A release.
    Release(Box<CheckedRelease>),
    /// A stack of imputed tables.
    Imputations {
        table: CodedTable,
        schema: Schema,
        imputed: Imputed,
        /// The covariates whose leaf the release measured, where that is known.
        leaves: Option<Vec<String>>,
        /// What has to stand beside adjusted effects computed from the tables.
        caution: Option<String>,
    },
    /// One table.
    Table {
        table: CodedTable,
        schema: Schema,
        synthetic: bool,
        /// The same, where the table is synthetic.
        leaves: Option<Vec<String>>,
    },
}

/// Reads the release of a table of records; `-` is standard input.
pub fn read_release(path: &Path) -> Result<CheckedRelease, Failure> {
    let (text, name) = read_release_text(path)?;
    CheckedRelease::parse(&text, &name).or_status(ExitStatus::Data)
}

/// Reads a release of any kind; `-` is standard input.
pub fn read_any_release(path: &Path) -> Result<AnyRelease, Failure> {
    let (text, name) = read_release_text(path)?;
    AnyRelease::parse(&text, &name).or_status(ExitStatus::Data)
}

/// A release's text, and its name for messages.
fn read_release_text(path: &Path) -> Result<(String, String), Failure> {
    let (text, name) = if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(|e| {
            Failure::because(
                ExitStatus::Data,
                format!("can't read a release from standard input: {e}"),
            )
        })?;
        (text, "standard input".to_string())
    } else {
        let text = std::fs::read_to_string(path).map_err(|e| {
            Failure::because(
                ExitStatus::Data,
                format!("can't read the release {}: {e}", path.display()),
            )
        })?;
        (text, path.display().to_string())
    };
    Ok((text, name))
}

/// The source that an argument names; `-` is standard input.
pub fn source(path: &Path) -> Source {
    Source::from_argument(&path.to_string_lossy())
}

/// Reads whatever stands in `path`.
pub fn read_input(
    path: &Path,
    schema: Option<&Path>,
    release: Option<&Path>,
    posterior: Option<Posterior>,
) -> Result<AnyInput, Failure> {
    // The spool lives until the input is read; its name is not shown.
    let (source, _spool) = spooled(path)?;
    let mut head = Vec::new();
    source
        .open_file()
        .and_then(|file| file.take(HEAD).read_to_end(&mut head))
        .map_err(|e| unreadable(&source, &e))?;
    if head.trim_ascii_start().first() == Some(&b'{') {
        let mut text = String::new();
        source
            .open_file()
            .and_then(|mut file| file.read_to_string(&mut text))
            .map_err(|e| unreadable(&source, &e))?;
        return match AnyRelease::parse(&text, &source.name()).or_status(ExitStatus::Data)? {
            AnyRelease::Table(release) => Ok(AnyInput::Records(Box::new(Input::Release(release)))),
            AnyRelease::Panel(release) => Ok(AnyInput::Panel(release)),
            AnyRelease::Cate(release) => Ok(AnyInput::Cate(release)),
        };
    }
    read_tables(&source, schema, release, posterior).map(|input| AnyInput::Records(Box::new(input)))
}

/// How much of an input is looked at to tell what it is.
const HEAD: u64 = 4096;

fn unreadable(source: &Source, error: &std::io::Error) -> Failure {
    Failure::because(
        ExitStatus::Data,
        format!("can't read {}: {error}", source.name()),
    )
}

/// Standard input as a file that can be read twice.
fn spooled(path: &Path) -> Result<(Source, Option<tempfile::NamedTempFile>), Failure> {
    if path.as_os_str() != "-" {
        return Ok((Source::Path(path.into()), None));
    }
    let spool = tempfile::NamedTempFile::new()
        .and_then(|mut file| std::io::copy(&mut std::io::stdin(), &mut file).map(|_| file))
        .map_err(|e| {
            Failure::because(
                ExitStatus::Internal,
                format!("can't keep standard input in a temporary file: {e}"),
            )
        })?;
    let source = Source::Spool {
        path: spool.path().into(),
        name: "standard input".into(),
    };
    Ok((source, Some(spool)))
}

fn read_tables(
    source: &Source,
    schema: Option<&Path>,
    release: Option<&Path>,
    posterior: Option<Posterior>,
) -> Result<Input, Failure> {
    let carried = table::metadata(source, None).or_status(ExitStatus::Data)?;
    let mut origin = carried
        .get(METADATA_KEY)
        .and_then(|text| TableOrigin::from_entry(text));
    let kappa = kappa(origin.as_ref(), posterior)?;
    if let Some(path) = release {
        let release = read_release(path)?;
        let caution = origin.and_then(|origin| origin.caution);
        // The number of rows per table is counted below; the origin's is not used.
        origin = Some(TableOrigin {
            caution,
            ..TableOrigin::imputations(&release, kappa, 0)
        });
    }
    let checked = match (schema, &origin) {
        (Some(path), _) => read_schema(path)?.0,
        (None, Some(origin)) => Schema::from_file(&origin.schema).or_status(ExitStatus::Data)?,
        (None, None) => {
            return Err(Failure::because(
                ExitStatus::Usage,
                format!(
                    "{} does not carry its schema; give the release that it was drawn from with --release FILE, \
                     or its schema with --schema FILE",
                    source.name()
                ),
            ));
        }
    };
    let table = table::read_unprotected(source, None, &checked, &|_| ())
        .or_status(ExitStatus::Data)?
        .table;
    let leaves = origin.as_ref().and_then(|o| o.leaves.clone());
    if table.imputation.is_none() {
        let synthetic = origin.is_some_and(|o| release.is_some() || o.kind == TableKind::Synthetic);
        return Ok(Input::Table {
            table,
            schema: checked,
            synthetic,
            leaves,
        });
    }
    let n = match (&origin, checked.rows) {
        (Some(origin), _) => origin.n,
        (None, Some(rows)) => rows as f64,
        (None, None) => {
            return Err(Failure::because(
                ExitStatus::Usage,
                "the number of records behind the imputations is not known: give the release that they were drawn from \
                 with --release FILE",
            ));
        }
    };
    let carried = origin.and_then(|origin| origin.caution);
    let caution = carried.or_else(|| {
        (kappa == Kappa::Posterior)
            .then(|| laplace::caution(checked.covariates().len()))
            .flatten()
    });
    Ok(Input::Imputations {
        table,
        schema: checked,
        imputed: Imputed { n, kappa },
        leaves,
        caution,
    })
}

/// What the draws behind tables vary by: as they say themselves, else as the user says, else the noise.
fn kappa(origin: Option<&TableOrigin>, posterior: Option<Posterior>) -> Result<Kappa, Failure> {
    let asked = posterior.map(Kappa::from);
    let carried = origin
        .filter(|origin| origin.kind == TableKind::Imputations)
        .map(|origin| origin.kappa);
    match (carried, asked) {
        (Some(carried), Some(asked)) if carried != asked => Err(Failure::because(
            ExitStatus::Usage,
            "the tables say that they were drawn from the other posterior; leave --posterior out",
        )),
        _ => Ok(carried.or(asked).unwrap_or(Kappa::Noise)),
    }
}

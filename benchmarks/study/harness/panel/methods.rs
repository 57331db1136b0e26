//! The methods of the placebo study by name: those of the panel workload, and two that are not private.

use anyhow::{Context, Result, bail};
use dpcausal::privacy::Budget;
use dpcausal::workload::DpscWorkload;

/// The panel workload's methods, and whether a release of theirs spends a delta.
const PRIVATE: [(&str, bool); 8] = [
    ("auto", true),
    ("index", false),
    ("balance", true),
    ("direct", false),
    ("output", false),
    ("objective", false),
    ("difference-in-differences", false),
    ("uniform", false),
];

/// How a unit is predicted.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// By its own past, which is public.
    Forecast,
    /// By synthetic control without privacy.
    Simplex,
    /// By a release.
    Private {
        /// The workload's text.
        workload: String,
        /// Whether it spends a delta.
        has_delta: bool,
    },
}

impl Method {
    /// By its name: `index+fit_share=0.2` is `index` with that key of its workload.
    ///
    /// # Errors
    /// Where there is none, or its workload does not hold together.
    pub fn named(name: &str) -> Result<Method> {
        match name {
            "forecast" => return Ok(Method::Forecast),
            "simplex" => return Ok(Method::Simplex),
            _ => (),
        }
        let mut parts = name.split('+');
        let base = parts.next().unwrap_or_default();
        let Some(&(_, has_delta)) = PRIVATE.iter().find(|(method, _)| *method == base) else {
            let names = PRIVATE.map(|(method, _)| method).join(", ");
            bail!("there is no such method; there are {names} and, not private, forecast, simplex");
        };
        let mut workload =
            format!("format: dpcausal.workload/1\nmechanism: dpsc\nmethod: {base}\n");
        for setting in parts {
            let (key, value) = setting
                .split_once('=')
                .with_context(|| format!("{setting:?}: a setting is given as key=value"))?;
            workload += &format!("{key}: {value}\n");
        }
        DpscWorkload::parse(&workload, name)?;
        Ok(Method::Private {
            workload,
            has_delta,
        })
    }

    /// The workload's text; of those that are not private, one that any panel can have.
    pub fn workload(&self) -> &str {
        match self {
            Method::Private { workload, .. } => workload,
            _ => "format: dpcausal.workload/1\nmechanism: dpsc\nmethod: index\n",
        }
    }

    /// Whether it spends a budget.
    pub fn is_private(&self) -> bool {
        matches!(self, Method::Private { .. })
    }
}

/// A release's budget: pure where the method needs no delta.
///
/// # Errors
/// Where epsilon or delta are out of range.
pub fn budget(epsilon: f64, delta: f64, has_delta: bool) -> Result<Budget> {
    Ok(if has_delta {
        Budget::approximate(epsilon, delta)?
    } else {
        Budget::pure(epsilon)?
    })
}

//! The learners that are compared, by name: `adaptive`, `dr-hat`, `r-ebm`, `s-linear`, `published`, and so on.

use anyhow::{Result, bail};

/// The workload of a learner.
///
/// # Errors
/// Where there is none of this name.
pub fn workload(name: &str) -> Result<String> {
    let head = "format: dpcausal.workload/1\nmechanism: cate\n";
    let keys = match name.split_once('-') {
        None if name == "adaptive" => String::new(),
        None if name == "published" => "learner: dr\nbase: ebm\ncompat: published\n".into(),
        Some((learner @ ("dr" | "r" | "s"), "ebm")) => format!("learner: {learner}\nbase: ebm\n"),
        Some((learner @ ("dr" | "r" | "s"), basis @ ("linear" | "hat" | "one-hot"))) => {
            format!("learner: {learner}\nbase: second-moment\nbasis: {basis}\n")
        }
        _ => bail!(
            "no learner is called {name:?}; there are adaptive, published, and dr, r or s with -linear, -hat, -one-hot or -ebm"
        ),
    };
    Ok(format!("{head}{keys}"))
}

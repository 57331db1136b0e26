//! The learners that are compared, by name: `adaptive`, `dr-hat`, `r-ebm`, `s-linear`, `published`, and so on.

use anyhow::{Context, Result, bail};

/// The workload of a learner: `adaptive+clip=3` is `adaptive` with that key of its workload.
///
/// # Errors
/// Where there is none of this name, or a setting is not given as `key=value`.
pub fn workload(name: &str) -> Result<String> {
    let mut parts = name.split('+');
    let base = parts.next().unwrap_or_default();
    let mut text = String::from("format: dpcausal.workload/1\nmechanism: cate\n");
    text += &match base.split_once('-') {
        None if base == "adaptive" => String::new(),
        None if base == "published" => "learner: dr\nbase: ebm\ncompat: published\n".into(),
        Some((learner @ ("dr" | "r" | "s"), "ebm")) => format!("learner: {learner}\nbase: ebm\n"),
        Some((learner @ ("dr" | "r" | "s"), basis @ ("linear" | "hat" | "one-hot"))) => {
            format!("learner: {learner}\nbase: second-moment\nbasis: {basis}\n")
        }
        _ => bail!(
            "no learner is called {base:?}; there are adaptive, published, and dr, r or s with -linear, -hat, -one-hot or -ebm"
        ),
    };
    for setting in parts {
        let (key, value) = setting
            .split_once('=')
            .with_context(|| format!("{setting:?}: a setting is given as key=value"))?;
        text += &format!("{key}: {value}\n");
    }
    Ok(text)
}

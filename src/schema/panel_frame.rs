//! What of a panel's table is public: periods, names, and the series of treated units and placebos.

use serde::{Deserialize, Serialize};

/// The public part of a panel. Donors' names are in it, their values are not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelFrame {
    /// The periods in order, as the table writes them.
    pub periods: Vec<String>,
    /// How many of them lie before the intervention (`T0`), at least two.
    pub pre_periods: usize,
    /// The donors' names, sorted.
    pub donors: Vec<String>,
    /// The public series: treated units first, then placebos.
    pub targets: Vec<TargetSeries>,
}

/// A public series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSeries {
    /// The unit.
    pub unit: String,
    /// Whether it was not treated, and is analysed as if it had been.
    pub placebo: bool,
    /// Its outcomes, one per period.
    pub values: Vec<f64>,
}

impl PanelFrame {
    /// The number of periods from the intervention on, `R`.
    pub fn post_periods(&self) -> usize {
        self.periods.len() - self.pre_periods
    }

    /// Whether the parts fit each other; the fault in words if not.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self) -> Result<(), String> {
        if self.pre_periods < 2 || self.post_periods_checked().is_none_or(|after| after == 0) {
            return Err(
                "it has fewer than two periods before the intervention, or none after".into(),
            );
        }
        if self.targets.is_empty() || self.donors.is_empty() {
            return Err("it has no target or no donors".into());
        }
        for target in &self.targets {
            let complete = target.values.len() == self.periods.len();
            if !complete || target.values.iter().any(|value| !value.is_finite()) {
                return Err(format!(
                    "the series of {:?} does not have a number per period",
                    target.unit
                ));
            }
        }
        Ok(())
    }

    fn post_periods_checked(&self) -> Option<usize> {
        self.periods.len().checked_sub(self.pre_periods)
    }
}

/// Periods in their order, if they have one: numbers by size; dates, months and quarters that start with a
/// year of four digits and are written alike (`2021-03-15`, `2021Q3`) by their text. Each once.
///
/// # Errors
/// A period that has no place among the others.
pub fn ordered_periods<'a>(
    labels: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<&'a str>, &'a str> {
    let mut labels: Vec<&str> = labels.into_iter().collect();
    labels.sort_unstable();
    labels.dedup();
    let number = |label: &&str| label.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    let Some(first) = labels.first() else {
        return Ok(labels);
    };
    if number(first).is_some() {
        if let Some(odd) = labels.iter().find(|label| number(label).is_none()) {
            return Err(odd);
        }
        labels.sort_by(|a, b| {
            number(a)
                .unwrap_or(0.0)
                .total_cmp(&number(b).unwrap_or(0.0))
        });
        // `1989` and `1989.0` would be one period written in two ways.
        return match labels
            .windows(2)
            .find(|pair| number(&pair[0]) == number(&pair[1]))
        {
            Some(pair) => Err(pair[1]),
            None => Ok(labels),
        };
    }
    let shape = shape(first);
    match labels
        .iter()
        .find(|label| self::shape(label) != shape || !shape.starts_with("0000"))
    {
        Some(odd) => Err(odd),
        None => Ok(labels),
    }
}

/// A text with every digit replaced by 0.
fn shape(label: &str) -> String {
    label
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_dates_have_an_order() {
        assert_eq!(
            ordered_periods(["10", "9", "10", "-1"]),
            Ok(vec!["-1", "9", "10"])
        );
        assert_eq!(
            ordered_periods(["2012.25", "2012"]),
            Ok(vec!["2012", "2012.25"])
        );
        let days = ["2021-10-01", "2021-02-11", "2020-12-31"];
        assert_eq!(ordered_periods(days), Ok(vec![days[2], days[1], days[0]]));
        assert_eq!(
            ordered_periods(["2021Q3", "2021Q1"]),
            Ok(vec!["2021Q1", "2021Q3"])
        );
    }

    #[test]
    fn what_has_none_is_named() {
        for (labels, odd) in [
            (["01/02/2021", "02/01/2021"], "01/02/2021"),
            (["1989", "1990 p"], "1990 p"),
            (["2021-1", "2021-10"], "2021-10"),
            (["March", "April"], "April"),
            (["1989", "1989.0"], "1989.0"),
        ] {
            assert_eq!(ordered_periods(labels), Err(odd), "{labels:?}");
        }
    }
}

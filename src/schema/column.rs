//! One column: its role, its type, and the public list of what it may hold.

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The treatment: two or more arms; the first level is the reference arm.
    Treatment,
    /// The outcome: bounded numeric, boolean, or categorical with two levels (the second counts 1).
    Outcome,
    /// A covariate.
    Covariate,
    /// An identifier: read only where it is the privacy unit, never released.
    Id,
    /// Not read, not released.
    Ignored,
}

/// One public interval of values of a numeric column.
///
/// Of an integer column: the integers `lower..=upper`. Of a real column: `lower <= v < upper`, the last
/// bin with its upper end included; a bin with `lower == upper` holds exactly that value (a repeated
/// edge in the schema, for a point mass such as zero earnings).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// Smallest value.
    pub lower: f64,
    /// Upper end (see the type's documentation for whether it is included).
    pub upper: f64,
}

impl Bin {
    /// The mean of the uniform law on the bin.
    pub fn midpoint(&self) -> f64 {
        f64::midpoint(self.lower, self.upper)
    }

    /// Whether the bin is a single value.
    pub fn is_point(&self) -> bool {
        self.lower == self.upper
    }
}

/// One level of a categorical column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// The text that stands in the table.
    pub code: String,
    /// What it means, for people.
    pub label: Option<String>,
}

/// The type of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Whole numbers within public bounds, in bins that cover them.
    Integer {
        /// Smallest value; smaller ones are clamped.
        lower: i64,
        /// Largest value; larger ones are clamped.
        upper: i64,
        /// The bins, ascending, covering the bounds.
        bins: Vec<Bin>,
    },
    /// Real numbers within public bounds, in bins that cover them.
    Real {
        /// Smallest value; smaller ones are clamped.
        lower: f64,
        /// Largest value; larger ones are clamped.
        upper: f64,
        /// The bins, ascending, covering the bounds.
        bins: Vec<Bin>,
    },
    /// Text levels.
    Categorical {
        /// The levels.
        levels: Vec<Level>,
        /// The level that stands for every text that is not listed.
        other: Option<Level>,
        /// Whether the levels' order carries meaning.
        ordered: bool,
    },
    /// `false` (code 0) and `true` (code 1); `0`/`1` and any letter case are read too.
    Boolean,
}

/// A column of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name in the table's header.
    pub name: String,
    /// What it is, for people.
    pub label: Option<String>,
    /// What it is for.
    pub role: Role,
    /// Its type. Meaningless for ignored columns.
    pub kind: Kind,
    /// Texts that mean "missing"; each is a level of its own. The empty text may be one of them.
    pub missing: Vec<String>,
}

impl Column {
    /// Whether the column is coded (neither an identifier nor ignored).
    pub fn is_coded(&self) -> bool {
        !matches!(self.role, Role::Id | Role::Ignored)
    }

    /// The number of codes: levels or bins, `other`, missing codes.
    pub fn levels(&self) -> usize {
        self.declared_levels() + self.missing.len()
    }

    /// The number of codes that are not missing codes.
    pub fn declared_levels(&self) -> usize {
        match &self.kind {
            Kind::Integer { bins, .. } | Kind::Real { bins, .. } => bins.len(),
            Kind::Categorical { levels, other, .. } => levels.len() + usize::from(other.is_some()),
            Kind::Boolean => 2,
        }
    }

    /// The bins of a numeric column.
    pub fn bins(&self) -> Option<&[Bin]> {
        match &self.kind {
            Kind::Integer { bins, .. } | Kind::Real { bins, .. } => Some(bins),
            _ => None,
        }
    }

    /// The bounds of a numeric column.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self.kind {
            Kind::Integer { lower, upper, .. } => Some((lower as f64, upper as f64)),
            Kind::Real { lower, upper, .. } => Some((lower, upper)),
            _ => None,
        }
    }

    /// The text that names a code: the level's code, a bin's range, or the missing code.
    ///
    /// # Panics
    /// If `code >= self.levels()`.
    pub fn level_name(&self, code: u16) -> String {
        let code = usize::from(code);
        let declared = self.declared_levels();
        if code >= declared {
            let text = &self.missing[code - declared];
            return if text.is_empty() {
                "(empty)".into()
            } else {
                text.clone()
            };
        }
        match &self.kind {
            Kind::Integer { bins, .. } => match bins[code] {
                b if b.is_point() => format!("{}", b.lower),
                b => format!("{}..{}", b.lower, b.upper),
            },
            Kind::Real { bins, .. } => match bins[code] {
                b if b.is_point() => format!("{}", b.lower),
                // The last bin holds its upper end.
                b if code + 1 == bins.len() => format!("[{},{}]", b.lower, b.upper),
                b => format!("[{},{})", b.lower, b.upper),
            },
            Kind::Categorical { levels, other, .. } => match (levels.get(code), other) {
                (Some(level), _) => level.code.clone(),
                (None, Some(other)) => other.code.clone(),
                (None, None) => unreachable!("code below declared_levels"),
            },
            Kind::Boolean => if code == 1 { "true" } else { "false" }.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_bins_are_named_with_the_ends_that_they_hold() {
        let bin = |(lower, upper)| Bin { lower, upper };
        let column = |bins: &[(f64, f64)]| Column {
            name: "x".into(),
            label: None,
            role: Role::Covariate,
            kind: Kind::Real {
                lower: 0.0,
                upper: 9.0,
                bins: bins.iter().copied().map(bin).collect(),
            },
            missing: vec![],
        };
        let names = |bins: &[(f64, f64)]| -> Vec<String> {
            let column = column(bins);
            (0..bins.len() as u16)
                .map(|code| column.level_name(code))
                .collect()
        };
        assert_eq!(
            names(&[(0.0, 0.0), (0.0, 4.0), (4.0, 9.0)]),
            ["0", "[0,4)", "[4,9]"]
        );
        assert_eq!(names(&[(0.0, 9.0), (9.0, 9.0)]), ["[0,9)", "9"]);
    }
}

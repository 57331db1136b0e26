//! What posterior draws vary by.

/// What a draw of the released statistics varies by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kappa {
    /// `kappa = 0`: the posterior of the population, sampling and noise.
    Posterior,
    /// `kappa = 1`: the noise alone.
    Noise,
}

impl Kappa {
    /// 0 or 1.
    pub fn value(self) -> f64 {
        match self {
            Kappa::Posterior => 0.0,
            Kappa::Noise => 1.0,
        }
    }
}

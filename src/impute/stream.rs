//! Random streams of post-processing: one per purpose and index, all fixed by a public seed.

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;

/// What a stream is used for; streams of different purposes never overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Draws of the moments.
    Posterior = 1,
    /// Sampling of rows from a model.
    Rows = 2,
    /// Values within a bin.
    Values = 3,
    /// Rows on which a model's effect is evaluated.
    Evaluation = 4,
    /// The posterior of an adjusted effect.
    Adjustment = 8,
    /// Tables and noise of a plan's simulation.
    Simulation = 16,
    /// Columns that a model does not have.
    Unmeasured = 32,
}

/// The stream of a purpose and index under a seed: seed, purpose and index are the cipher's key, so any
/// two streams are independent and results do not depend on the number of threads.
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> ChaCha12Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
    key[16..24].copy_from_slice(&index.to_le_bytes());
    ChaCha12Rng::from_seed(key)
}

/// The seed of a purpose and index, for engines that make their own streams.
pub fn derived_seed(seed: u64, purpose: Purpose, index: u64) -> u64 {
    use rand::Rng;
    stream(seed, purpose, index).next_u64()
}

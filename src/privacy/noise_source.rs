//! Where noise comes from: the operating system's generator, or a seed that is remembered and stated.

use super::PrivacyError;
use rand::rngs::SysRng;
use rand::{Rng, SeedableRng, TryRng};
use rand_chacha::ChaCha20Rng;

/// A cryptographic generator for noise.
pub struct NoiseSource {
    generator: ChaCha20Rng,
    insecure: bool,
}

impl NoiseSource {
    /// ChaCha20 keyed with 256 bits from the operating system.
    ///
    /// # Errors
    /// Where the operating system has no randomness to give.
    pub fn system() -> Result<NoiseSource, PrivacyError> {
        let mut key = [0u8; 32];
        SysRng.try_fill_bytes(&mut key).map_err(|e| PrivacyError::Entropy(e.to_string()))?;
        Ok(NoiseSource { generator: ChaCha20Rng::from_seed(key), insecure: false })
    }

    /// A generator that anyone who knows the seed can repeat: what it noises is not private.
    pub fn insecure_seed(seed: u64) -> NoiseSource {
        NoiseSource { generator: ChaCha20Rng::seed_from_u64(seed), insecure: true }
    }

    /// Whether the noise comes from a seed.
    pub fn is_insecure(&self) -> bool {
        self.insecure
    }

    /// A uniform integer in `0..bound`, by rejection: no value is favoured.
    pub(super) fn below(&mut self, bound: u128) -> u128 {
        debug_assert!(bound > 0);
        let bits = 128 - (bound - 1).leading_zeros();
        loop {
            let word = if bits <= 64 {
                u128::from(self.generator.next_u64())
            } else {
                u128::from(self.generator.next_u64()) << 64 | u128::from(self.generator.next_u64())
            };
            // `bits` may be 0 (bound 1) or 128.
            let candidate = if bits == 0 { 0 } else { word & (u128::MAX >> (128 - bits)) };
            if candidate < bound {
                return candidate;
            }
        }
    }

    /// A fair coin.
    pub(super) fn coin(&mut self) -> bool {
        self.generator.next_u32() & 1 == 1
    }
}

/// A random identifier of 128 bits in hexadecimal, from the same source as the noise.
pub fn release_id(noise: &mut NoiseSource) -> String {
    format!("{:016x}{:016x}", noise.generator.next_u64(), noise.generator.next_u64())
}

//! Where the randomness of noise comes from.

use rand::SeedableRng;
use rand::rngs::SysRng;
use rand_chacha::ChaCha20Rng;

use super::PrivacyError;

/// The random number generator of the mechanisms: ChaCha20, keyed by the operating system.
///
/// Only this room draws from it. It has no `Debug` or `Clone`: its state, known or copied, would undo
/// the noise. For the same reason the noise of a release can't be drawn again.
pub struct NoiseSource {
    generator: ChaCha20Rng,
    insecure: bool,
}

impl NoiseSource {
    /// A generator with a fresh 256-bit key from the operating system.
    ///
    /// # Errors
    /// [`PrivacyError::Entropy`] where the operating system gives no random numbers.
    pub fn system() -> Result<NoiseSource, PrivacyError> {
        Ok(NoiseSource {
            generator: ChaCha20Rng::try_from_rng(&mut SysRng)?,
            insecure: false,
        })
    }

    /// A generator whose noise anyone who knows the seed can subtract: for tests and demonstrations. A
    /// release drawn from it must say so (see [`NoiseSource::is_insecure`]).
    pub fn insecure_seed(seed: u64) -> NoiseSource {
        NoiseSource {
            generator: ChaCha20Rng::seed_from_u64(seed),
            insecure: true,
        }
    }

    /// Whether the noise is reproducible from a seed and therefore protects nobody.
    pub fn is_insecure(&self) -> bool {
        self.insecure
    }

    /// A generator with a fresh key from this one: what is drawn from it, and how much, leaves this one's draws as they
    /// are.
    pub(in crate::privacy) fn branch(&mut self) -> ChaCha20Rng {
        ChaCha20Rng::from_rng(&mut self.generator)
    }

    /// A generator for choices that protect nobody, such as the order in which questions are asked. It has its own key, so
    /// that it tells nothing of the noise.
    pub(crate) fn public_coins(&mut self) -> ChaCha20Rng {
        self.branch()
    }

    /// The generator, for the mechanisms of this room.
    pub(in crate::privacy) fn generator(&mut self) -> &mut ChaCha20Rng {
        &mut self.generator
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn two_system_sources_differ_and_seeds_repeat() {
        let mut first = NoiseSource::system().unwrap();
        let mut second = NoiseSource::system().unwrap();
        assert!(!first.is_insecure());
        // Equal words by chance: 2^-64.
        assert_ne!(first.generator().next_u64(), second.generator().next_u64());
        let mut seeded = NoiseSource::insecure_seed(7);
        assert!(seeded.is_insecure());
        assert_eq!(
            seeded.generator().next_u64(),
            NoiseSource::insecure_seed(7).generator().next_u64()
        );
    }
}

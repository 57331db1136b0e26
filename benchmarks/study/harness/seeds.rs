//! Seeds: a function of the study's seed and of names, so that no result depends on threads or order.

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;

/// The seed of what `parts` name under a study's seed.
///
/// FNV-1a over the parts, each closed by a byte that no UTF-8 text holds (so that `ab, c` and `a, bc`
/// differ), then the SplitMix64 finaliser, without which names that differ in their last letter would
/// have seeds that differ in few bits.
pub fn derive(study: u64, parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
    let hash = study
        .to_le_bytes()
        .into_iter()
        .chain(bytes)
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A generator of random numbers for a seed.
pub fn generator(seed: u64) -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_depend_on_every_part_and_on_where_parts_end() {
        let seeds = [
            derive(1, &["acs", "5000", "0"]),
            derive(2, &["acs", "5000", "0"]),
            derive(1, &["acs", "5000", "1"]),
            derive(1, &["acs5", "000", "0"]),
            derive(1, &["acs", "5000"]),
        ];
        for (i, a) in seeds.iter().enumerate() {
            assert!(seeds[..i].iter().all(|b| a != b), "{seeds:?}");
        }
    }
}

//! rocRAND's derivation of a first state from a 64-bit seed.

use isobit_simgpu_math::random::Recurrence;
use isobit_simgpu_math::random::mrg32k3a::{M1, M2, Mrg32k3a};
use isobit_simgpu_math::random::xorwow::Xorwow;

/// The seed that MRG32k3a uses instead of 0, because 0 would make every state zero.
const DEFAULT_SEED: u64 = 12_345;

/// A generator that rocRAND seeds.
pub trait Seeded: Recurrence {
    /// Returns rocRAND's first state for a seed.
    fn seeded(seed: u64) -> Self;
}

impl Seeded for Xorwow {
    fn seeded(seed: u64) -> Self {
        Self::stirred(seed, [0x2c7f_967f, 0xa036_97cb], [1_228_688_033, 2_073_658_381])
    }
}

impl Seeded for Mrg32k3a {
    // The seed is multiplied with its own scrambled halves.
    fn seeded(seed: u64) -> Self {
        let seed = if seed == 0 { DEFAULT_SEED } else { seed };
        let (x, y) = (seed as u32 ^ 0x5555_5555, (seed >> 32) as u32 ^ 0xaaaa_aaaa);
        let (one, two) = (|a| seed_product(a, seed, fold_m1), |a| seed_product(a, seed, |p| p % M2));
        Self::after([one(x), one(y), one(x)], [two(y), two(x), two(y)])
    }
}

/// Returns the product of rocRAND's seeding. As in rocRAND, a seed above 2^32 wraps modulo 2^64
/// before the reduction.
fn seed_product(a: u32, seed: u64, reduce: impl Fn(u64) -> u64) -> u64 {
    let (high, low) = (u64::from(a >> 17), u64::from(a & 0x1_ffff));
    let sum = (reduce(high.wrapping_mul(seed)) << 17) + reduce(low.wrapping_mul(seed));
    u64::from(reduce(sum) as u32)
}

/// Folds the upper word once, using 2^32 = 209 modulo M1. rocRAND reduces in this way; the
/// reduction is complete for values below 2^56 and incomplete above.
fn fold_m1(p: u64) -> u64 {
    let folded = 209 * (p >> 32) + (p & 0xffff_ffff);
    if folded >= M1 { folded - M1 } else { folded }
}

//! cuRAND's initial state from a 64-bit seed, as `curand_init` of its device API computes it.

use isobit_simgpu_math::random::Recurrence;
use isobit_simgpu_math::random::mrg32k3a::{M1, M2, Mrg32k3a};
use isobit_simgpu_math::random::xorwow::Xorwow;

/// A generator with cuRAND's seeding.
pub(crate) trait Seeded: Recurrence {
    /// Returns cuRAND's initial state for a seed.
    fn seeded(seed: u64) -> Self;
}

impl Seeded for Xorwow {
    fn seeded(seed: u64) -> Self {
        Self::stirred(seed, [0xaad2_6b49, 0xf7dc_efdd], [1_099_087_573, 2_591_861_531])
    }
}

/// The initial value of every state word in MRG32k3a's publication. Seed 0 keeps it; another seed
/// multiplies it by its scrambled halves.
const PUBLISHED: u64 = 12_345;

impl Seeded for Mrg32k3a {
    fn seeded(seed: u64) -> Self {
        if seed == 0 {
            return Self::after([PUBLISHED; 3], [PUBLISHED; 3]);
        }
        let (x, y) = (seed as u32 ^ 0x5555_5555, (seed >> 32) as u32 ^ 0xaaaa_aaaa);
        let times = |half: u32, modulus| u64::from(half) * PUBLISHED % modulus;
        let [g1, g2] = [[x, y, x].map(|half| times(half, M1)), [y, x, y].map(|half| times(half, M2))];
        Self::after(g1, g2)
    }
}

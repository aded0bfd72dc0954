//! The orders in which cuRAND lays out its generators' values:
//! <https://docs.nvidia.com/cuda/curand/host-api-overview.html#order>.
//!
//! XORWOW and MRG32k3a have generators that take turns, each a subsequence on from the last, or,
//! where that is asked of XORWOW, with a seed of its own; Philox has threads that take turns by
//! fours.

use crate::seed::Seeded;
use crate::threads::Threads;
use isobit_simgpu_math::random::mrg32k3a::Mrg32k3a;
use isobit_simgpu_math::random::xorwow::Xorwow;
use isobit_simgpu_math::random::{Distribution, Order, Sequence, Settings, Turns, subsequences};

/// Which generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Marsaglia's XORWOW, cuRAND's default.
    Xorwow,
    /// L'Ecuyer's MRG32k3a, whose values are 1 to 2^32 - 209.
    Mrg32k3a,
    /// Salmon's Philox4x32-10.
    Philox,
}

/// A `curandOrdering` of pseudorandom generators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// `CURAND_ORDERING_PSEUDO_DEFAULT`. `BEST` is the same, and so is `DYNAMIC` here, which lets a
    /// card choose.
    Default,
    /// `CURAND_ORDERING_PSEUDO_SEEDED`, which XORWOW alone has.
    Seeded,
    /// `CURAND_ORDERING_PSEUDO_LEGACY`, of the releases before MRG32k3a had more generators.
    Legacy,
}

/// XORWOWs, and the MRG32k3as of the legacy order.
const LANES: usize = 4096;
/// MRG32k3as of the default order.
const MRG_LANES: usize = 81_920;
/// From one XORWOW's seed to the next one's, where each has its own.
const SEED_STEP: u64 = 3_133_713;

/// What a generator is set to: the sequence of a seed in an order, without the first `offset`
/// values.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Which generator.
    pub kind: Kind,
    /// In which order.
    pub ordering: Ordering,
    /// Its seed.
    pub seed: u64,
    /// Values that are left out.
    pub offset: u64,
}

/// Values in cuRAND's order.
#[derive(Debug, Clone)]
pub enum Lanes {
    /// Of Philox.
    Philox(Threads),
    /// Of XORWOWs.
    Xorwow(Turns<Xorwow>),
    /// Of MRG32k3as.
    Mrg32k3a(Turns<Mrg32k3a>),
}

impl Settings for Start {
    type Order = Lanes;

    fn start(&self) -> Sequence<Lanes> {
        let Self { kind, ordering, seed, offset } = *self;
        match kind {
            Kind::Philox => {
                let threads = Threads::new(seed, offset);
                let start = threads.start();
                Sequence::new(Lanes::Philox(threads), start)
            }
            Kind::Xorwow => {
                let turns = Turns::new(LANES, offset, move || match ordering {
                    Ordering::Seeded => (0..LANES as u64)
                        .map(|lane| Xorwow::seeded(seed.wrapping_add(lane.wrapping_mul(SEED_STEP))))
                        .collect(),
                    _ => subsequences(Xorwow::seeded(seed), LANES),
                });
                let start = turns.start();
                Sequence::new(Lanes::Xorwow(turns), start)
            }
            Kind::Mrg32k3a => {
                let lanes = if ordering == Ordering::Legacy { LANES } else { MRG_LANES };
                let turns = Turns::new(lanes, offset, move || subsequences(Mrg32k3a::seeded(seed), lanes));
                let start = turns.start();
                Sequence::new(Lanes::Mrg32k3a(turns), start)
            }
        }
    }
}

impl Order for Lanes {
    fn after<T>(&self, position: u128, count: usize, distribution: &Distribution<T>) -> u128 {
        match self {
            Self::Philox(threads) => threads.after(position, count, distribution),
            Self::Xorwow(turns) => turns.after(position, count, distribution),
            Self::Mrg32k3a(turns) => turns.after(position, count, distribution),
        }
    }

    fn run<T: Copy + Default>(
        &self,
        position: u128,
        count: usize,
        distribution: &Distribution<T>,
        each: impl FnMut(T),
    ) {
        match self {
            Self::Philox(threads) => threads.run(position, count, distribution, each),
            Self::Xorwow(turns) => turns.run(position, count, distribution, each),
            Self::Mrg32k3a(turns) => turns.run(position, count, distribution, each),
        }
    }
}

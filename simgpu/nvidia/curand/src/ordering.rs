//! The orders in which cuRAND arranges its generators' values:
//! <https://docs.nvidia.com/cuda/curand/host-api-overview.html#order>.
//!
//! XORWOW and MRG32k3a use several generators that take turns. Each generator starts one
//! subsequence after the previous one; in XORWOW's seeded order, each has its own seed instead.
//! Philox has threads that take turns of four numbers.

use crate::seed::Seeded;
use crate::threads::Threads;
use isobit_simgpu_math::random::mrg32k3a::Mrg32k3a;
use isobit_simgpu_math::random::xorwow::Xorwow;
use isobit_simgpu_math::random::{Distribution, Order, Sequence, Settings, Turns, subsequences};

/// The kind of generator.
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
    /// `CURAND_ORDERING_PSEUDO_DEFAULT`. `BEST` is the same. `DYNAMIC` lets a card choose, and is
    /// the same here.
    Default,
    /// `CURAND_ORDERING_PSEUDO_SEEDED`, which only XORWOW has.
    Seeded,
    /// `CURAND_ORDERING_PSEUDO_LEGACY`, from the releases in which MRG32k3a had fewer generators.
    Legacy,
}

/// Number of XORWOW generators, and of MRG32k3a generators in the legacy order.
const LANES: usize = 4096;
/// Number of MRG32k3a generators in the default order.
const MRG_LANES: usize = 81_920;
/// Difference between the seeds of consecutive XORWOW generators in the seeded order.
const SEED_STEP: u64 = 3_133_713;

/// The settings of a generator: the sequence of a seed in an order, without the first `offset`
/// values.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// The kind of generator.
    pub kind: Kind,
    /// The order.
    pub ordering: Ordering,
    /// The seed.
    pub seed: u64,
    /// Number of skipped values.
    pub offset: u64,
}

/// The values in cuRAND's order.
#[derive(Debug, Clone)]
pub enum Lanes {
    /// From Philox.
    Philox(Threads),
    /// From XORWOW generators.
    Xorwow(Turns<Xorwow>),
    /// From MRG32k3a generators.
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

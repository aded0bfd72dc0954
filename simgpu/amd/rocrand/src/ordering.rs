//! The order in which rocRAND lays out its generators' values, `ROCRAND_ORDERING_PSEUDO_DEFAULT`,
//! which stays the same in every release:
//! <https://rocm.docs.amd.com/projects/rocRAND/en/latest/conceptual/programmers-guide.html#ordering>.
//!
//! Philox is one sequence. For XORWOW and MRG32k3a, 131,072 generators take turns; each starts one
//! subsequence after the previous one.

use crate::seed::Seeded;
use isobit_simgpu_math::random::mrg32k3a::Mrg32k3a;
use isobit_simgpu_math::random::xorwow::Xorwow;
use isobit_simgpu_math::random::{Distribution, Order, Sequence, Settings, Turns, philox, subsequences};

/// The kind of generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Marsaglia's XORWOW, rocRAND's default.
    Xorwow,
    /// L'Ecuyer's MRG32k3a, with values from 1 to 2^32 - 209.
    Mrg32k3a,
    /// Salmon's Philox4x32-10.
    Philox,
}

/// The number of generators that take turns.
const LANES: usize = 1 << 17;

/// A generator's settings: the sequence of a seed, without the first `offset` values.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// The kind of generator.
    pub kind: Kind,
    /// Its seed.
    pub seed: u64,
    /// The number of values to skip.
    pub offset: u64,
}

/// Values in rocRAND's order.
#[derive(Debug, Clone)]
pub enum Lanes {
    /// The values of one Philox, word by word.
    Philox {
        /// Its key.
        seed: u64,
    },
    /// The values of XORWOW generators.
    Xorwow(Turns<Xorwow>),
    /// The values of MRG32k3a generators.
    Mrg32k3a(Turns<Mrg32k3a>),
}

fn turns<G: Seeded>(seed: u64, offset: u64) -> Turns<G> {
    Turns::new(LANES, offset, move || subsequences(G::seeded(seed), LANES))
}

impl Settings for Start {
    type Order = Lanes;

    fn start(&self) -> Sequence<Lanes> {
        let Self { kind, seed, offset } = *self;
        match kind {
            Kind::Philox => Sequence::new(Lanes::Philox { seed }, offset.into()),
            Kind::Xorwow => {
                let turns = turns(seed, offset);
                let start = turns.start();
                Sequence::new(Lanes::Xorwow(turns), start)
            }
            Kind::Mrg32k3a => {
                let turns = turns(seed, offset);
                let start = turns.start();
                Sequence::new(Lanes::Mrg32k3a(turns), start)
            }
        }
    }
}

impl Order for Lanes {
    fn after<T>(&self, position: u128, count: usize, distribution: &Distribution<T>) -> u128 {
        match self {
            Self::Philox { .. } => position + (count / distribution.outputs * distribution.inputs) as u128,
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
            Self::Philox { seed } => philox_words(*seed, position, count, distribution, each),
            Self::Xorwow(turns) => turns.run(position, count, distribution, each),
            Self::Mrg32k3a(turns) => turns.run(position, count, distribution, each),
        }
    }
}

fn philox_words<T: Copy + Default>(
    seed: u64,
    mut position: u128,
    count: usize,
    distribution: &Distribution<T>,
    mut each: impl FnMut(T),
) {
    let (mut words, mut numbers) = (vec![0; distribution.inputs], vec![T::default(); distribution.outputs]);
    let mut block = philox::block_of(seed, position / 4);
    for _ in 0..count / distribution.outputs {
        for word in &mut words {
            *word = block[(position % 4) as usize];
            position += 1;
            if position.is_multiple_of(4) {
                block = philox::block_of(seed, position / 4);
            }
        }
        distribution.map(&words, &mut numbers);
        numbers.iter().copied().for_each(&mut each);
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, LANES, Start};
    use crate::seed::Seeded;
    use isobit_simgpu_math::random::mrg32k3a::Mrg32k3a;
    use isobit_simgpu_math::random::xorwow::Xorwow;
    use isobit_simgpu_math::random::{Distribution, Recurrence, Settings, philox};

    fn values(kind: Kind, seed: u64, offset: u64, calls: &[usize]) -> Vec<u32> {
        let mut sequence = Start { kind, seed, offset }.start();
        let mut values = Vec::new();
        for &n in calls {
            let words = Distribution::new(1, 1, |words, out: &mut [u32]| out.copy_from_slice(words));
            sequence.take(n, words).run(|word| values.push(word));
        }
        values
    }

    /// The programmer's guide says: the result at offset n is value n / 131072 of generator n mod
    /// 131072, and the generators are one subsequence apart.
    #[test]
    fn generators_take_turns() {
        let n = 2 * LANES + 3;
        let (xorwow, mrg) = (values(Kind::Xorwow, 5, 0, &[n]), values(Kind::Mrg32k3a, 5, 0, &[n]));
        for lane in [0, 1, 2, 77] {
            let (mut x, mut m) = (Xorwow::seeded(5), Mrg32k3a::seeded(5));
            (0..lane).for_each(|_| {
                x.skip_subsequence();
                m.skip_subsequence();
            });
            for at in (lane..n).step_by(LANES) {
                assert_eq!((xorwow[at], mrg[at]), (x.step(), m.step()), "value {at}");
            }
        }
    }

    #[test]
    fn philox_is_one_sequence() {
        let expected: Vec<u32> = (0..4).flat_map(|i| philox::block_of(9, i)).skip(3).take(10).collect();
        assert_eq!(values(Kind::Philox, 9, 3, &[10]), expected);
    }

    #[test]
    fn an_offset_is_that_many_values_less_and_calls_continue() {
        for kind in [Kind::Xorwow, Kind::Mrg32k3a, Kind::Philox] {
            let whole = values(kind, 1, 0, &[LANES + 60]);
            for offset in [1, 7, LANES - 1, LANES, LANES + 9] {
                assert_eq!(values(kind, 1, offset as u64, &[40]), whole[offset..offset + 40], "{kind:?} {offset}");
            }
            assert_eq!(values(kind, 1, 0, &[5, LANES, 0, 1, 2]), whole[..LANES + 8], "{kind:?}");
        }
    }
}

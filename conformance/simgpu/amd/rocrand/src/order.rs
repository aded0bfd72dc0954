//! The order in which rocRAND lays out its generators' values, `ROCRAND_ORDERING_PSEUDO_DEFAULT`, which every release keeps:
//! <https://rocm.docs.amd.com/projects/rocRAND/en/latest/conceptual/programmers-guide.html#ordering>.
//!
//! Philox is one sequence. Of XORWOW and MRG32k3a there are 131,072 generators, each a subsequence on from the last, which take turns.

use crate::published::mrg32k3a::Mrg32k3a;
use crate::published::xorwow::Xorwow;
use crate::published::{Recurrence, philox};
use std::sync::{Arc, Mutex, PoisonError};

/// Which generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Marsaglia's XORWOW, rocRAND's default.
    Xorwow,
    /// L'Ecuyer's MRG32k3a, whose values are 1 to 2^32 - 209.
    Mrg32k3a,
    /// Salmon's Philox4x32-10.
    Philox,
}

/// Generators that take turns.
const LANES: usize = 1 << 17;

/// Values from a seed and an offset on.
#[derive(Debug)]
pub struct Sequence {
    lanes: Lanes,
    /// Philox: the next value. Otherwise: whose turn is next.
    position: u128,
}

#[derive(Debug, Clone)]
enum Lanes {
    Philox { seed: u64 },
    Xorwow(Arc<Interleaved<Xorwow>>),
    Mrg32k3a(Arc<Interleaved<Mrg32k3a>>),
}

/// The part of a sequence that one call of rocRAND takes. It is worked out when it is run, and for the generators that take turns that moves their
/// states on, as a kernel does that keeps them in device memory.
#[derive(Debug)]
pub struct Draw {
    lanes: Lanes,
    position: u128,
    groups: usize,
    width: usize,
}

impl Sequence {
    /// The sequence of a seed, without the first `offset` values.
    pub fn new(kind: Kind, seed: u64, offset: u64) -> Self {
        let interleaved = u128::from(offset % LANES as u64);
        match kind {
            Kind::Philox => Self { lanes: Lanes::Philox { seed }, position: offset.into() },
            Kind::Xorwow => {
                Self { lanes: Lanes::Xorwow(Arc::new(Interleaved::new(seed, offset))), position: interleaved }
            }
            Kind::Mrg32k3a => {
                Self { lanes: Lanes::Mrg32k3a(Arc::new(Interleaved::new(seed, offset))), position: interleaved }
            }
        }
    }

    /// Takes the next `groups` groups of `width` values. The values of a group are successive ones of one generator.
    pub fn draw(&mut self, groups: usize, width: usize) -> Draw {
        let draw = Draw { lanes: self.lanes.clone(), position: self.position, groups, width };
        self.position = match self.lanes {
            Lanes::Philox { .. } => self.position + (groups * width) as u128,
            _ => (self.position + groups as u128) % LANES as u128,
        };
        draw
    }
}

impl Draw {
    /// How many groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Passes every group on, in order.
    pub fn run(&self, each: impl FnMut(&[u32])) {
        match &self.lanes {
            Lanes::Philox { seed } => self.philox(*seed, each),
            Lanes::Xorwow(lanes) => lanes.run(self, each),
            Lanes::Mrg32k3a(lanes) => lanes.run(self, each),
        }
    }

    fn philox(&self, seed: u64, mut each: impl FnMut(&[u32])) {
        let mut group = vec![0; self.width];
        let mut position = self.position;
        let mut block = philox::block_of(seed, position / 4);
        for _ in 0..self.groups {
            for word in &mut group {
                *word = block[(position % 4) as usize];
                position += 1;
                if position.is_multiple_of(4) {
                    block = philox::block_of(seed, position / 4);
                }
            }
            each(&group);
        }
    }
}

#[derive(Debug)]
struct Interleaved<G> {
    seed: u64,
    offset: u64,
    /// Made when first used, in stream order.
    states: Mutex<Vec<G>>,
}

impl<G: Recurrence> Interleaved<G> {
    fn new(seed: u64, offset: u64) -> Self {
        Self { seed, offset, states: Mutex::new(Vec::new()) }
    }

    fn first_states(&self) -> Vec<G> {
        let (rounds, ahead) = (self.offset / LANES as u64, (self.offset % LANES as u64) as usize);
        let mut first = G::seeded(self.seed);
        let states = (0..LANES).map(|lane| {
            let mut state = first.clone();
            first.skip_subsequence();
            state.skip(rounds);
            if lane < ahead {
                state.step();
            }
            state
        });
        states.collect()
    }

    fn run(&self, draw: &Draw, mut each: impl FnMut(&[u32])) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if states.is_empty() {
            *states = self.first_states();
        }
        let mut group = vec![0; draw.width];
        for turn in 0..draw.groups {
            let lane = &mut states[(draw.position as usize + turn) % LANES];
            group.iter_mut().for_each(|word| *word = lane.step());
            each(&group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, LANES, Sequence};
    use crate::published::mrg32k3a::Mrg32k3a;
    use crate::published::xorwow::Xorwow;
    use crate::published::{Recurrence, philox};

    fn values(kind: Kind, seed: u64, offset: u64, calls: &[usize]) -> Vec<u32> {
        let mut sequence = Sequence::new(kind, seed, offset);
        let mut values = Vec::new();
        for &n in calls {
            sequence.draw(n, 1).run(|group| values.extend_from_slice(group));
        }
        values
    }

    /// The programmer's guide: the result at offset n is value n / 131072 of the generator n mod 131072, a subsequence each apart.
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
            let whole = values(kind, 1, 0, &[3 * LANES + 50]);
            for offset in [1, 7, LANES - 1, LANES, LANES + 9, 2 * LANES + 5] {
                assert_eq!(values(kind, 1, offset as u64, &[40]), whole[offset..offset + 40], "{kind:?} {offset}");
            }
            assert_eq!(values(kind, 1, 0, &[5, LANES, 0, 1, LANES + 2]), whole[..2 * LANES + 8], "{kind:?}");
        }
    }

    #[test]
    fn a_group_is_of_one_generator() {
        let (mut x, mut pairs) = (Xorwow::seeded(3), Vec::new());
        Sequence::new(Kind::Xorwow, 3, 0).draw(2, 2).run(|group| pairs.extend_from_slice(group));
        let first = [x.step(), x.step()];
        let mut y = Xorwow::seeded(3);
        y.skip_subsequence();
        assert_eq!(pairs, [first[0], first[1], y.step(), y.step()]);
    }
}

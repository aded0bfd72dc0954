//! Generators that take turns. Both vendors lay out the values of XORWOW and MRG32k3a in this way:
//! each generator produces the values of one group, then the next generator continues.

use super::{Distribution, Order, Recurrence};
use parking_lot::Mutex;
use std::sync::Arc;

/// Generators that take turns: with `lanes` generators, each produces every `lanes`-th group of
/// values.
pub struct Turns<G>(Arc<Shared<G>>);

struct Shared<G> {
    lanes: usize,
    offset: u64,
    first: Box<dyn Fn() -> Vec<G> + Send + Sync>,
    /// Created at first use, in stream order.
    states: Mutex<Vec<G>>,
}

impl<G> Clone for Turns<G> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<G> std::fmt::Debug for Turns<G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shared { lanes, offset, .. } = &*self.0;
        f.debug_struct("Turns").field("lanes", lanes).field("offset", offset).finish_non_exhaustive()
    }
}

/// Returns the starts of `lanes` neighbouring subsequences.
pub fn subsequences<G: Recurrence>(first: G, lanes: usize) -> Vec<G> {
    let next = |last: &G| {
        let mut next = last.clone();
        next.skip_subsequence();
        Some(next)
    };
    std::iter::successors(Some(first), next).take(lanes).collect()
}

impl<G: Recurrence> Turns<G> {
    /// Creates `lanes` generators. `first` returns their first states; the first `offset` values
    /// are skipped.
    pub fn new(lanes: usize, offset: u64, first: impl Fn() -> Vec<G> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared { lanes, offset, first: Box::new(first), states: Mutex::new(Vec::new()) }))
    }

    /// Returns the index of the generator whose turn is first.
    pub fn start(&self) -> u128 {
        u128::from(self.0.offset) % self.0.lanes as u128
    }

    fn first_states(&self) -> Vec<G> {
        let Shared { lanes, offset, first, .. } = &*self.0;
        let (rounds, ahead) = (offset / *lanes as u64, (offset % *lanes as u64) as usize);
        let mut states = first();
        for (lane, state) in states.iter_mut().enumerate() {
            state.skip(rounds + u64::from(lane < ahead));
        }
        states
    }
}

/// A position is the index of the generator whose turn is next.
impl<G: Recurrence> Order for Turns<G> {
    fn after<T>(&self, position: u128, count: usize, distribution: &Distribution<T>) -> u128 {
        (position + (count / distribution.outputs) as u128) % self.0.lanes as u128
    }

    fn run<T: Copy + Default>(
        &self,
        position: u128,
        count: usize,
        distribution: &Distribution<T>,
        mut each: impl FnMut(T),
    ) {
        let mut states = self.0.states.lock();
        if states.is_empty() {
            *states = self.first_states();
        }
        let (mut words, mut numbers) = (vec![0; distribution.inputs], vec![T::default(); distribution.outputs]);
        for turn in 0..count / distribution.outputs {
            let lane = &mut states[(position as usize + turn) % self.0.lanes];
            words.iter_mut().for_each(|word| *word = lane.step());
            distribution.map(&words, &mut numbers);
            numbers.iter().copied().for_each(&mut each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Turns, subsequences};
    use crate::random::xorwow::Xorwow;
    use crate::random::{Distribution, Recurrence, Sequence};

    const LANES: usize = 300;

    fn words(width: usize) -> Distribution<u32> {
        Distribution::new(width, width, |words, out| out.copy_from_slice(words))
    }

    fn first() -> Xorwow {
        Xorwow::stirred(5, [1, 2], [3, 5])
    }

    fn sequence(offset: u64) -> Sequence<Turns<Xorwow>> {
        let turns = Turns::new(LANES, offset, || subsequences(first(), LANES));
        let start = turns.start();
        Sequence::new(turns, start)
    }

    fn values(offset: u64, calls: &[usize]) -> Vec<u32> {
        let (mut sequence, mut values) = (sequence(offset), Vec::new());
        for &n in calls {
            sequence.take(n, words(1)).run(|word| values.push(word));
        }
        values
    }

    #[test]
    fn every_lane_is_a_subsequence() {
        let n = 2 * LANES + 3;
        let whole = values(0, &[n]);
        for lane in [0, 1, 2, 77] {
            let mut generator = first();
            (0..lane).for_each(|_| generator.skip_subsequence());
            for at in (lane..n).step_by(LANES) {
                assert_eq!(whole[at], generator.step(), "value {at}");
            }
        }
    }

    #[test]
    fn an_offset_is_that_many_values_less_and_calls_continue() {
        let whole = values(0, &[3 * LANES + 50]);
        for offset in [1, 7, LANES - 1, LANES, LANES + 9, 2 * LANES + 5] {
            assert_eq!(values(offset as u64, &[40]), whole[offset..offset + 40], "{offset}");
        }
        assert_eq!(values(0, &[5, LANES, 0, 1, LANES + 2]), whole[..2 * LANES + 8]);
    }

    #[test]
    fn a_group_is_of_one_generator() {
        let (mut x, mut y, mut pairs) = (first(), first(), Vec::new());
        y.skip_subsequence();
        sequence(0).take(4, words(2)).run(|word| pairs.push(word));
        assert_eq!(pairs, [x.step(), x.step(), y.step(), y.step()]);
    }
}

//! A generator as a handle names it: its settings, and calls that take from its sequence in stream order.

use crate::distribution::Distribution;
use crate::order::{Draw, Kind, Sequence};
use isobit_simgpu_standin::{Access, Hip, Stream};
use std::sync::{Mutex, PoisonError};

#[derive(Debug)]
pub(crate) struct Generator {
    pub(crate) kind: Kind,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    seed: u64,
    offset: u64,
    stream: Stream,
    /// None after a change of seed or offset, which starts the sequence again.
    sequence: Option<Sequence>,
}

impl Generator {
    pub(crate) fn new(kind: Kind) -> Self {
        let stream = Stream(std::ptr::null_mut());
        Self { kind, state: Mutex::new(State { seed: 0, offset: 0, stream, sequence: None }) }
    }

    pub(crate) fn set_stream(&self, stream: Stream) {
        self.with(|state| state.stream = stream);
    }

    pub(crate) fn set_seed(&self, seed: u64) {
        self.with(|state| (state.seed, state.sequence) = (seed, None));
    }

    pub(crate) fn set_offset(&self, offset: u64) {
        self.with(|state| (state.offset, state.sequence) = (offset, None));
    }

    /// Puts the next `count` numbers of a distribution at `out`, when the stream gets there.
    pub(crate) fn generate<T: Copy + Default + 'static>(
        &self,
        hip: &'static Hip,
        what: &'static str,
        out: *mut T,
        count: usize,
        distribution: Distribution<T>,
    ) -> Result<(), i32> {
        let (draw, stream) = self.take(count / distribution.outputs, distribution.inputs);
        let address = out.addr();
        hip.enqueue(stream, move || {
            let access = |at: *const u8, bytes, write, what: &str| hip.access(at, bytes, write, what);
            // SAFETY: a device address is a host address, and the simulator is asked for it first.
            unsafe { fill(&draw, &distribution, std::ptr::with_exposed_provenance_mut(address), what, &access) }
        })
    }

    fn take(&self, groups: usize, width: usize) -> (Draw, Stream) {
        self.with(|state| {
            let sequence = state.sequence.get_or_insert_with(|| Sequence::new(self.kind, state.seed, state.offset));
            (sequence.draw(groups, width), state.stream)
        })
    }

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes the numbers of a draw.
///
/// # Safety
/// Where `access` allows it, `out` is valid for writes of all of them. It need not be aligned.
unsafe fn fill<T: Copy + Default>(
    draw: &Draw,
    distribution: &Distribution<T>,
    out: *mut T,
    what: &str,
    access: &Access<'_>,
) {
    let count = draw.groups() * distribution.outputs;
    // The sequence moves on even so.
    let allowed = access(out.cast(), count * size_of::<T>(), true, what);
    let mut numbers = vec![T::default(); distribution.outputs];
    let mut at = out;
    draw.run(|words| {
        distribution.map(words, &mut numbers);
        for &number in numbers.iter().filter(|_| allowed) {
            // SAFETY: within the numbers that the caller promises, of which `draw` has no more.
            unsafe {
                at.write_unaligned(number);
                at = at.add(1);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{Generator, fill};
    use crate::distribution::uniform;
    use crate::order::{Kind, Sequence};

    #[test]
    fn what_the_simulator_refuses_is_not_written_and_the_sequence_goes_on() {
        let mut sequence = Sequence::new(Kind::Xorwow, 1, 0);
        let (mut refused, mut written) = ([7.0f32; 8], [7.0f32; 8]);
        let lanes = 1 << 17;
        let (first, second) = (sequence.draw(8, 1), {
            sequence.draw(lanes - 8, 1);
            sequence.draw(8, 1)
        });
        let distribution = uniform(Kind::Xorwow);
        // SAFETY: both arrays hold eight numbers.
        unsafe {
            fill(&first, &distribution, refused.as_mut_ptr(), "refused", &|_, bytes, write, what| {
                assert_eq!((bytes, write, what), (32, true, "refused"));
                false
            });
            fill(&second, &distribution, written.as_mut_ptr(), "written", &|_, _, _, _| true);
        }
        assert_eq!(refused, [7.0; 8]);
        // The first eight generators have given one value each, so these are their second ones.
        let mut whole = Vec::new();
        Sequence::new(Kind::Xorwow, 1, lanes as u64).draw(8, 1).run(|w| whole.push(w[0] as f32 * 2f32.powi(-32)));
        for (a, b) in written.iter().zip(whole) {
            assert!((a - b).abs() <= 2f32.powi(-24), "{a} {b}");
        }
    }

    #[test]
    fn a_new_seed_or_offset_starts_again() {
        let generator = Generator::new(Kind::Philox);
        let first = |g: &Generator| {
            let mut values = Vec::new();
            g.take(2, 1).0.run(|w| values.push(w[0]));
            values
        };
        let begin = first(&generator);
        let next = first(&generator);
        assert_ne!(begin, next);
        generator.set_seed(0);
        assert_eq!(first(&generator), begin);
        generator.set_offset(2);
        assert_eq!(first(&generator), next);
        generator.set_offset(0);
        generator.set_seed(1);
        assert_ne!(first(&generator), begin);
    }
}

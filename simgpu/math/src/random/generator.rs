//! A generator as a handle refers to it: its settings, and calls that take numbers from its
//! sequence in stream order.

use super::{Distribution, Draw, Order, Sequence};
use isobit_simgpu_library_common::{Access, Runtime, Stream};
use parking_lot::Mutex;

/// The settings of a generator.
pub trait Settings: Clone + std::fmt::Debug {
    /// Its order of values.
    type Order: Order;

    /// Returns the sequence for these settings, at its start.
    fn start(&self) -> Sequence<Self::Order>;
}

/// A generator.
#[derive(Debug)]
pub struct Generator<S: Settings>(Mutex<State<S>>);

#[derive(Debug)]
struct State<S: Settings> {
    settings: S,
    stream: Stream,
    /// `None` after a change of settings, which restarts the sequence.
    sequence: Option<Sequence<S::Order>>,
}

impl<S: Settings> Generator<S> {
    /// Creates a generator on the default stream.
    pub fn new(settings: S) -> Self {
        Self(Mutex::new(State { settings, stream: Stream(std::ptr::null_mut()), sequence: None }))
    }

    /// Sets the stream on which later calls work.
    pub fn set_stream(&self, stream: Stream) {
        self.with(|state| state.stream = stream);
    }

    /// Changes settings and restarts the sequence.
    pub fn set(&self, change: impl FnOnce(&mut S)) {
        self.with(|state| {
            change(&mut state.settings);
            state.sequence = None;
        });
    }

    /// Returns the current settings.
    pub fn settings(&self) -> S {
        self.with(|state| state.settings.clone())
    }

    /// Enqueues a write of the next `count` numbers of a distribution to `out`.
    ///
    /// # Errors
    /// The runtime's error code if the stream accepts no work.
    pub fn generate<T: Copy + Default + 'static>(
        &self,
        runtime: &'static Runtime,
        what: &'static str,
        out: *mut T,
        count: usize,
        distribution: Distribution<T>,
    ) -> Result<(), i32> {
        let (draw, stream) = self.take(count, distribution);
        // The queued work stores the memory's address.
        let address = out.expose_provenance();
        runtime.enqueue(stream, move || {
            let access = |at: *const u8, bytes, write, what: &str| runtime.access(at, bytes, write, what);
            // SAFETY: a device address is a host address, and `fill` first asks the simulator for
            // access.
            unsafe { fill(&draw, std::ptr::with_exposed_provenance_mut(address), what, &access) }
        })
    }

    /// Writes the next `count` numbers of a distribution to `out` immediately.
    ///
    /// # Safety
    /// `out` is valid for writes of `count` numbers. It may be unaligned.
    pub unsafe fn generate_here<T: Copy + Default>(&self, out: *mut T, count: usize, distribution: Distribution<T>) {
        // SAFETY: the caller promises that `out` is valid for writes of `count` numbers.
        unsafe { fill(&self.take(count, distribution).0, out, "", &|_, _, _, _| true) }
    }

    fn take<T>(&self, count: usize, distribution: Distribution<T>) -> (Draw<S::Order, T>, Stream) {
        self.with(|state| {
            let sequence = state.sequence.get_or_insert_with(|| state.settings.start());
            (sequence.take(count, distribution), state.stream)
        })
    }

    fn with<R>(&self, f: impl FnOnce(&mut State<S>) -> R) -> R {
        f(&mut self.0.lock())
    }
}

/// Writes the numbers of a draw if the simulator allows it.
///
/// # Safety
/// If `access` allows it, `out` is valid for writes of all numbers. It may be unaligned.
unsafe fn fill<O: Order, T: Copy + Default>(draw: &Draw<O, T>, out: *mut T, what: &str, access: &Access<'_>) {
    if !access(out.cast(), draw.count().saturating_mul(size_of::<T>()), true, what) {
        return;
    }
    let mut at = out;
    draw.run(|number| {
        // SAFETY: the caller promises room for `draw.count()` numbers, and `draw` yields no more.
        unsafe {
            at.write_unaligned(number);
            at = at.add(1);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{Generator, Settings, fill};
    use crate::random::{Distribution, Order, Sequence};

    /// Counts up from an offset.
    #[derive(Debug, Clone)]
    struct Counter;

    impl Order for Counter {
        fn after<T>(&self, position: u128, count: usize, _: &Distribution<T>) -> u128 {
            position + count as u128
        }

        fn run<T: Copy + Default>(&self, from: u128, count: usize, d: &Distribution<T>, mut each: impl FnMut(T)) {
            for at in from..from + count as u128 {
                let mut number = [T::default()];
                d.map(&[at as u32], &mut number);
                each(number[0]);
            }
        }
    }

    #[derive(Debug, Clone)]
    struct Offset(u128);

    impl Settings for Offset {
        type Order = Counter;

        fn start(&self) -> Sequence<Counter> {
            Sequence::new(Counter, self.0)
        }
    }

    fn doubled() -> Distribution<u64> {
        Distribution::new(1, 1, |words, out| out[0] = u64::from(words[0]) * 2)
    }

    #[test]
    fn calls_continue_and_settings_start_again() {
        let generator = Generator::new(Offset(3));
        let draw = |count| {
            let mut out = vec![0; count];
            // SAFETY: `out` has `count` elements.
            unsafe { generator.generate_here(out.as_mut_ptr(), count, doubled()) };
            out
        };
        assert_eq!(draw(2), [6, 8]);
        assert_eq!(draw(3), [10, 12, 14]);
        generator.set(|settings| settings.0 = 100);
        assert_eq!(draw(1), [200]);
        assert_eq!(generator.settings().0, 100);
    }

    #[test]
    fn what_the_simulator_refuses_is_not_written() {
        let mut sequence = Offset(0).start();
        let (mut refused, mut written) = ([7u64; 3], [7u64; 3]);
        let (first, second) = (sequence.take(3, doubled()), sequence.take(3, doubled()));
        let endless = sequence.take(usize::MAX / 2, doubled());
        // SAFETY: both arrays hold three numbers, and no other access is allowed.
        unsafe {
            fill(&first, refused.as_mut_ptr(), "refused", &|_, bytes, write, what| {
                assert_eq!((bytes, write, what), (24, true, "refused"));
                false
            });
            fill(&second, written.as_mut_ptr(), "written", &|_, _, _, _| true);
            fill(&endless, refused.as_mut_ptr(), "endless", &|_, bytes, _, _| bytes < usize::MAX);
        }
        assert_eq!((refused, written), ([7; 3], [6, 8, 10]));
    }
}

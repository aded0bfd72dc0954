//! A device's position in a sequence of random numbers. The numbers themselves are a function of
//! the seed and the position (`docs/numerics.md`), so a device stores nothing else.

use parking_lot::Mutex;

/// Every draw starts at a multiple of this number, which is a whole block of the generator for
/// every dtype.
const BLOCK: u64 = 4;

/// A seed, and the position that draws have reached in its sequence.
///
/// ```rust
/// use isobit_hal::RandomState;
///
/// let state = RandomState::new(42);
/// assert_eq!(state.advance(5), (42, 0));
/// assert_eq!(state.advance(1), (42, 8), "a draw starts at a multiple of 4");
/// state.set_seed(7);
/// assert_eq!((state.seed(), state.advance(1)), (7, (7, 0)));
/// ```
#[derive(Debug)]
pub struct RandomState(Mutex<(u64, u64)>);

impl RandomState {
    /// Creates a state at the start of a seed's sequence.
    pub const fn new(seed: u64) -> Self {
        Self(Mutex::new((seed, 0)))
    }

    fn with<T>(&self, f: impl FnOnce(&mut (u64, u64)) -> T) -> T {
        f(&mut self.0.lock())
    }

    /// Moves to the start of a seed's sequence.
    pub fn set_seed(&self, seed: u64) {
        self.with(|state| *state = (seed, 0));
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.with(|state| state.0)
    }

    /// Reserves the next `count` numbers and returns the seed and the position of the first number.
    /// The position is a multiple of 4, so up to 3 numbers are skipped between two draws. This lets
    /// each thread of a device write the numbers of whole blocks, even after a draw of odd length.
    pub fn advance(&self, count: u64) -> (u64, u64) {
        self.with(|state| {
            let (seed, offset) = *state;
            let blocks = count.div_ceil(BLOCK);
            state.1 = offset.wrapping_add(blocks.wrapping_mul(BLOCK));
            (seed, offset)
        })
    }
}

impl Default for RandomState {
    /// The sequence of candle's default seed.
    fn default() -> Self {
        Self::new(299_792_458)
    }
}

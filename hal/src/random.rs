//! A device's place in a sequence of random numbers. The numbers themselves are a function of seed
//! and place (`docs/numerics.md`), so this is all that a device has to keep.

use parking_lot::Mutex;

/// Every draw begins at a multiple of it, which is a whole block of the generator in every dtype.
const BLOCK: u64 = 4;

/// A seed, and how far into its sequence draws have gone since it was set.
#[derive(Debug)]
pub struct RandomState(Mutex<(u64, u64)>);

impl RandomState {
    /// The start of a seed's sequence.
    pub const fn new(seed: u64) -> Self {
        Self(Mutex::new((seed, 0)))
    }

    fn with<T>(&self, f: impl FnOnce(&mut (u64, u64)) -> T) -> T {
        f(&mut self.0.lock())
    }

    /// Goes to the start of a seed's sequence.
    pub fn set_seed(&self, seed: u64) {
        self.with(|state| *state = (seed, 0));
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.with(|state| state.0)
    }

    /// Takes the next numbers: the seed, and the place of the first. That is a multiple of 4, so up
    /// to 3 numbers between two draws are left out: a device's threads each write the numbers of
    /// whole blocks then, also after a draw of odd length.
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

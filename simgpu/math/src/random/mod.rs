//! The generators as their authors published them, and what they are laid out with. A vendor's way
//! from a seed to a first state, its order of subsequences and its distributions are its own.

mod distribution;
mod generator;
pub mod mrg32k3a;
pub mod philox;
mod sequence;
mod turns;
pub mod xorwow;

pub use distribution::Distribution;
pub use generator::{Generator, Settings};
pub use sequence::{Draw, Order, Sequence};
pub use turns::{Turns, subsequences};

/// A generator that is a recurrence, and can skip ahead.
pub trait Recurrence: Clone + Send + Sync + 'static {
    /// The next value.
    fn step(&mut self) -> u32;
    /// Skips values.
    fn skip(&mut self, values: u64);
    /// Skips the values between the starts of two neighbouring subsequences.
    fn skip_subsequence(&mut self);
}

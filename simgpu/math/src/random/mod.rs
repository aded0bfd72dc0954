//! The generators as their authors published them, and the building blocks of their sequences. How
//! a seed becomes a first state, the order of subsequences and the distributions differ between
//! vendors.

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

/// A generator that is a recurrence and can skip ahead.
pub trait Recurrence: Clone + Send + Sync + 'static {
    /// Returns the next value.
    fn step(&mut self) -> u32;
    /// Skips `values` values.
    fn skip(&mut self, values: u64);
    /// Skips the distance between the starts of two neighbouring subsequences.
    fn skip_subsequence(&mut self);
}

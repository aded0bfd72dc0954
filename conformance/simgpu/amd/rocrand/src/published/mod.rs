//! The generators as their authors published them, each with rocRAND's way from a 64-bit seed to a first state.

pub mod mrg32k3a;
pub mod philox;
pub mod xorwow;

/// A generator that is a recurrence, and can skip ahead.
pub trait Recurrence: Clone {
    /// rocRAND's first state of a seed.
    fn seeded(seed: u64) -> Self;
    /// The next value.
    fn step(&mut self) -> u32;
    /// Skips values.
    fn skip(&mut self, values: u64);
    /// Skips the values between the starts of two neighbouring subsequences.
    fn skip_subsequence(&mut self);
}

//! What calls take from the values of one seed, one after the other.

use super::Distribution;

/// A vendor's order of the values of one seed, and the states of the generators that give them.
pub trait Order: Clone + std::fmt::Debug + Send + 'static {
    /// The position after so many numbers of a distribution.
    fn after<T>(&self, position: u128, count: usize, distribution: &Distribution<T>) -> u128;

    /// Passes on so many numbers of a distribution from a position on. Where generators have
    /// states, this moves them on, as a kernel does that keeps them in device memory.
    fn run<T: Copy + Default>(&self, position: u128, count: usize, distribution: &Distribution<T>, each: impl FnMut(T));
}

/// The values of a seed that no call has taken yet.
#[derive(Debug)]
pub struct Sequence<O> {
    order: O,
    position: u128,
}

impl<O: Order> Sequence<O> {
    /// From a position on.
    pub fn new(order: O, position: u128) -> Self {
        Self { order, position }
    }

    /// Takes the next `count` numbers.
    pub fn take<T>(&mut self, count: usize, distribution: Distribution<T>) -> Draw<O, T> {
        let position = self.position;
        self.position = self.order.after(position, count, &distribution);
        Draw { order: self.order.clone(), position, count, distribution }
    }
}

/// The part of a sequence that one call takes. It is worked out when it is run.
#[derive(Debug)]
pub struct Draw<O, T> {
    order: O,
    position: u128,
    count: usize,
    distribution: Distribution<T>,
}

impl<O: Order, T: Copy + Default> Draw<O, T> {
    /// How many numbers.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Passes every number on, in order.
    pub fn run(&self, each: impl FnMut(T)) {
        self.order.run(self.position, self.count, &self.distribution, each);
    }
}

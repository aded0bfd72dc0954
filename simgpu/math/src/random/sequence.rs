//! The parts of a seed's sequence that consecutive calls take.

use super::Distribution;

/// A vendor's order of the values of one seed, and the states of the generators that produce them.
pub trait Order: Clone + std::fmt::Debug + Send + 'static {
    /// Returns the position after `count` numbers of a distribution.
    fn after<T>(&self, position: u128, count: usize, distribution: &Distribution<T>) -> u128;

    /// Passes `count` numbers of a distribution, starting at a position, to `each`. If the
    /// generators have states, this call advances them, like a kernel that keeps its states in
    /// device memory.
    fn run<T: Copy + Default>(&self, position: u128, count: usize, distribution: &Distribution<T>, each: impl FnMut(T));
}

/// The values of a seed that no call has taken yet.
#[derive(Debug)]
pub struct Sequence<O> {
    order: O,
    position: u128,
}

impl<O: Order> Sequence<O> {
    /// Creates a sequence that starts at a position.
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

/// The part of a sequence that one call takes. It is computed when it is run.
#[derive(Debug)]
pub struct Draw<O, T> {
    order: O,
    position: u128,
    count: usize,
    distribution: Distribution<T>,
}

impl<O: Order, T: Copy + Default> Draw<O, T> {
    /// Returns how many numbers the draw has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Passes every number to `each`, in order.
    pub fn run(&self, each: impl FnMut(T)) {
        self.order.run(self.position, self.count, &self.distribution, each);
    }
}

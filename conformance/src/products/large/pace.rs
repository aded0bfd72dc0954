//! How much of each product the CPU may compute, so that all are done in time.

use std::time::Duration;

/// The multiply-adds of a product of which nothing is known yet, and the least of any.
const FIRST: f64 = 1e7;
const LEAST: f64 = 1e6;

/// What the products so far took.
#[derive(Debug, Default)]
pub(super) struct Pace {
    products: u64,
    /// The multiply-adds of the CPU, and their time.
    work: f64,
    reference: Duration,
    /// The time of everything else.
    other: Duration,
}

impl Pace {
    /// Returns the multiply-adds of the CPU for the next of `products` that are left.
    pub fn work(&self, left: Duration, products: u64) -> f64 {
        if self.products == 0 || self.reference.is_zero() {
            return FIRST;
        }
        let other = self.other.as_secs_f64() / self.products as f64;
        let free = left.as_secs_f64() / products as f64 - other;
        (free * self.work / self.reference.as_secs_f64()).max(LEAST)
    }

    /// Notes a product: the CPU's multiply-adds, their time, and the time of the whole.
    pub fn note(&mut self, work: f64, reference: Duration, whole: Duration) {
        self.products += 1;
        self.work += work;
        self.reference += reference;
        self.other += whole.saturating_sub(reference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_the_time_is_shared_out() {
        let second = Duration::from_secs(1);
        let mut pace = Pace::default();
        assert_eq!(pace.work(second, 9), FIRST);
        pace.note(8e9, 2 * second, 3 * second);
        // One second in two is for everything else, and one is 4e9 multiply-adds.
        assert_eq!(pace.work(20 * second, 10), 4e9);
        assert_eq!(pace.work(10 * second, 10), LEAST);
    }
}

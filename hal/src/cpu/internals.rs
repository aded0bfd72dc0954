//! Internals exposed only for the crate's own tests. They are not part of the public interface and
//! may change at any time.

pub use super::math::{convert, f32, f64, narrow};
pub use super::random::block;
pub use super::vector::force_baseline;

/// Returns the sum of the values of segments, in the order of reductions. A test cannot reach the
/// second level (more than 65,536 segments) through the public interface, because that takes too
/// many elements.
pub fn sum_of_segments(values: Vec<std::primitive::f32>) -> Option<std::primitive::f32> {
    super::reduce::reduce_segments(values, &mut super::reduce::Lanes::new(), |a, b| a + b)
}

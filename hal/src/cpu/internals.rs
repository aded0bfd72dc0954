//! What the crate's own tests reach beside the public interface. Nothing here is promised to anyone
//! else.

pub use super::math::{convert, f32, f64, narrow};
pub use super::random::block;
pub use super::vector::force_baseline;

/// The sum of the values of segments, in the order of reductions: more of them than a segment holds
/// take more elements than a test has.
pub fn sum_of_segments(values: Vec<std::primitive::f32>) -> Option<std::primitive::f32> {
    super::reduce::reduce_segments(values, &mut super::reduce::Lanes::new(), |a, b| a + b)
}

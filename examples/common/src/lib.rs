//! What the models in `examples` share: the choice of a device, the upload of elements, linear
//! layers, captured steps, and digests of results. None of it knows a model.

pub mod captured;
pub mod choice;
pub mod linear;
pub mod memory;
pub mod output;
pub mod simulated;
pub mod timing;

pub use captured::Captured;
pub use linear::Linear;

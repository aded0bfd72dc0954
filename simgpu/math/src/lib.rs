//! The computations of the simulated GPUs' libraries. They are shared by the vendors' interfaces:
//! both vendors document the same products and convolutions, and the same published generators. An
//! interface checks its own arguments and translates them to the types here.

pub mod convolution;
pub mod gemm;
pub mod number;
pub mod random;
pub mod scratch;

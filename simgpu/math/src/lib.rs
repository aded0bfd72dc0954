//! What the simulated GPUs' libraries compute, whichever vendor's interface asks for it: both
//! vendors document the same products and convolutions, and the same published generators. An
//! interface checks its own arguments, and says here what they mean.

pub mod convolution;
pub mod gemm;
pub mod number;
pub mod random;
pub mod scratch;

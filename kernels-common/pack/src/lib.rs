//! The part of packing that needs neither the compressor nor the kernels. It is tested with the
//! rest of the workspace, which builds neither for it.

pub mod frames;

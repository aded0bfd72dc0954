//! What of packing needs neither compressor nor kernels: tested with the rest of the workspace,
//! which builds neither for it.

pub mod frames;

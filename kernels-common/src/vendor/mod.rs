//! Code that both drivers need to call vendor libraries: products, convolutions, attention, handles
//! and profiler ranges.

pub(crate) mod dnn;
pub(crate) mod gemm;
pub(crate) mod library;
pub(crate) mod library_probe;
pub(crate) mod lt;
pub(crate) mod per_stream;
pub(crate) mod plans;
pub(crate) mod ranges;
pub(crate) mod scratch;

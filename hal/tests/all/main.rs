//! The crate's tests, one program: beside the crate, so that it is not compiled once more for them.

mod cpu;
mod dtype;
mod dynamic;
mod elsewhere;
mod ends;
mod error;
mod f8;
mod families;
mod functions;
mod launches;
mod layout;
mod math;
mod op_dtypes;
mod op_shapes;
mod shape;
mod sync_fallback;

//! The crate's tests, as one program outside the crate, so that the crate is not compiled again for
//! them.

mod collective;
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
mod layout_views;
mod math;
mod op_dtypes;
mod op_shapes;
mod shape;
mod sync_fallback;

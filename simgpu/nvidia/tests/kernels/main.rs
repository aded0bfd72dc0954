//! Complete kernels: PTX written for a specific test, kernels compiled with planted faults, and the
//! kernels of this repository.

mod barriers;
mod barriers_in_calls;
mod calls;
mod common;
mod compiled_barriers;
mod compiled_calls;
mod compiled_spinning;
mod divergence;
mod frames;
mod idioms;
mod modules;
mod ordered;
mod planted_faults;
mod printing;
mod spinning;
mod stacks;
mod tree;

//! Whole kernels: written as PTX for what they are to show, compiled with planted faults, and those
//! of the tree.

mod barriers;
mod calls;
mod common;
mod divergence;
mod modules;
mod planted_faults;
mod spinning;
mod tree;

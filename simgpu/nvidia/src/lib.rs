//! A simulated NVIDIA GPU. [`ptx`] parses a complete PTX module, [`lower`] compiles it once to
//! compact steps, and [`exec`] runs the steps in warps of 32 threads and checks every access.
//! [`module`] loads what a driver would compile, and [`dispatch`] launches it.

pub mod arch;
pub mod dispatch;
pub mod exec;
pub mod lower;
pub mod module;
pub mod ptx;

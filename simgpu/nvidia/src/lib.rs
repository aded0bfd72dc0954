//! A simulated NVIDIA GPU: PTX is parsed whole ([`ptx`]), lowered once to compact steps
//! ([`lower`]), and executed by warps of 32 threads ([`exec`]) whose every access is checked.
//! [`module`] loads what a driver would compile, [`dispatch`] launches it.

pub mod arch;
pub mod dispatch;
pub mod exec;
pub mod lower;
pub mod module;
pub mod ptx;

//! A simulated AMD GPU: it executes the code objects that a real card would load.

pub mod dispatch;
pub mod exec;
pub mod isa;
pub mod loader;
pub mod service;

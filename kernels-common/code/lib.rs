//! Compiled kernels of Isobit for one architecture, as data.
//!
//! `isobit-kernels` reads the file in its build, so this crate has no code of its own. Do not
//! depend on it directly: the features of `isobit` that are named after architectures select it.
//! The format is described in `src/code/archive/mod.rs` of `isobit-kernels`.

/// The version of the package, which is that of the matching `isobit-kernels`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether the crate has its data. In a checkout, `cargo xtask package` creates it.
pub const HAS_CODE: bool = cfg!(has_code);

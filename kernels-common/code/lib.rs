//! Compiled kernels of Isobit for one architecture, as data.
//!
//! `isobit-kernels` reads the file while it is built, so this crate has no code of its own and
//! nobody depends on it directly: the features of `isobit` named after architectures choose it. The
//! format is described in `isobit-kernels`, in `src/code/archive/mod.rs`.

/// The version of the package, which is that of the `isobit-kernels` that it is for.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether the crate has its data. In a checkout `cargo xtask package` makes it.
pub const HAS_CODE: bool = cfg!(has_code);

//! Measures how strong the suite is: plants one small fault at a time (a mutant), as a careless
//! engineer or an eager optimiser would write it, and records what finds it.
//!
//! `docs/mutants.md` describes the lists and the score. [`list`] reads and checks the lists,
//! [`kernels`] and [`host`] run a mutant, [`results`] keeps what was found, and [`report`] writes
//! the tables.

pub mod cargo;
pub mod cli;
pub mod host;
pub mod kernels;
pub mod list;
pub mod outcome;
pub mod process;
pub mod report;
pub mod results;
pub mod seed;
pub mod suite;
pub mod touched;

use std::path::{Path, PathBuf};

/// Returns the root of the checkout in which this package was built.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the package lies in the checkout").into()
}

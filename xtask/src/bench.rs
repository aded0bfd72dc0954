//! `cargo xtask bench`: builds the benchmark optimised, and starts it.

use crate::setup;
use crate::shell::{self, cargo, hand_over, target_dir};
use anyhow::Result;
use std::process::{Command, ExitCode};

/// Builds the program and hands it the arguments.
pub fn run(args: &[String]) -> Result<ExitCode> {
    setup::ensure_clang()?;
    shell::run(cargo().args(["build", "--release", "--package", "isobit-bench"]))?;
    hand_over(Command::new(target_dir().join("release").join("isobit-bench")).args(args))
}

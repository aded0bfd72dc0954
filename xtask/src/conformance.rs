//! `cargo xtask conformance`: builds the report's program with every driver, and starts it.

use crate::setup;
use crate::shell::{self, cargo, hand_over, target_dir};
use anyhow::Result;
use std::process::{Command, ExitCode};

/// Builds the program and hands it the arguments.
pub fn run(args: &[String]) -> Result<ExitCode> {
    build()?;
    hand_over(program().args(args))
}

/// Built with the profile of the tests, whose artefacts it shares; that profile is optimised.
pub fn build() -> Result<()> {
    setup::ensure_clang()?;
    shell::run(cargo().args(["build", "--package", "isobit-conformance", "--features", "cli,cuda"]))
}

/// The built program.
pub fn program() -> Command {
    Command::new(target_dir().join("debug").join("isobit-conformance"))
}

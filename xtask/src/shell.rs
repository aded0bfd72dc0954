//! Starting programs: what is run is printed, and a failure names it.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The root of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Where cargo puts what it builds.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The cargo that started this.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let args: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
    [&[program], args.as_slice()].concat().join(" ")
}

/// Runs a step to its end.
pub fn run(command: &mut Command) -> Result<()> {
    let line = line_of(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("`{line}` does not start"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs a step to its end and gives what it printed, without the end of the line.
pub fn output(command: &mut Command) -> Result<String> {
    let line = line_of(command);
    eprintln!("$ {line}");
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("`{line}` does not start"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({})", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_string())
}

/// Runs the program that this task is about, and takes over its exit code.
pub fn hand_over(command: &mut Command) -> Result<ExitCode> {
    let line = line_of(command);
    let status = command.status().with_context(|| format!("`{line}` does not start"))?;
    match status.code() {
        Some(code) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(1))),
        None => bail!("`{line}` was stopped ({status})"),
    }
}

/// The first line that a program prints of its version, if it is there.
pub fn version(program: impl AsRef<std::ffi::OsStr>, arg: &str) -> Option<String> {
    let output = Command::new(program).arg(arg).output().ok().filter(|o| o.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().map(str::trim).find(|l| !l.is_empty()).map(str::to_string)
}

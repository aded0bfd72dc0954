//! Starts programs. Prints each command; a failure names the command and says what to do.

use crate::failure;
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal as _, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::sync::Mutex;

/// Environment variables for every cargo that this task starts: the result of the set-up.
static TOLD: Mutex<BTreeMap<&'static str, OsString>> = Mutex::new(BTreeMap::new());

/// Number of bytes kept from the end of a program's output, to determine why it failed.
const KEPT: usize = 64 << 10;

/// Returns the root of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace")
}

/// Returns cargo's target folder.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns a command for the cargo that started this process.
pub fn cargo() -> Command {
    told(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns a command for a program that starts cargo itself and so needs the same variables.
pub fn told(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).envs(TOLD.lock().expect("nothing panics here").iter());
    command
}

/// Sets a variable for every later [`cargo`].
pub fn tell(name: &'static str, value: impl Into<OsString>) {
    TOLD.lock().expect("nothing panics here").insert(name, value.into());
}

fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let args: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
    [&[program], args.as_slice()].concat().join(" ")
}

/// Runs a step to its end.
pub fn run(command: &mut Command) -> Result<()> {
    watched(command, None).map(drop)
}

/// Like [`run`], for a build; shows the progress of compiling the kernels.
pub fn build(command: &mut Command) -> Result<()> {
    let progress = Progress::start(command);
    watched(command, Some(progress)).map(drop)
}

/// Like [`build`], and returns the output without the final line break.
pub fn output(command: &mut Command) -> Result<String> {
    let progress = Progress::start(command);
    let output = watched(command.stdout(Stdio::piped()), Some(progress))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_string())
}

/// Runs a step, shows its messages only if it fails, and returns what it printed without the final
/// line break.
pub fn quietly(command: &mut Command) -> Result<String> {
    let line = line_of(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("`{line}` does not start"))?;
    judge(&line, &output, true)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_string())
}

/// Computes the SHA-256 of a file with the program `sha256sum`, which every Linux has.
pub fn sha256(file: &Path) -> Result<String> {
    let printed = quietly(Command::new("sha256sum").arg(file))?;
    Ok(printed.split_whitespace().next().context("sha256sum prints a sum")?.to_string())
}

/// Runs a program, shows its messages as they arrive, and keeps the end of them.
fn watched(command: &mut Command, progress: Option<Progress>) -> Result<Output> {
    let line = line_of(command);
    eprintln!("$ {line}");
    // Its messages go through a pipe, for which programs switch colours off.
    if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command.stderr(Stdio::piped()).spawn().with_context(|| format!("`{line}` does not start"))?;
    let (stdout, stderr) = std::thread::scope(|scope| {
        let messages = child.stderr.take().expect("it is piped");
        let shown = scope.spawn(|| show(messages, std::io::stderr(), progress.as_ref()));
        (printed(&mut child), shown.join().expect("showing does not panic"))
    });
    let status = child.wait().with_context(|| format!("`{line}`"))?;
    drop(progress);
    let output = Output { status, stdout, stderr };
    judge(&line, &output, false)?;
    Ok(output)
}

fn printed(child: &mut Child) -> Vec<u8> {
    let mut printed = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        // Ignored: missing output is noticed where it is used.
        let _ = stdout.read_to_end(&mut printed);
    }
    printed
}

fn show(mut messages: impl Read, mut to: impl Write, progress: Option<&Progress>) -> Vec<u8> {
    let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = messages.read(&mut chunk) {
        let said = &chunk[..count];
        let mut write = || to.write_all(said).and_then(|()| to.flush());
        // A closed terminal does not stop the program.
        let _ = match progress {
            Some(progress) => progress.beside(write),
            None => write(),
        };
        kept.extend_from_slice(said);
        kept.drain(..kept.len().saturating_sub(KEPT));
    }
    kept
}

fn judge(line: &str, output: &Output, silent: bool) -> Result<()> {
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let shown = if silent { format!(":\n{}", said.trim_end()) } else { String::new() };
    bail!("`{line}` failed ({}){shown}{}", output.status, failure::explain(&said))
}

/// Runs the main program of a task and returns its exit code.
pub fn hand_over(command: &mut Command) -> Result<ExitCode> {
    let line = line_of(command);
    let status = command.status().with_context(|| format!("`{line}` does not start"))?;
    match status.code() {
        Some(0) => Ok(ExitCode::SUCCESS),
        Some(code) => {
            // The program has printed its own reason, but may not have noticed a full disk.
            let why = failure::explain("");
            if !why.is_empty() {
                eprintln!("note:{why}");
            }
            Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
        }
        None => bail!("`{line}` was stopped ({status})"),
    }
}

/// Returns the first line of a program's version output, if the program exists.
pub fn version(program: impl AsRef<OsStr>, arg: &str) -> Option<String> {
    let output = Command::new(program).arg(arg).output().ok().filter(|o| o.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().map(str::trim).find(|l| !l.is_empty()).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_says_what_to_do() {
        let script = "echo 'error: Could not resolve host: index.example' >&2; exit 3";
        for result in
            [run(Command::new("sh").args(["-c", script])), quietly(Command::new("sh").args(["-c", script])).map(drop)]
        {
            let e = result.unwrap_err().to_string();
            assert!(
                e.starts_with("`sh -c ") && e.contains("exit status: 3") && e.contains("registry cannot be reached"),
                "{e}"
            );
        }
        let e = run(&mut Command::new("/nowhere/at-all")).unwrap_err();
        assert!(format!("{e:#}").contains("`at-all` does not start"), "{e:#}");
    }

    #[test]
    fn what_is_printed_comes_back_whole() {
        let printed = output(Command::new("sh").args(["-c", "seq 1 20000; echo said >&2"])).unwrap();
        assert_eq!(printed.lines().count(), 20000);
        let long = vec![b'x'; 3 * KEPT];
        let mut shown = Vec::new();
        assert_eq!(show(long.as_slice(), &mut shown, None).len(), KEPT);
        assert_eq!(shown, long);
    }
}

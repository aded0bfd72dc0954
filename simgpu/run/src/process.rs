//! The run of the program: its environment, the signals it gets, and the exit code.

use crate::cli::Run;
use crate::libraries;
use crate::summary;
use anyhow::{Context, Result, bail, ensure};
use isobit_simgpu_core::finding::report::{self, Format};
use std::env::VarError;
use std::ffi::{OsString, c_int};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

/// The exit codes of shells for a program that cannot be started, and one that is not found.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs the program and returns the exit code.
///
/// # Errors
/// Fails if the simulated GPUs are not there. Also fails if a report cannot be written and neither
/// the program nor a finding makes the exit code.
pub fn run(run: &Run) -> Result<u8> {
    let folder = libraries::folder(run.cards.iter().map(|selected| selected.vendor))?;
    let reports = tempfile::tempdir().context("a folder for the findings of the program's processes")?;
    let mut files = run.reports.clone();
    if files.is_empty() {
        files.extend(report_of_the_variable()?);
    }
    let mut command = Command::new(&run.program[0]);
    command.args(&run.program[1..]).envs(environment(run, &folder, reports.path())?);
    catch_signals();
    let name = run.program[0].to_string_lossy();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let missing = error.kind() == ErrorKind::NotFound;
            let why = if missing { "there is no such program".into() } else { error.to_string() };
            eprintln!("isobit-sim: {name} cannot be started: {why}");
            return Ok(if missing { NOT_FOUND } else { NOT_EXECUTABLE });
        }
    };
    let status = wait(&mut child).with_context(|| format!("the end of {name}"))?;
    let found = summary::of(reports.path())?;
    let written = found.tell(&name, &files, run.unused);
    match code(status) {
        0 if found.any() => Ok(run.code),
        0 => written.map(|()| 0),
        own => Ok(own),
    }
}

/// Returns the file that the user's environment names. The variable is for runs without this
/// program, so that it may have a number for each process and each vendor. Here one file has the
/// findings of all of them, with the number of this process.
fn report_of_the_variable() -> Result<Option<PathBuf>> {
    let name = match std::env::var("ISOBIT_SIM_REPORT") {
        Ok(name) if !name.trim().is_empty() => name,
        Ok(_) | Err(VarError::NotPresent) => return Ok(None),
        Err(VarError::NotUnicode(name)) => bail!("ISOBIT_SIM_REPORT={name:?} is not UTF-8"),
    };
    let path = report::path(&name, "all");
    ensure!(Format::of(&path).is_some(), "ISOBIT_SIM_REPORT={name:?} ends in none of .txt, .json and .sarif");
    Ok(Some(path))
}

/// Returns the variables of the program.
fn environment(run: &Run, folder: &Path, reports: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let homes = run.cards.iter().map(|selected| folder.join(selected.vendor.folder));
    let more = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let more = std::env::split_paths(&more).filter(|path| !path.as_os_str().is_empty()).collect::<Vec<_>>();
    let libraries = std::env::join_paths(homes.map(|home| home.join("lib")).chain(more))
        .with_context(|| format!("{} contains a colon", folder.display()))?;
    let mut variables = vec![
        ("LD_LIBRARY_PATH", libraries),
        // Each process and each vendor's library writes a file of its own.
        ("ISOBIT_SIM_REPORT", reports.join("%v-%p.json").into()),
        ("ISOBIT_SIM_RUNNER", "1".into()),
    ];
    for selected in &run.cards {
        variables.extend(selected.cards.as_ref().map(|cards| (selected.vendor.variable, cards.into())));
        if selected.vendor.folder == "rocm" {
            variables.push(("ROCM_PATH", folder.join(selected.vendor.folder).into()));
        }
    }
    variables.extend(run.faults.as_ref().map(|faults| (isobit_simgpu_fault::VARIABLE, faults.into())));
    variables.extend(run.findings.as_ref().map(|mode| ("ISOBIT_SIM_FINDINGS", mode.into())));
    if let Some(file) = &run.suppressions {
        let path = file.canonicalize().with_context(|| format!("the suppressions {}", file.display()))?;
        variables.push(("ISOBIT_SIM_SUPPRESSIONS", path.into()));
    }
    Ok(variables)
}

/// The process that gets the signals that this one gets, once it is started.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that is not passed on yet, because it came before the process had a number.
static PENDING: AtomicI32 = AtomicI32::new(0);

extern "C" fn forward(signal: c_int) {
    PENDING.store(signal, Ordering::SeqCst);
    pass_on();
}

/// Sends the pending signal to the process, if there are both.
fn pass_on() {
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 {
        let signal = PENDING.swap(0, Ordering::SeqCst);
        // Signal 0 does nothing. SAFETY: `kill` may be called from a signal handler; the process is
        // not yet waited for, so its number is not reused.
        unsafe { libc::kill(child, signal) };
    }
}

extern "C" fn outlive(_: c_int) {}

/// Keeps this process alive until the program has ended, so that its findings are reported. The
/// terminal sends its signals to both processes; others are passed on. A handler, unlike an ignored
/// signal, is not inherited by the program. A signal that is ignored already, as by `nohup`, stays
/// so for both.
fn catch_signals() {
    let outlived = [libc::SIGINT, libc::SIGQUIT].map(|signal| (signal, outlive as extern "C" fn(c_int)));
    let forwarded = [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];
    for (signal, handler) in outlived.into_iter().chain(forwarded.map(|signal| (signal, forward as _))) {
        // SAFETY: the structure is plain data, and the pointer is to it. The handlers only use
        // atomics and call `kill`, which handlers may do.
        unsafe {
            let mut inherited = std::mem::zeroed::<libc::sigaction>();
            libc::sigaction(signal, std::ptr::null(), &mut inherited);
            if inherited.sa_sigaction != libc::SIG_IGN {
                libc::signal(signal, handler as *const () as libc::sighandler_t);
            }
        }
    }
}

fn wait(child: &mut Child) -> std::io::Result<ExitStatus> {
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    pass_on();
    // Leaves the process in the table, so that a signal that comes now does not reach another one.
    // SAFETY: the structure is plain data, and the pointer is to it.
    unsafe {
        let mut info = std::mem::zeroed::<libc::siginfo_t>();
        while libc::waitid(libc::P_PID, child.id(), &mut info, libc::WEXITED | libc::WNOWAIT) != 0
            && std::io::Error::last_os_error().kind() == ErrorKind::Interrupted
        {}
    }
    CHILD.store(0, Ordering::SeqCst);
    child.wait()
}

/// Returns the exit code of a program as shells do: 128 and the number of the signal that ended it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}

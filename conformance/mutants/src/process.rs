//! Runs a program with a time limit and keeps the end of what it prints.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` if it was killed, also by the time limit.
    pub code: Option<i32>,
    /// Whether it reached the time limit.
    pub hung: bool,
    /// What it printed.
    pub printed: String,
}

/// How often a running program is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Runs a program for at most `limit`. What it prints goes to `log`.
///
/// # Errors
/// Fails if the program does not start, or the log cannot be written.
pub fn run(command: &mut Command, log: &Path, limit: Duration) -> Result<Ended> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let name = Path::new(command.get_program()).display().to_string();
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.spawn().with_context(|| format!("`{name}` does not start"))?;
    let began = Instant::now();
    let (code, hung) = loop {
        match child.try_wait().with_context(|| format!("`{name}`"))? {
            Some(status) => break (status.code(), false),
            None if began.elapsed() > limit => {
                end_all(&mut child);
                break (None, true);
            }
            None => std::thread::sleep(LOOK),
        }
    };
    let printed = std::fs::read(log).with_context(|| format!("cannot read {}", log.display()))?;
    Ok(Ended { code, hung, printed: String::from_utf8_lossy(&printed).into_owned() })
}

/// Ends a process and everything that it started: a worker whose kernel never ends does not notice
/// that nobody listens to it.
fn end_all(child: &mut Child) {
    let mut doomed = vec![child.id()];
    let mut next = 0;
    while let Some(&parent) = doomed.get(next) {
        doomed.extend(children(parent));
        next += 1;
    }
    for pid in doomed.into_iter().filter_map(|pid| Pid::from_raw(pid as i32)) {
        // A process that has ended meanwhile is no error.
        let _ = kill_process(pid, Signal::KILL);
    }
    let _ = child.wait();
}

fn children(parent: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may contain anything; the state and the parent follow it.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_leaves_its_code_and_its_words() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let script = "echo out; echo err >&2; exit 3";
        let ended = run(Command::new("sh").args(["-c", script]), log.path(), Duration::from_secs(60)).unwrap();
        assert_eq!((ended.code, ended.hung, ended.printed.as_str()), (Some(3), false, "out\nerr\n"));
    }

    #[test]
    fn a_program_that_hangs_ends_with_what_it_started() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let script = "sleep 600 & echo $!; wait";
        let ended = run(Command::new("sh").args(["-c", script]), log.path(), Duration::from_millis(500)).unwrap();
        assert!(ended.hung && ended.code.is_none());
        let sleeper: u32 = ended.printed.trim().parse().unwrap();
        let state = |pid: u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit_once(") ")?.1.chars().next()
        };
        let began = Instant::now();
        while state(sleeper).is_some_and(|s| s != 'Z') {
            assert!(began.elapsed() < Duration::from_secs(10), "process {sleeper} still runs");
            std::thread::sleep(LOOK);
        }
    }
}

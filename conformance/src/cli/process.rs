//! A worker process: started, heard, asked, and gone when it is dropped.

use super::simulated::Simulated;
use super::worker::{Job, Message};
use anyhow::{Context, Result, bail};
use isobit_conformance::cells::Cell;
use isobit_conformance::report::DeviceRow;
use isobit_conformance::run::Options;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// A worker process that has its device open.
pub struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    /// What it tells.
    pub messages: Receiver<Message>,
    /// The device, as it describes itself.
    pub row: DeviceRow,
}

/// How long a device may take to open: a simulator or a cold driver included.
const OPENING: Duration = Duration::from_secs(120);

/// Starts a worker for cells and waits until its device is open. A simulated device has so many
/// threads.
///
/// # Errors
/// The device is not here, or opening it killed the worker.
pub fn start(device: &str, threads: usize) -> Result<Worker> {
    start_with(device, threads, true)
}

/// Starts a worker whose simulated device has exact memory or not.
///
/// # Errors
/// As [`start`].
pub fn start_with(device: &str, threads: usize, exact: bool) -> Result<Worker> {
    let program = std::env::current_exe().context("the path of this program")?;
    let mut command = Command::new(program);
    if let Some(simulated) = Simulated::of(device) {
        command.envs(simulated.environment(threads, exact)?);
    }
    spawn(device, command.args(["worker", "--device", device]))
}

/// The worker that a command starts.
///
/// # Errors
/// It does not start, or has no device.
pub fn spawn(device: &str, command: &mut Command) -> Result<Worker> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting a worker")?;
    let stdout = child.stdout.take().context("the worker's output")?;
    let (tx, messages) = channel();
    std::thread::spawn(move || {
        // A line that is no message is a library's chatter on standard output.
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        for message in lines.filter_map(|l| serde_json::from_str(&l).ok()) {
            if tx.send(message).is_err() {
                break;
            }
        }
    });
    let stdin = child.stdin.take();
    let mut worker = Worker { child, stdin, messages, row: DeviceRow::default() };
    match worker.messages.recv_timeout(OPENING) {
        Ok(Message::Ready(row)) => worker.row = row,
        Ok(Message::Absent(reason)) => bail!(reason),
        Ok(_) => bail!("device {device}: the worker did not say that it is ready"),
        Err(RecvTimeoutError::Timeout) => {
            bail!("device {device}: no answer within {} s while opening it", OPENING.as_secs())
        }
        Err(RecvTimeoutError::Disconnected) => {
            bail!("device {device}: opening it killed the worker ({})", worker.end())
        }
    }
    Ok(worker)
}

impl Worker {
    /// Whether the device supports each cell.
    ///
    /// # Errors
    /// The worker does not answer.
    pub fn ask(mut self, cells: &[&Cell]) -> Result<Vec<bool>> {
        let job = Job { ask: true, ..Job::of(cells.iter().copied(), &Options::new(0, 0)) };
        self.give(&job)?;
        match self.messages.recv_timeout(OPENING) {
            Ok(Message::Supports(answers)) => Ok(answers),
            _ => bail!("device {}: the worker does not say what it supports", self.row.id),
        }
    }

    /// Hands it its job, the only one it has.
    ///
    /// # Errors
    /// None that the worker causes: one that is gone is noticed by whoever listens to it.
    pub fn give(&mut self, job: &Job) -> Result<()> {
        if let Some(mut stdin) = self.stdin.take() {
            let _ = writeln!(stdin, "{}", serde_json::to_string(job)?);
        }
        Ok(())
    }

    /// How the process ended.
    pub fn end(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(e) => format!("unknown: {e}"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself; only that it has matters.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A worker process: starts it, receives its messages, gives it a job, and ends it on drop.

use super::simulated::Simulated;
use super::worker::{Job, Message};
use anyhow::{Context, Result, bail};
use isobit_conformance::cells::Cell;
use isobit_conformance::report::DeviceRow;
use isobit_conformance::run::Options;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A worker process with an open device.
pub struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    /// The messages from the worker.
    pub messages: Receiver<Message>,
    /// The device's description of itself.
    pub row: DeviceRow,
}

/// The longest time that opening a device may take, including a simulator or a cold driver.
const OPENING: Duration = Duration::from_secs(120);

/// The longest time that a finished worker may take to end.
const ENDING: Duration = Duration::from_secs(20);

/// Starts a worker for cells and waits until its device is open. A simulated device uses `threads`
/// threads.
///
/// # Errors
/// Fails if the device is absent, or opening it killed the worker.
pub fn start(device: &str, threads: usize) -> Result<Worker> {
    start_with(device, threads, true)
}

/// Starts a worker; `exact` says whether its simulated device gives each storage an allocation of
/// its exact size.
///
/// # Errors
/// As for [`start`].
pub fn start_with(device: &str, threads: usize, exact: bool) -> Result<Worker> {
    let program = std::env::current_exe().context("cannot get the path of this program")?;
    let mut command = Command::new(program);
    if let Some(simulated) = Simulated::of(device) {
        command.envs(simulated.environment(threads, exact)?);
    }
    spawn(device, command.args(["worker", "--device", device]))
}

/// Starts a worker with the given command.
///
/// # Errors
/// Fails if the process does not start or has no device.
pub fn spawn(device: &str, command: &mut Command) -> Result<Worker> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start a worker")?;
    let stdout = child.stdout.take().context("the worker has no standard output")?;
    let (tx, messages) = channel();
    std::thread::spawn(move || {
        // A line that is not a message is output of a library, and is ignored.
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
        Ok(_) => bail!("device {device}: the worker's first message does not say that the device is open"),
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
    /// Returns whether the device supports each cell.
    ///
    /// # Errors
    /// Fails if the worker does not answer.
    pub fn ask(mut self, cells: &[&Cell]) -> Result<Vec<bool>> {
        let job = Job { ask: true, ..Job::of(cells.iter().copied(), &Options::new(0, 0)) };
        self.give(&job)?;
        match self.messages.recv_timeout(OPENING) {
            Ok(Message::Supports(answers)) => Ok(answers),
            _ => bail!("device {}: the worker did not report what the device supports", self.row.id),
        }
    }

    /// Gives the worker its only job.
    ///
    /// # Errors
    /// Never fails because of the worker: if it is gone, the receiver of its messages notices.
    pub fn give(&mut self, job: &Job) -> Result<()> {
        if let Some(mut stdin) = self.stdin.take() {
            let _ = writeln!(stdin, "{}", serde_json::to_string(job)?);
        }
        Ok(())
    }

    /// Gives a process that has finished the time to end by itself, so that what runs at the end of
    /// a process is run, such as a simulator that writes its reports. The end of its output is that
    /// of the process.
    pub fn let_end(&mut self) {
        let until = Instant::now() + ENDING;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if matches!(self.messages.recv_timeout(left), Err(RecvTimeoutError::Disconnected)) {
                let _ = self.child.wait();
                return;
            }
        }
    }

    /// Waits for the process to end and returns its exit status.
    pub fn end(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(e) => format!("unknown: {e}"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The process may already have ended; the results do not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

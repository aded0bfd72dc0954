//! The suite itself: a worker that is killed, and a device that is lost in the middle of a run.

use crate::card::Card;
use crate::child::environment;
use crate::row::Row;
use isobit_conformance::report::{Report, Status};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn suite(card: &Card, out: &Path, cases: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isobit-conformance"));
    environment(&mut command, card, &card.installation());
    // The program finds the simulated libraries itself, for its workers alone.
    command.env_remove("LD_LIBRARY_PATH").env_remove("ISOBIT_SIM_MEMORY");
    command.env("ISOBIT_SIMGPU", card.installation().parent().expect("a folder of both vendors"));
    command.args(["--devices", card.id, "--ops", "exp", "--dtypes", "f32,f64", "--cases", cases, "--out"]).arg(out);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn report(out: &Path) -> Report {
    serde_json::from_slice(&std::fs::read(out.join("report.json")).expect("a report")).expect("a report")
}

/// Returns the processes that a process started.
fn children(of: &Child) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", of.id())).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Processor time of a process in the system's ticks (a hundredth of a second), while it runs with
/// the simulated library.
fn ticks(card: &Card, process: &str) -> Option<u64> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field, the name in parentheses, may have spaces.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let [user, system] = [11, 12].map(|at| fields.get(at).and_then(|field| field.parse::<u64>().ok()));
    maps.contains(card.runtime).then_some(user? + system?)
}

/// Kills a worker that runs cases; its cells must run again.
fn killed(card: &Card) -> Row {
    // Opening the device takes a tick or two, and more on a busy machine: a worker that is killed
    // there was killed too early. A fast machine needs more cases to be caught in one.
    let mut runs = 6;
    let caught = ["200", "1000", "5000", "5000", "5000"].into_iter().any(|cases| {
        let out = tempfile::tempdir().expect("a folder");
        let mut run = suite(card, out.path(), cases).spawn().expect("the suite starts");
        let mut is_killed = false;
        while !is_killed && run.try_wait().expect("its state").is_none() {
            let running = |worker: &String| ticks(card, worker).is_some_and(|ticks| ticks >= runs);
            if let Some(worker) = children(&run).into_iter().find(running) {
                let worker = worker.parse().ok().and_then(Pid::from_raw).expect("a process number");
                is_killed = kill_process(worker, Signal::KILL).is_ok();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = run.wait_with_output().expect("it ends");
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        if is_killed && said.contains("opening it killed the worker") {
            runs *= 2;
            return false;
        }
        assert!(output.status.success(), "{said}");
        let rows = report(out.path()).results;
        assert!(rows.iter().all(|row| row.status != Status::Fail && row.cases > 0), "{said}");
        is_killed
    });
    assert!(caught, "{}: every worker ended before it could be killed", card.id);
    Row::new("a worker of the suite is killed", "SIGKILL", "works", "every case ran")
}

/// Loses the device in a launch; the report must say so, and the run end.
fn loses(card: &Card) -> Row {
    let out = tempfile::tempdir().expect("a folder");
    let fault = ["cuLaunchKernel:5:lost", "hipModuleLaunchKernel:5:lost"][card.vendor];
    let output = suite(card, out.path(), "16").env("ISOBIT_SIM_FAULT", fault).output().expect("the suite starts");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let rows = report(out.path()).results;
    let failed: Vec<_> = rows.iter().filter(|row| row.status == Status::Fail).collect();
    assert!(!failed.is_empty(), "{said}");
    let why = failed[0].worst.clone().unwrap_or_default();
    assert!(why.contains("DeviceLost") || why.contains("lost") || why.contains("launch failure"), "{why}\n{said}");
    Row::new("the suite's device is lost in a launch", fault, "the cell fails", "report, exit code 1")
}

pub fn run(card: &'static Card) -> Vec<Row> {
    vec![killed(card), loses(card)]
}

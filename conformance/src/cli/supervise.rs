//! The other side of a worker: receives its messages. If the worker dies or hangs, finds the case
//! that caused it and continues with a new worker.
//!
//! Several cells run at once in a worker, so its death only tells which cells may have caused it.
//! These cells run again one at a time, with each case reported before it runs. The case reported
//! last is the culprit: its cell fails with it, and the others continue.

use super::fail_fast::FailFast;
use super::pool::Event;
use super::process::Worker;
use super::progress::Progress;
use super::worker::{Job, Message, Then};
use anyhow::{Result, bail};
use isobit_conformance::cells::Cell;
use isobit_conformance::report::{Finding, LaunchSize, ResultRow, launch_sizes};
use isobit_conformance::run::{CellRun, Failure, Fault, Options, Reference};
use std::collections::HashMap;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// The results of an order.
#[derive(Default)]
pub struct Outcome {
    /// The cell runs, in the order of the cells.
    pub runs: Vec<CellRun>,
    /// The rows of the checks that follow the cells ...
    pub rows: Vec<ResultRow>,
    /// ... and the findings of the memory checks during them.
    pub findings: Vec<Finding>,
    /// The number of instructions that a simulated device executed, over all workers.
    pub executed: u64,
    /// The sizes of launch code that all workers met.
    pub launches: Vec<LaunchSize>,
}

/// How one worker ended.
enum End {
    /// Every cell is done.
    Finished,
    /// It died or hung: the cells that were begun and not done, and the case reported last.
    Died { why: String, suspects: Vec<usize>, last: Option<(usize, Option<u64>)> },
}

/// The work for a device.
pub struct Order<'a> {
    /// The device's name in reports.
    pub device: &'a str,
    /// The cells.
    pub cells: &'a [&'a Cell],
    /// The options of the cells.
    pub options: &'a Options,
    /// The longest time that a case may take.
    pub timeout: Duration,
    /// The checks that follow the cells.
    pub then: Option<Then>,
    /// Ends the order at the first failure of any device.
    pub fast: &'a FailFast,
}

/// Runs cells on a device in workers, and reports each finished cell to `progress`.
///
/// # Errors
/// Fails if a worker cannot be started again.
pub fn run(
    worker: Worker,
    restart: impl Fn() -> Result<Worker>,
    order: &Order<'_>,
    progress: &Progress,
) -> Result<Outcome> {
    let Order { device, cells, options, timeout, then, fast } = order;
    let mut done: HashMap<usize, CellRun> = HashMap::new();
    let mut outcome = Outcome::default();
    let mut spare = Some(worker);
    // The cells to run one at a time, because one of them killed a worker.
    let mut suspects: Vec<usize> = Vec::new();
    while done.len() < cells.len() && !fast.stopped() {
        let alone = !suspects.is_empty();
        let given: Vec<usize> =
            if alone { suspects.clone() } else { (0..cells.len()).filter(|c| !done.contains_key(c)).collect() };
        let worker = match spare.take() {
            Some(worker) => worker,
            None => restart()?,
        };
        let then = if alone { None } else { then.clone() };
        let job = Job { alone, then, ..Job::of(given.iter().map(|&c| cells[c]), options) };
        let mut executed = 0;
        let end = one(worker, &given, &job, *timeout, fast, |told| match told {
            WorkerEvent::Done(cell, run) => {
                progress.step(&run.row);
                fast.saw(&run.row);
                done.insert(cell, *run);
            }
            WorkerEvent::Row(row) => {
                fast.saw(&row);
                outcome.rows.push(row);
            }
            WorkerEvent::Found(finding) => outcome.findings.push(finding),
            WorkerEvent::Executed(so_far) => executed = so_far,
            WorkerEvent::Launches(sizes) => launch_sizes::add(&mut outcome.launches, sizes),
            WorkerEvent::Working(what) => progress.note(&what),
        })?;
        outcome.executed += executed;
        suspects.retain(|c| !done.contains_key(c));
        let (why, begun, last) = match end {
            End::Finished => {
                suspects.clear();
                if given.iter().all(|c| !done.contains_key(c)) && !fast.stopped() {
                    bail!("device {device}: the worker reported that it finished but ran no cell");
                }
                continue;
            }
            End::Died { why, suspects, last } => (why, suspects, last),
        };
        match (alone, last) {
            // The culprit is the case reported last, in the only cell that was running.
            (true, Some((cell, index))) => {
                let run = crashed(cells[cell], device, index, options, why);
                progress.step(&run.row);
                done.insert(cell, run);
                suspects.retain(|&c| c != cell);
            }
            // It died before any case, or between cells: no case is to blame, and no cell can run.
            _ if begun.is_empty() => bail!("device {device}: the worker ended before any cell began ({why})"),
            // To look for the culprit among several cells, they would have to run again.
            (true, None) | (false, _) if alone || fast.on() => {
                for cell in begun {
                    let run = CellRun::new(cells[cell], device, Reference::Cpu).fail(why.clone());
                    progress.step(&run.row);
                    fast.saw(&run.row);
                    done.insert(cell, run);
                    suspects.retain(|&c| c != cell);
                }
            }
            _ => suspects = begun,
        }
    }
    outcome.runs = (0..cells.len()).filter_map(|c| done.remove(&c)).collect();
    Ok(outcome)
}

/// The messages of a worker that its callers handle.
enum WorkerEvent {
    Done(usize, Box<CellRun>),
    Row(ResultRow),
    Found(Finding),
    Executed(u64),
    Launches(Vec<LaunchSize>),
    Working(String),
}

/// Runs one worker to its end. `given` contains the numbers of the job's cells.
fn one(
    mut worker: Worker,
    given: &[usize],
    job: &Job,
    timeout: Duration,
    fast: &FailFast,
    mut tell: impl FnMut(WorkerEvent),
) -> Result<End> {
    let alone = job.alone;
    worker.give(job)?;
    // Alone, each case must answer within the timeout. Together, each cell must, because its cases
    // share the processors.
    let patience = if alone { timeout } else { timeout.saturating_mul(5) };
    let mut begun: HashMap<usize, Instant> = HashMap::new();
    let mut last = None;
    let why = loop {
        // Another worker found what the run ends at; dropping this one ends its process.
        if fast.stopped() {
            return Ok(End::Finished);
        }
        match worker.messages.recv_timeout(Duration::from_millis(500)) {
            Ok(Message::Event(Event::Begin { cell })) => {
                begun.insert(given[cell], Instant::now());
            }
            Ok(Message::Event(Event::Case { cell, index })) => {
                last = Some((given[cell], index));
                begun.insert(given[cell], Instant::now());
            }
            Ok(Message::Event(Event::Done { cell, run })) => {
                begun.remove(&given[cell]);
                last = None;
                // A lost device cannot be used again in that process. If only one case runs at a
                // time, that case is to blame.
                if run.lost && !alone {
                    begun.insert(given[cell], Instant::now());
                    break "the device was lost".to_string();
                }
                let lost = run.lost;
                tell(WorkerEvent::Done(given[cell], run));
                if lost {
                    return Ok(End::Finished);
                }
            }
            Ok(Message::Row(row)) => tell(WorkerEvent::Row(row)),
            Ok(Message::Found(finding)) => tell(WorkerEvent::Found(finding)),
            Ok(Message::Executed(so_far)) => tell(WorkerEvent::Executed(so_far)),
            Ok(Message::Launches(sizes)) => tell(WorkerEvent::Launches(sizes)),
            Ok(Message::Working(what)) => tell(WorkerEvent::Working(what)),
            Ok(Message::Finished) => {
                worker.let_end();
                return Ok(End::Finished);
            }
            Ok(Message::Ready(_) | Message::Absent(_) | Message::Supports(_) | Message::Group(_)) => {}
            Err(RecvTimeoutError::Timeout) => {
                if begun.values().any(|since| since.elapsed() > patience) {
                    break format!("no answer within {:.0} s", patience.as_secs_f64());
                }
            }
            Err(RecvTimeoutError::Disconnected) => break worker.end(),
        }
    };
    let mut suspects: Vec<usize> = begun.into_keys().collect();
    suspects.sort_unstable();
    Ok(End::Died { why, suspects, last })
}

/// Returns the failed run of a cell whose case killed its worker.
fn crashed(cell: &Cell, device: &str, index: Option<u64>, options: &Options, why: String) -> CellRun {
    let case = match index {
        Some(index) => Some(isobit_conformance::generate::case(options.seed, cell, index)),
        None => options.first.iter().find(|c| c.cell() == Some(cell)).cloned(),
    };
    let fault = Fault::Crash { message: why };
    let mut run = CellRun::new(cell, device, Reference::Cpu).fail(fault.to_string());
    run.row.cases = index.map_or(1, |i| i + 1);
    run.row.failed = 1;
    run.row.worst = case.as_ref().map(|c| format!("shape {:?}: {fault}", c.shape));
    run.failure = case.map(|case| Failure { device: device.into(), index, case, fault });
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::process::spawn;
    use isobit_conformance::report::{DeviceRow, Status};
    use std::process::Command;

    /// A worker that is a shell script: `$job` contains its job, `$alone` says whether it runs one
    /// cell at a time.
    fn script(body: &str) -> Result<Worker> {
        let ready = serde_json::to_string(&Message::Ready(DeviceRow::default())).unwrap();
        let text = format!(
            "echo '{ready}'; read -r job; case \"$job\" in *'\"alone\":true'*) alone=1;; *) alone=0;; esac\n{body}"
        );
        spawn("sim:0", Command::new("sh").args(["-c", &text]))
    }

    fn say(event: Event) -> String {
        format!("echo '{}'\n", serde_json::to_string(&Message::Event(event)).unwrap())
    }

    fn cells() -> [&'static Cell; 2] {
        [Cell::find("exp", "f32", None).unwrap(), Cell::find("add", "f32", None).unwrap()]
    }

    fn done(cell: usize) -> String {
        say(Event::Done { cell, run: Box::new(CellRun::new(cells()[cell], "sim:0", Reference::Cpu)) })
    }

    /// Cell 1 kills the worker with `death` in its case 5, whether it runs alone or beside cell 0.
    fn dies(death: &str) -> Vec<CellRun> {
        let (begin, finished) = (|cell| say(Event::Begin { cell }), r#"echo '"finished"'"#);
        let together = format!("{}{}{death}", begin(0), begin(1));
        let case = |cell, index| say(Event::Case { cell, index: Some(index) });
        let alone = format!("{}{}{}{}{}{death}", begin(0), case(0, 0), done(0), begin(1), case(1, 5));
        let body = format!("if [ $alone = 1 ]; then\n{alone}\nelse\n{together}\nfi\n{finished}");
        let options = Options::new(0, 64);
        let progress = Progress::new("sim:0", 2);
        let timeout = Duration::from_millis(300);
        let fast = FailFast::new(false);
        let order = Order { device: "sim:0", cells: &cells(), options: &options, timeout, then: None, fast: &fast };
        let worker = script(&body).unwrap();
        run(worker, || script(&body), &order, &progress).unwrap().runs
    }

    fn the_second_alone_failed(runs: &[CellRun], why: &str) {
        assert_eq!((runs[0].row.status, runs[1].row.status), (Status::Pass, Status::Fail));
        let failure = runs[1].failure.as_ref().unwrap();
        assert_eq!(failure.index, Some(5));
        assert_eq!(failure.case, isobit_conformance::generate::case(0, cells()[1], 5));
        assert!(failure.fault.to_string().contains(why), "{}", failure.fault);
    }

    #[test]
    fn a_case_that_kills_the_worker_fails_and_the_others_go_on() {
        the_second_alone_failed(&dies("kill -SEGV $$\n"), "signal: 11");
    }

    #[test]
    fn with_fail_fast_the_first_failure_ends_the_worker() {
        let mut failed = CellRun::new(cells()[0], "sim:0", Reference::Cpu);
        failed.row.status = Status::Fail;
        let done = say(Event::Done { cell: 0, run: Box::new(failed) });
        let body = format!("{}{done}exec sleep 600\n", say(Event::Begin { cell: 0 }));
        for (body, failures) in [(body, 1), (format!("{}kill -SEGV $$\n", say(Event::Begin { cell: 1 })), 1)] {
            let (fast, options) = (FailFast::new(true), Options::new(0, 64));
            let timeout = Duration::from_secs(60);
            let order = Order { device: "sim:0", cells: &cells(), options: &options, timeout, then: None, fast: &fast };
            let began = Instant::now();
            let out = run(script(&body).unwrap(), || script(&body), &order, &Progress::new("sim:0", 2)).unwrap();
            assert_eq!(out.runs.iter().filter(|r| r.row.status == Status::Fail).count(), failures);
            assert!(fast.stopped() && out.runs.len() == 1 && began.elapsed() < timeout);
        }
    }

    #[test]
    fn a_case_that_hangs_fails_and_the_others_go_on() {
        the_second_alone_failed(&dies("exec sleep 600\n"), "no answer within");
    }

    #[test]
    fn a_worker_that_does_not_open_its_device_says_why() {
        let absent = serde_json::to_string(&Message::Absent("no such card".into())).unwrap();
        let e = spawn("sim:0", Command::new("sh").args(["-c", &format!("echo '{absent}'")])).err().unwrap();
        assert_eq!(e.to_string(), "no such card");
        let e = spawn("sim:0", Command::new("sh").args(["-c", "exit 3"])).err().unwrap();
        assert!(e.to_string().contains("exit status: 3"), "{e}");
    }
}

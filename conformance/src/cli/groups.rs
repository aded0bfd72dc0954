//! Runs the groups of a device, on both sides of a worker process. The worker runs the groups one
//! after the other. If a group kills or hangs its worker, this side fails the group in the case
//! that did it, and a new worker runs the remaining groups. The sets of huge tensors run in the
//! same way.

use super::args::Args;
use super::devices;
use super::fail_fast::FailFast;
use super::process::{self, Worker};
use super::progress::Progress;
use super::simulator::Simulator;
use super::worker::{Job, Message};
use anyhow::{Context, Result, anyhow};
use isobit::AnyDevice;
use isobit_conformance::report::{LaunchSize, launch_sizes};
use isobit_conformance::run::Watch;
use isobit_conformance::runtime_tests::{Group, GroupRun, Options, run_group};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Environment variables that affect a case, which the repro command must repeat.
const REPEATED: [&str; 2] = ["ISOBIT_SIM_DEFER", "ISOBIT_POOL"];

/// The number of further devices for collectives, so that there are 8 ranks.
const OTHERS: usize = 7;

/// The groups that a worker runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupJob {
    /// The names of the groups.
    names: Vec<String>,
    seed: u64,
    cases: u64,
    only: Option<u64>,
    fail_fast: bool,
}

/// The progress of groups, as a worker reports it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupEvent {
    /// A case of the first unfinished group of the job starts.
    Case(u64),
    /// That group is finished.
    Done(Box<GroupRun>),
}

/// The results of a device's groups.
#[derive(Default)]
pub struct Outcome {
    /// The group runs, in the order of the groups.
    pub runs: Vec<GroupRun>,
    /// The number of instructions that a simulated device executed.
    pub executed: u64,
    /// The sizes of launch code that the workers met.
    pub launches: Vec<LaunchSize>,
}

/// Runs the job's groups; this is the worker's side.
///
/// # Errors
/// Fails if a name is not the name of a group.
pub fn work(
    device: &AnyDevice,
    id: &str,
    job: &GroupJob,
    simulator: Option<Arc<Simulator>>,
    tell: &dyn Fn(Message),
) -> Result<()> {
    let collective = job.names.iter().any(|name| name == Group::Collectives.name());
    let options = Options {
        only: job.only,
        fail_fast: job.fail_fast,
        others: devices::open_others(id, if collective { OTHERS } else { 1 }),
        watch: simulator.clone().map(|s| s as Arc<dyn Watch>),
        ..Options::new(job.seed, job.cases)
    };
    for name in &job.names {
        let group = Group::find(name).with_context(|| format!("no group {name}"))?;
        let run = run_group(device, id, group, &options, |index| tell(Message::Group(GroupEvent::Case(index))));
        let lost = run.lost;
        tell(Message::Group(GroupEvent::Done(Box::new(run))));
        if let Some(simulator) = &simulator {
            tell(Message::Executed(simulator.executed()));
        }
        // A lost device cannot be used again in this process.
        if lost {
            break;
        }
    }
    Ok(())
}

/// What a worker runs one after the other, each with a row of the report.
pub trait Piece: Sized {
    /// Returns its run on a device in which nothing has run yet.
    fn not_run(&self, id: &str) -> GroupRun;
    /// Marks a run of it as failed in a case.
    fn fail(&self, run: &mut GroupRun, seed: u64, index: u64, why: &str);
    /// Returns the job that runs the pieces that are left.
    fn job(args: &Args, left: &VecDeque<Self>) -> Job;
}

impl Piece for Group {
    fn not_run(&self, id: &str) -> GroupRun {
        GroupRun::new(*self, id)
    }

    fn fail(&self, run: &mut GroupRun, seed: u64, index: u64, why: &str) {
        run.fail(seed, index, why, &[]);
    }

    fn job(args: &Args, left: &VecDeque<Self>) -> Job {
        let names = left.iter().map(|g| g.name().to_string()).collect();
        let groups =
            GroupJob { names, seed: args.seed, cases: args.case_count(), only: args.case, fail_fast: args.fail_fast };
        let options = isobit_conformance::run::Options::new(args.seed, 0);
        Job { groups: Some(groups), ..Job::of(std::iter::empty(), &options) }
    }
}

/// Runs the groups of the CPU, in this process.
pub fn on_cpu(args: &Args, groups: &[Group], fast: &FailFast) -> Vec<GroupRun> {
    let new = Options::new(args.seed, args.case_count());
    let options = Options { only: args.case, fail_fast: args.fail_fast, ..new };
    let progress = Progress::new("cpu, groups", groups.len());
    let run = |&group: &Group| {
        let run = run_group(&AnyDevice::cpu(), "cpu", group, &options, |_| {});
        progress.step(&run.row);
        fast.saw(&run.row);
        run
    };
    groups.iter().map_while(|group| (!fast.stopped()).then(|| run(group))).collect()
}

/// Runs the groups of another device, split among `workers` workers.
///
/// # Errors
/// Fails if a worker cannot be started again.
pub fn on_workers(args: &Args, id: &str, groups: &[Group], workers: usize, fast: &FailFast) -> Result<Outcome> {
    if groups.is_empty() || fast.stopped() {
        return Ok(Outcome::default());
    }
    let progress = Progress::new(&format!("{id}, groups"), groups.len());
    let count = workers.clamp(1, groups.len());
    let outcomes = std::thread::scope(|scope| {
        let dealt = |n: usize| groups.iter().copied().skip(n).step_by(count).collect::<VecDeque<_>>();
        let progress = &progress;
        let start = || process::start_with(id, 1, false);
        let threads = (0..count).map(|n| scope.spawn(move || listen(args, id, dealt(n), start, (progress, fast))));
        let joined = |t: std::thread::ScopedJoinHandle<'_, Result<Outcome>>| {
            t.join().unwrap_or_else(|_| Err(anyhow!("the thread that ran groups died")))
        };
        threads.collect::<Vec<_>>().into_iter().map(joined).collect::<Result<Vec<_>>>()
    })?;
    let executed = outcomes.iter().map(|o| o.executed).sum();
    let mut launches = Vec::new();
    let mut dealt = Vec::new();
    for outcome in outcomes {
        launch_sizes::add(&mut launches, outcome.launches);
        dealt.push(outcome.runs.into_iter());
    }
    let mut runs: Vec<GroupRun> = (0..groups.len()).filter_map(|i| dealt[i % count].next()).collect();
    runs.iter_mut().for_each(repeat_variables);
    Ok(Outcome { runs, executed, launches })
}

/// Prefixes the repro commands with the variables that the failure may depend on.
fn repeat_variables(run: &mut GroupRun) {
    let set = |name| Some(format!("{name}={} ", std::env::var(name).ok()?));
    let variables: String = REPEATED.into_iter().filter_map(set).collect();
    let commands = run.findings.iter_mut().map(|f| &mut f.repro).chain([&mut run.row.repro]);
    commands.flatten().for_each(|command| command.insert_str(0, &variables));
}

/// Runs the groups, or other pieces, in one worker after the other until each has ended.
///
/// # Errors
/// Fails if a worker cannot be started again.
pub fn listen<P: Piece>(
    args: &Args,
    id: &str,
    mut left: VecDeque<P>,
    mut start: impl FnMut() -> Result<Worker>,
    (progress, fast): (&Progress, &FailFast),
) -> Result<Outcome> {
    let mut out = Outcome::default();
    let patience = Duration::from_secs(args.timeout.max(1));
    while !left.is_empty() && !fast.stopped() {
        let mut worker = start()?;
        worker.give(&P::job(args, &left))?;
        let (mut case, mut since, mut executed) = (None, Instant::now(), 0);
        let why = loop {
            if fast.stopped() {
                break None;
            }
            match worker.messages.recv_timeout(Duration::from_millis(500)) {
                Ok(Message::Group(GroupEvent::Case(index))) => (case, since) = (Some(index), Instant::now()),
                Ok(Message::Group(GroupEvent::Done(run))) => {
                    progress.step(&run.row);
                    fast.saw(&run.row);
                    out.runs.push(*run);
                    left.pop_front();
                    (case, since) = (None, Instant::now());
                }
                Ok(Message::Executed(so_far)) => executed = so_far,
                Ok(Message::Launches(sizes)) => launch_sizes::add(&mut out.launches, sizes),
                Ok(Message::Finished) => {
                    worker.let_end();
                    break None;
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) if since.elapsed() > patience => {
                    break Some(format!("no answer within {:.0} s", patience.as_secs_f64()));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break Some(format!("the worker died: {}", worker.end())),
            }
        };
        out.executed += executed;
        if let (Some(why), Some(piece)) = (why, left.pop_front()) {
            let mut run = piece.not_run(id);
            let index = case.unwrap_or(0);
            run.row.cases = index + 1;
            piece.fail(&mut run, args.seed, index, &why);
            progress.step(&run.row);
            fast.saw(&run.row);
            out.runs.push(run);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::process::spawn;
    use clap::Parser;
    use isobit_conformance::report::{DeviceRow, Status};
    use std::process::Command;

    #[test]
    fn a_group_that_kills_its_worker_fails_in_that_case_and_the_others_go_on() {
        let say = |m: Message| format!("echo '{}'\n", serde_json::to_string(&m).unwrap());
        let ready = say(Message::Ready(DeviceRow::default()));
        let done = |g| say(Message::Group(GroupEvent::Done(Box::new(GroupRun::new(g, "sim:0")))));
        // The second group kills the first worker in case 3; a worker that begins with the third
        // group finishes.
        let dies = done(Group::Streams) + &say(Message::Group(GroupEvent::Case(3))) + "kill -SEGV $$\n";
        let goes_on = done(Group::Memory) + &say(Message::Finished);
        let text = format!("{ready}read -r job\ncase \"$job\" in *device.streams*)\n{dies};; *)\n{goes_on};; esac\n");
        let start = || spawn("sim:0", Command::new("sh").args(["-c", &text]));
        let args = Args::parse_from(["isobit-conformance", "--seed", "4"]);
        let left = VecDeque::from([Group::Streams, Group::Events, Group::Memory]);
        let seen = (&Progress::new("sim:0", 3), &FailFast::new(false));
        let out = listen(&args, "sim:0", left, start, seen).unwrap();
        let statuses: Vec<_> = out.runs.iter().map(|r| (r.row.op.as_str(), r.row.status, r.row.cases)).collect();
        let expected = [
            ("device.streams", Status::Pass, 0),
            ("device.events", Status::Fail, 4),
            ("device.memory", Status::Pass, 0),
        ];
        assert_eq!(statuses, expected);
        let row = &out.runs[1].row;
        assert!(row.worst.as_ref().unwrap().contains("signal: 11"), "{:?}", row.worst);
        assert_eq!(
            row.repro.as_deref(),
            Some("cargo xtask conformance --devices sim:0 --ops device.events --seed 4 --case 3")
        );
    }
}

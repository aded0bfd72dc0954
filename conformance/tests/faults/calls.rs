//! Each call that a driver makes fails once, with a code of each kind.

use crate::bench::{Action, Bench, Outcome};
use crate::card::{CODES, Card, Names};
use crate::row::Row;
use crate::{copies, describe, graphs, kernels, libraries, memory, order, peers};
use isobit::{AnyDevice, BackendDevice as _, ErrorKind, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the codes of a call must lead to.
pub enum Expected {
    /// The error of each code's own kind, with these words in the message. An allocation that fails
    /// with out of memory is tried again, so such calls have rows of their own.
    ItsKind(&'static str),
    /// As [`ItsKind`](Self::ItsKind), but the next call that waits returns the error.
    ItsKindLater(&'static str),
    /// One code and its outcome.
    One(Names, Outcome),
    /// Every code has the same outcome.
    Always(Outcome),
}

/// A call, and the step that makes it.
pub struct Call {
    /// What fails.
    pub what: &'static str,
    /// The function.
    pub names: Names,
    /// Which call of the step.
    pub nth: &'static str,
    pub expected: Expected,
    pub prepare: fn(&AnyDevice) -> Result<Action>,
}

impl Call {
    /// The first call of a step fails, and its error has the kind of the code and these words.
    pub const fn new(
        what: &'static str,
        names: Names,
        words: &'static str,
        prepare: fn(&AnyDevice) -> Result<Action>,
    ) -> Self {
        Self { what, names, nth: "1", expected: Expected::ItsKind(words), prepare }
    }
}

/// Runs every call that the card's driver makes.
pub fn run(card: &'static Card) -> Vec<Row> {
    let bench = Bench::new(card);
    let subjects = [
        describe::CALLS,
        memory::CALLS,
        copies::CALLS,
        order::CALLS,
        kernels::CALLS,
        graphs::CALLS,
        peers::CALLS,
        libraries::CALLS,
    ];
    let calls = subjects.into_iter().flatten().filter(|call| !call.names[card.vendor].is_empty());
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for call in calls {
        // One wrong outcome must not hide the others.
        match catch_unwind(AssertUnwindSafe(|| one(&bench, call))) {
            Ok(row) => rows.push(row),
            Err(_) => wrong.push(call.what),
        }
        bench.simulator.fail("");
        // Errors of the wrong outcome are not those of the next call.
        let _ = (0..8).find(|_| bench.device.synchronize().is_ok());
    }
    assert!(wrong.is_empty(), "{}: wrong outcomes, described above: {wrong:#?}", card.id);
    rows.extend(memory::every_allocation(&bench));
    rows.extend(kernels::damaged(&bench));
    let counts = bench.simulator.counts();
    let untouched = counts.iter().filter(|(_, count)| count.injected == 0).map(|(name, _)| name.as_str());
    let untouched: Vec<_> = untouched.filter(|name| !ELSEWHERE.contains(name)).collect();
    assert!(untouched.is_empty(), "{}: no fault is injected into these calls: {untouched:#?}", card.id);
    let before = bench.simulator.live();
    // A device that closes destroys what it made; what a call failed to destroy is gone already.
    drop(bench);
    let after = crate::simulator::Simulator::new(card).live();
    let streams =
        |live: &[(&str, u64)]| live.iter().find(|(create, _)| create.contains("StreamCreate")).map(|(_, n)| *n);
    assert_eq!(streams(&after).map(|n| n + 1), streams(&before), "the default stream is left");
    rows
}

/// Calls without a fault of their own: those that are made only behind another fault, the end of a
/// capture, which no driver refuses without ending it, and the simulator's own function.
const ELSEWHERE: &[&str] = &[
    "cuGetErrorName",
    "cuGetErrorString",
    "cuStreamEndCapture",
    "hipStreamEndCapture",
    "hiprtcGetProgramLog",
    "hiprtcGetProgramLogSize",
    "isobit_sim_enqueue",
];

fn one(bench: &Bench, call: &Call) -> Row {
    let (vendor, function) = (bench.card.vendor, call.names[bench.card.vendor]);
    let fault = |code: &str| format!("{function}:{}:{code}", call.nth);
    let check = |code: &str, outcome| bench.check(&fault(code), code, outcome, &call.prepare);
    let by_code = |outcome: fn(ErrorKind, &'static str) -> Outcome, words| {
        for code in CODES {
            check(code.names[vendor], outcome(code.kind, words));
        }
        Row::new(call.what, fault("CODE"), "the kind of the code", FIVE)
    };
    match call.expected {
        Expected::ItsKind(words) => by_code(Outcome::Fails, words),
        Expected::ItsKindLater(words) => {
            let row = by_code(Outcome::Later, words);
            Row { outcome: "the kind of the code, at the next call that waits".into(), ..row }
        }
        Expected::One(names, outcome) => {
            check(names[vendor], outcome);
            Row::new(call.what, fault(names[vendor]), outcome.to_text(), CHECKED)
        }
        Expected::Always(outcome) => {
            CODES.iter().for_each(|code| check(code.names[vendor], outcome));
            Row::new(call.what, fault("CODE"), outcome.to_text(), FIVE)
        }
    }
}

/// What is checked of every fault.
pub const CHECKED: &str = "call, no leak, works";

/// As [`CHECKED`], with a code of each kind.
const FIVE: &str = "call, no leak, works; five codes";

impl Outcome {
    fn to_text(self) -> String {
        match self {
            Self::Fails(kind, _) => format!("{kind:?}"),
            Self::Later(kind, _) => format!("{kind:?}, at the next call that waits"),
            Self::Works => "works".into(),
        }
    }
}

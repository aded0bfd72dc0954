//! What the checks find, and the collector that keeps it until a report takes it.

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// What was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Bytes that belong to no live allocation, or that may not be written. The access was not
    /// made.
    OutOfBounds,
    /// Bytes that nothing has written.
    UninitialisedRead,
    /// Two accesses of one byte that nothing orders, of which one writes.
    Race,
    /// An address that the access does not allow.
    Misaligned,
    /// A barrier that some threads of a group do not reach.
    DivergentBarrier,
    /// The work could not be executed to its end.
    Fault,
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfBounds => "out of bounds",
            Self::UninitialisedRead => "uninitialised read",
            Self::Race => "race",
            Self::Misaligned => "misaligned",
            Self::DivergentBarrier => "divergent barrier",
            Self::Fault => "fault",
        })
    }
}

/// One thing that was wrong, named so that a person can find it in the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was wrong.
    pub kind: FindingKind,
    /// The kernel, or the host operation (`copy from the host`, a library call).
    pub kernel: String,
    /// The instruction with its place in the kernel; empty for host operations.
    pub instruction: String,
    /// The thread and its group; empty for host operations.
    pub thread: String,
    /// The allocation, or the local memory of the group.
    pub buffer: String,
    /// Bytes from the start of `buffer`; negative before it.
    pub offset: i64,
    /// The whole of it in a sentence.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.kernel, self.kind, self.message)
    }
}

/// Findings of one kind at one instruction of one kernel that are kept whole; the others are
/// counted.
pub const KEPT_PER_INSTRUCTION: usize = 8;

#[derive(Default)]
struct Kept {
    findings: Vec<Finding>,
    /// By kind, kernel and instruction: how many there were, and where the last kept one is.
    seen: HashMap<(FindingKind, String, String), (usize, usize)>,
}

/// The collector of a device's findings.
#[derive(Default)]
pub struct Findings(Mutex<Kept>);

impl Findings {
    /// An empty collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding; of many alike the first [`KEPT_PER_INSTRUCTION`] are kept.
    pub fn push(&self, finding: Finding) {
        let mut kept = self.0.lock();
        let place = kept.findings.len();
        let key = (finding.kind, finding.kernel.clone(), finding.instruction.clone());
        let (count, last) = kept.seen.entry(key).or_insert((0, place));
        *count += 1;
        if *count <= KEPT_PER_INSTRUCTION {
            *last = place;
            kept.findings.push(finding);
        }
    }

    /// Takes what was found, in the order of discovery. Where more were alike than are kept, the
    /// last of them says how many.
    pub fn take(&self) -> Vec<Finding> {
        let kept = std::mem::take(&mut *self.0.lock());
        let mut findings = kept.findings;
        for (count, last) in kept.seen.into_values().filter(|(count, _)| *count > KEPT_PER_INSTRUCTION) {
            let more = count - KEPT_PER_INSTRUCTION;
            findings[last].message += &format!(" ({more} more of this kind at this instruction)");
        }
        findings
    }

    /// True where nothing was found since the last [`take`](Self::take).
    pub fn is_empty(&self) -> bool {
        self.0.lock().findings.is_empty()
    }
}

/// What kind of failure stopped work, as far as vendors tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FaultKind {
    /// Anything that is none of the others; a trap.
    #[default]
    Failed,
    /// An address that cannot be accessed.
    Address,
    /// An address that the instruction does not allow.
    Misaligned,
    /// An instruction that cannot be executed.
    Instruction,
    /// An assertion of the kernel that does not hold.
    Assert,
}

/// Why work could not be executed to its end: an instruction that is not known, a module that
/// cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    kind: FaultKind,
    message: String,
}

impl Fault {
    /// A fault that says `message`.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(FaultKind::Failed, message)
    }

    /// A fault of a kind that says `message`.
    pub fn of(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

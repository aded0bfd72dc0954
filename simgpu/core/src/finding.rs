//! Findings of the checks, and the collector that keeps them until a report takes them.

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// An access to bytes outside every live allocation, or a write to read-only bytes. The access
    /// was not made.
    OutOfBounds,
    /// A read that starts in an allocation and ends in the bytes by which a GPU rounds its size up.
    /// A GPU reads what lies there; the program must not depend on it.
    OverRead,
    /// A read of bytes that nothing has written.
    UninitialisedRead,
    /// Two unordered accesses of one byte, at least one of which writes.
    Race,
    /// An address that is not aligned as the access requires.
    Misaligned,
    /// A barrier that some threads of the group do not reach.
    DivergentBarrier,
    /// Threads that wait for each other for ever.
    Deadlock,
    /// The work could not be completed.
    Fault,
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfBounds => "out of bounds",
            Self::OverRead => "over-read within the allocation's rounding",
            Self::UninitialisedRead => "uninitialised read",
            Self::Race => "race",
            Self::Misaligned => "misaligned",
            Self::DivergentBarrier => "divergent barrier",
            Self::Deadlock => "deadlock",
            Self::Fault => "fault",
        })
    }
}

/// An error found by a check, described so that it can be located in the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of error.
    pub kind: FindingKind,
    /// The kernel, or the host operation (`copy from the host`, a library call).
    pub kernel: String,
    /// The instruction and its place in the kernel; empty for host operations.
    pub instruction: String,
    /// The thread and its group; empty for host operations.
    pub thread: String,
    /// The allocation, or the group's local memory.
    pub buffer: String,
    /// Bytes from the start of `buffer`; negative before it.
    pub offset: i64,
    /// The complete finding as a sentence.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.kernel, self.kind, self.message)
    }
}

/// Number of findings kept per kind, instruction and kernel; further ones are only counted.
pub const KEPT_PER_INSTRUCTION: usize = 8;

#[derive(Default)]
struct Kept {
    findings: Vec<Finding>,
    /// By kind, kernel and instruction: the number of findings, and the index of the last kept one.
    seen: HashMap<(FindingKind, String, String), (usize, usize)>,
}

/// The collector of a device's findings.
#[derive(Default)]
pub struct Findings(Mutex<Kept>);

impl Findings {
    /// Creates an empty collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding. Keeps the first [`KEPT_PER_INSTRUCTION`] of similar findings.
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

    /// Takes the findings, in order of discovery. If some similar findings were not kept, the last
    /// kept one says how many.
    pub fn take(&self) -> Vec<Finding> {
        let kept = std::mem::take(&mut *self.0.lock());
        let mut findings = kept.findings;
        for (count, last) in kept.seen.into_values().filter(|(count, _)| *count > KEPT_PER_INSTRUCTION) {
            let more = count - KEPT_PER_INSTRUCTION;
            findings[last].message += &format!(" ({more} more of this kind at this instruction)");
        }
        findings
    }

    /// Whether nothing was found since the last [`take`](Self::take).
    pub fn is_empty(&self) -> bool {
        self.0.lock().findings.is_empty()
    }
}

/// The kind of failure that stopped work, as far as the vendors distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FaultKind {
    /// Any other failure, or a trap.
    #[default]
    Failed,
    /// An address that cannot be accessed.
    Address,
    /// An address that is not aligned as the instruction requires.
    Misaligned,
    /// An instruction that cannot be executed.
    Instruction,
    /// A failed assertion of the kernel.
    Assert,
}

/// The reason why work could not be completed, such as an unknown instruction or a module that
/// cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    kind: FaultKind,
    message: String,
}

impl Fault {
    /// Creates a fault with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(FaultKind::Failed, message)
    }

    /// Creates a fault of a kind with a message.
    pub fn of(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Returns the kind of failure.
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

//! Findings of the checks, and the collector that keeps them until a report takes them.

mod kept;
pub mod report;
mod sarif;
pub mod suppress;

use crate::settings::Response;
use kept::Kept;
use parking_lot::Mutex;
use report::{Counts, ReportFile, Written};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Write as _;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use suppress::Suppressions;

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// An access to bytes outside every live allocation, or a write to read-only bytes. Only bytes
    /// inside were accessed, and none by an atomic; the others read as zero.
    OutOfBounds,
    /// A read that starts in an allocation and ends in the bytes by which a GPU rounds its size up.
    /// A GPU reads what lies there, here it is zero; the program must not depend on it.
    OverRead,
    /// A read of bytes that nothing has written.
    UninitialisedRead,
    /// Two unordered accesses of one byte, at least one of which writes.
    Race,
    /// An address that is not aligned as the access requires.
    Misaligned,
    /// A barrier that some threads of a wave go around while others of it wait there.
    DivergentBarrier,
    /// Threads that wait for ever.
    Deadlock,
    /// The work could not be completed.
    Fault,
}

impl FindingKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::OutOfBounds,
        Self::OverRead,
        Self::UninitialisedRead,
        Self::Race,
        Self::Misaligned,
        Self::DivergentBarrier,
        Self::Deadlock,
        Self::Fault,
    ];

    /// Returns the name in suppressions and in reports for programs, which is also the name in
    /// JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out_of_bounds",
            Self::OverRead => "over_read",
            Self::UninitialisedRead => "uninitialised_read",
            Self::Race => "race",
            Self::Misaligned => "misaligned",
            Self::DivergentBarrier => "divergent_barrier",
            Self::Deadlock => "deadlock",
            Self::Fault => "fault",
        }
    }
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

impl Finding {
    /// Creates the finding that a launch of `kernel` could not be completed.
    pub fn fault(kernel: &str, fault: &Fault) -> Self {
        Self {
            kind: FindingKind::Fault,
            kernel: kernel.to_owned(),
            instruction: String::new(),
            thread: String::new(),
            buffer: String::new(),
            offset: 0,
            message: fault.to_string(),
        }
    }

    /// Returns the file and the line of the source, if the code says them.
    pub fn source(&self) -> Option<(&str, u32)> {
        let (file, line) = self.instruction.strip_suffix(')')?.rsplit_once(" (")?.1.rsplit_once(':')?;
        Some((file, line.parse().ok()?))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.kernel, self.kind, self.message)
    }
}

pub use kept::KEPT_PER_INSTRUCTION;

/// The collector of a device's findings.
///
/// A forked process starts without findings: those of before are its parent's, which reports them.
pub struct Findings {
    /// The process that they belong to.
    process: AtomicU32,
    kept: Mutex<Kept>,
    response: Response,
    suppressions: Suppressions,
    file: Option<ReportFile>,
}

impl Default for Findings {
    fn default() -> Self {
        Self::new()
    }
}

impl Findings {
    /// Creates an empty collector that only records.
    pub fn new() -> Self {
        Self::with(Response::Record, Suppressions::default(), None)
    }

    /// Creates an empty collector that responds to findings, suppresses some, and keeps a file up
    /// to date. The file replaces one of an earlier process.
    pub fn with(response: Response, suppressions: Suppressions, file: Option<ReportFile>) -> Self {
        let process = AtomicU32::new(process::id());
        let findings = Self { process, kept: Mutex::default(), response, suppressions, file };
        if let Some(file) = &findings.file {
            file.save(&findings.suppressions);
        }
        findings
    }

    /// Forgets what the parent found if this process is forked. Every other method that reads or
    /// changes findings begins with it.
    fn forget_the_parents(&self) {
        let process = process::id();
        if self.process.load(Ordering::Acquire) == process {
            return;
        }
        // Another thread waits here until everything is forgotten.
        let mut kept = self.kept.lock();
        if self.process.load(Ordering::Relaxed) != process {
            *kept = Kept::default();
            self.suppressions.forget_uses();
            self.file.iter().for_each(ReportFile::fork);
            self.process.store(process, Ordering::Release);
        }
    }

    /// Whether an invalid access becomes an error of the interface, as on a card.
    pub fn fails_like_a_card(&self) -> bool {
        self.response != Response::Record
    }

    /// Returns the suppressions.
    pub fn suppressions(&self) -> &Suppressions {
        &self.suppressions
    }

    /// Adds a finding, unless it is suppressed. Keeps the first [`KEPT_PER_INSTRUCTION`] of similar
    /// findings. If the process is to end at the first finding, it ends here.
    pub fn push(&self, finding: Finding) {
        self.forget_the_parents();
        if self.suppressions.cover(&finding) {
            // The file counts what a suppression covers.
            self.file.iter().for_each(ReportFile::fall_behind);
            return;
        }
        if let Some(file) = &self.file {
            file.add(finding.clone());
        }
        if self.response == Response::Abort {
            // The process ends whether or not the text can be written.
            let end = "the process ends at the first finding (ISOBIT_SIM_FINDINGS=abort)";
            let _ = writeln!(std::io::stderr(), "simulated GPU: {finding}\nsimulated GPU: {end}");
            self.save();
            process::abort();
        }
        self.kept.lock().add(finding);
    }

    /// Writes the report's file if there is one and it lacks something.
    pub fn save(&self) {
        let Some(file) = &self.file else { return };
        self.forget_the_parents();
        if file.is_behind() {
            file.save(&self.suppressions);
        }
    }

    /// Writes the report's file for the last time, and returns its path and content. A forked
    /// process has a file only if it found something and the name has its number.
    pub fn finish(&self) -> Option<Written> {
        self.forget_the_parents();
        self.file.as_ref()?.finish(&self.suppressions)
    }

    /// Takes the findings, in order of discovery. If some similar findings were not kept, the last
    /// kept one says how many.
    pub fn take(&self) -> Vec<Finding> {
        self.forget_the_parents();
        std::mem::take(&mut *self.kept.lock()).into_findings()
    }

    /// Returns the number of findings of each kind since the last [`take`](Self::take).
    pub fn counts(&self) -> Counts {
        self.forget_the_parents();
        self.kept.lock().counts()
    }

    /// Whether nothing was found since the last [`take`](Self::take).
    pub fn is_empty(&self) -> bool {
        self.forget_the_parents();
        self.kept.lock().is_empty()
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
    /// It would run for ever; a real card ends it after a time, if it does.
    Timeout,
    /// A stack that is too small for the calls of a thread.
    Stack,
    /// A call of something that is not a function.
    Jump,
}

/// The reason why work could not be completed, such as an unknown instruction or a module that
/// cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    kind: FaultKind,
    message: String,
    found: bool,
}

impl Fault {
    /// Creates a fault with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(FaultKind::Failed, message)
    }

    /// Creates a fault of a kind with a message.
    pub fn of(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), found: false }
    }

    /// Creates a fault that a finding already describes.
    pub fn found(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { found: true, ..Self::of(kind, message) }
    }

    /// Whether a finding already describes it.
    pub fn is_found(&self) -> bool {
        self.found
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

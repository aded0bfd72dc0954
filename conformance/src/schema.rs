//! The Rust types of `report.json`, schema 1: the only form in which results travel between
//! workers, files and readers.

use crate::launch_sizes::LaunchSize;
use isobit_hal::Numerics;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The schema version of these types.
pub const SCHEMA: u32 = 1;

/// The report of a whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// The seed; with the operation, the dtypes and the index it determines each case.
    pub seed: u64,
    /// The number of cases requested in each cell; 0 if sets of huge tensors ran instead.
    pub cases: u64,
    /// The build.
    pub build: Build,
    /// The devices that ran.
    pub devices: Vec<DeviceRow>,
    /// The devices that were available for selection but did not run.
    pub not_run: Vec<NotRun>,
    /// One row per cell.
    pub results: Vec<ResultRow>,
    /// The counts of the accesses that a memory check caught.
    pub memory: Memory,
    /// The individual findings of the checks.
    pub findings: Vec<Finding>,
    /// The cell counts; see [`Totals::of`].
    pub totals: Totals,
    /// The wall-clock time of the run in seconds.
    pub duration_s: f64,
}

impl Report {
    /// Creates a report of these parts and counts the totals.
    #[allow(clippy::too_many_arguments)]
    pub fn assemble(
        seed: u64,
        cases: u64,
        build: Build,
        devices: Vec<DeviceRow>,
        not_run: Vec<NotRun>,
        results: Vec<ResultRow>,
        memory: Memory,
        findings: Vec<Finding>,
        duration: std::time::Duration,
    ) -> Self {
        let totals = Totals::of(&results);
        let duration_s = duration.as_secs_f64();
        Self { schema: SCHEMA, seed, cases, build, devices, not_run, results, memory, findings, totals, duration_s }
    }

    /// Whether cells ran, none failed, and no memory check found anything.
    pub fn passed(&self) -> bool {
        let t = &self.totals;
        t.executed > 0
            && t.failed == 0
            && t.unexpected_passes == 0
            && self.findings.is_empty()
            && self.memory == Memory::default()
    }
}

/// What was built, and with what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The version of the package.
    pub version: String,
    /// The commit, with `-dirty` if the tree had changes; empty if unknown.
    pub git: String,
    /// The version of the Rust compiler.
    pub rustc: String,
    /// The compiler of the kernels; empty if no kernels were built.
    pub kernel_compiler: String,
    /// The flags with which the kernels were compiled.
    pub kernel_flags: String,
    /// [`isobit_hal::NUMERICS_VERSION`]; `None` in a file of a build without a numerics version.
    pub numerics_version: Option<u32>,
}

/// A device that ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// The name on the command line: `cpu`, `cuda:0`, `sim-rocm:gfx90a`.
    pub id: String,
    /// The driver: `cpu`, `cuda`, `rocm`.
    pub driver: String,
    /// The product's name.
    pub name: String,
    /// The architecture, in the vendor's spelling.
    pub arch: String,
    /// Whether the device is simulated.
    pub simulated: bool,
    /// The number of threads that run in lockstep; 1 on a CPU.
    pub warp_size: usize,
    /// The size of the memory in bytes; 0 if unknown.
    pub memory_bytes: u64,
    /// The version of the driver.
    pub driver_version: String,
    /// The number of instructions that a simulated device executed; `None` for a real one.
    pub instructions_executed: Option<u64>,
    /// The sizes at which the driver's launch code changes its path, with the sides that the run
    /// took; empty for a device that declares none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launch_sizes: Vec<LaunchSize>,
}

/// A device that did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRun {
    /// The name on the command line.
    pub id: String,
    /// The reason, as a sentence.
    pub reason: String,
}

/// How a cell is compared; `docs/numerics.md` defines the classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Values are moved, not computed: raw bits are compared, including NaN payloads.
    Moved,
    /// IEEE-754 or integer arithmetic determines the result.
    Exact,
    /// The recipe determines the result.
    Defined,
    /// A vendor's library computed the result: it must stay within a forward error bound.
    Vendor,
    /// The CPU's recipe is compared with the true value or a golden vector.
    Accuracy,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 5] = [Class::Moved, Class::Exact, Class::Defined, Class::Vendor, Class::Accuracy];

    /// Returns the name, as reports and the table of cells spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Moved => "moved",
            Class::Exact => "exact",
            Class::Defined => "defined",
            Class::Vendor => "vendor",
            Class::Accuracy => "accuracy",
        }
    }
}

impl From<isobit_hal::Class> for Class {
    fn from(class: isobit_hal::Class) -> Self {
        match class {
            isobit_hal::Class::Moved => Self::Moved,
            isobit_hal::Class::Exact => Self::Exact,
            isobit_hal::Class::Defined => Self::Defined,
            isobit_hal::Class::Vendor => Self::Vendor,
        }
    }
}

/// The result of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every case agreed.
    Pass,
    /// At least one case did not agree.
    Fail,
    /// The subject does not implement the cell, and is not expected to. The cell was not executed.
    Unsupported,
    /// The cell failed, as the committed table says it would.
    ExpectedFailure,
    /// The cell passed although the committed table says that it fails. The table is out of date,
    /// which counts as a failure.
    UnexpectedPass,
}

/// One cell: an operation at given dtypes, comparing a subject with a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultRow {
    /// The operation's name.
    pub op: String,
    /// The dtypes that distinguish the cell from its siblings: `f32`, or several as `f32,f16`,
    /// inputs first.
    pub dtypes: String,
    /// The device under test.
    pub subject: String,
    /// The reference: `cpu`, a device's id, `golden`, `exact`, or `small` for huge tensors, which
    /// are compared with the same operation on small ones.
    pub reference: String,
    /// How it was compared.
    pub class: Class,
    /// Portable or vendor numerics, for operations that offer a choice.
    pub numerics: Option<Numerics>,
    /// The result of the cell.
    pub status: Status,
    /// The number of cases that ran. For class accuracy against `exact`: the number of inputs
    /// evaluated.
    pub cases: u64,
    /// The number of cases that did not agree.
    pub failed: u64,
    /// The largest error in units in the last place. `None` if none was measured, or if no number
    /// can express it (a NaN instead of a number, an infinity instead of a finite value).
    pub max_ulp: Option<f64>,
    /// Whether every bit agreed. Any NaN equals any other NaN, except in class moved.
    pub bit_exact: bool,
    /// Whether every case gave the same bits twice; `None` if the cases ran once.
    pub repeatable: Option<bool>,
    /// The kinds of layout that ran.
    pub layouts: Vec<String>,
    /// The reason for unsupported, expected_failure and unexpected_pass.
    pub reason: Option<String>,
    /// The worst case in words: input, result, expected value, and the bound if there is one.
    pub worst: Option<String>,
    /// A command that repeats the failure.
    pub repro: Option<String>,
}

impl ResultRow {
    /// Creates a row in which no case has run yet.
    pub fn new(op: &str, dtypes: &str, subject: &str, reference: &str, class: Class) -> Self {
        Self {
            op: op.into(),
            dtypes: dtypes.into(),
            subject: subject.into(),
            reference: reference.into(),
            class,
            numerics: None,
            status: Status::Pass,
            cases: 0,
            failed: 0,
            max_ulp: Some(0.0),
            bit_exact: true,
            repeatable: None,
            layouts: Vec::new(),
            reason: None,
            worst: None,
            repro: None,
        }
    }
}

/// The counts of the accesses that a memory check caught during the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Accesses outside every live allocation, or in a guard band.
    pub out_of_bounds: u64,
    /// Reads of bytes that nothing had written.
    pub uninitialised_reads: u64,
    /// Conflicting accesses without a barrier between them.
    pub races: u64,
    /// Accesses at an address that is not a multiple of the access width.
    pub misaligned: u64,
    /// Barriers that not every thread of a group reached.
    pub divergent_barriers: u64,
    /// Elements of a result that were never written.
    pub unwritten: u64,
}

impl Memory {
    /// Returns the count of a kind of finding. `None` for `fault`, which is a trap or an impossible
    /// instruction, not an access.
    pub fn count_mut(&mut self, kind: &str) -> Option<&mut u64> {
        match kind {
            "out_of_bounds" => Some(&mut self.out_of_bounds),
            "uninitialised_reads" => Some(&mut self.uninitialised_reads),
            "races" => Some(&mut self.races),
            "misaligned" => Some(&mut self.misaligned),
            "divergent_barriers" => Some(&mut self.divergent_barriers),
            "unwritten" => Some(&mut self.unwritten),
            _ => None,
        }
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Memory) {
        for (kind, count) in other.counts() {
            *self.count_mut(kind).expect("each count has its name") += count;
        }
    }

    /// Returns each count with its name in the schema.
    pub fn counts(&self) -> [(&'static str, u64); 6] {
        [
            ("out_of_bounds", self.out_of_bounds),
            ("uninitialised_reads", self.uninitialised_reads),
            ("races", self.races),
            ("misaligned", self.misaligned),
            ("divergent_barriers", self.divergent_barriers),
            ("unwritten", self.unwritten),
        ]
    }
}

/// One finding of a memory check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The count of [`Memory`] that it belongs to, or `fault` for a trap or an impossible
    /// instruction, which no count includes.
    pub kind: String,
    /// The device.
    pub device: String,
    /// The kernel, if known.
    pub kernel: Option<String>,
    /// The instruction.
    pub instruction: Option<String>,
    /// The thread.
    pub thread: Option<String>,
    /// The buffer.
    pub buffer: Option<String>,
    /// Bytes from the start of the buffer; negative before it.
    pub offset: Option<i64>,
    /// The operation that ran.
    pub op: Option<String>,
    /// A command that repeats it.
    pub repro: Option<String>,
}

impl Finding {
    /// Returns the location in words: kernel, instruction, thread, buffer and offset, as far as
    /// they are known.
    pub fn place(&self) -> String {
        let parts = [
            ("kernel", &self.kernel),
            ("instruction", &self.instruction),
            ("thread", &self.thread),
            ("buffer", &self.buffer),
        ];
        let parts = parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
        parts.chain(self.offset.map(|offset| format!("byte {offset}"))).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.kind, self.device)?;
        if let Some(op) = &self.op {
            write!(f, ", op {op}")?;
        }
        let place = self.place();
        if !place.is_empty() {
            write!(f, ", {place}")?;
        }
        if let Some(repro) = &self.repro {
            write!(f, "\n  {repro}")?;
        }
        Ok(())
    }
}

/// The number of a report's cells for each status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// `executed + unsupported`.
    pub declared: u64,
    /// `passed + failed + expected_failures + unexpected_passes`.
    pub executed: u64,
    /// Cells of status pass.
    pub passed: u64,
    /// Cells of status fail.
    pub failed: u64,
    /// Cells of status unsupported.
    pub unsupported: u64,
    /// Cells of status expected_failure.
    pub expected_failures: u64,
    /// Cells of status unexpected_pass.
    pub unexpected_passes: u64,
}

impl Totals {
    /// Counts rows.
    pub fn of(results: &[ResultRow]) -> Self {
        let mut t = Self::default();
        for row in results {
            let count = match row.status {
                Status::Pass => &mut t.passed,
                Status::Fail => &mut t.failed,
                Status::Unsupported => &mut t.unsupported,
                Status::ExpectedFailure => &mut t.expected_failures,
                Status::UnexpectedPass => &mut t.unexpected_passes,
            };
            *count += 1;
        }
        t.executed = t.passed + t.failed + t.expected_failures + t.unexpected_passes;
        t.declared = t.executed + t.unsupported;
        t
    }
}

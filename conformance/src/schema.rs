//! `report.json`, schema 1, as Rust types: the one form in which results travel between workers,
//! files and readers.

use isobit_hal::Numerics;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of the schema that these types are.
pub const SCHEMA: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The seed that, with operation, dtypes and index, determines every case.
    pub seed: u64,
    /// Cases asked for in each cell.
    pub cases: u64,
    /// What was built.
    pub build: Build,
    /// The devices that ran.
    pub devices: Vec<DeviceRow>,
    /// The devices that could have been asked for and did not run.
    pub not_run: Vec<NotRun>,
    /// One row a cell.
    pub results: Vec<ResultRow>,
    /// Accesses that a memory check caught, counted.
    pub memory: Memory,
    /// Each finding of a check by itself.
    pub findings: Vec<Finding>,
    /// The cells counted; see [`Totals::of`].
    pub totals: Totals,
    /// Wall-clock seconds of the run.
    pub duration_s: f64,
}

impl Report {
    /// A report of these parts, with the totals counted.
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

    /// True where cells ran, none of them failed, and no memory check fired.
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
    /// The commit, with `-dirty` where the tree differed; empty where it is not known.
    pub git: String,
    /// The Rust compiler.
    pub rustc: String,
    /// The compiler of the kernels; empty where none were built.
    pub kernel_compiler: String,
    /// The flags that kernels are compiled with.
    pub kernel_flags: String,
    /// [`isobit_hal::NUMERICS_VERSION`]; none in a file of a build that had none yet.
    pub numerics_version: Option<u32>,
}

/// A device that ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// The name that the command line gives it: `cpu`, `cuda:0`, `sim-rocm:gfx90a`.
    pub id: String,
    /// The driver: `cpu`, `cuda`, `rocm`.
    pub driver: String,
    /// The product's name.
    pub name: String,
    /// The architecture, vendor's spelling.
    pub arch: String,
    /// True where the device is simulated.
    pub simulated: bool,
    /// Threads that run in lockstep; 1 on a CPU.
    pub warp_size: usize,
    /// Bytes of memory; 0 where that is not known.
    pub memory_bytes: u64,
    /// The version of the driver.
    pub driver_version: String,
    /// Instructions that a simulated device executed; `None` for a real one.
    pub instructions_executed: Option<u64>,
}

/// A device that did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRun {
    /// The name that the command line gives it.
    pub id: String,
    /// Why not, in a sentence.
    pub reason: String,
}

/// How a cell is compared; `docs/numerics.md` gives the meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Values are carried, not computed: raw bits, NaN payloads included.
    Moved,
    /// IEEE-754 or integer arithmetic determines the result.
    Exact,
    /// The recipe determines the result.
    Defined,
    /// A vendor's library did it: within a forward error bound.
    Vendor,
    /// The CPU's recipe against the true value or a golden vector.
    Accuracy,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 5] = [Class::Moved, Class::Exact, Class::Defined, Class::Vendor, Class::Accuracy];

    /// The name, as reports and the table of cells spell it.
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

/// What became of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every case agreed.
    Pass,
    /// At least one case did not.
    Fail,
    /// The subject does not implement the cell, and is not expected to. Not executed.
    Unsupported,
    /// It failed, as the committed table says it would.
    ExpectedFailure,
    /// It passed although the committed table says that it fails: the table is out of date, which
    /// is a failure.
    UnexpectedPass,
}

/// One cell: an operation at given dtypes, a subject held to a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultRow {
    /// The operation's name.
    pub op: String,
    /// The dtypes that tell the cell from its siblings: `f32`, or several as `f32,f16`, inputs
    /// first.
    pub dtypes: String,
    /// The device under test.
    pub subject: String,
    /// What it was held to: `cpu`, a device's id, `golden` or `exact`.
    pub reference: String,
    /// How it was compared.
    pub class: Class,
    /// Who computed it, where that can be chosen.
    pub numerics: Option<Numerics>,
    /// What became of it.
    pub status: Status,
    /// Cases that ran. For class accuracy against `exact`: inputs evaluated.
    pub cases: u64,
    /// Cases that did not agree.
    pub failed: u64,
    /// The largest error in units in the last place; `None` where none was measured, or where no
    /// number can tell (a NaN for a number, an infinity for a finite value).
    pub max_ulp: Option<f64>,
    /// True where every bit agreed (any NaN equals any NaN, but in class moved).
    pub bit_exact: bool,
    /// Whether every case gave the same bits twice; `None` where cases ran once.
    pub repeatable: Option<bool>,
    /// The kinds of layout that ran.
    pub layouts: Vec<String>,
    /// Why, for unsupported, expected_failure and unexpected_pass.
    pub reason: Option<String>,
    /// The worst case in words: input, result, expected, and the bound where there is one.
    pub worst: Option<String>,
    /// A command that repeats the failure.
    pub repro: Option<String>,
}

impl ResultRow {
    /// A row of which no case has run yet.
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

/// Accesses that a memory check caught, counted over the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Outside every live allocation, or in a guard band.
    pub out_of_bounds: u64,
    /// Of bytes that nothing had written.
    pub uninitialised_reads: u64,
    /// Conflicting, with no barrier between them.
    pub races: u64,
    /// At an address that the access width does not divide.
    pub misaligned: u64,
    /// Barriers that not every thread of a group reached.
    pub divergent_barriers: u64,
    /// Elements of a result that were never written.
    pub unwritten: u64,
}

impl Memory {
    /// The count of a kind of finding; none for `fault`, a trap or an instruction that cannot be,
    /// which is no access.
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

    /// Each count with its name in the schema.
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
    /// Which count of [`Memory`] it belongs to; `fault` for a trap or an instruction that cannot
    /// be, which is counted in none.
    pub kind: String,
    /// The device.
    pub device: String,
    /// The kernel, where it is known.
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
    /// Where it happened, in words: kernel, instruction, thread, buffer and offset as far as they
    /// are known.
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

/// The cells of a report counted by what became of them.
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

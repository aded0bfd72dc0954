//! Operations on tensors beyond 4 GiB, 2^31 and 2^32 elements, for real cards.
//!
//! No CPU reference of that size fits a test, so each case is moved down: a small tensor (a tile)
//! is repeated along one axis until it is huge, in such a way that the result is the small result
//! repeated. The small result is compared with the CPU. The huge one is compared with the small one
//! on the card, in chunks. A tile has an odd number of elements, so an offset that wraps at 2^31 or
//! 2^32, in elements or in bytes, meets another element of the tile.
//!
//! Operations whose result is not such a repetition have cases of their own in `special`.

mod bench;
mod sets;
mod special;
mod tiled;

use crate::cells::Cell;
use crate::run::caught;
use crate::runtime_tests::GroupRun;
use crate::runtime_tests::case::Failed;
use crate::schema::{Class, Memory, ResultRow, Status};
use bench::Bench;
use isobit_hal::{BackendDevice, Numerics};
use special::Special;
use tiled::Tiled;

/// The reference of the rows of these cases.
pub const REFERENCE: &str = "small";

/// The name of the row of copies between host and device, which no cell covers.
pub const TRANSFERS: &str = "device.transfer";

/// How large "huge" is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The number that stands for 2^32.
    limit: usize,
}

impl Sizes {
    /// Returns the sizes of which everything is made `scale` times smaller: 1 for a real card, more
    /// to test the cases themselves. At most 2^14 has an effect, because a case needs several
    /// tiles.
    pub fn scaled(scale: u64) -> Self {
        Self { limit: (1 << 32) / scale.clamp(1, 1 << 14).next_power_of_two() as usize }
    }

    /// Returns the number that stands for 2^32.
    fn limit(self) -> usize {
        self.limit
    }

    /// Returns a number of elements (or of bytes) beyond 2^32.
    fn beyond_32(self) -> usize {
        self.limit + self.limit / 32 + 1
    }

    /// Returns a number of elements beyond 2^31.
    fn beyond_31(self) -> usize {
        self.limit / 2 + self.limit / 32 + 1
    }

    /// Returns the number of elements that are filled or compared at once.
    fn chunk(self) -> usize {
        self.limit / 16
    }
}

/// What a case does.
#[derive(Debug)]
enum Work {
    Tiled(Box<Tiled>),
    Special(Special),
}

/// A case.
#[derive(Debug)]
struct Case {
    what: &'static str,
    work: Work,
}

/// The cases of one operation and its dtypes: one row of the report.
#[derive(Debug)]
pub struct Set {
    cell: Option<&'static Cell>,
    cases: Vec<Case>,
}

/// Returns every set, in the order of reports.
pub fn sets(sizes: Sizes) -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    for (cell, case) in sets::all(sizes) {
        match sets.iter_mut().find(|set| set.cell == cell) {
            Some(set) => set.cases.push(case),
            None => sets.push(Set { cell, cases: vec![case] }),
        }
    }
    let rank = |set: &Set| {
        let all = Cell::all();
        set.cell.and_then(|cell| all.iter().position(|c| c == cell)).unwrap_or(all.len())
    };
    sets.sort_by_key(rank);
    sets
}

impl Set {
    /// Returns the cell; `None` for the copies between host and device.
    pub fn cell(&self) -> Option<&'static Cell> {
        self.cell
    }

    /// Returns the name of the operation.
    pub fn op(&self) -> &'static str {
        self.cell.map_or(TRANSFERS, |cell| cell.operation.name())
    }

    /// Returns the dtypes that distinguish the cell.
    pub fn dtypes(&self) -> String {
        self.cell.map_or_else(|| "u8".into(), Cell::label)
    }

    /// Returns the numerics, for operations that offer a choice.
    pub fn numerics(&self) -> Option<Numerics> {
        self.cell.and_then(|cell| cell.numerics)
    }

    /// Returns the run of the set on a device in which nothing has run yet.
    pub fn not_run(&self, id: &str) -> GroupRun {
        let class = self.cell.map_or(Class::Moved, Cell::class);
        let (op, dtypes, numerics) = (self.op(), self.dtypes(), self.numerics());
        let row = ResultRow { numerics, ..ResultRow::new(op, &dtypes, id, REFERENCE, class) };
        GroupRun { row, findings: Vec::new(), memory: Memory::default(), lost: false }
    }

    /// Returns the description of a case.
    pub fn case_name(&self, index: u64) -> &'static str {
        self.cases.get(index as usize).map_or("", |case| case.what)
    }

    /// Marks a run of the set as failed in a case.
    pub fn fail(&self, run: &mut GroupRun, index: u64, why: &str) {
        let row = &mut run.row;
        row.failed += 1;
        (row.status, row.bit_exact, row.max_ulp) = (Status::Fail, false, None);
        if row.worst.is_some() {
            return;
        }
        row.worst = Some(format!("{}: {why}", self.case_name(index)));
        let numerics = row.numerics.map(|n| format!(" --numerics {n}")).unwrap_or_default();
        let dtypes = self.cell.map(|_| format!(" --dtypes {}", row.dtypes.replace(',', "-"))).unwrap_or_default();
        row.repro = Some(format!(
            "cargo xtask conformance --huge --devices {} --ops {}{dtypes}{numerics}",
            row.subject, row.op
        ));
    }

    /// Runs the cases on a device that nothing else uses meanwhile. Calls `before` with the index
    /// of each case before it runs. A case that needs more memory than the device has free does not
    /// run, and the row says so; a set of which no case can run is unsupported.
    pub fn run<D: BackendDevice>(&self, device: &D, id: &str, sizes: Sizes, mut before: impl FnMut(u64)) -> GroupRun {
        let mut run = self.not_run(id);
        let mut left_out: Vec<String> = Vec::new();
        for (index, case) in (0u64..).zip(&self.cases) {
            before(index);
            let bench = Bench::new(device, sizes);
            let outcome =
                caught(|| bench.admit(case.work.bytes(sizes)).and_then(|()| case.work.run(self.cell, &bench)))
                    .unwrap_or_else(|panic| Err(Failed::new(format!("a call panicked: {panic}")).into()));
            // What the case allocated must not lie in the pool when the next one needs memory.
            let settled = device.synchronize();
            device.trim(0);
            match outcome.and_then(|()| settled.map_err(Stop::from)) {
                Ok(()) => {
                    run.row.cases += 1;
                    run.row.layouts.push(case.what.into());
                }
                Err(Stop::Lacks(what)) => left_out.push(format!("{}: needs {what}", case.what)),
                Err(Stop::Failed(failed)) => {
                    run.row.cases += 1;
                    run.lost = failed.lost;
                    self.fail(&mut run, index, &failed.message);
                }
            }
            if run.lost {
                break;
            }
        }
        if !left_out.is_empty() {
            run.row.reason = Some(left_out.join("; "));
        }
        if run.row.cases == 0 {
            run.row.status = Status::Unsupported;
            (run.row.bit_exact, run.row.max_ulp) = (false, None);
        }
        run
    }
}

impl Work {
    /// Returns the bytes that the case needs on the device.
    fn bytes(&self, sizes: Sizes) -> u64 {
        match self {
            Work::Tiled(tiled) => tiled.bytes(),
            Work::Special(special) => special.bytes(sizes),
        }
    }

    fn run<D: BackendDevice>(&self, cell: Option<&Cell>, bench: &Bench<'_, D>) -> Done {
        let class = cell.map_or(Class::Moved, Cell::class);
        match self {
            Work::Tiled(tiled) => tiled.run(class, bench),
            Work::Special(special) => special.run(class, bench),
        }
    }
}

/// Why a case did not pass.
#[derive(Debug)]
enum Stop {
    /// The device cannot run it: it lacks what the text names.
    Lacks(String),
    /// It failed.
    Failed(Failed),
}

impl From<Failed> for Stop {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

impl From<isobit_hal::Error> for Stop {
    fn from(e: isobit_hal::Error) -> Self {
        match e.kind() {
            isobit_hal::ErrorKind::OutOfMemory => Self::Lacks(format!("more memory: {e}")),
            _ => Self::Failed(e.into()),
        }
    }
}

/// The outcome of a case.
type Done<T = ()> = Result<T, Stop>;

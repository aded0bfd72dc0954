//! A device with deliberate faults of the kinds that kernels have: each must be caught, shrunk, and
//! caught again from the saved file.

use isobit_conformance::case::{Case, Values};
use isobit_conformance::cells::Cell;
use isobit_conformance::regress;
use isobit_conformance::report::{ResultRow, Status};
use isobit_conformance::run::{CellDigests, CellRun, Fault, KnownResults, Launches, Options, Reference, run_cell};
use isobit_conformance::runtime_tests::{Group, Options as GroupOptions, run_group};
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, DeviceId, DeviceInfo, DeviceLocation, Error,
    ErrorKind, Layout, Op, PoolStats, ReduceOp, Result, Shape, Src, Support, f16,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The fault of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// None.
    None,
    /// Does not write the last element if there are more than 200 (a tail).
    LostTail,
    /// Writes the element after the last if there are more than 200.
    PastTheEnd,
    /// Writes a gap of a destination that is not contiguous.
    InTheGap,
    /// Writes there what the suite has put there before its first run, and before no other.
    FirstPoisonInTheGap,
    /// Reports an index out of range where there is none.
    ReportsIndex,
    /// Never frees a storage.
    Leaks,
    /// Writes an input.
    Input,
    /// Accumulates sums in f16.
    NarrowSum,
    /// Turns -0 into +0.
    LostSign,
    /// Is off by one ulp above 2.
    OneUlp,
    /// Makes every third result of a large tensor depend on the time.
    Racy,
    /// Reads other layouts as if they were contiguous.
    IgnoredStride,
    /// Panics on an empty tensor.
    PanicsOnEmpty,
    /// Returns an error.
    Error,
    /// Reports the operation as unsupported.
    Refuses,
    /// Writes a wrong element where small launches split the work.
    SplitsWrongly,
    /// Returns an error there.
    CannotSplit,
}

static COUNTER: AtomicU64 = AtomicU64::new(0);
/// The bytes of all uploads.
static LEAKED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static SMALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    static DIFFERS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The bytes outside of layouts in the first run of a case.
const FIRST_POISON: u8 = 0xa5;

/// Launch code that splits work of more than this number of elements, if launches are small.
const SPLIT: usize = 100;

#[derive(Debug)]
struct SplitLaunches;

impl Launches for SplitLaunches {
    fn set_small(&self, small: bool) -> bool {
        SMALL.replace(small)
    }
    fn take_differs(&self) -> bool {
        DIFFERS.take()
    }
}

#[derive(Debug, Clone)]
struct Faulty(Flaw);

#[derive(Debug)]
struct FaultyStorage {
    device: Faulty,
    inner: CpuStorage,
    /// Whether an operation that took it as an input has written it.
    touched: AtomicBool,
}

impl BackendDevice for Faulty {
    type Storage = FaultyStorage;

    fn new(_ordinal: usize) -> Result<Self> {
        Ok(Faulty(Flaw::None))
    }
    fn id(&self) -> DeviceId {
        CpuDevice.id()
    }
    fn location(&self) -> DeviceLocation {
        DeviceLocation { driver: "faulty", ordinal: 0 }
    }
    fn info(&self) -> Result<DeviceInfo> {
        CpuDevice.info()
    }
    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support {
        match self.0 {
            Flaw::Refuses => {
                Support::Unsupported { kind: ErrorKind::UnsupportedOp, reason: "not on a day like this".into() }
            }
            _ => CpuDevice.supports(op, dtypes),
        }
    }
    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<FaultyStorage> {
        let inner = CpuStorage::zeros(shape.elem_count(), dtype)?;
        Ok(FaultyStorage { device: self.clone(), inner, touched: AtomicBool::new(false) })
    }
    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<FaultyStorage> {
        let inner = CpuStorage::from_bytes(dtype, bytes)?;
        LEAKED.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(FaultyStorage { device: self.clone(), inner, touched: AtomicBool::new(false) })
    }
    fn synchronize(&self) -> Result<()> {
        match self.0 {
            Flaw::ReportsIndex => Err(Error::new(ErrorKind::IndexOutOfRange, "id 7 of 3 rows")),
            _ => Ok(()),
        }
    }
    fn pool_stats(&self) -> PoolStats {
        let mut stats = PoolStats::default();
        stats.in_use = if self.0 == Flaw::Leaks { LEAKED.load(Ordering::Relaxed) } else { 0 };
        stats
    }
}

fn add_one_to_byte(storage: &mut CpuStorage, element: usize) {
    let size = storage.dtype().size_in_bytes();
    let byte = &mut storage.as_bytes_mut()[element * size];
    *byte = byte.wrapping_add(1);
}

/// The code shared by the faults of elementwise operations: `compute` gives the right result, which
/// this function spoils.
fn spoil(dst: &mut FaultyStorage, layout: &Layout, compute: impl FnOnce(&mut CpuStorage) -> Result<()>) -> Result<()> {
    let count = layout.elem_count();
    let last = layout.strided_index().last();
    let size = dst.inner.dtype().size_in_bytes();
    let before = dst.inner.clone();
    match dst.device.0 {
        Flaw::Error => return Err(Error::new(ErrorKind::LibraryFailure, "the library gave up")),
        Flaw::PanicsOnEmpty if count == 0 => panic!("division by zero"),
        Flaw::CannotSplit if count > SPLIT && SMALL.get() => {
            return Err(Error::new(ErrorKind::LibraryFailure, "too many blocks"));
        }
        _ => {}
    }
    if count > SPLIT {
        DIFFERS.set(true);
    }
    compute(&mut dst.inner)?;
    match (dst.device.0, last) {
        (Flaw::LostTail, Some(last)) if count > 200 => {
            let at = last * size..(last + 1) * size;
            dst.inner.as_bytes_mut()[at.clone()].copy_from_slice(&before.as_bytes()[at]);
        }
        (Flaw::PastTheEnd, Some(last)) if count > 200 => add_one_to_byte(&mut dst.inner, last + 1),
        (Flaw::InTheGap | Flaw::FirstPoisonInTheGap, Some(last)) if !layout.is_contiguous() => {
            let named: std::collections::HashSet<usize> = layout.strided_index().collect();
            match (layout.start_offset()..last).find(|i| !named.contains(i)) {
                Some(gap) if dst.device.0 == Flaw::InTheGap => add_one_to_byte(&mut dst.inner, gap),
                Some(gap) => dst.inner.as_bytes_mut()[gap * size..(gap + 1) * size].fill(FIRST_POISON),
                None => {}
            }
        }
        (Flaw::Racy, Some(last)) if count > 100 && COUNTER.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) => {
            add_one_to_byte(&mut dst.inner, last);
        }
        (Flaw::SplitsWrongly, Some(last)) if count > SPLIT && SMALL.get() => add_one_to_byte(&mut dst.inner, last),
        (Flaw::LostSign | Flaw::OneUlp, Some(_)) => {
            if let Some(values) = dst.inner.as_mut_slice::<f32>() {
                for i in layout.strided_index() {
                    match dst.device.0 {
                        Flaw::LostSign => values[i] += 0.0,
                        _ if values[i] > 2.0 && values[i].is_finite() => values[i] = values[i].next_down(),
                        _ => {}
                    }
                }
            }
        }
        _ => {}
    }
    Ok(())
}

impl BackendStorage for FaultyStorage {
    type Device = Faulty;

    fn dtype(&self) -> DType {
        self.inner.dtype()
    }
    fn len(&self) -> usize {
        self.inner.len()
    }
    fn device(&self) -> &Faulty {
        &self.device
    }
    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        let mut copy = self.inner.to_cpu_storage()?;
        if self.touched.load(Ordering::Relaxed) {
            add_one_to_byte(&mut copy, 0);
        }
        Ok(copy)
    }
    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, layout: &Layout) -> Result<()> {
        let flaw = dst.device.0;
        let inside = inputs.iter().map(|src| src.try_map(|s| Ok(&s.inner))).collect::<Result<Vec<_>>>()?;
        match (op, inputs) {
            (Op::Fill(_), _) => CpuStorage::apply_into(op, &inside, &mut dst.inner, layout),
            (Op::Unary(_), &[src]) => {
                if let (Flaw::Input, Src::Storage(s, _)) = (flaw, src) {
                    s.touched.store(true, Ordering::Relaxed);
                }
                if let (Flaw::IgnoredStride, Src::Storage(s, l)) = (flaw, src) {
                    let flat = Layout::contiguous_with_offset(l.shape(), l.start_offset());
                    if flat.required_len().is_some_and(|n| n <= s.len()) {
                        return CpuStorage::apply_into(op, &[Src::Storage(&s.inner, &flat)], &mut dst.inner, layout);
                    }
                }
                spoil(dst, layout, |dst| CpuStorage::apply_into(op, &inside, dst, layout))
            }
            (Op::Reduce(reduce), &[Src::Storage(src, sl)]) => {
                CpuStorage::apply_into(op, &inside, &mut dst.inner, layout)?;
                let all = reduce.op == ReduceOp::Sum && reduce.dims.len() == sl.shape().rank();
                if flaw == Flaw::NarrowSum && all {
                    let (Some(values), Some(sum)) = (src.inner.as_slice::<f32>(), dst.inner.as_mut_slice::<f32>())
                    else {
                        return Ok(());
                    };
                    let total = sl.strided_index().fold(f16::ZERO, |s, i| f16::from_f32(s.to_f32() + values[i]));
                    layout.strided_index().for_each(|i| sum[i] = total.to_f32());
                }
                Ok(())
            }
            _ => spoil(dst, layout, |dst| CpuStorage::apply_into(op, &inside, dst, layout)),
        }
    }
}

fn run(flaw: Flaw, op: &str, dtype: &str) -> CellRun {
    let cell = Cell::find(op, dtype, None).unwrap();
    run_cell(&Faulty(flaw), "faulty:0", cell, &options(flaw, 0, 64), |_| {})
}

fn options(flaw: Flaw, seed: u64, cases: u64) -> Options {
    let splits = matches!(flaw, Flaw::SplitsWrongly | Flaw::CannotSplit);
    let launches = splits.then(|| Arc::new(SplitLaunches) as Arc<dyn Launches>);
    Options { launches, ..Options::new(seed, cases) }
}

/// Checks that the flaw fails with a small case of the expected kind, and fails again when only
/// that case runs from its saved form. Returns the small case.
fn caught(flaw: Flaw, op: &str, dtype: &str, kind: &str) -> (Case, ResultRow) {
    let found = run(flaw, op, dtype);
    assert_eq!(found.row.status, Status::Fail, "{flaw:?} was not caught: {:?}", found.row);
    assert!(!found.row.bit_exact);
    let failure = found.failure.expect("a failing cell has a failing case");
    assert_eq!(failure.fault.kind(), kind, "{flaw:?}: {}", failure.fault);

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("regressions.jsonl");
    regress::append(&path, &failure).unwrap();
    regress::append(&path, &failure).unwrap();
    let saved = regress::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(saved, std::slice::from_ref(&failure), "saved once, and read back as it was");
    let cell = failure.case.cell().unwrap();
    let options = Options { first: regress::cases(saved), replay_only: true, ..options(flaw, 1, 1) };
    let again = run_cell(&Faulty(flaw), "faulty:0", cell, &options, |_| {});
    assert_eq!((again.row.status, again.row.cases), (Status::Fail, 1), "{flaw:?} is not replayed");
    assert_eq!(run_cell(&Faulty(Flaw::None), "faulty:0", cell, &options, |_| {}).row.status, Status::Pass);
    (failure.case, found.row)
}

fn elements(case: &Case) -> usize {
    case.shape.iter().product()
}

#[test]
fn a_device_without_flaw_passes() {
    for (op, dtype) in [("exp", "f32"), ("add", "f16"), ("sum", "f32"), ("neg", "u32")] {
        let found = run(Flaw::None, op, dtype);
        assert_eq!(found.row.status, Status::Pass, "{:?}", found.row);
        assert_eq!((found.row.cases, found.row.max_ulp, found.row.repeatable), (64, Some(0.0), Some(true)));
        assert!(found.row.bit_exact && found.findings.is_empty());
        assert_eq!(found.digests.digests.len(), 64);
        let kinds = ["contiguous", "transposed", "permuted", "broadcast", "narrowed", "stepped"];
        assert_eq!(found.row.layouts, kinds, "{op}");
    }
}

#[test]
fn an_element_not_written_is_found_at_its_place() {
    let found = run(Flaw::LostTail, "neg", "f32");
    assert!(found.findings.iter().any(|f| f.kind == "unwritten" && f.offset.is_some_and(|o| o > 0)));
    let (case, _) = caught(Flaw::LostTail, "neg", "f32", "unwritten");
    // 201 is the smallest failing count.
    assert!((201..=260).contains(&elements(&case)), "{case:?}");
    assert_eq!(case.shape.len(), 1);
}

#[test]
fn a_stray_write_is_found_in_the_guard_band_the_gap_and_the_input() {
    let (case, _) = caught(Flaw::PastTheEnd, "add", "f32", "out_of_bounds");
    assert!((201..=260).contains(&elements(&case)), "{case:?}");
    assert!(run(Flaw::PastTheEnd, "add", "u8").findings.iter().all(|f| f.kind == "out_of_bounds"));
    let (case, _) = caught(Flaw::InTheGap, "add", "i16", "out_of_bounds");
    assert!(elements(&case) <= 4, "{case:?}");
    caught(Flaw::FirstPoisonInTheGap, "add", "i16", "out_of_bounds");
    let (_, row) = caught(Flaw::Input, "neg", "u32", "out_of_bounds");
    assert!(row.worst.unwrap().contains("input 0, -1024 bytes from its start"));
}

#[test]
fn sums_in_f16_are_caught_and_made_small() {
    let (case, row) = caught(Flaw::NarrowSum, "sum", "f32", "mismatch");
    assert!(elements(&case) <= 4, "{case:?}");
    assert!(row.worst.is_some_and(|w| w.contains("expected")));
}

#[test]
fn a_lost_sign_of_zero_is_one_element() {
    let (case, row) = caught(Flaw::LostSign, "neg", "f32", "mismatch");
    assert_eq!(elements(&case), 1);
    assert_eq!(case.inputs[0].values, Values::Bits(vec![0]));
    assert!(row.worst.unwrap().contains("expected -0.0 (0x80000000), got 0.0 (0x00000000)"));
}

#[test]
fn one_ulp_is_caught() {
    let (case, row) = caught(Flaw::OneUlp, "exp", "f32", "mismatch");
    assert_eq!((elements(&case), row.max_ulp), (1, Some(1.0)));
}

#[test]
fn a_result_that_varies_is_not_repeatable() {
    let found = run(Flaw::Racy, "add", "i32");
    assert_eq!((found.row.status, found.row.repeatable), (Status::Fail, Some(false)));
    assert!(matches!(found.failure.unwrap().fault, Fault::NotRepeatable { .. } | Fault::Mismatch { .. }));
}

#[test]
fn ignored_strides_are_caught() {
    // Read as if contiguous, a broadcast or stepped operand gives the poison that lies next to it.
    let found = run(Flaw::IgnoredStride, "sqr", "i32");
    let failure = found.failure.unwrap();
    // A transposed operand gives the values of other elements.
    assert!(["stray_read", "mismatch"].contains(&failure.fault.kind()), "{}", failure.fault);
    assert!(elements(&failure.case) <= 6, "{:?}", failure.case);
    assert!(found.findings.iter().any(|f| f.kind == "uninitialised_reads"));
}

#[test]
fn panics_errors_and_refusals_are_failures() {
    let (case, _) = caught(Flaw::PanicsOnEmpty, "exp", "f16", "panic");
    assert_eq!(elements(&case), 0);
    caught(Flaw::Error, "exp", "f16", "error");
    let (_, row) = caught(Flaw::ReportsIndex, "exp", "f16", "error");
    assert!(row.worst.unwrap().contains("an index out of range was reported, but there is none"));
    let refused = run(Flaw::Refuses, "exp", "f16");
    assert_eq!((refused.row.status, refused.row.cases), (Status::Fail, 0));
    assert!(refused.row.reason.unwrap().contains("not on a day like this"));
}

#[test]
fn a_leak_fails_a_group() {
    let run = |flaw| run_group(&Faulty(flaw), "faulty:0", Group::Streams, &GroupOptions::new(0, 8), |_| {}).row;
    assert_eq!(run(Flaw::None).status, Status::Pass);
    let leaks = run(Flaw::Leaks);
    assert_eq!(leaks.status, Status::Fail);
    assert!(leaks.worst.unwrap().contains("the case leaves memory in use"));
}

#[test]
fn a_result_that_depends_on_the_division_into_launches_is_caught() {
    let (case, row) = caught(Flaw::SplitsWrongly, "add", "f32", "launch_dependent");
    assert!((SPLIT + 1..SPLIT + 60).contains(&elements(&case)), "{case:?}");
    assert!(row.worst.unwrap().contains("small launches change it at index"));
    assert_eq!((row.repeatable, row.failed < row.cases / 2), (Some(true), true), "one case in three runs with them");
    let (_, row) = caught(Flaw::CannotSplit, "exp", "f32", "error");
    assert!(row.worst.unwrap().contains("with small launches: LibraryFailure"));
}

/// Like [`run`], but with the CPU's result for each case already known.
fn run_knowing(flaw: Flaw, op: &str, dtype: &str, spoil: impl FnOnce(&mut CellDigests)) -> CellRun {
    let cell = Cell::find(op, dtype, None).unwrap();
    let itself = Options { reference: Reference::Itself, ..Options::new(0, 64) };
    let mut known = run_cell(&CpuDevice, "cpu", cell, &itself, |_| {}).digests;
    spoil(&mut known);
    let options = Options { known: Arc::new(KnownResults::new([known])), ..Options::new(0, 64) };
    run_cell(&Faulty(flaw), "faulty:0", cell, &options, |_| {})
}

#[test]
fn a_result_known_beforehand_hides_no_flaw() {
    for (flaw, op, dtype) in [
        (Flaw::None, "exp", "f32"),
        (Flaw::LostTail, "neg", "f32"),
        (Flaw::NarrowSum, "sum", "f32"),
        (Flaw::LostSign, "neg", "f32"),
        (Flaw::OneUlp, "exp", "f32"),
        (Flaw::IgnoredStride, "sqr", "i32"),
        (Flaw::ReportsIndex, "exp", "f16"),
    ] {
        assert_eq!(run_knowing(flaw, op, dtype, |_| {}), run(flaw, op, dtype), "{flaw:?}");
    }
}

#[test]
fn a_known_result_counts_for_its_very_case_alone() {
    // With known results of other cases, or with wrong ones, the reference runs and confirms that
    // the device is right.
    let shifted = |known: &mut CellDigests| known.cases.rotate_left(1);
    assert_eq!(run_knowing(Flaw::None, "exp", "f32", shifted).row.status, Status::Pass);
    let wrong = |known: &mut CellDigests| known.digests.rotate_left(1);
    assert_eq!(run_knowing(Flaw::None, "exp", "f32", wrong).row.status, Status::Pass);
    // A device with wrong results stays wrong even if the known digest of another case equals its
    // own.
    let of_the_wrong = run(Flaw::OneUlp, "exp", "f32").digests;
    let foreign = |known: &mut CellDigests| {
        known.digests = of_the_wrong.digests;
        known.cases.rotate_left(1);
    };
    assert_eq!(run_knowing(Flaw::OneUlp, "exp", "f32", foreign).row.status, Status::Fail);
}

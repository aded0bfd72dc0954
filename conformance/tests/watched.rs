//! A watched device, like the simulated ones: an access that only the watch can see fails the case,
//! is shrunk, and is reported.

use isobit_conformance::cells::Cell;
use isobit_conformance::report::{Finding, Status};
use isobit_conformance::run::{CellRun, Fault, Options, Sighting, Watch, run_cell};
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, DeviceId, DeviceInfo, DeviceLocation, Layout, Op,
    Result, Shape, Src, Support,
};
use std::sync::{Arc, Mutex};

/// A flaw that changes no result and writes to no wrong place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Reads the element after the last one of the input if there are more than 100.
    ReadsPastTheEnd,
    /// Reads the output before it is written.
    ReadsItsOutput,
}

/// Sees what a simulator would see: accesses outside an allocation, and reads of unwritten memory.
#[derive(Debug, Default)]
struct Seen(Mutex<Vec<Sighting>>);

impl Seen {
    fn record(&self, kind: &str, buffer: &str, offset: i64) {
        let finding = Finding {
            kind: kind.into(),
            kernel: Some("unary_neg".into()),
            buffer: Some(buffer.into()),
            offset: Some(offset),
            ..Finding::default()
        };
        self.0.lock().unwrap().push(Sighting { finding, message: "as the watch tells it".into() });
    }
}

impl Watch for Seen {
    fn look(&self) -> std::result::Result<Vec<Sighting>, String> {
        Ok(std::mem::take(&mut self.0.lock().unwrap()))
    }
}

/// A watch that has lost its device.
#[derive(Debug)]
struct Blind;

impl Watch for Blind {
    fn look(&self) -> std::result::Result<Vec<Sighting>, String> {
        Err("no answer".into())
    }
}

#[derive(Debug, Clone)]
struct Watched(Flaw, Arc<Seen>);

#[derive(Debug)]
struct WatchedStorage {
    device: Watched,
    inner: CpuStorage,
    /// Whether nothing has written it yet.
    fresh: bool,
}

impl Watched {
    fn storage(&self, inner: CpuStorage, fresh: bool) -> WatchedStorage {
        WatchedStorage { device: self.clone(), inner, fresh }
    }
}

impl BackendDevice for Watched {
    type Storage = WatchedStorage;

    fn new(_ordinal: usize) -> Result<Self> {
        Ok(Watched(Flaw::None, Arc::default()))
    }
    fn id(&self) -> DeviceId {
        CpuDevice.id()
    }
    fn location(&self) -> DeviceLocation {
        DeviceLocation { driver: "watched", ordinal: 0 }
    }
    fn info(&self) -> Result<DeviceInfo> {
        CpuDevice.info()
    }
    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support {
        CpuDevice.supports(op, dtypes)
    }
    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<WatchedStorage> {
        Ok(self.storage(CpuStorage::zeros(shape.elem_count(), dtype)?, true))
    }
    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<WatchedStorage> {
        Ok(self.storage(CpuStorage::from_bytes(dtype, bytes)?, false))
    }
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl BackendStorage for WatchedStorage {
    type Device = Watched;

    fn dtype(&self) -> DType {
        self.inner.dtype()
    }
    fn len(&self) -> usize {
        self.inner.len()
    }
    fn device(&self) -> &Watched {
        &self.device
    }
    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        self.inner.to_cpu_storage()
    }
    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, layout: &Layout) -> Result<()> {
        let Watched(flaw, seen) = dst.device.clone();
        let mut inside = Vec::new();
        for src in inputs {
            let Some((s, l)) = src.storage() else {
                inside.push(Src::InPlace);
                continue;
            };
            let end = l.required_len().unwrap();
            if flaw == Flaw::ReadsPastTheEnd && l.elem_count() > 100 && end >= s.len() {
                seen.record("out_of_bounds", "allocation 1", (end * s.dtype().size_in_bytes()) as i64);
            }
            inside.push(Src::Storage(&s.inner, l));
        }
        if flaw == Flaw::ReadsItsOutput && dst.fresh && layout.elem_count() > 0 {
            seen.record("uninitialised_reads", "allocation 2", 0);
        }
        dst.fresh = false;
        CpuStorage::apply_into(op, &inside, &mut dst.inner, layout)
    }
}

fn run(flaw: Flaw) -> CellRun {
    let seen = Arc::new(Seen::default());
    let options = Options { watch: Some(seen.clone()), ..Options::new(0, 64) };
    run_cell(&Watched(flaw, seen), "watched:0", Cell::find("neg", "f32", None).unwrap(), &options, |_| {})
}

#[test]
fn a_watched_device_without_flaw_passes() {
    let found = run(Flaw::None);
    assert_eq!((found.row.status, found.row.cases, found.row.repeatable), (Status::Pass, 64, Some(true)));
    assert!(found.findings.is_empty() && found.memory == Default::default());
}

#[test]
fn a_read_past_the_last_element_is_seen_where_no_band_follows_it() {
    let found = run(Flaw::ReadsPastTheEnd);
    assert_eq!(found.row.status, Status::Fail);
    assert_eq!(found.memory.out_of_bounds, found.row.failed, "once a case: in the run without bands");
    let failure = found.failure.unwrap();
    assert_eq!(failure.fault.kind(), "out_of_bounds");
    let elements: usize = failure.case.shape.iter().product();
    assert!((101..=130).contains(&elements), "{:?}", failure.case);
    let worst = found.row.worst.unwrap();
    assert!(worst.contains("kernel unary_neg, buffer allocation 1, byte") && worst.contains("as the watch tells it"));
    // One finding per location, however many cases hit it.
    assert_eq!(found.findings.len(), 1);
    assert_eq!((found.findings[0].device.as_str(), found.findings[0].op.as_deref()), ("watched:0", Some("neg f32")));
}

#[test]
fn a_read_of_the_output_before_it_is_written_is_seen() {
    let found = run(Flaw::ReadsItsOutput);
    assert_eq!(found.row.status, Status::Fail);
    // An in-place call has an input to read, and a gap of the destination has contents.
    assert!(found.row.failed >= 20 && found.row.failed < 64, "{}", found.row.failed);
    assert_eq!(found.memory.uninitialised_reads, found.row.failed);
    assert!(matches!(found.failure.unwrap().fault, Fault::Access { count: 1, .. }));
}

#[test]
fn a_watch_that_does_not_answer_fails_the_case() {
    let options = Options { watch: Some(Arc::new(Blind)), ..Options::new(0, 2) };
    let cell = Cell::find("neg", "f32", None).unwrap();
    let found = run_cell(&Watched(Flaw::None, Arc::default()), "watched:0", cell, &options, |_| {});
    assert_eq!((found.row.status, found.row.failed), (Status::Fail, 2));
    assert!(found.row.worst.unwrap().contains("no answer"));
}

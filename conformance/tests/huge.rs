//! The set of huge tensors, with everything made small enough for a test: it passes on the CPU, and
//! a device whose offsets wrap fails each row in which they do.

use isobit_conformance::huge::{Sizes, sets};
use isobit_conformance::report::Status;
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, DeviceId, DeviceInfo, DeviceLocation, Layout, Op,
    Result, Shape, Src, Support,
};
use std::sync::atomic::{AtomicBool, Ordering};

const SCALE: u64 = 1 << 14;
/// The number that stands for 2^32.
const LIMIT: usize = (1 << 32) / SCALE as usize;

#[test]
fn every_set_passes_on_the_cpu() {
    let sizes = Sizes::scaled(SCALE);
    for set in sets(sizes) {
        let run = set.run(&CpuDevice, "cpu", sizes, |_| {});
        let name = format!("{} {}", set.op(), set.dtypes());
        assert_eq!(run.row.failed, 0, "{name}: {:?}", run.row.worst);
        assert_eq!((run.row.status, &run.row.reason), (Status::Pass, &None), "{name}");
    }
}

/// Which offsets of an operation wrap at 2^32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wraps {
    Sources,
    Destination,
}

static WRAPPED: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Clone)]
struct Wrapping(Wraps);

#[derive(Debug)]
struct Stored {
    device: Wrapping,
    inner: CpuStorage,
}

impl BackendDevice for Wrapping {
    type Storage = Stored;

    fn new(_ordinal: usize) -> Result<Self> {
        Ok(Wrapping(Wraps::Sources))
    }
    fn id(&self) -> DeviceId {
        CpuDevice.id()
    }
    fn location(&self) -> DeviceLocation {
        DeviceLocation { driver: "wrapping", ordinal: 0 }
    }
    fn info(&self) -> Result<DeviceInfo> {
        CpuDevice.info()
    }
    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support {
        CpuDevice.supports(op, dtypes)
    }
    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<Stored> {
        Ok(Stored { device: self.clone(), inner: CpuStorage::zeros(shape.elem_count(), dtype)? })
    }
    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<Stored> {
        Ok(Stored { device: self.clone(), inner: CpuStorage::from_bytes(dtype, bytes)? })
    }
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl BackendStorage for Stored {
    type Device = Wrapping;

    fn dtype(&self) -> DType {
        self.inner.dtype()
    }
    fn len(&self) -> usize {
        self.inner.len()
    }
    fn device(&self) -> &Wrapping {
        &self.device
    }
    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        self.inner.to_cpu_storage()
    }
    fn read_bytes(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.inner.read_bytes(offset, bytes)
    }
    fn write_bytes(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.inner.write_bytes(offset, bytes)
    }

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, layout: &Layout) -> Result<()> {
        // A part of a fill is no wrapped call: its layout begins within the buffer.
        let is_whole = layout.start_offset() < LIMIT / 64;
        let mut wrapped = Vec::new();
        for input in inputs {
            wrapped.push(match input {
                Src::Storage(s, _)
                    if dst.device.0 == Wraps::Sources && is_whole && s.inner.as_bytes().len() > LIMIT =>
                {
                    WRAPPED.store(true, Ordering::Relaxed);
                    let bytes: Vec<u8> = (0..s.inner.as_bytes().len()).map(|i| s.inner.as_bytes()[i % LIMIT]).collect();
                    Some(CpuStorage::from_bytes(s.dtype(), &bytes)?)
                }
                _ => None,
            });
        }
        let srcs: Vec<Src<'_, CpuStorage>> = inputs
            .iter()
            .zip(&wrapped)
            .map(|(input, wrapped)| input.try_map(|s| Ok(wrapped.as_ref().unwrap_or(&s.inner))))
            .collect::<Result<_>>()?;
        let before = dst.inner.as_bytes().to_vec();
        CpuStorage::apply_into(op, &srcs, &mut dst.inner, layout)?;
        if dst.device.0 == Wraps::Destination && is_whole && before.len() > LIMIT {
            let after = dst.inner.as_bytes()[LIMIT..].to_vec();
            let bytes = dst.inner.as_bytes_mut();
            for (i, (new, old)) in after.iter().zip(&before[LIMIT..]).enumerate() {
                if new != old {
                    WRAPPED.store(true, Ordering::Relaxed);
                    bytes[i % LIMIT] = *new;
                    bytes[LIMIT + i] = *old;
                }
            }
        }
        Ok(())
    }
}

/// Every row with an operand beyond the limit fails if offsets in it wrap.
fn each_wrap_fails(wraps: Wraps, least: usize) {
    let sizes = Sizes::scaled(SCALE);
    let (mut failed, mut missed) = (0, Vec::new());
    for set in sets(sizes) {
        WRAPPED.store(false, Ordering::Relaxed);
        let run = set.run(&Wrapping(wraps), "wrapping", sizes, |_| {});
        let name = format!("{wraps:?}: {} {}", set.op(), set.dtypes());
        let wrapped = WRAPPED.load(Ordering::Relaxed);
        if (run.row.failed > 0) != wrapped {
            missed.push(format!("{name}: {:?}", run.row.worst));
        }
        failed += usize::from(wrapped);
    }
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(failed >= least, "{wraps:?}: only {failed} rows have such an operand");
}

#[test]
fn offsets_that_wrap_fail() {
    // One after the other: both note in one place that they wrapped.
    each_wrap_fails(Wraps::Sources, 100);
    each_wrap_fails(Wraps::Destination, 40);
}

/// The command line runs sets on a simulated card, whose checks of every access watch them.
#[cfg(all(feature = "cli", feature = "rocm"))]
#[test]
fn a_simulated_card_passes_through_the_command_line() {
    use isobit_conformance::report::Report;
    use std::process::Command;

    let out = tempfile::tempdir().unwrap();
    let simulators = std::env::var_os("ISOBIT_SIMGPU").unwrap_or_else(|| isobit_simgpu_install::all().unwrap().into());
    let run = |devices: &str, args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isobit-conformance"));
        command.args(["--huge", "--devices", devices, "--out"]).arg(out.path()).args(args);
        command.env("ISOBIT_SIMGPU", &simulators).output().unwrap()
    };
    let ops = "copy_strided_src,sum,matmul,index_select,scatter_set,sort,rand_uniform,device.transfer";
    let scale = SCALE.to_string();
    let done = run("sim-rocm:gfx90a", &["--huge-scale", &scale, "--ops", ops]);
    let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{text}");
    let json = std::fs::read_to_string(out.path().join("report.json")).unwrap();
    let report: Report = serde_json::from_str(&json).unwrap();
    let all = sets(Sizes::scaled(SCALE));
    let expected = all.iter().filter(|set| ops.split(',').any(|op| op == set.op())).count();
    assert_eq!(report.results.len(), expected, "{text}");
    for row in &report.results {
        assert_eq!((row.status, row.reference.as_str(), row.failed), (Status::Pass, "small", 0), "{row:?}");
    }
    // No cell has a number of cases, and neither form of the report states one.
    let html = std::fs::read_to_string(out.path().join("report.html")).unwrap();
    for shown in [text, html] {
        assert!(shown.contains("sets of huge tensors") && !shown.contains("cases per cell"), "{shown}");
    }
    // At full size only a real card is accepted, and the reason says so.
    let refused = run("cpu", &[]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && text.contains("real cards"), "{text}");
}

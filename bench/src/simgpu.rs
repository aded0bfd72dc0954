//! Measures the speed of a simulated GPU: lane instructions per second on one core, and the time of
//! one small launch. Both determine how much of the conformance suite is practical on a machine
//! without a GPU.

use crate::row::median;
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, Error, ErrorKind, Layout, Result, Src, UnaryOp};
use isobit_kernels::{GpuDevice, GpuRuntime, GpuStorage, loaded_file};
use isobit_simgpu_library_common::report;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Number of elements of the measured tanh.
const ELEMENTS: usize = 1 << 20;
const TIMINGS: usize = 7;
const LAUNCHES: u32 = 500;

/// Measures the simulated GPU that this process loads in place of a vendor's `library`.
///
/// # Errors
/// Returns `LibraryUnavailable` if the process loads the vendor's own library or none, and
/// the errors of the device.
pub fn run<R: GpuRuntime>(library: &str) -> Result<ExitCode> {
    let device = GpuDevice::<R>::new(0)?;
    let counter = Counter::open(library)?;
    let info = device.info()?;
    let values: Vec<f32> = (0..ELEMENTS).map(|i| (i as f32 / ELEMENTS as f32 - 0.5) * 20.0).collect();
    let (x, layout) = (device.storage_from_slice(&values)?, Layout::contiguous(ELEMENTS));
    let mut out = device.zeros(&ELEMENTS.into(), isobit_hal::DType::F32)?;
    let mut tanh = || {
        GpuStorage::unary_into(UnaryOp::Tanh, Src::Storage(&x, &layout), &mut out, &layout)?;
        device.synchronize()
    };
    tanh()?;
    let mut rates = Vec::new();
    for _ in 0..TIMINGS {
        let (before, start) = (counter.instructions()?, Instant::now());
        tanh()?;
        let seconds = start.elapsed().as_secs_f64();
        rates.push(((counter.instructions()? - before) as f64 / seconds, seconds));
    }
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (rate, seconds) = rates[TIMINGS / 2];

    let small = Layout::contiguous(256);
    let a = device.storage_from_slice(&values[..256])?;
    let mut sum = device.zeros(&256.into(), isobit_hal::DType::F32)?;
    let mut times = Vec::new();
    for _ in 0..TIMINGS {
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            let src = || Src::Storage(&a, &small);
            GpuStorage::binary_into(BinaryOp::Add, src(), src(), &mut sum, &small)?;
        }
        device.synchronize()?;
        times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(LAUNCHES));
    }
    println!(
        "{:8} tanh f32, {} Mi elements: {:.2} G lane instructions/s ({:.1} ms); an add of 256 elements: {:.1} us",
        info.arch.split(':').next().unwrap_or_default(),
        ELEMENTS >> 20,
        rate / 1e9,
        seconds * 1e3,
        median(&times),
    );
    Ok(ExitCode::SUCCESS)
}

/// The simulator's instruction count, read from its library.
struct Counter(PathBuf);

impl Counter {
    fn open(library: &str) -> Result<Self> {
        let loaded = loaded_file(library).map(|file| Self(file.into()));
        loaded.filter(|counter| counter.instructions().is_ok()).ok_or_else(|| {
            let message =
                format!("{library} is not a simulated GPU here; `cargo xtask bench --simgpu` builds and loads one");
            Error::new(ErrorKind::LibraryUnavailable, message)
        })
    }

    fn instructions(&self) -> Result<u64> {
        let failure = |why: String| Error::new(ErrorKind::LibraryFailure, format!("the simulator's report: {why}"));
        let text = report::take(&self.0).map_err(failure)?;
        let json: serde_json::Value = serde_json::from_str(&text).map_err(|e| failure(e.to_string()))?;
        if let Some(found) = json["findings"].as_array().and_then(|f| f.first()) {
            return Err(failure(found["message"].to_string()));
        }
        json["instructions"].as_u64().ok_or_else(|| failure("it has no instruction count".into()))
    }
}

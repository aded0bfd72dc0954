//! Many threads on one or several devices: mixed operations on the default stream and on one stream
//! per thread, compared with the CPU throughout.

use super::case::{Case, Checked, Failed};
use super::mirror::{Mirror, numbers};
use super::program::{self, Steps};
use super::step::{equal, perform};
use crate::generate::Draw;
use crate::run::caught;
use isobit_hal::{BackendDevice, BackendStorage, CpuStorage, DType, DeviceInfo, Layout, Stream};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The extent of a stress test.
#[derive(Debug, Clone, Copy)]
pub struct Stress {
    /// The number of threads; each works on one of the devices, in turn.
    pub threads: usize,
    /// The number of operations of all threads together: steps, copies, transfers, reads and
    /// writes.
    pub operations: u64,
    /// The seed from which they are drawn.
    pub seed: u64,
}

/// The result of a stress test.
#[derive(Debug, Clone, Copy)]
pub struct Stressed {
    /// The number of operations, including the last program of each thread.
    pub operations: u64,
    /// The elapsed time.
    pub time: Duration,
}

/// The reason of a failure.
#[derive(Debug)]
pub struct StressError {
    /// The thread, the failure and the thread's program, in words.
    pub message: String,
    /// Whether the device no longer responds.
    pub lost: bool,
}

impl fmt::Display for StressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StressError {}

/// The number of operations of a program, after which its buffers are checked and dropped.
const PROGRAM: usize = 16;
/// The number of elements of the storage that every thread of a device reads.
const SHARED: usize = 1000;

/// A device and the data that its threads share.
struct Shared<'a, D: BackendDevice> {
    device: &'a D,
    info: DeviceInfo,
    /// Read by all of its threads at once.
    storage: D::Storage,
    expected: CpuStorage,
}

/// Runs mixed operations from many threads on devices, compares every result with the CPU's, and
/// checks that all memory is returned.
///
/// # Errors
/// Returns the first failure.
pub fn stress<D: BackendDevice>(devices: &[D], plan: &Stress) -> Result<Stressed, StressError> {
    let outer = |e: Failed| StressError { message: e.message, lost: e.lost };
    let began = Instant::now();
    let in_use = |d: &D| d.pool_stats().in_use;
    let before: Vec<u64> = devices.iter().map(in_use).collect();
    let shared = devices.iter().map(|d| share(d, plan.seed)).collect::<Checked<Vec<_>>>().map_err(outer)?;
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = |thread: usize| {
        let (mine, next) = (&shared[thread % shared.len()], &shared[(thread + 1) % shared.len()]);
        let mut round = 0;
        while done.load(Ordering::Relaxed) < plan.operations && !stop.load(Ordering::Relaxed) {
            let name = format!("stress, thread {thread}");
            let mut case = Case {
                device: mine.device,
                others: std::slice::from_ref(next.device),
                info: &mine.info,
                draw: Draw::of(plan.seed, &name, round),
                said: Vec::new(),
            };
            let outcome = caught(|| program(&mut case, mine))
                .unwrap_or_else(|p| Err(Failed::new(format!("a call panicked: {p}"))));
            if let Err(failed) = outcome {
                stop.store(true, Ordering::Relaxed);
                let message = format!(
                    "thread {thread}, program {round}: {}\n      {}",
                    failed.message,
                    case.said.join("\n      ")
                );
                return Err(StressError { message, lost: failed.lost });
            }
            round += 1;
            done.fetch_add(PROGRAM as u64, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let (work, count) = (&work, plan.threads.max(1));
        let threads: Vec<_> = (0..count).map(|t| scope.spawn(move || work(t))).collect();
        threads.into_iter().map(|t| t.join().expect("a panic of a program is caught")).collect::<Result<Vec<()>, _>>()
    })?;
    shared.into_iter().try_for_each(unchanged).map_err(outer)?;
    let after: Vec<u64> = devices.iter().map(in_use).collect();
    if before != after {
        let message = format!("{before:?} bytes were in use before, {after:?} after all threads ended");
        return Err(StressError { message, lost: false });
    }
    Ok(Stressed { operations: done.into_inner(), time: began.elapsed() })
}

fn share<D: BackendDevice>(device: &D, seed: u64) -> Checked<Shared<'_, D>> {
    let info = device.info()?;
    let mut case =
        Case { device, others: &[], info: &info, draw: Draw::of(seed, "stress, shared", 0), said: Vec::new() };
    let expected = numbers(&mut case, DType::F32, SHARED)?;
    let storage = device.storage_from_cpu_storage(&expected)?;
    Ok(Shared { device, info, storage, expected })
}

/// Checks that the data shared by a device's threads is unchanged, and drops it.
fn unchanged<D: BackendDevice>(shared: Shared<'_, D>) -> Checked {
    shared.device.synchronize()?;
    let got = shared.storage.to_cpu_storage()?;
    equal("what all threads read", DType::F32, shared.expected.as_bytes(), got.as_bytes())
}

/// Runs one program of a thread.
fn program<D: BackendDevice>(case: &mut Case<'_, D>, shared: &Shared<'_, D>) -> Checked {
    let device = case.device;
    let streams = [device.default_stream()?, device.new_stream()?];
    let mut mirror = Mirror::draw(case)?;
    let mut copies: Vec<(D::Storage, Vec<u8>, DType)> = Vec::new();
    for _ in 0..PROGRAM {
        let on = case.between(0, 1);
        let stream = &streams[on];
        match case.between(0, 9) {
            0 => {
                let i = case.between(0, mirror.shape.dtypes.len() - 1);
                case.say(format_args!("buffer {i} goes to another device"));
                let (Some(buffer), Some(expected)) = (&mirror.buffers[i], &mirror.expected[i]) else { continue };
                let copy = device.with_stream(stream, || buffer.to_device(case.another()))?;
                copies.push((copy, expected.as_bytes().to_vec(), mirror.shape.dtypes[i]));
            }
            1 => write(case, &mut mirror, stream)?,
            2 => read_shared(case, shared, stream)?,
            _ => {
                let step = program::draw(case, &mirror, Steps::ANY);
                case.say(format_args!("on stream {on}: {step}"));
                device.with_stream(stream, || perform(device, &step, &mut mirror.buffers))?;
                mirror.expect(&step)?;
            }
        }
    }
    for (copy, expected, dtype) in &copies {
        equal("a copy on another device", *dtype, expected, copy.to_cpu_storage()?.as_bytes())?;
    }
    mirror.check()
}

/// Writes new contents to a buffer, from pinned or ordinary memory.
fn write<D: BackendDevice>(case: &mut Case<'_, D>, mirror: &mut Mirror<D>, stream: &Stream) -> Checked {
    let i = case.between(0, mirror.shape.dtypes.len() - 1);
    let host = numbers(case, mirror.shape.dtypes[i], mirror.shape.side * mirror.shape.side)?;
    let bytes = host.as_bytes();
    case.say(format_args!("buffer {i} is written"));
    let buffer = mirror.buffers[i].as_mut().expect("the buffers of a program are made");
    if case.draw.chance(50) {
        let mut pinned = case.device.alloc_pinned(bytes.len())?;
        pinned.bytes_mut()?.copy_from_slice(bytes);
        case.device.with_stream(stream, || buffer.copy_from_pinned(0, &pinned, 0..bytes.len()))?;
    } else {
        case.device.with_stream(stream, || buffer.write_bytes(0, bytes))?;
    }
    mirror.expected[i] = Some(host);
    Ok(())
}

/// Reads and uses the data that all threads share.
fn read_shared<D: BackendDevice>(case: &mut Case<'_, D>, shared: &Shared<'_, D>, stream: &Stream) -> Checked {
    let layout = Layout::contiguous([SHARED]);
    case.say("what all threads read is used");
    let used = case.device.with_stream(stream, || shared.storage.affine(&layout, 2.0, 1.0))?;
    let expected = shared.expected.affine(&layout, 2.0, 1.0)?;
    equal("what was made of what all threads read", DType::F32, expected.as_bytes(), used.to_cpu_storage()?.as_bytes())
}

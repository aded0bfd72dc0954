//! Ids out of range: kernels find them while they run, and the device reports them at its next synchronising call.
//!
//! Each operation with ids has a flag of its own in device memory, which a kernel that meets such an id sets; the host keeps what each flag stands
//! for. So no error overwrites another, and the flags are read only where an operation with ids ran since they were read last.

use crate::device::GpuDevice;
use crate::runtime::{DevicePtr, GpuRuntime};
use isobit_hal::{Error, ErrorKind, Op, Result};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Flags, each a u32. They are taken in turn, and read when all are taken.
const FLAGS: usize = 1024;
const FLAG_BYTES: usize = size_of::<u32>();

/// An operation with ids, and the size of the dimension that they count along.
#[derive(Debug)]
struct Indexing {
    op: Op,
    size: usize,
}

#[derive(Debug, Default)]
struct State {
    /// The flags, once there are any.
    flags: Option<DevicePtr>,
    /// What each flag was given to last.
    given: Vec<Option<Indexing>>,
    /// The flag to give next, which is the one given longest ago.
    next: usize,
    /// Flags given since they were read.
    unread: usize,
    /// Whether launches were made with a flag since they were read.
    launched: bool,
    /// Errors found and not reported yet.
    found: VecDeque<Error>,
}

impl State {
    /// Waits for the device and collects what its kernels found, in the order of the operations.
    fn read<R: GpuRuntime>(&mut self, device: &GpuDevice<R>) -> Result<()> {
        let Some(flags) = self.flags else { return Ok(()) };
        let (runtime, stream) = (device.runtime(), device.stream());
        let mut bytes = [0; FLAGS * FLAG_BYTES];
        // SAFETY: the flags have as many bytes.
        unsafe { runtime.copy_to_host(stream, &mut bytes, flags)? };
        (self.unread, self.launched) = (0, false);
        for i in (self.next..FLAGS).chain(0..self.next) {
            if bytes[i * FLAG_BYTES..][..FLAG_BYTES] == [0; FLAG_BYTES] {
                continue;
            }
            // SAFETY: one of the flags.
            unsafe { runtime.set_bytes(stream, flag(flags, i), 0, FLAG_BYTES)? };
            if let Some(Indexing { op, size }) = &self.given[i] {
                let message = format!(
                    "{op}: an id lies outside the dimension that it counts along, which has size {size}; its element was left out. \
                     u32::MAX and i64::MAX mark elements that are left out without an error"
                );
                let error = Error::new(ErrorKind::IndexOutOfRange, message).with_op(op);
                self.found.push_back(error.with_device(device.location_of()));
            }
        }
        Ok(())
    }
}

fn flag(flags: DevicePtr, i: usize) -> DevicePtr {
    DevicePtr(flags.0 + (i * FLAG_BYTES) as u64)
}

/// The flags of a device.
#[derive(Debug, Default)]
pub(crate) struct IndexFaults(Mutex<State>);

impl IndexFaults {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A flag for an operation whose ids count along a dimension of `size`.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn flag<R: GpuRuntime>(&self, device: &GpuDevice<R>, op: &Op, size: usize) -> Result<DevicePtr> {
        let mut state = self.state();
        let flags = match state.flags {
            Some(flags) => flags,
            None => {
                let flags = device.runtime().alloc(FLAGS * FLAG_BYTES)?;
                state.flags = Some(flags);
                state.given.resize_with(FLAGS, || None);
                // SAFETY: allocated just now.
                unsafe { device.runtime().set_bytes(device.stream(), flags, 0, FLAGS * FLAG_BYTES)? };
                flags
            }
        };
        if state.unread == FLAGS {
            state.read(device)?;
        }
        let i = state.next;
        state.given[i] = Some(Indexing { op: op.clone(), size });
        state.next = (i + 1) % FLAGS;
        state.unread += 1;
        Ok(flag(flags, i))
    }

    /// Launches were made with a flag: the next synchronising call must read it.
    fn launched(&self) {
        self.state().launched = true;
    }

    /// The first error that was found and not reported yet.
    ///
    /// # Errors
    /// That error; those of the driver.
    pub(crate) fn report<R: GpuRuntime>(&self, device: &GpuDevice<R>) -> Result<()> {
        let mut state = self.state();
        if state.launched {
            state.read(device)?;
        }
        state.found.pop_front().map_or(Ok(()), Err)
    }

    /// Gives the flags' memory back.
    pub(crate) fn release<R: GpuRuntime>(&self, runtime: &R) {
        if let Some(flags) = self.state().flags.take() {
            // SAFETY: allocated by this runtime and taken out of the state, so freed once; the device is closing, and the driver's free waits for
            // pending work.
            unsafe { runtime.free(flags) };
        }
    }
}

/// The flag of one operation, held while its kernels are launched: they get [`ptr`](Self::ptr) as a `u32 *` for `report_fault` of `dialect/ids.cuh`.
pub(crate) struct FaultFlag<'a> {
    faults: &'a IndexFaults,
    ptr: DevicePtr,
}

impl<'a> FaultFlag<'a> {
    pub(crate) fn new(faults: &'a IndexFaults, ptr: DevicePtr) -> Self {
        Self { faults, ptr }
    }

    /// The flag's address.
    pub(crate) fn ptr(&self) -> DevicePtr {
        self.ptr
    }
}

impl Drop for FaultFlag<'_> {
    fn drop(&mut self) {
        self.faults.launched();
    }
}

//! What a copy does: where its two ends are, what may be copied, and what becomes known of the bytes.

use crate::error::{Result, bail};
use crate::graph_node::{Labelled, Payload};
use crate::process::Process;
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::memory::Kind;
use isobit_simgpu_core::queue::Work;
use std::ffi::c_int;

/// `hipMemcpyKind`.
pub const HOST_TO_HOST: c_int = 0;
/// From the host to a device.
pub const HOST_TO_DEVICE: c_int = 1;
/// From a device to the host.
pub const DEVICE_TO_HOST: c_int = 2;
/// Within a device or between two.
pub const DEVICE_TO_DEVICE: c_int = 3;
/// By what the addresses are.
pub const DEFAULT: c_int = 4;
/// As [`DEVICE_TO_DEVICE`], without compute units.
pub const DEVICE_TO_DEVICE_NO_CU: c_int = 1024;

/// A copy of rows: one row of all bytes where it is not of two dimensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) to: u64,
    pub(crate) from: u64,
    /// Bytes of a row.
    pub(crate) width: usize,
    pub(crate) rows: usize,
    /// From a row to the next, at both ends.
    pub(crate) to_pitch: usize,
    pub(crate) from_pitch: usize,
}

/// Where bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Memory that the simulator does not know.
    Pageable,
    Pinned,
    Device,
}

impl Copy {
    pub(crate) fn of_bytes(to: u64, from: u64, bytes: usize) -> Self {
        Self { to, from, width: bytes, rows: 1, to_pitch: bytes, from_pitch: bytes }
    }

    /// Bytes from the first to behind the last, with those that are skipped between rows.
    fn span(&self, pitch: usize) -> usize {
        if self.width == 0 || self.rows == 0 { 0 } else { pitch * (self.rows - 1) + self.width }
    }

    /// Checks the copy against what HIP documents of `kind`; findings tell of bytes outside of allocations.
    ///
    /// # Errors
    /// `hipErrorInvalidMemcpyDirection`, `hipErrorInvalidValue`.
    pub(crate) fn check(&self, process: &Process, kind: c_int) -> Result {
        let (to_device, from_device) = match kind {
            HOST_TO_HOST | DEFAULT => (false, false),
            HOST_TO_DEVICE => (true, false),
            DEVICE_TO_HOST => (false, true),
            DEVICE_TO_DEVICE | DEVICE_TO_DEVICE_NO_CU => (true, true),
            _ => bail!(INVALID_MEMCPY_DIRECTION, "{kind} is no kind of copy"),
        };
        if self.span(1) == 0 {
            return Ok(());
        }
        let ends = [(self.to, self.to_pitch, true, to_device), (self.from, self.from_pitch, false, from_device)];
        for (address, pitch, write, device) in ends {
            let end = if write { "destination" } else { "source" };
            if address == 0 {
                bail!(INVALID_VALUE, "the {end} is null");
            }
            if device && !process.memory.holds(address) {
                bail!(
                    INVALID_VALUE,
                    "the {end} {address:#x} is no device memory, and the kind of the copy says that it is"
                );
            }
            if !self.bounds(process, address, pitch, write) {
                bail!(INVALID_VALUE, "the {end} {address:#x} has no room for {} bytes", self.span(pitch));
            }
        }
        Ok(())
    }

    fn bounds(&self, process: &Process, address: u64, pitch: usize, write: bool) -> bool {
        !process.memory.holds(address) || {
            let what = if write { "copy to the device" } else { "copy from the device" };
            process.memory.host_bounds(address, self.span(pitch), write, what, &process.findings)
        }
    }

    /// True where an end is memory that HIP does not know: then HIP makes the copy before it returns.
    pub(crate) fn is_pageable(&self, process: &Process) -> bool {
        self.span(1) > 0 && [self.to, self.from].iter().any(|&address| place(process, address) == Place::Pageable)
    }

    /// The work of the copy.
    pub(crate) fn work(self, process: &'static Process) -> Work {
        Work::new(move || self.run(process)).labelled(Payload::Copy)
    }

    fn run(&self, process: &Process) -> std::result::Result<(), Fault> {
        if self.span(1) == 0 {
            return Ok(());
        }
        let held = self.bounds(process, self.to, self.to_pitch, true)
            && self.bounds(process, self.from, self.from_pitch, false);
        if !held {
            return Err(Fault::new("a copy whose memory was freed before its turn"));
        }
        let places = (place(process, self.to), place(process, self.from));
        for row in 0..self.rows {
            let (to, from) = (self.to + (row * self.to_pitch) as u64, self.from + (row * self.from_pitch) as u64);
            // SAFETY: ends in the arena were checked against live allocations; for the others the caller of HIP answers. The ends may overlap.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, self.width) };
            match places {
                (Place::Device, Place::Device) => process.memory.copy_initialised(from, to, self.width),
                (Place::Device, _) => process.memory.set_initialised(to, self.width, true),
                _ => {}
            }
        }
        Ok(())
    }
}

fn place(process: &Process, address: u64) -> Place {
    if !process.memory.holds(address) {
        return Place::Pageable;
    }
    match process.memory.find(address).map(|found| found.kind) {
        Some(Kind::Pinned) => Place::Pinned,
        _ => Place::Device,
    }
}

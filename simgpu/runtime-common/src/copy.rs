//! Copies: their two ends, their checks, and their effect on the initialisation state of bytes.

use crate::error::Result;
use crate::payload::{Labelled, Payload};
use crate::{Machine, ResultCode, bail};
use isobit_simgpu_core::finding::{Fault, FaultKind};
use isobit_simgpu_core::memory::Kind;
use isobit_simgpu_core::queue::{StreamId, Work};

/// An end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The first byte.
    pub address: u64,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Bytes from one layer to the next.
    pub layer: usize,
    /// Whether the caller says that it is device memory.
    pub device: bool,
}

/// A copy of rows in layers. A one-dimensional copy is a single row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    /// The destination.
    pub to: End,
    /// The source.
    pub from: End,
    /// Bytes per row.
    pub width: usize,
    /// Rows per layer.
    pub rows: usize,
    /// Number of layers.
    pub layers: usize,
}

/// When a copy returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When the copy is done.
    Made,
    /// When the copy is enqueued; but when it is done if an end is unregistered host memory, as the
    /// vendors document.
    Enqueued,
}

/// The location of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Memory that the simulator does not know.
    Pageable,
    Pinned,
    Device,
}

impl End {
    /// Creates an end of a copy of one row.
    pub fn of_bytes(address: u64, bytes: usize, device: bool) -> Self {
        Self { address, pitch: bytes, layer: bytes, device }
    }

    /// Creates an end of a copy of rows.
    pub fn of_rows(address: u64, pitch: usize, device: bool) -> Self {
        Self { address, pitch, layer: 0, device }
    }
}

impl Copy {
    /// Creates a copy of `bytes` bytes.
    pub fn of_bytes(to: u64, to_device: bool, from: u64, from_device: bool, bytes: usize) -> Self {
        let (to, from) = (End::of_bytes(to, bytes, to_device), End::of_bytes(from, bytes, from_device));
        Self { to, from, width: bytes, rows: 1, layers: 1 }
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.rows == 0 || self.layers == 0
    }

    /// Returns the number of bytes from the first to the last byte at an end, including skipped
    /// ones, or `None` if it overflows.
    fn span(&self, end: &End) -> Option<usize> {
        let steps = end.layer.checked_mul(self.layers - 1)?.checked_add(end.pitch.checked_mul(self.rows - 1)?)?;
        steps.checked_add(self.width)
    }

    /// Checks the copy. Bytes outside of allocations are reported as findings.
    ///
    /// # Errors
    /// `INVALID_VALUE`.
    pub fn check<C: ResultCode>(&self, machine: &Machine) -> Result<(), C> {
        if self.is_empty() {
            return Ok(());
        }
        for (end, write) in [(&self.to, true), (&self.from, false)] {
            let (name, address) = (if write { "destination" } else { "source" }, end.address);
            if address == 0 {
                bail!(C, INVALID_VALUE, "the {name} is null");
            }
            let Some(span) = self.span(end).filter(|&span| address.checked_add(span as u64).is_some()) else {
                bail!(C, INVALID_VALUE, "the {name} {address:#x} would extend past the end of the address space");
            };
            if end.device && !machine.memory.holds(address) {
                bail!(C, INVALID_VALUE, "the {name} {address:#x} is not device memory, although the copy says so");
            }
            if !bounds(machine, address, span, write) {
                bail!(C, INVALID_VALUE, "the {name} {address:#x} has no room for {span} bytes");
            }
        }
        Ok(())
    }

    /// Whether an end is memory that the simulator does not know; the copy is then done before the
    /// call returns.
    pub fn is_pageable(&self, machine: &Machine) -> bool {
        let pageable = |end: &End| place(machine, end.address) == Place::Pageable;
        !self.is_empty() && (pageable(&self.to) || pageable(&self.from))
    }

    /// Enqueues a checked copy.
    ///
    /// # Errors
    /// Returns the errors of captures, and of the work that it waits for.
    pub fn enqueue<C: ResultCode>(self, machine: &'static Machine, stream: StreamId, when: When) -> Result<(), C> {
        let capturing = machine.queues.capture_status(stream)?.1 != 0;
        machine.queues.enqueue(stream, self.work(machine))?;
        if !capturing && (when == When::Made || self.is_pageable(machine)) {
            machine.queues.synchronize(stream)?;
        }
        Ok(())
    }

    /// Returns the work of the copy.
    pub fn work(self, machine: &'static Machine) -> Work {
        Work::new(move || self.run(machine)).labelled(Payload::Copy(self))
    }

    fn run(&self, machine: &Machine) -> std::result::Result<(), Fault> {
        if self.is_empty() {
            return Ok(());
        }
        let held = |end: &End, write| self.span(end).is_some_and(|span| bounds(machine, end.address, span, write));
        if !held(&self.to, true) || !held(&self.from, false) {
            return Err(Fault::found(FaultKind::Address, "the memory of a copy was freed before the copy ran"));
        }
        let places = (place(machine, self.to.address), place(machine, self.from.address));
        for (layer, row) in (0..self.layers).flat_map(|layer| (0..self.rows).map(move |row| (layer, row))) {
            let at = |end: &End| end.address + (layer * end.layer + row * end.pitch) as u64;
            let (to, from) = (at(&self.to), at(&self.from));
            // SAFETY: ends in the arena were checked against live allocations; the caller of the
            // interface is responsible for the others. The ends may overlap.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, self.width) };
            match places {
                (Place::Device, Place::Device) => machine.memory.copy_initialised(from, to, self.width),
                (Place::Device, _) => machine.memory.set_initialised(to, self.width, true),
                _ => {}
            }
        }
        Ok(())
    }
}

fn bounds(machine: &Machine, address: u64, span: usize, write: bool) -> bool {
    !machine.memory.holds(address) || {
        let what = if write { "copy to the device" } else { "copy from the device" };
        machine.memory.host_bounds(address, span, write, what, &machine.findings)
    }
}

fn place(machine: &Machine, address: u64) -> Place {
    if !machine.memory.holds(address) {
        return if machine.registered_at(address).is_some() { Place::Pinned } else { Place::Pageable };
    }
    match machine.memory.find(address).map(|found| found.kind) {
        Some(Kind::Pinned) => Place::Pinned,
        _ => Place::Device,
    }
}

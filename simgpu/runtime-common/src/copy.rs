//! What a copy does: where its two ends are, what may be copied, and what becomes known of the
//! bytes.

use crate::error::Result;
use crate::payload::{Labelled, Payload};
use crate::{Machine, ResultCode, bail};
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::memory::Kind;
use isobit_simgpu_core::queue::{StreamId, Work};

/// An end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The first byte.
    pub address: u64,
    /// Bytes from a row to the next.
    pub pitch: usize,
    /// Bytes from a layer to the next.
    pub layer: usize,
    /// The caller says that it is memory of a device.
    pub device: bool,
}

/// A copy of rows in layers: one row of all bytes where it has one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    /// Where the bytes go.
    pub to: End,
    /// Where they come from.
    pub from: End,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a layer.
    pub rows: usize,
    /// Layers.
    pub layers: usize,
}

/// When a copy returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When it is made.
    Made,
    /// When it is enqueued; but when it is made, as vendors document, where an end is host memory
    /// that they do not know.
    Enqueued,
}

/// Where bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Memory that the simulator does not know.
    Pageable,
    Pinned,
    Device,
}

impl End {
    /// An end of a copy of one row.
    pub fn of_bytes(address: u64, bytes: usize, device: bool) -> Self {
        Self { address, pitch: bytes, layer: bytes, device }
    }

    /// An end of a copy of rows.
    pub fn of_rows(address: u64, pitch: usize, device: bool) -> Self {
        Self { address, pitch, layer: 0, device }
    }
}

impl Copy {
    /// A copy of so many bytes.
    pub fn of_bytes(to: u64, to_device: bool, from: u64, from_device: bool, bytes: usize) -> Self {
        let (to, from) = (End::of_bytes(to, bytes, to_device), End::of_bytes(from, bytes, from_device));
        Self { to, from, width: bytes, rows: 1, layers: 1 }
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.rows == 0 || self.layers == 0
    }

    /// Bytes from the first to behind the last at an end, with those that are skipped; nothing
    /// where there are not so many addresses.
    fn span(&self, end: &End) -> Option<usize> {
        let steps = end.layer.checked_mul(self.layers - 1)?.checked_add(end.pitch.checked_mul(self.rows - 1)?)?;
        steps.checked_add(self.width)
    }

    /// Checks the copy; findings tell of bytes outside of allocations.
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
                bail!(C, INVALID_VALUE, "the {name} {address:#x} would reach beyond all addresses");
            };
            if end.device && !machine.memory.holds(address) {
                bail!(C, INVALID_VALUE, "the {name} {address:#x} is no device memory, as the copy says that it is");
            }
            if !bounds(machine, address, span, write) {
                bail!(C, INVALID_VALUE, "the {name} {address:#x} has no room for {span} bytes");
            }
        }
        Ok(())
    }

    /// True where an end is memory that the simulator does not know: then the copy is made before
    /// its call returns.
    pub fn is_pageable(&self, machine: &Machine) -> bool {
        let pageable = |end: &End| place(machine, end.address) == Place::Pageable;
        !self.is_empty() && (pageable(&self.to) || pageable(&self.from))
    }

    /// Enqueues the copy, which was checked.
    ///
    /// # Errors
    /// Those of captures, and of the work that a wait is for.
    pub fn enqueue<C: ResultCode>(self, machine: &'static Machine, stream: StreamId, when: When) -> Result<(), C> {
        let capturing = machine.queues.capture_status(stream)?.1 != 0;
        machine.queues.enqueue(stream, self.work(machine))?;
        if !capturing && (when == When::Made || self.is_pageable(machine)) {
            machine.queues.synchronize(stream)?;
        }
        Ok(())
    }

    /// The work of the copy.
    pub fn work(self, machine: &'static Machine) -> Work {
        Work::new(move || self.run(machine)).labelled(Payload::Copy(self))
    }

    fn run(&self, machine: &Machine) -> std::result::Result<(), Fault> {
        if self.is_empty() {
            return Ok(());
        }
        let held = |end: &End, write| self.span(end).is_some_and(|span| bounds(machine, end.address, span, write));
        if !held(&self.to, true) || !held(&self.from, false) {
            return Err(Fault::new("a copy whose memory was freed before its turn"));
        }
        let places = (place(machine, self.to.address), place(machine, self.from.address));
        for (layer, row) in (0..self.layers).flat_map(|layer| (0..self.rows).map(move |row| (layer, row))) {
            let at = |end: &End| end.address + (layer * end.layer + row * end.pitch) as u64;
            let (to, from) = (at(&self.to), at(&self.from));
            // SAFETY: ends in the arena were checked against live allocations; for the others the
            // caller of the interface answers. The ends may overlap.
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

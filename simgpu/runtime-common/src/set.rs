//! Sets memory to a repeated value.

use crate::error::Result;
use crate::payload::{Labelled, Payload};
use crate::{Machine, ResultCode, bail};
use isobit_simgpu_core::finding::{Fault, FaultKind};
use isobit_simgpu_core::queue::{StreamId, Work};

/// Elements of 1, 2 or 4 bytes to set, in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Set {
    /// The first byte.
    pub to: u64,
    /// The value of the elements.
    pub value: u32,
    /// Bytes per element.
    pub size: usize,
    /// Bytes per row, a multiple of `size`.
    pub width: usize,
    /// Number of rows.
    pub rows: usize,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

const WHAT: &str = "set of device memory";

impl Set {
    /// Creates a set of `count` elements.
    ///
    /// # Errors
    /// Fails if the size overflows.
    pub fn of_elements<C: ResultCode>(to: u64, value: u32, size: usize, count: usize) -> Result<Self, C> {
        let Some(width) = count.checked_mul(size) else { bail!(C, INVALID_VALUE, "{count} elements of {size} bytes") };
        Ok(Self { to, value, size, width, rows: 1, pitch: width })
    }

    /// Creates a set of rows of elements; the pitch of a single row is ignored.
    ///
    /// # Errors
    /// Fails if elements do not have 1, 2 or 4 bytes, if rows overlap, or if the size overflows.
    pub fn of_rows<C: ResultCode>(
        to: u64,
        pitch: usize,
        value: u32,
        size: usize,
        count: usize,
        rows: usize,
    ) -> Result<Self, C> {
        if !matches!(size, 1 | 2 | 4) {
            bail!(C, INVALID_VALUE, "elements have {size} bytes, but must have 1, 2 or 4");
        }
        let one = Self::of_elements(to, value, size, count)?;
        let pitch = if rows > 1 { pitch } else { one.width };
        if pitch < one.width || pitch.checked_mul(rows).is_none() {
            bail!(C, INVALID_VALUE, "{rows} rows of {} bytes, {pitch} bytes apart", one.width);
        }
        Ok(Self { rows, pitch, ..one })
    }

    fn span(&self) -> usize {
        if self.width == 0 || self.rows == 0 { 0 } else { self.pitch * (self.rows - 1) + self.width }
    }

    /// Checks the destination. Bytes outside of allocations are reported as a finding.
    ///
    /// # Errors
    /// `INVALID_VALUE`.
    pub fn check<C: ResultCode>(&self, machine: &Machine) -> Result<(), C> {
        if self.span() == 0 {
            return Ok(());
        }
        let size = self.size as u64;
        if self.to == 0 || !self.to.is_multiple_of(size) || (self.rows > 1 && !self.pitch.is_multiple_of(self.size)) {
            bail!(C, INVALID_VALUE, "the destination {:#x} or its pitch is null or not a multiple of {size}", self.to);
        }
        if !machine.memory.host_bounds(self.to, self.span(), true, WHAT, &machine.findings) {
            bail!(C, INVALID_VALUE, "no allocation contains the {} bytes at {:#x}", self.span(), self.to);
        }
        Ok(())
    }

    /// Enqueues a checked set.
    ///
    /// # Errors
    /// Returns the errors of captures, and of the work that it waits for.
    pub fn enqueue<C: ResultCode>(self, machine: &'static Machine, stream: StreamId, wait: bool) -> Result<(), C> {
        machine.queues.enqueue(stream, self.work(machine))?;
        if wait {
            machine.queues.synchronize(stream)?;
        }
        Ok(())
    }

    /// Returns the work of the set.
    pub fn work(self, machine: &'static Machine) -> Work {
        Work::new(move || self.run(machine)).labelled(Payload::Set(self))
    }

    fn run(&self, machine: &Machine) -> std::result::Result<(), Fault> {
        if !machine.memory.host_bounds(self.to, self.span(), true, WHAT, &machine.findings) {
            return Err(Fault::found(FaultKind::Address, "the memory of a set was freed before the set ran"));
        }
        if self.span() == 0 {
            return Ok(());
        }
        for row in 0..self.rows {
            let to = self.to + (row * self.pitch) as u64;
            // SAFETY: a live allocation contains the row, as checked above; nothing else has a
            // reference into the arena.
            let bytes = unsafe { std::slice::from_raw_parts_mut(to as *mut u8, self.width) };
            let value = self.value.to_le_bytes();
            if self.size == 1 {
                bytes.fill(value[0]);
            } else {
                bytes.chunks_exact_mut(self.size).for_each(|element| element.copy_from_slice(&value[..self.size]));
            }
            machine.memory.set_initialised(to, self.width, true);
        }
        Ok(())
    }
}

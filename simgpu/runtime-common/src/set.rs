//! Setting memory to a repeated value.

use crate::error::Result;
use crate::payload::{Labelled, Payload};
use crate::{Machine, ResultCode, bail};
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::queue::{StreamId, Work};

/// Elements of 1, 2 or 4 bytes to set, in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Set {
    /// The first byte.
    pub to: u64,
    /// What elements are set to.
    pub value: u32,
    /// Bytes of an element.
    pub size: usize,
    /// Bytes of a row, a multiple of `size`.
    pub width: usize,
    /// Rows.
    pub rows: usize,
    /// From a row to the next.
    pub pitch: usize,
}

const WHAT: &str = "set of device memory";

impl Set {
    /// A set of `count` elements.
    ///
    /// # Errors
    /// They are more than there are addresses.
    pub fn of_elements<C: ResultCode>(to: u64, value: u32, size: usize, count: usize) -> Result<Self, C> {
        let Some(width) = count.checked_mul(size) else { bail!(C, INVALID_VALUE, "{count} elements of {size} bytes") };
        Ok(Self { to, value, size, width, rows: 1, pitch: width })
    }

    /// A set of rows of elements; the pitch of a single row has no meaning.
    ///
    /// # Errors
    /// Elements of another size than 1, 2 or 4 bytes, rows that overlap, more than there are
    /// addresses.
    pub fn of_rows<C: ResultCode>(
        to: u64,
        pitch: usize,
        value: u32,
        size: usize,
        count: usize,
        rows: usize,
    ) -> Result<Self, C> {
        if !matches!(size, 1 | 2 | 4) {
            bail!(C, INVALID_VALUE, "elements of {size} bytes; they have 1, 2 or 4");
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

    /// Checks the destination; a finding tells of bytes outside of allocations.
    ///
    /// # Errors
    /// `INVALID_VALUE`.
    pub fn check<C: ResultCode>(&self, machine: &Machine) -> Result<(), C> {
        if self.span() == 0 {
            return Ok(());
        }
        let size = self.size as u64;
        if self.to == 0 || !self.to.is_multiple_of(size) || (self.rows > 1 && !self.pitch.is_multiple_of(self.size)) {
            bail!(C, INVALID_VALUE, "the destination {:#x} or its pitch is null or no multiple of {size}", self.to);
        }
        if !machine.memory.host_bounds(self.to, self.span(), true, WHAT, &machine.findings) {
            bail!(C, INVALID_VALUE, "no allocation holds the {} bytes at {:#x}", self.span(), self.to);
        }
        Ok(())
    }

    /// Enqueues the set, which was checked.
    ///
    /// # Errors
    /// Those of captures, and of the work that a wait is for.
    pub fn enqueue<C: ResultCode>(self, machine: &'static Machine, stream: StreamId, wait: bool) -> Result<(), C> {
        machine.queues.enqueue(stream, self.work(machine))?;
        if wait {
            machine.queues.synchronize(stream)?;
        }
        Ok(())
    }

    /// The work of the set.
    pub fn work(self, machine: &'static Machine) -> Work {
        Work::new(move || self.run(machine)).labelled(Payload::Set(self))
    }

    fn run(&self, machine: &Machine) -> std::result::Result<(), Fault> {
        if !machine.memory.host_bounds(self.to, self.span(), true, WHAT, &machine.findings) {
            return Err(Fault::new("a set whose memory was freed before its turn"));
        }
        if self.span() == 0 {
            return Ok(());
        }
        for row in 0..self.rows {
            let to = self.to + (row * self.pitch) as u64;
            // SAFETY: a live allocation holds the row, checked above; nothing else has a reference
            // into the arena.
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

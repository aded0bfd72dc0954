//! Stream-ordered writes of numbers to memory.

use crate::Code;
use crate::error::{Result, bail, call};
use crate::memory::Address;
use crate::process::process;
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::queue::Work;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::c_uint;

fn write(stream: Handle, address: Address, value: &[u8], flags: c_uint) -> Result {
    const WHAT: &str = "write of a value to the device";
    let process = process()?;
    let stream = process.stream(stream)?;
    let machine = &process.machine;
    // `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER` is 1.
    if flags > 1 || address == 0 || !address.is_multiple_of(value.len() as u64) {
        bail!(INVALID_VALUE, "cannot write {} bytes at {address:#x} with flags {flags:#x}", value.len());
    }
    if !machine.memory.host_bounds(address, value.len(), true, WHAT, &machine.findings) {
        bail!(INVALID_VALUE, "no allocation holds the {} bytes at {address:#x}", value.len());
    }
    let value = value.to_vec();
    let work = Work::new(move || {
        if !machine.memory.host_access(address, value.len(), true, WHAT, &machine.findings) {
            return Err(Fault::new("the memory of a value write was freed before the stream reached the write"));
        }
        // SAFETY: a live allocation holds the bytes, checked above; nothing else has a reference
        // into the arena.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), address as *mut u8, value.len()) };
        Ok(())
    });
    Ok(machine.queues.enqueue(stream.id, work)?)
}

/// Writes a 32-bit number.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWriteValue32_v2(stream: Handle, address: Address, value: u32, flags: c_uint) -> Code {
    call("cuStreamWriteValue32_v2", || write(stream, address, &value.to_le_bytes(), flags))
}

/// Writes a 64-bit number.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWriteValue64_v2(stream: Handle, address: Address, value: u64, flags: c_uint) -> Code {
    call("cuStreamWriteValue64_v2", || write(stream, address, &value.to_le_bytes(), flags))
}

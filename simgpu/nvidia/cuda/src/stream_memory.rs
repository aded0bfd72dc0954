//! Stream-ordered memory. Memory is available when the allocating call returns, and is freed when
//! the stream reaches the free.

use crate::Code;
use crate::error::{Result, bail, call, put};
use crate::memory::Address;
use crate::process::{Process, Stream, What, process};
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::memory::Kind;
use isobit_simgpu_core::queue::{CaptureStatus, Work};
use isobit_simgpu_runtime_common::handles::Handle;

/// Rejects a stream that is capturing: graphs have no allocation nodes.
fn refuse_capture(process: &Process, stream: &Stream) -> Result {
    if process.machine.queues.capture_status(stream.id)?.0 != CaptureStatus::None {
        bail!(NOT_SUPPORTED, "stream-ordered allocation cannot be captured");
    }
    Ok(())
}

fn allocate(process: &Process, to: *mut Address, bytes: usize, pool: Handle, stream: &Stream) -> Result {
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to the address is null");
    }
    refuse_capture(process, stream)?;
    let owner = process.pools.get(pool)?;
    let base = if bytes == 0 { 0 } else { process.machine.memory.alloc(bytes, Kind::Device, "a pool's")? };
    if bytes > 0 {
        process.note(base, What::Memory, &stream.context, 0, 0);
        process.pools.came(base, bytes, pool, owner);
    }
    // SAFETY: not null, and the caller of CUDA promises room for an address.
    unsafe { put(to, base, "the address") }
}

/// Allocates memory in stream order from the pool of the stream's device. A size of zero gives
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(to: *mut Address, bytes: usize, stream: Handle) -> Code {
    call("cuMemAllocAsync", || {
        let process = process()?;
        let stream = process.stream(stream)?;
        allocate(process, to, bytes, process.pools.current(stream.context.device), &stream)
    })
}

/// Allocates memory in stream order from a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocFromPoolAsync(to: *mut Address, bytes: usize, pool: Handle, stream: Handle) -> Code {
    call("cuMemAllocFromPoolAsync", || {
        let process = process()?;
        allocate(process, to, bytes, pool, &process.stream(stream)?)
    })
}

/// Frees device memory in stream order, no matter how it was allocated.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(address: Address, stream: Handle) -> Code {
    call("cuMemFreeAsync", || {
        let process = process()?;
        let stream = process.stream(stream)?;
        refuse_capture(process, &stream)?;
        if address == 0 {
            return Ok(());
        }
        let found = process.machine.starts::<Code>(address, Kind::Device)?;
        if process.origin(address).is_none() {
            bail!(INVALID_VALUE, "{address:#x} belongs to a module, or is already being freed in stream order");
        }
        process.forget(address);
        let free = Work::new(move || {
            process.pools.left(&found);
            // The memory is live: once it is out of the table, only this work can free it.
            process.machine.memory.free(address).map_err(|e| Fault::new(e.to_string()))
        });
        Ok(process.machine.queues.enqueue(stream.id, free)?)
    })
}

//! Memory that a vendor's library works in. It comes from the device's pool for each call, like
//! that of the tree's own operations: it is ordered among streams as they are, a graph keeps what
//! its nodes work in, and graph and eager work never share it.

use crate::device::GpuDevice;
use crate::runtime::{GpuRuntime, Scratch};
use isobit_hal::{DType, Result};

impl<R: GpuRuntime> GpuDevice<R> {
    /// Calls a hook of the runtime with this thread's stream and memory to work in.
    ///
    /// # Errors
    /// Those of the call.
    pub(crate) fn call_vendor<T>(&self, call: impl FnOnce(&R, &R::Stream, &mut Scratch<'_>) -> Result<T>) -> Result<T> {
        let mut held = Vec::new();
        let mut scratch = |bytes| {
            let memory = self.alloc(bytes, DType::U8)?;
            let ptr = memory.ptr();
            held.push(memory);
            Ok(ptr)
        };
        call(self.runtime(), &self.stream(), &mut scratch)
    }
}

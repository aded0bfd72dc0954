//! Workspaces of vendor libraries. Like the scratch memory of the tree's own operations, they come
//! from the device's pool for each call: they are ordered among streams in the same way, a graph
//! keeps the workspaces of its nodes, and graph and eager work never share one.

use crate::device::GpuDevice;
use crate::runtime::{GpuRuntime, Scratch};
use isobit_hal::{DType, Result};

impl<R: GpuRuntime> GpuDevice<R> {
    /// Calls a hook of the runtime with this thread's stream and a workspace allocator.
    ///
    /// # Errors
    /// Returns the error of the call.
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

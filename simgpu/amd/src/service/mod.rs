//! What the host does for running kernels, beside starting them: `printf`, in both forms to which
//! compilers for HIP lower it.
//!
//! With `-mprintf-kind=hostcall`, the default, the device library calls the host through a buffer
//! whose address is the argument `hidden_hostcall_buffer`, and waits for the answer
//! ([`HostCalls`]). With `-mprintf-kind=buffered`, kernels leave records in another buffer,
//! `hidden_printf_buffer`, which the host prints when the kernel has ended ([`records`]).

mod calls;
mod messages;
mod packets;
mod records;
mod words;

pub use calls::HostCalls;

use crate::loader::{ArgKind, Kernel};
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::memory::{Kind, Memory};
use isobit_simgpu_core::print::Output;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// The host's services of one card.
pub struct Services {
    memory: Arc<Memory>,
    output: Output,
    /// Buffers that no launch uses. They are reused, because an allocation per launch would change
    /// the table of allocations each time.
    host_calls: Mutex<Vec<u64>>,
    records: Mutex<Vec<u64>>,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}

/// The services of one launch.
pub(crate) struct Running<'a> {
    owner: &'a Services,
    host_calls: Option<HostCalls<'a>>,
    records: Option<u64>,
}

impl Services {
    pub(crate) fn new(memory: Arc<Memory>) -> Self {
        Self { memory, output: Output::at_once(), host_calls: Mutex::default(), records: Mutex::default() }
    }

    pub(crate) fn with_output(self, output: Output) -> Self {
        Self { output, ..self }
    }

    pub(crate) fn output(&self) -> &Output {
        &self.output
    }

    /// Prepares the buffers that a kernel has arguments for.
    pub(crate) fn start(&self, kernel: &Kernel) -> Result<Running<'_>, Fault> {
        let has = |kind| kernel.args.iter().any(|arg| arg.kind == kind);
        let mut running = Running { owner: self, host_calls: None, records: None };
        if has(ArgKind::HostCalls) {
            let base = self.take(&self.host_calls, packets::BYTES, "calls of the host")?;
            running.host_calls = Some(HostCalls::new(base, &self.memory, &self.output));
        }
        if has(ArgKind::Records) {
            let base = self.take(&self.records, records::BYTES, "printf")?;
            records::clear(base);
            running.records = Some(base);
        }
        Ok(running)
    }

    fn take(&self, free: &Mutex<Vec<u64>>, bytes: usize, what: &str) -> Result<u64, Fault> {
        if let Some(base) = free.lock().pop() {
            return Ok(base);
        }
        let base = self.memory.alloc(bytes, Kind::Runtime, what);
        base.map_err(|error| Fault::new(format!("no memory for the buffer for {what}: {error}")))
    }
}

impl<'a> Running<'a> {
    /// Returns the host's side of calls, if the kernel has the argument for them.
    pub(crate) fn host_calls(&self) -> Option<&HostCalls<'a>> {
        self.host_calls.as_ref()
    }

    /// Returns the address of the buffer for records, or 0.
    pub(crate) fn records(&self) -> u64 {
        self.records.unwrap_or(0)
    }

    /// Prints the records that the kernel has left.
    pub(crate) fn end(&self, kernel: &Kernel) -> Result<(), Fault> {
        let Some(base) = self.records else { return Ok(()) };
        records::print_all(base, &kernel.formats, &self.owner.output)
            .map_err(|why| Fault::new(format!("{}: {why}", kernel.name)))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.owner.host_calls.lock().extend(self.host_calls.as_ref().map(HostCalls::address));
        self.owner.records.lock().extend(self.records);
    }
}

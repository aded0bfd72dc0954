//! Code shared by the libraries that replace a vendor's libraries on a simulated GPU. Each is a
//! shared library with the vendor's C interface, located next to the simulator's `libamdhip64.so`
//! or `libcuda.so`. It computes on the host, in stream order, what the vendor's documentation
//! specifies. Device addresses are host addresses, so a replacement works directly on the simulated
//! memory. It first asks the simulator to check every access, because the simulator knows what is
//! allocated and initialised.

pub mod attributes;
mod fault;
mod guard;
mod handles;
pub mod report;
mod runtime;
mod workspace;

pub use guard::guarded;
pub use handles::Handles;
pub use runtime::{CUDA, HIP, Runtime, Stream, Vendor};
pub use workspace::Workspace;

/// Checks whether bytes of the simulated memory may be read or written, and records a finding if
/// not. Arguments: address, length, whether it is a write, and the name of the operation.
pub type Access<'a> = dyn Fn(*const u8, usize, bool, &str) -> bool + 'a;

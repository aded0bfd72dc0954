//! What the libraries that stand in for a vendor's on a simulated GPU share. Each of them is a
//! shared library with the vendor's C interface that lies beside the simulator's `libamdhip64.so`
//! or `libcuda.so`, computes on the host what the vendor's documentation says, and does so when the
//! stream gets there. Device addresses are host addresses, so a stand-in works on the simulated
//! memory in place; every access is first put to the simulator, which knows what is allocated and
//! initialised.

mod guard;
mod handles;
pub mod report;
mod runtime;

pub use guard::guarded;
pub use handles::Handles;
pub use runtime::{CUDA, HIP, Runtime, Stream, Vendor};

/// Asks whether bytes of the simulated memory may be read or written, and records a finding where
/// they may not: address, length, whether it is a write, and who asks.
pub type Access<'a> = dyn Fn(*const u8, usize, bool, &str) -> bool + 'a;

//! What the libraries that stand in for ROCm's on the simulated AMD GPU share. Each of them is a shared library with the vendor's C interface
//! that lies beside the simulator's `libamdhip64.so`, computes on the host what the vendor's documentation says, and does so when the stream
//! gets there. Device addresses are host addresses, so a stand-in works on the simulated memory in place; every access is first put to the
//! simulator, which knows what is allocated and initialised.

mod guard;
mod handles;
mod hip;
pub mod report;

pub use guard::guarded;
pub use handles::Handles;
pub use hip::{Hip, Stream};

/// Asks whether bytes of the simulated memory may be read or written, and records a finding where they may not: address, length, whether it is a
/// write, and who asks.
pub type Access<'a> = dyn Fn(*const u8, usize, bool, &str) -> bool + 'a;

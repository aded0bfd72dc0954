//! Helpers for the tests of the interface.

#![allow(dead_code, unused_imports, reason = "each test program uses a part of it")]

pub mod kernels;
#[path = "../../../../runtime-common/testing/mod.rs"]
mod testing;

pub use isobit_simgpu_hip::Code;
pub use isobit_simgpu_hip::report::isobit_sim_report;
pub use testing::{alone, child, configure, get, host, kinds, ok, report};

use isobit_simgpu_hip::memory::{hipFree, hipMalloc};
use std::ffi::c_void;

/// Device memory, freed when dropped.
pub struct Buffer(pub *mut c_void);

impl Buffer {
    #[track_caller]
    pub fn new(bytes: usize) -> Self {
        // SAFETY: the pointer comes from the helper.
        Self(get(|to| unsafe { hipMalloc(to, bytes) }))
    }

    /// Returns the address of a byte.
    pub fn at(&self, byte: usize) -> *mut c_void {
        self.0.cast::<u8>().wrapping_add(byte).cast()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        hipFree(self.0);
    }
}

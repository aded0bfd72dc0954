//! Helpers for tests of whole kernels of both vendors: a compiler, and initialised memory. Each
//! test program includes this file.

use isobit_simgpu_core::finding::Findings;
use isobit_simgpu_core::memory::{Kind, Memory};
use std::path::Path;
use std::sync::Arc;

#[path = "clang.rs"]
mod clang;

/// Compiles a source with these options, or panics with what is wrong.
#[allow(dead_code, reason = "not every program of tests compiles")]
pub fn compile(source: &Path, options: &[&str]) -> Vec<u8> {
    clang::compile(source, options).unwrap_or_else(|why| panic!("{why}"))
}

/// The memory of a GPU, and the findings.
pub struct Device {
    pub memory: Arc<Memory>,
    pub findings: Arc<Findings>,
}

impl Device {
    pub fn new() -> Self {
        let memory = Arc::new(Memory::new(1 << 30).expect("a gigabyte of addresses"));
        Self { memory, findings: Arc::new(Findings::new()) }
    }

    /// Allocates memory with these values.
    pub fn upload<T: bytemuck::NoUninit>(&self, values: &[T]) -> u64 {
        let bytes = bytemuck::cast_slice::<T, u8>(values);
        let at = self.uninitialised(bytes.len());
        // SAFETY: the allocation was just made with this size.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        self.memory.set_initialised(at, bytes.len(), true);
        at
    }

    /// Allocates uninitialised memory.
    pub fn uninitialised(&self, bytes: usize) -> u64 {
        self.memory.alloc(bytes, Kind::Device, "").expect("memory")
    }

    /// Returns the values at an address.
    #[allow(dead_code, reason = "not every program of tests reads memory back")]
    pub fn download<T: bytemuck::Pod>(&self, at: u64, count: usize) -> Vec<T> {
        let bytes = count * size_of::<T>();
        assert!(self.memory.host_bounds(at, bytes, false, "download", &self.findings));
        // SAFETY: a live allocation contains the bytes, and no launch is running.
        let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, bytes) };
        bytemuck::pod_collect_to_vec(bytes)
    }
}

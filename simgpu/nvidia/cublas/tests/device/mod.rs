//! The simulated NVIDIA GPU as a program uses it, for tests of this library and its neighbours.

use cudarc::driver::sys::{self, CUresult, CUstream};
use isobit_simgpu_install::{cuda, inside};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Runs a test's body in separate processes with the simulator: once with immediate and once with
/// deferred execution.
pub fn on_the_simulator(test: &str, body: fn(&Device)) {
    if inside() {
        return body(&Device::open());
    }
    let installed = cuda().expect("the simulator is built");
    for defer in ["0", "1"] {
        let mut child = installed.child(test).expect("this program starts again");
        let status = child.env("ISOBIT_SIM_DEFER", defer).status();
        assert!(status.as_ref().is_ok_and(|s| s.success()), "ISOBIT_SIM_DEFER={defer}: {status:?}");
    }
}

/// The first card, with a stream.
pub struct Device {
    pub stream: CUstream,
}

fn check(code: CUresult) {
    assert_eq!(code, CUresult::CUDA_SUCCESS);
}

impl Device {
    pub fn open() -> Self {
        let (mut card, mut context, mut stream) = (0, null_mut(), null_mut());
        // SAFETY: the calls write out-parameters, and later calls get what these received.
        unsafe {
            check(sys::cuInit(0));
            check(sys::cuDeviceGet(&mut card, 0));
            check(sys::cuDevicePrimaryCtxRetain(&mut context, card));
            check(sys::cuCtxSetCurrent(context));
            let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
            check(sys::cuStreamCreate(&mut stream, flags));
        }
        Self { stream }
    }

    /// Allocates device memory and does not write it.
    pub fn alloc<T>(&self, count: usize) -> *mut T {
        let mut at = 0;
        // SAFETY: an out-parameter.
        check(unsafe { sys::cuMemAlloc_v2(&mut at, count * size_of::<T>()) });
        std::ptr::with_exposed_provenance_mut(at as usize)
    }

    pub fn upload<T: Copy>(&self, numbers: &[T]) -> *mut T {
        let at: *mut T = self.alloc(numbers.len());
        let (from, bytes) = (numbers.as_ptr().cast(), size_of_val(numbers));
        // SAFETY: source and destination have that number of bytes; pageable memory is read before
        // the call returns.
        check(unsafe { sys::cuMemcpyHtoDAsync_v2(at.expose_provenance() as u64, from, bytes, self.stream) });
        at
    }

    /// Downloads the data when the stream has finished.
    pub fn download<T: Copy + Default>(&self, at: *mut T, count: usize) -> Vec<T> {
        let mut host = vec![T::default(); count];
        let to: *mut c_void = host.as_mut_ptr().cast();
        // SAFETY: source and destination have that number of bytes, and the host memory lives until
        // the stream has finished.
        unsafe {
            let from = at.expose_provenance() as u64;
            check(sys::cuMemcpyDtoHAsync_v2(to, from, count * size_of::<T>(), self.stream));
            check(sys::cuStreamSynchronize(self.stream));
        }
        host
    }

    /// Captures work into a graph, and launches the graph `times` times.
    #[allow(dead_code, reason = "not every library's tests capture")]
    pub fn repeat(&self, times: usize, work: impl FnOnce()) {
        let (mut graph, mut instance) = (null_mut(), null_mut());
        // SAFETY: the calls write out-parameters; what these receive lives until the stream has
        // finished.
        unsafe {
            let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
            check(sys::cuStreamBeginCapture_v2(self.stream, mode));
            work();
            check(sys::cuStreamEndCapture(self.stream, &mut graph));
            check(sys::cuGraphInstantiateWithFlags(&mut instance, graph, 0));
            for _ in 0..times {
                check(sys::cuGraphLaunch(instance, self.stream));
            }
            check(sys::cuStreamSynchronize(self.stream));
            check(sys::cuGraphExecDestroy(instance));
            check(sys::cuGraphDestroy(graph));
        }
    }

    /// Returns the simulator's findings since the last call: the kind and the full text of each.
    pub fn findings(&self) -> Vec<(String, String)> {
        let text =
            isobit_simgpu_library_common::report::take("libcuda.so.1".as_ref()).expect("the simulator's library");
        let report: serde_json::Value = serde_json::from_str(&text).expect("the simulator reports JSON");
        let findings = report["findings"].as_array().expect("findings");
        findings.iter().map(|f| (f["kind"].as_str().unwrap_or_default().to_string(), f.to_string())).collect()
    }
}

//! A program on the simulated GPU: a device, a stream, a handle, and memory.

use cudarc::cudnn::sys::{cudnnCreate, cudnnHandle_t, cudnnSetStream, cudnnStatus_t::CUDNN_STATUS_SUCCESS};
use cudarc::driver::sys::{CUresult::CUDA_SUCCESS, *};
use isobit_simgpu_install::cuda;
use std::path::Path;
use std::ptr::null_mut;

/// Runs a test of this program again with the simulator, once with immediate execution and once
/// deferred as long as possible.
pub fn with_simulator(test: &str) {
    let installed = cuda().expect("the simulator is built");
    for defer in ["0", "1"] {
        let mut child = installed.child(test).expect("this program starts again");
        let status = child.env("ISOBIT_SIM_DEFER", defer).status();
        assert!(status.as_ref().is_ok_and(|s| s.success()), "ISOBIT_SIM_DEFER={defer}: {status:?}");
    }
}

pub struct Program {
    pub stream: CUstream,
    pub handle: cudnnHandle_t,
}

impl Program {
    pub fn new() -> Self {
        let (mut device, mut context, mut stream, mut handle) = (0, null_mut(), null_mut(), null_mut());
        // SAFETY: the calls write out-parameters, and later calls get what these received.
        unsafe {
            assert_eq!(cuInit(0), CUDA_SUCCESS);
            assert_eq!(cuDeviceGet(&mut device, 0), CUDA_SUCCESS);
            assert_eq!(cuDevicePrimaryCtxRetain(&mut context, device), CUDA_SUCCESS);
            assert_eq!(cuCtxSetCurrent(context), CUDA_SUCCESS);
            assert_eq!(cuStreamCreate(&mut stream, CUstream_flags::CU_STREAM_NON_BLOCKING as u32), CUDA_SUCCESS);
            assert_eq!(cudnnCreate(&mut handle), CUDNN_STATUS_SUCCESS);
            assert_eq!(cudnnSetStream(handle, stream.cast()), CUDNN_STATUS_SUCCESS);
        }
        Self { stream, handle }
    }

    /// Allocates memory and does not write it.
    pub fn memory(&self, bytes: usize) -> CUdeviceptr {
        let mut at = 0;
        // SAFETY: an out-parameter.
        assert_eq!(unsafe { cuMemAlloc_v2(&mut at, bytes) }, CUDA_SUCCESS);
        at
    }

    pub fn upload(&self, numbers: &[f32]) -> CUdeviceptr {
        let at = self.memory(size_of_val(numbers));
        self.write(at, numbers);
        at
    }

    pub fn write(&self, at: CUdeviceptr, numbers: &[f32]) {
        // SAFETY: the copy has the size of the numbers, which live until the stream is done with
        // them.
        unsafe {
            let from = numbers.as_ptr().cast();
            assert_eq!(cuMemcpyHtoDAsync_v2(at, from, size_of_val(numbers), self.stream), CUDA_SUCCESS);
            assert_eq!(cuStreamSynchronize(self.stream), CUDA_SUCCESS);
        }
    }

    pub fn download(&self, at: CUdeviceptr) -> [f32; 4] {
        let mut numbers = [0f32; 4];
        // SAFETY: source and destination have the same number of bytes, and the host memory lives
        // until the stream has finished.
        unsafe {
            assert_eq!(cuMemcpyDtoHAsync_v2(numbers.as_mut_ptr().cast(), at, 16, self.stream), CUDA_SUCCESS);
            assert_eq!(cuStreamSynchronize(self.stream), CUDA_SUCCESS);
        }
        numbers
    }
}

/// Returns the kinds and texts of the simulator's findings since the last call.
pub fn findings() -> Vec<(String, String)> {
    let text = isobit_simgpu_library_common::report::take(Path::new("libcuda.so.1")).expect("the simulator's driver");
    let report: serde_json::Value = serde_json::from_str(&text).expect("the simulator reports JSON");
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().map(|f| (f["kind"].as_str().unwrap_or_default().to_string(), f.to_string())).collect()
}

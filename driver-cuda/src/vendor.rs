//! The NVIDIA libraries that do vendor work, with one handle of each per stream.

use crate::blas::Blas;
use crate::dnn::{Dnn, attention_refusal};
use crate::event::CudaEvent;
use crate::rng::Rng;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use isobit_hal::Result;
use isobit_kernels::{Conv, FusedAttention, Gemm, PerStream, Random, RangeLibrary, Scratch, Vendor, VendorRuntime};

/// The handles of each library on one device.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    blas: PerStream<Blas, CudaEvent>,
    dnn: PerStream<Dnn, CudaEvent>,
    rng: PerStream<Rng, CudaEvent>,
}

impl VendorRuntime for CudaRuntime {
    const RANGES: Option<RangeLibrary> = Some(RangeLibrary {
        name: "NVTX",
        // CUDA 12.9 replaced the first with the second, which the PyPI package nvidia-nvtx also
        // provides.
        sonames: &["libnvToolsExt.so.1", "libnvtx3interop.so.1", "libnvtx3interop.so"],
        push: "nvtxRangePushA",
        pop: "nvtxRangePop",
    });

    unsafe fn gemm(&self, stream: &CudaStream, problem: &Gemm, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        // SAFETY: the caller promises that the elements are allocated and that `c` overlaps
        // nothing.
        self.libraries().blas.call(self, stream, |blas| unsafe { blas.gemm(problem, scratch) })
    }

    fn has_gemm_handle(&self, stream: &CudaStream) -> bool {
        self.libraries().blas.has(self, stream)
    }

    unsafe fn conv(&self, stream: &CudaStream, problem: &Conv, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        // SAFETY: the caller promises that the elements are allocated and that the result
        // overlaps nothing.
        self.libraries().dnn.call(self, stream, |dnn| unsafe { dnn.conv(problem, scratch) })
    }

    fn attention_refusal(&self, problem: &FusedAttention) -> Option<String> {
        attention_refusal(problem)
    }

    unsafe fn attention(
        &self,
        stream: &CudaStream,
        problem: &FusedAttention,
        scratch: &mut Scratch<'_>,
    ) -> Result<Vendor> {
        // SAFETY: the caller promises that the elements are allocated, that lengths are in range
        // and that the result overlaps nothing.
        self.libraries().dnn.call(self, stream, |dnn| unsafe { dnn.attention(problem, scratch) })
    }

    unsafe fn random(&self, stream: &CudaStream, problem: &Random) -> Result<Vendor> {
        // SAFETY: the caller promises that the elements are allocated.
        self.libraries().rng.call(self, stream, |rng| unsafe { rng.random(problem) })
    }

    fn close_stream(&self, stream: &CudaStream) {
        let Libraries { blas, dnn, rng } = self.libraries();
        blas.close(self, stream);
        dnn.close(self, stream);
        rng.close(self, stream);
    }
}

//! The AMD libraries that do vendor work, with one handle of each per stream.

use crate::blas::Blas;
use crate::blas_lt::{self, BlasLt};
use crate::dnn::Dnn;
use crate::event::RocmEvent;
use crate::rng::VendorRng;
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use isobit_hal::Result;
use isobit_kernels::{Conv, Gemm, GpuRuntime as _, PerStream, Random, RangeLibrary, Scratch, Vendor, VendorRuntime};

/// The handles of each library on one device.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    blas: PerStream<Blas, RocmEvent>,
    lt: PerStream<BlasLt, RocmEvent>,
    dnn: PerStream<Dnn, RocmEvent>,
    rng: PerStream<VendorRng, RocmEvent>,
}

impl VendorRuntime for RocmRuntime {
    const RANGES: Option<RangeLibrary> = Some(RangeLibrary {
        name: "ROCTX",
        // rocprofv3 reads the first, earlier profilers the others.
        sonames: &["librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so", "libroctx64.so.4", "libroctx64.so"],
        push: "roctxRangePushA",
        pop: "roctxRangePop",
    });

    unsafe fn gemm(&self, stream: &RocmStream, problem: &Gemm, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        if problem.scaled.is_some() {
            return match blas_lt::refusal(self.arch()) {
                Some(why) => Ok(Vendor::Declined(why)),
                // SAFETY: the caller promises that the elements are allocated and that `c`
                // overlaps nothing.
                None => self.libraries().lt.call(self, stream, |lt| unsafe { lt.gemm(problem, scratch) }),
            };
        }
        // SAFETY: the caller promises that the elements are allocated and that `c` overlaps
        // nothing.
        self.libraries().blas.call(self, stream, |blas| unsafe { blas.gemm(problem, scratch) })
    }

    fn has_gemm_handle(&self, stream: &RocmStream) -> bool {
        self.libraries().blas.has(self, stream)
    }

    unsafe fn conv(&self, stream: &RocmStream, problem: &Conv, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        // SAFETY: the caller promises that the elements are allocated and that the result
        // overlaps nothing.
        self.libraries().dnn.call(self, stream, |dnn| unsafe { dnn.conv(problem, scratch) })
    }

    unsafe fn random(&self, stream: &RocmStream, problem: &Random) -> Result<Vendor> {
        // SAFETY: the caller promises that the elements are allocated.
        self.libraries().rng.call(self, stream, |rng| unsafe { rng.random(problem) })
    }

    fn close_stream(&self, stream: &RocmStream) {
        let Libraries { blas, lt, dnn, rng } = self.libraries();
        blas.close(self, stream);
        lt.close(self, stream);
        dnn.close(self, stream);
        rng.close(self, stream);
    }
}

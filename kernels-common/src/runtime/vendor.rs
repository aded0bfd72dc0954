//! What a driver has its vendor's libraries do, and how it says that they do not.

use crate::runtime::{DevicePtr, StreamRuntime};
use isobit_hal::{DType, Result};

/// One operand of a matrix product for a vendor library: strides in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// The first element.
    pub ptr: DevicePtr,
    /// From a row to the next.
    pub row_stride: usize,
    /// From a column to the next.
    pub col_stride: usize,
    /// From a matrix of the batch to the next.
    pub batch_stride: usize,
}

/// A batched matrix product `c = a b`, for a vendor library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gemm {
    /// Of all three operands.
    pub dtype: DType,
    /// Matrices in the batch; at least 1.
    pub batch: usize,
    /// Rows of `a` and `c`; at least 1.
    pub m: usize,
    /// Columns of `b` and `c`; at least 1.
    pub n: usize,
    /// Columns of `a`, rows of `b`; at least 1.
    pub k: usize,
    /// `[m, k]`.
    pub a: Matrix,
    /// `[k, n]`.
    pub b: Matrix,
    /// `[m, n]`.
    pub c: Matrix,
}

/// One operand of a convolution for a vendor library: strides in elements, `[n, c, h, w]` or those
/// of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tensor4 {
    /// The first element.
    pub ptr: DevicePtr,
    /// The sizes.
    pub dims: [usize; 4],
    /// From an element to the next along each dimension.
    pub strides: [usize; 4],
}

/// A convolution, or the transpose of one, over two spatial dimensions (the first of size 1 for
/// those over one), for a vendor library. No dimension is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Conv {
    /// Of all three operands: f16, bf16, f32, f64.
    pub dtype: DType,
    /// Whether it is the transpose.
    pub transposed: bool,
    /// `[n, c_in, h, w]`.
    pub src: Tensor4,
    /// `[c_out, c_in / groups, kh, kw]`, transposed `[c_in, c_out / groups, kh, kw]`.
    pub kernel: Tensor4,
    /// `[n, c_out, h_out, w_out]`.
    pub dst: Tensor4,
    /// Along h and w.
    pub stride: [usize; 2],
    /// Along h and w.
    pub padding: [usize; 2],
    /// Along h and w.
    pub dilation: [usize; 2],
    /// Groups of channels.
    pub groups: usize,
}

/// How a vendor library's random numbers are distributed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Uniform above 0 and up to 1, as the libraries draw them.
    Unit,
    /// Normal.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
}

/// Random numbers from a vendor library's generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Random {
    /// f32 or f64: what the libraries draw.
    pub dtype: DType,
    /// Where they go, without gaps; aligned to two elements.
    pub dst: DevicePtr,
    /// How many; at least 1, and of normal ones an even number.
    pub len: usize,
    /// Which.
    pub distribution: Distribution,
    /// Which sequence.
    pub seed: u64,
    /// Numbers drawn from it before.
    pub offset: u64,
}

/// A library that shows named ranges of the host's time in a profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeLibrary {
    /// What people call it: `NVTX`, `ROCTX`.
    pub name: &'static str,
    /// The files it may be.
    pub sonames: &'static [&'static str],
    /// `int push(const char *)`.
    pub push: &'static str,
    /// `int pop(void)`.
    pub pop: &'static str,
}

/// What a vendor-library hook did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vendor {
    /// The work is enqueued.
    Done,
    /// The library cannot; the portable kernel does it. Why, for a person.
    Declined(String),
}

/// Gives so many bytes, aligned to 256, for work on the call's stream that is enqueued before the
/// call returns.
pub type Scratch<'a> = dyn FnMut(usize) -> Result<DevicePtr> + 'a;

/// Hooks to the vendor's libraries. Each is optional: where one declines, which it does by
/// default, the portable kernels do the work.
pub trait VendorRuntime: StreamRuntime {
    /// The library of ranges for this vendor's profilers.
    const RANGES: Option<RangeLibrary> = None;

    /// A matrix product by the vendor's library, on the stream, in memory from `scratch`.
    ///
    /// # Safety
    /// Every element the problem names is allocated, and `c` overlaps neither itself nor its
    /// inputs.
    ///
    /// # Errors
    /// `LibraryFailure`; `CaptureViolation` where the library cannot be made ready on a captured
    /// stream. What it cannot do, or a library that is not there, is `Declined`, not an error.
    unsafe fn gemm(&self, _stream: &Self::Stream, _problem: &Gemm, _scratch: &mut Scratch<'_>) -> Result<Vendor> {
        Ok(Vendor::Declined("this driver calls no library for matrix products".into()))
    }

    /// A convolution by the vendor's library, on the stream, in memory from `scratch`.
    ///
    /// # Safety
    /// Every element the problem names is allocated, and the result overlaps neither itself nor its
    /// inputs.
    ///
    /// # Errors
    /// As [`gemm`](Self::gemm).
    unsafe fn conv(&self, _stream: &Self::Stream, _problem: &Conv, _scratch: &mut Scratch<'_>) -> Result<Vendor> {
        Ok(Vendor::Declined("this driver calls no library for convolutions".into()))
    }

    /// Random numbers by the vendor's library, on the stream.
    ///
    /// # Safety
    /// Every element the problem names is allocated.
    ///
    /// # Errors
    /// As [`gemm`](Self::gemm).
    unsafe fn random(&self, _stream: &Self::Stream, _problem: &Random) -> Result<Vendor> {
        Ok(Vendor::Declined("this driver calls no library for random numbers".into()))
    }

    /// The stream closes: what the runtime keeps for it (handles of libraries) can go.
    fn close_stream(&self, _stream: &Self::Stream) {}
}

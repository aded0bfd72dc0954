//! The vendor-library part of a driver, and how it declines a problem.

use crate::runtime::{DevicePtr, StreamRuntime};
use isobit_hal::{DType, Result};

/// One operand of a matrix product by a vendor library. Strides are in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// The address of the first element.
    pub ptr: DevicePtr,
    /// The distance between rows.
    pub row_stride: usize,
    /// The distance between columns.
    pub col_stride: usize,
    /// The distance between matrices of the batch.
    pub batch_stride: usize,
}

/// The scales of an operand of a product of f8 by a vendor library, of f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GemmScale {
    /// The address of the first scale.
    pub ptr: DevicePtr,
    /// Whether each row of `a`, or column of `b`, has a scale, one after the other; otherwise there
    /// is one for all elements.
    pub by_line: bool,
}

/// What a product of f8 by a vendor library has besides its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaledGemm {
    /// The dtypes of `a`, `b` and `c`.
    pub dtypes: [DType; 3],
    /// The scales of `a` and `b`; if one has them by lines, both do.
    pub scales: [GemmScale; 2],
}

impl ScaledGemm {
    /// Returns that of the transposed product, whose operands are exchanged.
    pub(crate) fn exchanged(self) -> Self {
        let Self { dtypes: [a, b, c], scales: [of_a, of_b] } = self;
        Self { dtypes: [b, a, c], scales: [of_b, of_a] }
    }
}

/// A batched matrix product `c = a b` by a vendor library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gemm {
    /// The dtype of `a` and `b`. That of `c` is the same; for i8, whose sums never exceed i32, it
    /// is i32.
    pub dtype: DType,
    /// The dtypes and scales of a product of f8, whose batch is one matrix; `dtype` is then that of
    /// `a` alone.
    pub scaled: Option<ScaledGemm>,
    /// The number of matrices in the batch; at least 1.
    pub batch: usize,
    /// The number of rows of `a` and `c`; at least 1.
    pub m: usize,
    /// The number of columns of `b` and `c`; at least 1.
    pub n: usize,
    /// The number of columns of `a` and rows of `b`; at least 1.
    pub k: usize,
    /// The left operand, `[m, k]`.
    pub a: Matrix,
    /// The right operand, `[k, n]`.
    pub b: Matrix,
    /// The result, `[m, n]`.
    pub c: Matrix,
}

/// An operand of a convolution or of attention by a vendor library. Strides are in elements;
/// dimensions are `[n, c, d, h, w]`, or those of a kernel, or `[batch, heads, tokens, d]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Strided<const RANK: usize> {
    /// The address of the first element.
    pub ptr: DevicePtr,
    /// The size of each dimension.
    pub dims: [usize; RANK],
    /// The distance between neighbours along each dimension.
    pub strides: [usize; RANK],
}

/// An operand of attention.
pub type Tensor4 = Strided<4>;

/// A convolution or transposed convolution over three spatial dimensions, by a vendor library. In
/// convolutions of fewer dimensions the first of the three have size 1. No dimension is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Conv {
    /// The dtype of all three operands: f16, bf16, f32 or f64.
    pub dtype: DType,
    /// Whether the convolution is transposed.
    pub transposed: bool,
    /// The input, `[n, c_in, d, h, w]`.
    pub src: Strided<5>,
    /// The kernel, `[c_out, c_in / groups, kd, kh, kw]`, or `[c_in, c_out / groups, kd, kh, kw]` if
    /// transposed.
    pub kernel: Strided<5>,
    /// The output, `[n, c_out, d_out, h_out, w_out]`.
    pub dst: Strided<5>,
    /// The stride along d, h and w.
    pub stride: [usize; 3],
    /// The padding along d, h and w, before the input.
    pub padding_before: [usize; 3],
    /// The same after the input.
    pub padding_after: [usize; 3],
    /// The dilation along d, h and w.
    pub dilation: [usize; 3],
    /// The number of channel groups.
    pub groups: usize,
}

/// Attention by a vendor library, as [`isobit_hal::Attention`] defines it. No dimension is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusedAttention {
    /// The dtype of all operands but lengths: f16 or bf16.
    pub dtype: DType,
    /// The queries, `[batch, heads, m, d]`.
    pub query: Tensor4,
    /// The keys, `[batch, kv_heads, n, d]`.
    pub key: Tensor4,
    /// The values, `[batch, kv_heads, n, d]`.
    pub value: Tensor4,
    /// What is added to the scores: `[batch, heads, m, n]`, with the size 1 where it repeats
    /// elements.
    pub mask: Option<Tensor4>,
    /// The result, `[batch, heads, m, d]`.
    pub dst: Tensor4,
    /// For each batch entry, m and the number of its keys, which is at most n: two contiguous
    /// arrays of u32. `None` if all have n.
    pub lengths: Option<[DevicePtr; 2]>,
    /// What products of queries and keys are multiplied by.
    pub scale: f32,
    /// The soft-cap of the scores.
    pub softcap: Option<f32>,
    /// How many keys before its own a query sees; `None` if that hides none.
    pub window_size_left: Option<usize>,
    /// How many keys after its own a query sees; `None` if that hides none. If there are no
    /// lengths, the first query sees a key.
    pub window_size_right: Option<usize>,
}

/// The distribution of a vendor library's random numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Uniform in (0, 1], as the libraries draw them.
    Unit,
    /// A normal distribution.
    Normal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        deviation: f64,
    },
}

/// A request for random numbers from a vendor library's generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Random {
    /// The dtype: f32 or f64, which are what the libraries generate.
    pub dtype: DType,
    /// The address of the output, which is contiguous and aligned to two elements.
    pub dst: DevicePtr,
    /// The number of random numbers: at least 1, and even for a normal distribution.
    pub len: usize,
    /// The distribution.
    pub distribution: Distribution,
    /// The seed of the sequence.
    pub seed: u64,
    /// The number of values already drawn from the sequence.
    pub offset: u64,
}

/// A library that marks named ranges of host time in a profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeLibrary {
    /// Its common name: `NVTX`, `ROCTX`.
    pub name: &'static str,
    /// The file names it may have.
    pub sonames: &'static [&'static str],
    /// The symbol of `int push(const char *)`.
    pub push: &'static str,
    /// The symbol of `int pop(void)`.
    pub pop: &'static str,
}

/// The outcome of a vendor-library hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vendor {
    /// The work is enqueued.
    Done,
    /// The library cannot do the work; the portable kernel does it. Holds a human-readable reason.
    Declined(String),
}

/// Returns a buffer of the given number of bytes, aligned to 256, for work that is enqueued on the
/// call's stream before the call returns.
pub type Scratch<'a> = dyn FnMut(usize) -> Result<DevicePtr> + 'a;

/// Hooks to the vendor's libraries. Each is optional: if a hook declines, which is the default, the
/// portable kernels do the work.
///
/// ```
/// use isobit_hal::Result;
/// use isobit_kernels::{Gemm, GpuRuntime, Scratch, Vendor};
///
/// /// Multiplies matrices by the vendor's library; returns false if it declines.
/// ///
/// /// # Safety
/// /// See [`VendorRuntime::gemm`](isobit_kernels::VendorRuntime::gemm).
/// unsafe fn try_gemm<R: GpuRuntime>(
///     runtime: &R,
///     stream: &R::Stream,
///     problem: &Gemm,
///     scratch: &mut Scratch<'_>,
/// ) -> Result<bool> {
///     // SAFETY: the caller upholds what `gemm` requires.
///     match unsafe { runtime.gemm(stream, problem, scratch)? } {
///         Vendor::Done => Ok(true),
///         Vendor::Declined(why) => {
///             println!("the portable kernel runs: {why}");
///             Ok(false)
///         }
///     }
/// }
/// ```
pub trait VendorRuntime: StreamRuntime {
    /// The library that marks ranges for this vendor's profilers.
    const RANGES: Option<RangeLibrary> = None;

    /// Enqueues a matrix product by the vendor's library, with workspaces from `scratch`.
    ///
    /// # Safety
    /// Every element that the problem describes is allocated, and `c` overlaps neither itself nor
    /// its inputs.
    ///
    /// # Errors
    /// Returns `LibraryFailure` if the library fails, and `CaptureViolation` if it cannot be
    /// initialised while the stream is captured. A problem that the library does not support, or a
    /// missing library, is not an error: the result is `Declined`.
    unsafe fn gemm(&self, _stream: &Self::Stream, _problem: &Gemm, _scratch: &mut Scratch<'_>) -> Result<Vendor> {
        Ok(Vendor::Declined("this driver has no vendor library for matrix products".into()))
    }

    /// Whether the library for matrix products has been used on the stream, so that a product can
    /// be captured there.
    fn has_gemm_handle(&self, _stream: &Self::Stream) -> bool {
        false
    }

    /// Enqueues a convolution by the vendor's library, with workspaces from `scratch`.
    ///
    /// # Safety
    /// Every element that the problem describes is allocated, and the result overlaps neither
    /// itself nor its inputs.
    ///
    /// # Errors
    /// Same as [`gemm`](Self::gemm).
    unsafe fn conv(&self, _stream: &Self::Stream, _problem: &Conv, _scratch: &mut Scratch<'_>) -> Result<Vendor> {
        Ok(Vendor::Declined("this driver has no vendor library for convolutions".into()))
    }

    /// Returns why the vendor's library has no attention of these sizes and parameters; `None` if
    /// it may have. Asked before operands are prepared, of which only the sizes are known then.
    fn attention_refusal(&self, _problem: &FusedAttention) -> Option<String> {
        Some("this driver has no vendor library for attention".into())
    }

    /// Enqueues attention by the vendor's library, with workspaces from `scratch`.
    ///
    /// # Safety
    /// Every element that the problem describes is allocated, lengths are as the problem says, and
    /// the result overlaps neither itself nor its inputs.
    ///
    /// # Errors
    /// Same as [`gemm`](Self::gemm).
    unsafe fn attention(
        &self,
        _stream: &Self::Stream,
        problem: &FusedAttention,
        _scratch: &mut Scratch<'_>,
    ) -> Result<Vendor> {
        Ok(Vendor::Declined(self.attention_refusal(problem).unwrap_or_default()))
    }

    /// Enqueues the generation of random numbers by the vendor's library.
    ///
    /// # Safety
    /// Every element that the problem describes is allocated.
    ///
    /// # Errors
    /// Same as [`gemm`](Self::gemm).
    unsafe fn random(&self, _stream: &Self::Stream, _problem: &Random) -> Result<Vendor> {
        Ok(Vendor::Declined("this driver has no vendor library for random numbers".into()))
    }

    /// Called when a stream closes, so that the runtime can release what it keeps for the stream
    /// (library handles).
    fn close_stream(&self, _stream: &Self::Stream) {}
}

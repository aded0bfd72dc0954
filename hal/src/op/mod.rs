//! Operations as values: drivers execute them, `supports` queries them, errors name them, and they
//! carry the parameters of calls.

mod attention;
mod class;
mod conv;
mod dtypes;
mod family;
mod functions;
mod grid_sample;
#[doc(hidden)]
pub mod grids;
mod index_map;
mod indexing;
mod norm;
mod packed_dtype;
mod params;
mod product;
mod quantized;
mod random;
mod resize;
mod scan;
mod shapes;
mod sort;
mod window;

pub use attention::Attention;
pub use class::Class;
pub use conv::{Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use family::Family;
pub use functions::{Activation, BinaryOp, CmpOp, Predicate, ReduceOp, RopeForm, ScanOp, ScatterOp, UnaryOp};
pub use grid_sample::{GridPadding, GridSample, Interpolation};
pub use index_map::{Concat, Flip, Pad, PadMode, Repeat, Roll};
pub use indexing::{GatherNd, Indexing, ScatterNd, ScatterReduce};
pub use norm::{BatchNorm, GroupNorm, LayerNorm, LocalResponseNorm};
pub use packed_dtype::{Pack, PackedDType, Unpack};
pub use params::{Affine, Cast, Celu, Clamp, Copy2d, Elu, LeakyRelu, Matmul, Powf, PowfRecipe, Reduce, Triangle};
pub use product::{MatmulInteger, ScaledMatmul};
pub use quantized::{GgmlDType, QActivations, QMatmul};
pub use random::{Bernoulli, BernoulliProbs, Dropout, RandNormal, RandUniform};
pub use resize::{Coordinates, NearestMode, Resize, ResizeAxis};
pub use scan::Scan;
pub use sort::{Sort, TopK};
pub use window::{
    AdaptivePool, LpPool, Pool1d, Pool2d, Pool3d, PoolBackward, UpsampleBilinear2d, UpsampleNearest1d,
    UpsampleNearest2d,
};

use crate::{Numerics, Scalar};
use std::fmt;

/// The operation's name for one, two and three dimensions.
macro_rules! for_ranks {
    ($prefix:literal, $suffix:literal) => {
        [concat!($prefix, "1", $suffix), concat!($prefix, "2", $suffix), concat!($prefix, "3", $suffix)]
    };
}

/// The operation's name for each format, in the order of [`GgmlDType::ALL`].
macro_rules! for_formats {
    ($prefix:literal) => {
        [
            concat!($prefix, "_q4_0"),
            concat!($prefix, "_q4_1"),
            concat!($prefix, "_q5_0"),
            concat!($prefix, "_q5_1"),
            concat!($prefix, "_q8_0"),
            concat!($prefix, "_q8_1"),
            concat!($prefix, "_q2_k"),
            concat!($prefix, "_q3_k"),
            concat!($prefix, "_q4_k"),
            concat!($prefix, "_q5_k"),
            concat!($prefix, "_q6_k"),
            concat!($prefix, "_q8_k"),
            concat!($prefix, "_iq4_nl"),
            concat!($prefix, "_iq4_xs"),
            concat!($prefix, "_tq1_0"),
            concat!($prefix, "_tq2_0"),
            concat!($prefix, "_mxfp4"),
            concat!($prefix, "_iq2_xxs"),
            concat!($prefix, "_iq2_xs"),
            concat!($prefix, "_iq2_s"),
            concat!($prefix, "_iq3_xxs"),
            concat!($prefix, "_iq3_s"),
            concat!($prefix, "_iq1_s"),
            concat!($prefix, "_iq1_m"),
            concat!($prefix, "_nvfp4"),
        ]
    };
}
/// The operation's name for each packed type, in the order of [`PackedDType::ALL`].
macro_rules! for_packed {
    ($prefix:literal) => {
        [
            concat!($prefix, "_u4"),
            concat!($prefix, "_i4"),
            concat!($prefix, "_u2"),
            concat!($prefix, "_i2"),
            concat!($prefix, "_f4e2m1"),
            concat!($prefix, "_f8e8m0"),
            concat!($prefix, "_f8e4m3fnuz"),
            concat!($prefix, "_f8e5m2fnuz"),
        ]
    };
}
const PACK: [&str; PackedDType::ALL.len()] = for_packed!("pack");
const UNPACK: [&str; PackedDType::ALL.len()] = for_packed!("unpack");
const QUANTIZE: [&str; GgmlDType::ALL.len()] = for_formats!("quantize");
const DEQUANTIZE: [&str; GgmlDType::ALL.len()] = for_formats!("dequantize");
/// Indexed by [`QActivations`]: float activations, then activations quantized to q8_1.
const QMATMUL: [[&str; GgmlDType::ALL.len()]; 2] = [for_formats!("qmatmul"), for_formats!("qmatmul_q8_1")];
const QMATMUL_ID: [[&str; GgmlDType::ALL.len()]; 2] = [for_formats!("qmatmul_id"), for_formats!("qmatmul_id_q8_1")];

/// Any operation of the HAL, with its parameters.
///
/// Each variant lists its inputs in the order that [`apply`](crate::BackendStorage::apply) expects,
/// and its dtypes in the order that [`check_dtypes`](Self::check_dtypes) and
/// [`BackendDevice::supports`](crate::BackendDevice::supports) expect: inputs first, destination
/// last. "Equal" means that all operands have one dtype. "Floats" are f8e4m3, f8e5m2, f16, bf16,
/// f32 and f64; operations that combine elements take "all dtypes" and "floats" except u16, u64 and
/// f8e5m2 ([`DType::is_elementwise`](crate::DType::is_elementwise)). [`class`](Self::class) says
/// what is promised about the bits of the result.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op, UnaryOp};
/// let x = CpuDevice.storage_from_slice(&[-1.0f32, 4.0])?;
/// let op = Op::Unary(UnaryOp::Abs);
/// let y = CpuStorage::apply(&op, &[(&x, &Layout::contiguous(2))])?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 4.0]);
/// assert_eq!(op.name(), "abs");
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// Sets every element to one value, which must have the destination's dtype; see
    /// [`BackendStorage::const_set`](crate::BackendStorage::const_set). All dtypes. Dtypes:
    /// `[dst]`.
    Fill(Scalar),
    /// [`BackendStorage::copy_into`](crate::BackendStorage::copy_into). Dtypes: `[src, dst]`,
    /// equal.
    Copy,
    /// [`BackendStorage::cast_with_into`](crate::BackendStorage::cast_with_into); see [`Cast`].
    /// Dtypes: `[src, dst]`, any pair.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.9f32, -300.0, f32::NAN])?;
    /// let y = x.to_dtype(&Layout::contiguous(3), DType::I8)?;
    /// assert_eq!(y.to_vec::<i8>()?, [1, -128, 0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Cast(Cast),
    /// [`BackendStorage::affine_into`](crate::BackendStorage::affine_into). Dtypes: `[src, dst]`,
    /// equal.
    Affine(Affine),
    /// [`BackendStorage::powf_into`](crate::BackendStorage::powf_into). Dtypes: `[src, dst]`, equal
    /// floats.
    Powf(Powf),
    /// [`BackendStorage::elu_into`](crate::BackendStorage::elu_into). Dtypes: `[src, dst]`, equal
    /// floats.
    Elu(Elu),
    /// [`BackendStorage::leaky_relu_into`](crate::BackendStorage::leaky_relu_into). Dtypes: `[src,
    /// dst]`, equal floats.
    LeakyRelu(LeakyRelu),
    /// [`BackendStorage::celu_into`](crate::BackendStorage::celu_into). Dtypes: `[src, dst]`, equal
    /// floats.
    Celu(Celu),
    /// [`BackendStorage::unary_into`](crate::BackendStorage::unary_into). Dtypes: `[src, dst]`,
    /// equal.
    Unary(UnaryOp),
    /// [`BackendStorage::binary_into`](crate::BackendStorage::binary_into). Dtypes: `[lhs, rhs,
    /// dst]`, equal; [`BinaryOp::takes`] tells which.
    Binary(BinaryOp),
    /// [`BackendStorage::cmp_into`](crate::BackendStorage::cmp_into). Dtypes: `[lhs, rhs, dst]`:
    /// lhs and rhs equal, dst u8.
    Cmp(CmpOp),
    /// [`BackendStorage::predicate_into`](crate::BackendStorage::predicate_into). Dtypes: `[src,
    /// dst]`: dst u8.
    Predicate(Predicate),
    /// [`BackendStorage::where_cond_into`](crate::BackendStorage::where_cond_into). Dtypes: `[cond,
    /// on_true, on_false, dst]`: cond u8, u32 or i64, the others equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let l = Layout::contiguous(2);
    /// let cond = CpuDevice.storage_from_slice(&[1u8, 0])?;
    /// let a = CpuDevice.storage_from_slice(&[1i32, 2])?;
    /// let b = CpuDevice.storage_from_slice(&[3i32, 4])?;
    /// assert_eq!(cond.where_cond(&l, &a, &l, &b, &l)?.to_vec::<i32>()?, [1, 4]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    WhereCond,
    /// [`BackendStorage::reduce_into`](crate::BackendStorage::reduce_into). Dtypes: `[src, dst]`,
    /// equal, except that dst is u32 (that of the allocating forms) or i64 for `ArgMin` and
    /// `ArgMax`, and u8 for `Any` and `All`.
    Reduce(Reduce),
    /// [`BackendStorage::matmul_into`](crate::BackendStorage::matmul_into). Floats, u32, i32 and
    /// i64. Dtypes: `[lhs, rhs, dst]`, equal.
    Matmul(Matmul),
    /// See [`MatmulInteger`]. Dtypes: `[lhs, rhs, dst]`, with the zero points before `dst` if the
    /// parameters have them: lhs and rhs u8 or i8, each zero point that of its operand, dst i32.
    MatmulInteger(MatmulInteger),
    /// See [`ScaledMatmul`]. Dtypes: `[lhs, rhs, scale_lhs, scale_rhs, dst]`: lhs and rhs f8e4m3 or
    /// f8e5m2, scales f32, dst f16, bf16 or f32.
    ScaledMatmul(ScaledMatmul),
    /// `min(max(x, min), max)`; see [`Clamp`]. All dtypes. Dtypes: `[src, dst]`, equal.
    Clamp(Clamp),
    /// Keeps one triangle of the matrices in the last two dimensions and zeroes the rest; see
    /// [`Triangle`]. All dtypes. Dtypes: `[src, dst]`, equal.
    Triangle(Triangle),
    /// `f(x + bias)`, where the sum is rounded to the dtype before `f` is applied; see
    /// [`Activation`]. Floats. Dtypes: `[x, bias, dst]`, equal.
    AddActivation(Activation),
    /// Running sums, products, minima and maxima; see [`Scan`]. All dtypes. Dtypes: `[src, dst]`,
    /// equal.
    Scan(Scan),
    /// Softmax over the last dimension: `e^(x - m) / sum e^(x - m)`, with `m` the maximum of the
    /// row. Floats. Dtypes: `[src, dst]`, equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[3.0f32, 3.0])?;
    /// let y = x.softmax_last_dim(&Layout::contiguous(2))?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Softmax,
    /// [`Softmax`](Self::Softmax), except that a row of which every element is -infinity gives
    /// zeros instead of NaN: what attention needs for a query that a mask lets see no key. It is
    /// PyTorch's `_safe_softmax`. Floats. Dtypes: `[src, dst]`, equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let hidden = f32::NEG_INFINITY;
    /// let x = CpuDevice.storage_from_slice(&[3.0, hidden, hidden, hidden])?;
    /// let y = x.safe_softmax_last_dim(&Layout::contiguous((2, 2)))?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    SafeSoftmax,
    /// The logarithm of the softmax over the last dimension: `(x - m) - log(sum e^(x - m))`, with
    /// `m` the maximum of the row. Floats. Dtypes: `[src, dst]`, equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[7.0f32, f32::NEG_INFINITY])?;
    /// let y = x.log_softmax_last_dim(&Layout::contiguous(2))?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, f32::NEG_INFINITY]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    LogSoftmax,
    /// RMSNorm (Zhang and Sennrich 2019, [arXiv:1910.07467](https://arxiv.org/abs/1910.07467)) over
    /// the last dimension: `x / sqrt(mean(x^2) + eps) * weight`. `weight` has one dimension, of the
    /// same size. Floats. Dtypes: `[src, weight, dst]`, equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let l = Layout::contiguous(2);
    /// let x = CpuDevice.storage_from_slice(&[2.0f32, -2.0])?;
    /// let weight = CpuDevice.storage_from_slice(&[10.0f32, 20.0])?;
    /// let y = x.rms_norm(&l, &weight, &l, 0.0)?; // the root mean square is 2
    /// assert_eq!(y.to_vec::<f32>()?, [10.0, -20.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    RmsNorm {
        /// Added under the root, so that the divisor is not 0.
        eps: f64,
    },
    /// See [`LayerNorm`]. Floats. Dtypes: `[src, dst]`, with the weight and the bias before `dst`
    /// if the parameters have them, equal.
    LayerNorm(LayerNorm),
    /// What [`LayerNorm`] computes for each row: the mean, and the factor `1 / sqrt(variance +
    /// eps)`, as the two elements of the last dimension of the result. Rows must have elements.
    /// Floats. Dtypes: `[src, dst]`, dst f64 for f64, else f32.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 5.0, 2.0, 2.0])?;
    /// let stats = x.layer_norm_stats(&Layout::contiguous((2, 2)), 0.25)?;
    /// assert_eq!(stats.to_vec::<f32>()?[2..], [2.0, 2.0]); // mean 2, variance 0
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    LayerNormStats {
        /// Added under the root, so that the factor is finite.
        eps: f64,
    },
    /// The end of a block with a residual connection, in one pass:
    /// [`LayerNorm`] of `(src + src_bias) + skip`, with both sums rounded to the
    /// dtype as by `add`, so that the bits are those of the three operations. It is the operation
    /// `SkipLayerNormalization` of ONNX Runtime, which adds in another order. `skip` has the shape
    /// of `src`; `weight`, `bias` and `src_bias` (of the product that made `src`) have one
    /// dimension, of the size of the last. Floats. Dtypes: `[src, skip, weight, bias, src_bias,
    /// dst]`, equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op};
    /// let l = Layout::contiguous(2);
    /// let rows = [[1.0f32, 2.0], [2.0, 3.0], [1.0, 1.0], [0.0, 10.0], [-2.0, 0.0]];
    /// let [x, skip, weight, bias, x_bias] =
    ///     rows.map(|values| CpuDevice.storage_from_slice(&values).unwrap());
    /// let inputs = [(&x, &l), (&skip, &l), (&weight, &l), (&bias, &l), (&x_bias, &l)];
    /// let y = CpuStorage::apply(&Op::SkipLayerNorm { eps: 0.0 }, &inputs)?; // of 1 and 5
    /// assert_eq!(y.to_vec::<f32>()?, [-1.0, 11.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    SkipLayerNorm {
        /// Added under the root, so that the divisor is not 0.
        eps: f64,
    },
    /// Group and instance normalization; see [`GroupNorm`]. Floats. Dtypes: `[src, dst]`, with the
    /// weight and the bias before `dst` if the parameters have them, equal.
    GroupNorm(GroupNorm),
    /// Batch normalization with given statistics; see [`BatchNorm`]. Floats. Dtypes: `[src, mean,
    /// variance, dst]`, with the weight and the bias before `dst` if the parameters have them: mean
    /// and variance f64 for f64, else f32, the others equal.
    BatchNorm(BatchNorm),
    /// See [`LocalResponseNorm`]. Floats. Dtypes: `[src, dst]`, equal.
    LocalResponseNorm(LocalResponseNorm),
    /// Rotary position embedding; see [`RopeForm`]. Floats. The inputs are `[x, cos, sin]`; `cos`
    /// and `sin` have the shape `[time, d/2]` or `[batch, time, d/2]`. Dtypes: `[x, cos, sin,
    /// dst]`, equal.
    Rope(RopeForm),
    /// A stable sort of the last dimension; see [`Sort`]. All dtypes. Dtypes: `[src, dst]`, equal.
    Sort(Sort),
    /// A stable sort of the last dimension that returns the positions of the elements instead of
    /// their values. All dtypes. Dtypes: `[src, dst]`, dst u32 (that of the allocating forms) or
    /// i64.
    ArgSort(Sort),
    /// The first elements of a stable sort of the last dimension; see [`TopK`]. All dtypes. Dtypes:
    /// `[src, dst]`, equal.
    TopK(TopK),
    /// The positions of the elements that [`TopK`](Self::TopK) returns. All dtypes. Dtypes: `[src,
    /// dst]`, dst u32 (that of the allocating forms) or i64.
    ArgTopK(TopK),
    /// `dst[i][j] = src[ids[i][j]][j]` for dimension 0; the other dimensions work the same way.
    /// `ids` has the result's shape; see [`Indexing`]. All dtypes; ids u8, u32, i32 or i64. Dtypes:
    /// `[src, ids, dst]`, src and dst equal.
    ///
    /// An id equal to the maximum of u32, i32 or i64 is padding: the element becomes 0. An id that
    /// is out of range also gives 0, and is reported as
    /// [`IndexOutOfRange`](crate::ErrorKind::IndexOutOfRange).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let l = Layout::contiguous((2, 2));
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let ids = CpuDevice.storage_from_slice(&[1u32, 0, 0, u32::MAX])?;
    /// assert_eq!(x.gather(&l, &ids, &l, 1)?.to_vec::<f32>()?, [2.0, 1.0, 3.0, 0.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Gather(Indexing),
    /// `dst[i][j] = src[ids[i]][j]` for dimension 0; the other dimensions work the same way. `ids`
    /// has one dimension. All dtypes; ids u8, u32, i32 or i64, with the padding of
    /// [`Gather`](Self::Gather). Dtypes: `[src, ids, dst]`, src and dst equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let ids = CpuDevice.storage_from_slice(&[1u32, 1, 0])?;
    /// let y = x.index_select(&Layout::contiguous((2, 2)), &ids, &Layout::contiguous(3), 0)?;
    /// assert_eq!(y.to_vec::<f32>()?, [3.0, 4.0, 3.0, 4.0, 1.0, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    IndexSelect(Indexing),
    /// A copy of the first input in which `dst[ids[i][j]][j] = src[i][j]` for dimension 0; the
    /// other dimensions work the same way. If ids repeat, the last element in row-major order of
    /// `src` wins. The first input may be the destination. Elements whose id is padding (see
    /// [`Gather`](Self::Gather)) or out of range are skipped. All dtypes; ids u8, u32, i32 or i64.
    /// Dtypes: `[self, ids, src, dst]`, all but ids equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let l = Layout::contiguous(3);
    /// let mut x = CpuDevice.storage_from_slice(&[0i32, 7, 0])?;
    /// let ids = CpuDevice.storage_from_slice(&[2u32, 2, 0])?;
    /// let src = CpuDevice.storage_from_slice(&[1i32, 2, 3])?;
    /// x.scatter_set(&l, &ids, &l, &src, &l, 0)?;
    /// assert_eq!(x.to_vec::<i32>()?, [3, 7, 2]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ScatterSet(Indexing),
    /// Like [`ScatterSet`](Self::ScatterSet), but adds: in the compute type, in row-major order of
    /// `src`, rounded once at the end. Dtypes: `[self, ids, src, dst]`, all but ids equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let l = Layout::contiguous(3);
    /// let mut x = CpuDevice.storage_from_slice(&[0i32, 7, 0])?;
    /// let ids = CpuDevice.storage_from_slice(&[2u32, 2, 0])?;
    /// let src = CpuDevice.storage_from_slice(&[1i32, 2, 3])?;
    /// x.scatter_add_set(&l, &ids, &l, &src, &l, 0)?;
    /// assert_eq!(x.to_vec::<i32>()?, [3, 7, 3]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ScatterAdd(Indexing),
    /// Like [`ScatterAdd`](Self::ScatterAdd) with ids of one dimension: `dst[ids[i]][j] +=
    /// src[i][j]` for dimension 0; the other dimensions work the same way. Dtypes: `[self, ids,
    /// src, dst]`, all but ids equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let l = Layout::contiguous((2, 2));
    /// let x = CpuDevice.storage_from_slice(&[5i32, 0, 0, 0])?;
    /// let ids = CpuDevice.storage_from_slice(&[1u32, 1])?;
    /// let src = CpuDevice.storage_from_slice(&[1i32, 2, 3, 4])?;
    /// let y = x.index_add(&l, &ids, &Layout::contiguous(2), &src, &l, 0)?;
    /// assert_eq!(y.to_vec::<i32>()?, [5, 0, 4, 6]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    IndexAdd(Indexing),
    /// Like [`ScatterAdd`](Self::ScatterAdd), with another way to combine two elements; see
    /// [`ScatterReduce`]. Dtypes: `[self, ids, src, dst]`, all but ids equal.
    ScatterReduce(ScatterReduce),
    /// Takes slices at positions that tuples of ids give; see [`GatherNd`]. All dtypes; ids u8,
    /// u32, i32 or i64. Dtypes: `[src, ids, dst]`, src and dst equal.
    GatherNd(GatherNd),
    /// A copy of the first input with slices written to positions that tuples of ids give, or
    /// combined with what is there; see [`ScatterNd`]. The first input may be the destination. All
    /// dtypes; ids u8, u32, i32 or i64. Dtypes: `[self, ids, src, dst]`, all but ids equal.
    ScatterNd(ScatterNd),
    /// How many elements are not 0: the count that [`Nonzero`](Self::Nonzero) needs, and that of a
    /// mask. NaN is not 0; zeros of both signs are. The result has rank 0. All dtypes. Dtypes:
    /// `[src, dst]`, dst u32 (that of the allocating forms) or i64.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[0.0f32, -2.0, -0.0, f32::NAN])?;
    /// assert_eq!(x.count_nonzero(&Layout::contiguous((2, 2)))?.to_vec::<u32>()?, [2]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    CountNonzero,
    /// The coordinates of the elements that are not 0 (see [`CountNonzero`](Self::CountNonzero)),
    /// in row-major order: `[bound, rank]`, one row for each of the first `bound`. Rows after the
    /// last hold the padding id of [`Gather`](Self::Gather), the maximum of the dtype. All dtypes.
    /// Dtypes: `[src, dst]`, dst u32 (that of the allocating forms) or i64.
    ///
    /// A bound that never loses an element is the number of elements. The size of the result does
    /// not depend on values, so a [graph](crate::Graph) can contain the operation.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[0.0f32, 5.0, 7.0, 0.0])?;
    /// let places = x.nonzero(&Layout::contiguous((2, 2)), 3)?;
    /// assert_eq!(places.to_vec::<u32>()?, [0, 1, 1, 0, u32::MAX, u32::MAX]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Nonzero {
        /// The number of rows of the result.
        bound: usize,
    },
    /// The elements of the first input where the mask is not 0, in row-major order: the first
    /// `bound` of them, and zeros (all bits 0) after the last. Both inputs have one shape. All
    /// dtypes. Dtypes: `[src, mask, dst]`: mask u8, u32 or i64, src and dst equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let l = Layout::contiguous((2, 2));
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mask = CpuDevice.storage_from_slice(&[0u8, 1, 0, 1])?;
    /// assert_eq!(x.masked_select(&l, &mask, &l, 3)?.to_vec::<f32>()?, [2.0, 4.0, 0.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    MaskedSelect {
        /// The number of elements of the result.
        bound: usize,
    },
    /// The slices of the first input along a dimension whose flag in the mask is not 0: the first
    /// `bound` of them, and zeros (all bits 0) after the last. The mask has one dimension; slices
    /// after its end are not taken. All dtypes. Dtypes: `[src, mask, dst]`: mask u8, u32 or i64,
    /// src and dst equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mask = CpuDevice.storage_from_slice(&[0u8, 1])?;
    /// let y = x.compress(&Layout::contiguous((2, 2)), &mask, &Layout::contiguous(2), 1, 1)?;
    /// assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Compress {
        /// The dimension that the mask selects from.
        dim: usize,
        /// The size of the dimension in the result.
        bound: usize,
    },
    /// The number of distinct elements; see [`Unique`](Self::Unique). The result has rank 0. All
    /// dtypes. Dtypes: `[src, dst]`, dst u32 (that of the allocating forms) or i64.
    CountUnique,
    /// The distinct elements of a tensor in the ascending order of [`Sort`]: the first `bound` of
    /// them, and zeros (all bits 0) after the last. Elements that sort as equal count as one: all
    /// NaNs, and zeros of both signs. The result has the bits of the first, in row-major order. A
    /// tensor has at most 2^32 - 1 elements. All dtypes. Dtypes: `[src, dst]`, equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let l = Layout::contiguous(4);
    /// let x = CpuDevice.storage_from_slice(&[7i32, 3, 7, 5])?;
    /// assert_eq!(x.count_unique(&l)?.to_vec::<u32>()?, [3]);
    /// assert_eq!(x.unique(&l, 4)?.to_vec::<i32>()?, [3, 5, 7, 0]);
    /// assert_eq!(x.unique_inverse(&l)?.to_vec::<u32>()?, [2, 0, 2, 1]);
    /// assert_eq!(x.unique_counts(&l, 4)?.to_vec::<u32>()?, [1, 1, 2, 0]);
    /// assert_eq!(x.unique_first(&l, 4)?.to_vec::<u32>()?, [1, 3, 0, u32::MAX]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Unique {
        /// The number of elements of the result.
        bound: usize,
    },
    /// For each element, the index of its value among all that [`Unique`](Self::Unique) finds, in
    /// the shape of the source. All dtypes. Dtypes: `[src, dst]`, dst u32 (that of the allocating
    /// forms) or i64.
    UniqueInverse,
    /// How often each value of [`Unique`](Self::Unique) occurs, and 0 after the last. All dtypes.
    /// Dtypes: `[src, dst]`, dst u32 (that of the allocating forms) or i64.
    UniqueCounts {
        /// The number of elements of the result.
        bound: usize,
    },
    /// Where each value of [`Unique`](Self::Unique) occurs first: its position in row-major order,
    /// and the padding id of [`Gather`](Self::Gather) after the last. All dtypes. Dtypes: `[src,
    /// dst]`, dst u32 (that of the allocating forms) or i64.
    UniqueFirst {
        /// The number of elements of the result.
        bound: usize,
    },
    /// See [`Attention`]. f16, bf16 and f32. Dtypes: `[query, key, value, dst]`, equal, with a mask
    /// of the same dtype and lengths of u32 before `dst` if the parameters have them.
    ScaledDotProductAttention(Attention),
    /// See [`Conv1d`]. f16, bf16, f32 and f64. Dtypes: `[src, kernel, bias, dst]`, equal,
    /// without the bias if there is none.
    Conv1d(Conv1d),
    /// See [`Conv2d`]. f16, bf16, f32 and f64. Dtypes: `[src, kernel, bias, dst]`, equal,
    /// without the bias if there is none.
    Conv2d(Conv2d),
    /// See [`ConvTranspose1d`]. f16, bf16, f32 and f64. Dtypes: `[src, kernel, bias, dst]`, equal,
    /// without the bias if there is none.
    ConvTranspose1d(ConvTranspose1d),
    /// See [`ConvTranspose2d`]. f16, bf16, f32 and f64. Dtypes: `[src, kernel, bias, dst]`, equal,
    /// without the bias if there is none.
    ConvTranspose2d(ConvTranspose2d),
    /// See [`Conv3d`]. f16, bf16, f32 and f64. Dtypes: `[src, kernel, bias, dst]`, equal,
    /// without the bias if there is none.
    Conv3d(Conv3d),
    /// See [`ConvTranspose3d`]. f16, bf16, f32 and f64. Dtypes: `[src, kernel, bias, dst]`, equal,
    /// without the bias if there is none.
    ConvTranspose3d(ConvTranspose3d),
    /// The average of each window; see [`Pool1d`]. Floats. Dtypes: `[src, dst]`, equal.
    AvgPool1d(Pool1d),
    /// The average of each window; see [`Pool2d`]. Floats. Dtypes: `[src, dst]`, equal.
    AvgPool2d(Pool2d),
    /// The average of each window; see [`Pool3d`]. Floats. Dtypes: `[src, dst]`, equal.
    AvgPool3d(Pool3d),
    /// The maximum of each window; see [`Pool1d`]. All dtypes. Dtypes: `[src, dst]`, equal.
    MaxPool1d(Pool1d),
    /// The maximum of each window; see [`Pool2d`]. All dtypes. Dtypes: `[src, dst]`, equal.
    MaxPool2d(Pool2d),
    /// The maximum of each window; see [`Pool3d`]. All dtypes. Dtypes: `[src, dst]`, equal.
    MaxPool3d(Pool3d),
    /// The position of the maximum of each window along the last dimension; see
    /// [`ArgMaxPool2d`](Self::ArgMaxPool2d) and [`Pool1d`].
    ArgMaxPool1d(Pool1d),
    /// The position of the maximum of each window in its plane, in row-major order, as PyTorch's
    /// `return_indices`: that of the last NaN if there is one, else of the first of the largest
    /// elements. See [`Pool2d`]. All dtypes. Dtypes: `[src, dst]`, dst u32 (that of the allocating
    /// forms) or i64.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool2d};
    /// let x = CpuDevice.storage_from_slice(&[1i32, 3, 5, 2, 3, 4, 0, 5])?;
    /// let (l, op) = (Layout::contiguous((1, 1, 2, 4)), Pool2d::new([2, 2]));
    /// assert_eq!(x.max_pool2d(&l, op)?.to_vec::<i32>()?, [4, 5]);
    /// assert_eq!(x.argmax_pool2d(&l, op)?.to_vec::<u32>()?, [5, 2]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ArgMaxPool2d(Pool2d),
    /// The position of the maximum of each window in its volume, in row-major order; see
    /// [`ArgMaxPool2d`](Self::ArgMaxPool2d) and [`Pool3d`].
    ArgMaxPool3d(Pool3d),
    /// The average of each window; see [`AdaptivePool`]. Floats. Dtypes: `[src, dst]`, equal.
    AdaptiveAvgPool(AdaptivePool),
    /// The maximum of each window; see [`AdaptivePool`]. All dtypes. Dtypes: `[src, dst]`, equal.
    AdaptiveMaxPool(AdaptivePool),
    /// The position of the maximum of each window, as [`ArgMaxPool2d`](Self::ArgMaxPool2d) has it;
    /// see [`AdaptivePool`]. All dtypes. Dtypes: `[src, dst]`, dst u32 (that of the allocating
    /// forms) or i64.
    AdaptiveArgMaxPool(AdaptivePool),
    /// The p-norm of each window; see [`LpPool`]. Floats. Dtypes: `[src, dst]`, equal.
    LpPool(LpPool),
    /// The gradient of an average pool's input, from that of its result; see [`PoolBackward`].
    /// Floats. Dtypes: `[gradient, dst]`, equal.
    AvgPoolBackward(PoolBackward),
    /// The gradient of a maximum pool's input, from that of its result and the positions of the
    /// maxima; see [`PoolBackward`]. Floats. Dtypes: `[gradient, positions, dst]`, positions u32 or
    /// i64, the others equal.
    MaxPoolBackward(PoolBackward),
    /// As [`AvgPoolBackward`](Self::AvgPoolBackward), of an adaptive pool; the parameter has the
    /// sizes of the pool's input.
    AdaptiveAvgPoolBackward(AdaptivePool),
    /// As [`MaxPoolBackward`](Self::MaxPoolBackward), of an adaptive pool; the parameter has the
    /// sizes of the pool's input.
    AdaptiveMaxPoolBackward(AdaptivePool),
    /// Adds the elements of windows to their places in an image: `[n, c taps, windows]` to `[n, c,
    /// ...]`, with taps and windows in row-major order; the windows and the sizes of the image are
    /// those of [`PoolBackward`], with any padding. PyTorch's `fold`, and ONNX's `Col2Im`. Floats.
    /// Dtypes: `[columns, dst]`, equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice};
    /// # use isobit_hal::{CpuStorage, Layout, Op, Pool1d};
    /// // First and second taps of two windows.
    /// let columns = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 10.0, 20.0])?;
    /// let op = Op::Col2im(Pool1d::new([2]).with_stride([1]).backward([3]));
    /// let y = CpuStorage::apply(&op, &[(&columns, &Layout::contiguous((1, 2, 2)))])?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 12.0, 20.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Col2im(PoolBackward),
    /// See [`UpsampleNearest1d`]. All dtypes. Dtypes: `[src, dst]`, equal.
    UpsampleNearest1d(UpsampleNearest1d),
    /// See [`UpsampleNearest2d`]. All dtypes. Dtypes: `[src, dst]`, equal.
    UpsampleNearest2d(UpsampleNearest2d),
    /// See [`UpsampleBilinear2d`]. Floats. Dtypes: `[src, dst]`, equal.
    UpsampleBilinear2d(UpsampleBilinear2d),
    /// See [`Resize`]. Nearest neighbours: all dtypes; linear and cubic interpolation: floats.
    /// Dtypes: `[src, dst]`, equal.
    Resize(Resize),
    /// Samples an image at the positions of a grid; see [`GridSample`]. f8e4m3, f16, bf16, f32 and
    /// f64. Dtypes: `[image, grid, dst]`; image and dst equal, grid f32, or the same if that is
    /// f16, bf16 or f64.
    GridSample(GridSample),
    /// Reverses dimensions; see [`Flip`]. All dtypes. Dtypes: `[src, dst]`, equal.
    Flip(Flip),
    /// Moves elements along dimensions, around the ends; see [`Roll`]. All dtypes. Dtypes: `[src,
    /// dst]`, equal.
    Roll(Roll),
    /// Adds elements around a tensor, or crops it; see [`Pad`]. All dtypes; the value of
    /// [`PadMode::Constant`] must have the dtype. Dtypes: `[src, dst]`, equal.
    Pad(Pad),
    /// Repeats a tensor along its dimensions; see [`Repeat`]. All dtypes. Dtypes: `[src, dst]`,
    /// equal.
    Repeat(Repeat),
    /// Joins tensors along a dimension; see [`Concat`]. All dtypes. Dtypes: as many as there are
    /// inputs, and dst, equal.
    Concat(Concat),
    /// See [`RandUniform`]. f16, bf16, f32 and f64. Dtypes: `[dst]`.
    RandUniform(RandUniform),
    /// See [`RandNormal`]. f16, bf16, f32 and f64. Dtypes: `[dst]`.
    RandNormal(RandNormal),
    /// See [`Bernoulli`]. f16, bf16, f32, f64, u8, u32 and i64. Dtypes: `[dst]`.
    Bernoulli(Bernoulli),
    /// See [`BernoulliProbs`]. f16, bf16, f32 and f64. Dtypes: `[probs, dst]`, equal.
    BernoulliProbs(BernoulliProbs),
    /// See [`Dropout`]. f16, bf16, f32 and f64. Dtypes: `[src, dst]`, equal.
    Dropout(Dropout),
    /// Packs each row of `[.., k]`, as many elements a byte as fit; see [`PackedDType`]. f32, f16,
    /// bf16, f64, u8, i8 and i32. Dtypes: `[src, dst]`, dst u8.
    Pack(Pack),
    /// Converts each row of packed elements to a dtype; see [`Unpack`]. f32, f16, bf16, f64, u8, i8
    /// and i32. Dtypes: `[src, dst]`, src u8.
    Unpack(Unpack),
    /// Quantizes each row of `[.., k]` to blocks, stored as bytes; see [`GgmlDType`]. f32, f16 and
    /// bf16. Dtypes: `[src, dst]`, dst u8.
    Quantize(GgmlDType),
    /// Converts each row of blocks back to floats; see [`GgmlDType`]. f32, f16 and bf16. Dtypes:
    /// `[src, dst]`, src u8.
    Dequantize(GgmlDType),
    /// See [`QMatmul`]. Dtypes: `[weight, x, dst]`: weight u8, x and dst equal: f32, f16 or bf16.
    QMatmul(QMatmul),
    /// A product with one of several quantized matrices, which `ids` chooses for each row (mixture
    /// of experts). Shapes: weight `[experts, n, row_bytes(k)]`, x `[tokens, 1, k]` or `[tokens,
    /// top, k]`, ids `[tokens, top]`, result `[tokens, top, n]`. Ids behave as in
    /// [`IndexSelect`](Self::IndexSelect): a padding id gives a row of zeros. Dtypes: `[weight, x,
    /// ids, dst]`: weight u8, ids u32, x and dst equal: f32, f16 or bf16.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, GgmlDType, Layout, QMatmul};
    /// let format = GgmlDType::Q4_0;
    /// let w: Vec<f32> = (0..64).map(|i| if i < 32 { 1.0 } else { -8.0 }).collect();
    /// let w = CpuDevice.storage_from_slice(&w)?;
    /// let w = w.quantize(&Layout::contiguous((2, 1, 32)), format)?;
    /// let x = CpuDevice.storage_from_slice(&[1.0f32; 32])?;
    /// let ids = CpuDevice.storage_from_slice(&[1u32, 0])?; // expert 1, then expert 0
    /// let [wl, xl] = [(2, 1, 18), (1, 1, 32)].map(Layout::contiguous);
    /// let (il, op) = (Layout::contiguous((1, 2)), QMatmul::new(format));
    /// let y = x.qmatmul_id(&xl, &w, &wl, &ids, &il, op)?;
    /// assert_eq!(y.to_vec::<f32>()?, [-256.0, 32.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    QMatmulId(QMatmul),
}

impl Op {
    /// Returns the name used by kernels, reports and the command line. It is the name of the method
    /// that calls the operation, which is candle's name if candle has the method: [`Op::Copy`] is
    /// `copy_strided_src`, [`Op::Fill`] is `const_set`, and [`Op::ScatterAdd`] is
    /// `scatter_add_set`.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Fill(_) => "const_set",
            Op::Copy => "copy_strided_src",
            Op::Cast(_) => "cast",
            Op::Affine(_) => "affine",
            Op::Powf(_) => "powf",
            Op::Elu(_) => "elu",
            Op::LeakyRelu(_) => "leaky_relu",
            Op::Celu(_) => "celu",
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            Op::Cmp(op) => op.name(),
            Op::Predicate(op) => op.name(),
            Op::WhereCond => "where_cond",
            Op::Reduce(r) => r.op.name(),
            Op::Matmul(_) => "matmul",
            Op::MatmulInteger(p) => p.name(),
            Op::ScaledMatmul(_) => "scaled_matmul",
            Op::Clamp(_) => "clamp",
            Op::Triangle(t) => {
                if t.upper {
                    "triu"
                } else {
                    "tril"
                }
            }
            Op::AddActivation(a) => match a {
                Activation::Relu => "add_relu",
                Activation::Gelu => "add_gelu",
                Activation::GeluErf => "add_gelu_erf",
                Activation::Silu => "add_silu",
            },
            Op::Scan(s) => s.op.name(),
            Op::Softmax => "softmax",
            Op::SafeSoftmax => "safe_softmax",
            Op::LogSoftmax => "log_softmax",
            Op::RmsNorm { .. } => "rms_norm",
            Op::LayerNorm(p) => p.name(),
            Op::LayerNormStats { .. } => "layer_norm_stats",
            Op::SkipLayerNorm { .. } => "skip_layer_norm",
            Op::GroupNorm(p) => p.name(),
            Op::BatchNorm(p) => p.name(),
            Op::LocalResponseNorm(_) => "local_response_norm",
            Op::Rope(form) => form.name(),
            Op::ScaledDotProductAttention(p) => p.name(),
            Op::Sort(_) => "sort",
            Op::ArgSort(_) => "argsort",
            Op::TopK(_) => "topk",
            Op::ArgTopK(_) => "argtopk",
            Op::Gather(_) => "gather",
            Op::IndexSelect(_) => "index_select",
            Op::ScatterSet(_) => "scatter_set",
            Op::ScatterAdd(_) => "scatter_add_set",
            Op::IndexAdd(_) => "index_add",
            Op::ScatterReduce(p) => match p.op {
                ScatterOp::Set => "scatter_set",
                ScatterOp::Add => "scatter_add_set",
                ScatterOp::Prod => "scatter_reduce_prod",
                ScatterOp::Amin => "scatter_reduce_amin",
                ScatterOp::Amax => "scatter_reduce_amax",
            },
            Op::GatherNd(_) => "gather_nd",
            Op::ScatterNd(p) => match p.op {
                ScatterOp::Set => "scatter_nd",
                ScatterOp::Add => "scatter_nd_add",
                ScatterOp::Prod => "scatter_nd_prod",
                ScatterOp::Amin => "scatter_nd_amin",
                ScatterOp::Amax => "scatter_nd_amax",
            },
            Op::CountNonzero => "count_nonzero",
            Op::Nonzero { .. } => "nonzero",
            Op::MaskedSelect { .. } => "masked_select",
            Op::Compress { .. } => "compress",
            Op::CountUnique => "count_unique",
            Op::Unique { .. } => "unique",
            Op::UniqueInverse => "unique_inverse",
            Op::UniqueCounts { .. } => "unique_counts",
            Op::UniqueFirst { .. } => "unique_first",
            Op::Conv1d(p) => p.name(["conv1d", "conv1d_bias"]),
            Op::Conv2d(p) => p.name(["conv2d", "conv2d_bias"]),
            Op::ConvTranspose1d(p) => p.name(["conv_transpose1d", "conv_transpose1d_bias"]),
            Op::ConvTranspose2d(p) => p.name(["conv_transpose2d", "conv_transpose2d_bias"]),
            Op::Conv3d(p) => p.name(["conv3d", "conv3d_bias"]),
            Op::ConvTranspose3d(p) => p.name(["conv_transpose3d", "conv_transpose3d_bias"]),
            Op::AvgPool1d(_) => "avg_pool1d",
            Op::AvgPool2d(_) => "avg_pool2d",
            Op::AvgPool3d(_) => "avg_pool3d",
            Op::MaxPool1d(_) => "max_pool1d",
            Op::MaxPool2d(_) => "max_pool2d",
            Op::MaxPool3d(_) => "max_pool3d",
            Op::ArgMaxPool1d(_) => "argmax_pool1d",
            Op::ArgMaxPool2d(_) => "argmax_pool2d",
            Op::ArgMaxPool3d(_) => "argmax_pool3d",
            Op::AdaptiveAvgPool(p) => for_ranks!("adaptive_avg_pool", "d")[p.rank() - 1],
            Op::AdaptiveMaxPool(p) => for_ranks!("adaptive_max_pool", "d")[p.rank() - 1],
            Op::AdaptiveArgMaxPool(p) => for_ranks!("adaptive_argmax_pool", "d")[p.rank() - 1],
            Op::LpPool(p) => for_ranks!("lp_pool", "d")[p.rank() - 1],
            Op::AvgPoolBackward(p) => for_ranks!("avg_pool", "d_backward")[p.rank() - 1],
            Op::MaxPoolBackward(p) => for_ranks!("max_pool", "d_backward")[p.rank() - 1],
            Op::AdaptiveAvgPoolBackward(p) => for_ranks!("adaptive_avg_pool", "d_backward")[p.rank() - 1],
            Op::AdaptiveMaxPoolBackward(p) => for_ranks!("adaptive_max_pool", "d_backward")[p.rank() - 1],
            Op::Col2im(p) => for_ranks!("col2im", "d")[p.rank() - 1],
            Op::UpsampleNearest1d(_) => "upsample_nearest1d",
            Op::UpsampleNearest2d(_) => "upsample_nearest2d",
            Op::UpsampleBilinear2d(_) => "upsample_bilinear2d",
            Op::Resize(op) => match op.mode {
                Interpolation::Nearest => "resize_nearest",
                Interpolation::Linear => "resize_linear",
                Interpolation::Cubic => "resize_cubic",
            },
            Op::GridSample(_) => "grid_sample",
            Op::Flip(_) => "flip",
            Op::Roll(_) => "roll",
            Op::Pad(_) => "pad",
            Op::Repeat(_) => "repeat",
            Op::Concat(_) => "concat",
            Op::RandUniform(_) => "rand_uniform",
            Op::RandNormal(_) => "rand_normal",
            Op::Bernoulli(_) => "bernoulli",
            Op::BernoulliProbs(_) => "bernoulli_probs",
            Op::Dropout(_) => "dropout",
            Op::Pack(op) => PACK[op.dtype.index()],
            Op::Unpack(op) => UNPACK[op.dtype.index()],
            Op::Quantize(f) => QUANTIZE[f.index()],
            Op::Dequantize(f) => DEQUANTIZE[f.index()],
            Op::QMatmul(q) => QMATMUL[q.activations as usize][q.format.index()],
            Op::QMatmulId(q) => QMATMUL_ID[q.activations as usize][q.format.index()],
        }
    }

    /// Returns the numerics that the parameters name; `None` if they name none.
    pub fn numerics(&self) -> Option<Numerics> {
        match self {
            Op::Matmul(op) => op.numerics,
            Op::ScaledMatmul(op) => op.numerics,
            Op::Conv1d(op) => op.numerics,
            Op::Conv2d(op) => op.numerics,
            Op::ConvTranspose1d(op) => op.numerics,
            Op::ConvTranspose2d(op) => op.numerics,
            Op::Conv3d(op) => op.numerics,
            Op::ConvTranspose3d(op) => op.numerics,
            Op::RandUniform(op) => op.numerics,
            Op::RandNormal(op) => op.numerics,
            Op::ScaledDotProductAttention(op) => op.numerics,
            Op::QMatmul(op) | Op::QMatmulId(op) if op.activations == QActivations::Float => op.numerics,
            _ => None,
        }
    }

    /// Returns the operation with the given numerics; unchanged if its parameters have none.
    pub fn with_numerics(mut self, numerics: Option<Numerics>) -> Self {
        match &mut self {
            Op::Matmul(op) => op.numerics = numerics,
            Op::ScaledMatmul(op) => op.numerics = numerics,
            Op::Conv1d(op) => op.numerics = numerics,
            Op::Conv2d(op) => op.numerics = numerics,
            Op::ConvTranspose1d(op) => op.numerics = numerics,
            Op::ConvTranspose2d(op) => op.numerics = numerics,
            Op::Conv3d(op) => op.numerics = numerics,
            Op::ConvTranspose3d(op) => op.numerics = numerics,
            Op::RandUniform(op) => op.numerics = numerics,
            Op::RandNormal(op) => op.numerics = numerics,
            Op::ScaledDotProductAttention(op) => op.numerics = numerics,
            Op::QMatmul(op) | Op::QMatmulId(op) if op.activations == QActivations::Float => op.numerics = numerics,
            _ => {}
        }
        self
    }

    /// Returns the windows of a pool (also on the way back) that is not adaptive, over three
    /// dimensions, and how many of them it has; `None` for other operations.
    ///
    /// ```rust
    /// # use isobit_hal::{Op, Pool1d, Pool3d};
    /// let op = Op::MaxPool1d(Pool1d::new([4]));
    /// assert_eq!(op.pool_windows(), Some((Pool3d::new([1, 1, 4]), 1)));
    /// ```
    pub const fn pool_windows(&self) -> Option<(Pool3d, usize)> {
        match self {
            Op::AvgPool1d(p) | Op::MaxPool1d(p) | Op::ArgMaxPool1d(p) => Some((p.over_three(), 1)),
            Op::AvgPool2d(p) | Op::MaxPool2d(p) | Op::ArgMaxPool2d(p) => Some((p.over_three(), 2)),
            Op::AvgPool3d(p) | Op::MaxPool3d(p) | Op::ArgMaxPool3d(p) => Some((*p, 3)),
            Op::LpPool(p) => Some((p.over_three(), p.rank())),
            Op::AvgPoolBackward(p) | Op::MaxPoolBackward(p) | Op::Col2im(p) => Some((p.over_three(), p.rank())),
            _ => None,
        }
    }

    /// Returns how many dimensions the windows of a pool have; `None` for other operations.
    pub const fn pool_rank(&self) -> Option<usize> {
        match self {
            Op::AdaptiveAvgPool(p) | Op::AdaptiveMaxPool(p) | Op::AdaptiveArgMaxPool(p) => Some(p.rank()),
            Op::AdaptiveAvgPoolBackward(p) | Op::AdaptiveMaxPoolBackward(p) => Some(p.rank()),
            _ => match self.pool_windows() {
                Some((_, rank)) => Some(rank),
                None => None,
            },
        }
    }

    /// Whether an input may be the destination itself, so that the operation works in place.
    pub fn takes_dst(&self, input: usize) -> bool {
        match self {
            Op::Copy
            | Op::Affine(_)
            | Op::Powf(_)
            | Op::Elu(_)
            | Op::LeakyRelu(_)
            | Op::Celu(_)
            | Op::Unary(_)
            | Op::Binary(_)
            | Op::Cmp(_)
            | Op::Predicate(_)
            | Op::WhereCond
            | Op::Clamp(_)
            | Op::Triangle(_)
            | Op::AddActivation(_)
            | Op::BernoulliProbs(_)
            | Op::Dropout(_) => true,
            _ => self.scatter_op().is_some() && input == 0,
        }
    }

    /// Whether an input may be a [scalar](crate::Src::Scalar). At least one input of an operation
    /// must be something else.
    pub fn takes_scalar(&self, input: usize) -> bool {
        match self {
            Op::Binary(_) | Op::Cmp(_) => true,
            Op::WhereCond => input > 0,
            _ => false,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

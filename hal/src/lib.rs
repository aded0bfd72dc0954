//! The hardware abstraction layer: the traits that a driver implements and a framework calls.
//!
//! - [`BackendDevice`] and [`BackendStorage`] are the traits. A driver runs every [`Op`] in one
//!   method that writes into a given output; the named and the allocating methods are provided on
//!   top of it.
//! - [`DType`], [`Shape`] and [`Layout`] describe data; [`Op`] describes an operation as a value,
//!   for [`BackendDevice::supports`], errors and reports.
//! - [`Stream`], [`Event`], [`Graph`], [`PinnedBuffer`] and [`Func`] each wrap the driver's own
//!   object in one type. A driver that does not provide them gets a synchronous fallback.
//! - [`Communicator`] is one rank of a group of devices that sum, gather and exchange data.
//! - [`DynDevice`] and [`DynStorage`] hold any driver as an object, for programs that choose the
//!   driver at run time.
#![cfg_attr(
    feature = "cpu",
    doc = "- [`cpu`] is the reference driver. It implements every operation declared here, and every other driver must match its results."
)]
//!
//! The feature `cpu`, which is on by default, contains the reference driver. Without it, the crate
//! contains only what a driver or a build script needs, and compiles in a tenth of the time.
//!
//! ```rust
//! use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Matmul};
//!
//! // Generic over the driver: `[2, 3]` times its own transpose.
//! fn gram<D: BackendDevice>(device: &D) -> isobit_hal::Result<Vec<f32>> {
//!     let x = device.storage_from_slice(&[1.0f32, 0.0, 2.0, 0.0, 3.0, 0.0])?;
//!     let layout = Layout::contiguous((2, 3));
//!     x.matmul(&layout, &x, &layout.transpose(0, 1)?, Matmul::default())?.to_vec()
//! }
//! assert_eq!(gram(&CpuDevice)?, [5.0, 0.0, 0.0, 9.0]);
//! # Ok::<(), isobit_hal::Error>(())
//! ```
//!
//! # Contract
//!
//! - *Checked.* A driver validates every call with [`validate`] before it touches memory. Bad input
//!   returns an [`Error`] with a [`kind`](Error::kind); it never panics and never accesses memory
//!   outside a buffer.
//! - *Layouts everywhere.* Every operation accepts any layout (strides, offset, broadcast) for
//!   every operand. A destination may not overlap itself.
//! - *Same bits.* `docs/numerics.md` fixes the result of each operation to the bit, except where
//!   the caller selects a vendor library ([`Numerics::Vendor`]).
//! - *Asynchronous.* A call may return before its work is done. Work on one stream runs in order,
//!   and after the work of other streams on its operands. Errors that occur later are returned by
//!   the next synchronising call.

#![doc(html_root_url = "https://docs.rs/isobit-hal")]

mod device;
#[macro_use]
mod dtype;
pub mod collective;
#[cfg(feature = "cpu")]
pub mod cpu;
mod cpu_storage;
mod dynamic;
mod error;
pub mod event;
mod f8;
pub mod graph;
mod info;
pub mod kernel;
mod layout;
mod op;
mod packed;
pub mod pinned;
mod random;
mod scalar;
mod shape;
mod storage;
pub mod stream;
mod sync_fallback;
pub mod trace;
pub mod validate;

pub use collective::{Collective, Communicator};
#[cfg(feature = "cpu")]
pub use cpu::CpuDevice;
pub use cpu_storage::CpuStorage;
pub use device::{BackendDevice, DeviceId, DeviceLocation, Numerics};
pub use dtype::{DType, WithDType};
pub use dynamic::{DynDevice, DynStorage};
pub use error::{Error, ErrorKind, NativeCode, Result};
pub use event::Event;
pub use f8::{F8E4M3, F8E5M2};
pub use graph::Graph;
pub use half::{bf16, f16};
pub use info::{Capabilities, ComputeCapability, Counters, DeviceInfo, LibraryInfo, Limits, PoolStats, Support};
pub use kernel::{Func, KernelArg, KernelCode, KernelSource, LaunchBuilder, LaunchConfig};
pub use layout::{Collapsed, Layout, StridedIndex, collapse};
pub use op::{
    Activation, AdaptivePool, Affine, Attention, BatchNorm, Bernoulli, BernoulliProbs, BinaryOp, Cast, Celu, Clamp,
    Class, CmpOp, Concat, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Coordinates,
    Copy2d, Dropout, Elu, Family, Flip, GatherNd, GgmlDType, GridPadding, GridSample, GroupNorm, Indexing,
    Interpolation, LayerNorm, LeakyRelu, LocalResponseNorm, LpPool, Matmul, MatmulInteger, NearestMode, Op, Pack,
    PackedDType, Pad, PadMode, Pool1d, Pool2d, Pool3d, PoolBackward, Powf, PowfRecipe, Predicate, QActivations,
    QMatmul, RandNormal, RandUniform, Reduce, ReduceOp, Repeat, Resize, ResizeAxis, Roll, RopeForm, ScaledMatmul, Scan,
    ScanOp, ScatterNd, ScatterOp, ScatterReduce, Sort, TopK, Triangle, UnaryOp, Unpack, UpsampleBilinear2d,
    UpsampleNearest1d, UpsampleNearest2d,
};
pub use packed::{MatmulSide, PackedMatrix, PackedSrc};
pub use pinned::PinnedBuffer;
pub use random::RandomState;
pub use scalar::Scalar;
pub use shape::{Dims, Shape, SignedDims};
pub use storage::{BackendStorage, Src};
pub use stream::{Stream, StreamGuard, StreamId};

/// The version of the portable results. It changes whenever any bit of any result changes. Store it
/// together with stored results (a cache, golden files): equal versions mean equal bits, from any
/// release and on any device.
///
/// `docs/numerics.md` states the policy, and a test checks it by comparing a short run of the suite
/// with `conformance/digests.tsv`.
pub const NUMERICS_VERSION: u32 = 2;

#[doc(hidden)]
pub use op::grids;

#[doc(hidden)]
pub mod __dtype_types {
    pub use crate::{F8E4M3, F8E5M2};
    pub use half::{bf16, f16};
    pub use std::primitive::{f32, f64, i8, i16, i32, i64, u8, u16, u32, u64};
}

/// Runs the example of the README as a test.
#[cfg(all(doctest, feature = "cpu"))]
#[doc = include_str!("../README.md")]
struct Readme;

//! The hardware abstraction layer: what a driver implements and what a framework calls.
//!
//! - [`BackendDevice`] and [`BackendStorage`] are the traits. A driver carries out every [`Op`] in
//!   one method that writes into a given output; the named and the allocating forms are provided on
//!   top of it.
//! - [`DType`], [`Shape`] and [`Layout`] describe data; [`Op`] describes an operation as a value,
//!   for [`BackendDevice::supports`], errors and reports.
//! - [`Stream`], [`Event`], [`Graph`], [`PinnedBuffer`] and [`Func`] are the driver's own behind
//!   one type each. A driver that has none gets a synchronous fallback.
//! - [`DynDevice`] and [`DynStorage`] are a driver as an object, for programs that choose it at run
//!   time.
#![cfg_attr(
    feature = "cpu",
    doc = "- [`cpu`] is the reference driver. It implements everything declared here, and is what every other driver is held to."
)]
//!
//! The feature `cpu`, which is on by default, holds the reference driver. Without it the crate is
//! what a driver, or a build script, needs to know, and costs a tenth to compile.
//!
//! # Contract
//!
//! - *Checked.* A driver validates every call with [`validate`] before it touches memory: bad input
//!   is an [`Error`] with a [`kind`](Error::kind), never a panic and never an access outside a
//!   buffer.
//! - *Layouts everywhere.* Every operation takes any layout (strides, offset, broadcast) on every
//!   operand. A destination may not overlap itself.
//! - *Same bits.* What an operation computes is fixed in `docs/numerics.md`, to the bit, except
//!   where a vendor library was asked for ([`Numerics::Vendor`]).
//! - *Asynchronous.* A device may return before the work is done. Work on one stream runs in order,
//!   and after the work of other streams on its operands. Errors after the fact surface at the next
//!   synchronising call.

#![doc(html_root_url = "https://docs.rs/isobit-hal")]

mod device;
#[macro_use]
mod dtype;
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
pub mod pinned;
mod random;
mod scalar;
mod shape;
mod storage;
pub mod stream;
mod sync_fallback;
pub mod trace;
pub mod validate;

#[cfg(feature = "cpu")]
pub use cpu::CpuDevice;
pub use cpu_storage::CpuStorage;
pub use device::{BackendDevice, DeviceId, DeviceLocation, Numerics};
pub use dtype::{DType, WithDType};
pub use dynamic::{DynDevice, DynStorage};
pub use error::{Error, ErrorKind, NativeCode, Result};
pub use event::Event;
pub use f8::F8E4M3;
pub use graph::Graph;
pub use half::{bf16, f16};
pub use info::{Capabilities, ComputeCapability, Counters, DeviceInfo, LibraryInfo, Limits, PoolStats, Support};
pub use kernel::{Func, KernelArg, KernelCode, KernelSource, LaunchBuilder, LaunchConfig};
pub use layout::{Collapsed, Layout, StridedIndex, collapse};
pub use op::{
    Activation, Affine, BinaryOp, Clamp, Class, CmpOp, Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d, Copy2d,
    CumSum, Elu, Family, GgmlDType, Matmul, Op, Pool2d, Powf, QActivations, QMatmul, RandNormal, RandUniform, Reduce,
    ReduceOp, RopeForm, Sort, TopK, Triangle, UnaryOp, UpsampleBilinear2d, UpsampleNearest1d, UpsampleNearest2d,
};
pub use pinned::PinnedBuffer;
pub use random::RandomState;
pub use scalar::Scalar;
pub use shape::{Dims, Shape};
pub use storage::{BackendStorage, Src};
pub use stream::{Stream, StreamGuard, StreamId};

/// The version of the portable results. It changes whenever any bit of any of them does, so whoever
/// keeps results (a cache, golden files) keeps this number with them: equal numbers mean equal
/// bits, from any release and on any device.
///
/// The policy stands in `docs/numerics.md`; `conformance/digests.tsv` holds a short run of the
/// suite to it.
pub const NUMERICS_VERSION: u32 = 1;

#[doc(hidden)]
pub mod __dtype_types {
    pub use crate::F8E4M3;
    pub use half::{bf16, f16};
    pub use std::primitive::{f32, f64, i8, i16, i32, i64, u8, u32};
}

/// Its example is run as a test.
#[cfg(all(doctest, feature = "cpu"))]
#[doc = include_str!("../README.md")]
struct Readme;

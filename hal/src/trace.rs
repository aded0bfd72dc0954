//! Reports what a device does to subscribers of the crate `tracing`: one span per operation,
//! created here for every driver.
//!
//! All spans and events have the target [`TARGET`]. Operations are spans named `op` at level
//! `trace`. Rare events (compilation, module loading, graphs, pool growth, falling back from a
//! vendor library) are at level `debug`. If nobody subscribes to a level, nothing is formatted and
//! the cost is at most one relaxed load.

use crate::{BackendDevice, BackendStorage, DType, Layout, Op, Src};
use std::fmt;
use tracing::level_filters::LevelFilter;
use tracing::span::EnteredSpan;

/// The target of every span and event; filter with `isobit=trace`.
pub const TARGET: &str = "isobit";

/// An operation with its operands, as it was called. Displayed as name, dtypes and shapes, inputs
/// first: `add f32, f32, f32 [2, 3], [2, 3], [2, 3]`.
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice, Layout, Op, Src, trace::Call};
///
/// let layout = Layout::contiguous((2, 3));
/// let x = CpuDevice.storage_from_slice(&[0.0f32; 6])?;
/// let inputs = [Src::Storage(&x, &layout)];
/// let call = Call { op: &Op::Softmax, inputs: &inputs, dst: &x, dst_layout: &layout };
/// assert_eq!(call.to_string(), "softmax f32, f32 [2, 3], [2, 3]");
/// assert_eq!(call.bytes(), 48);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug)]
pub struct Call<'a, S> {
    /// The operation.
    pub op: &'a Op,
    /// The inputs.
    pub inputs: &'a [Src<'a, S>],
    /// The destination.
    pub dst: &'a S,
    /// The layout of the destination.
    pub dst_layout: &'a Layout,
}

impl<'a, S: BackendStorage> Call<'a, S> {
    /// Returns the dtype and layout of each operand but the scalars, inputs first.
    fn operands(&self) -> impl Iterator<Item = (DType, &'a Layout)> {
        let dst = (self.dst.dtype(), self.dst_layout);
        let tensors = self.inputs.iter().filter(|src| !matches!(src, Src::Scalar(_)));
        let inputs = tensors.map(move |src| src.storage().map_or(dst, |(s, layout)| (s.dtype(), layout)));
        inputs.chain([dst])
    }

    /// Returns the dtypes of the operands but the scalars, inputs first.
    pub fn dtypes(&self) -> impl fmt::Display {
        List(|| self.operands().map(|(dtype, _)| dtype))
    }

    /// Returns the shapes of the operands, inputs first.
    pub fn shapes(&self) -> impl fmt::Display {
        List(|| self.operands().map(|(_, layout)| layout.shape()))
    }

    /// Returns the total size of the elements of all operands in bytes.
    pub fn bytes(&self) -> u64 {
        let bytes =
            |(dtype, layout): (DType, &Layout)| layout.elem_count().saturating_mul(dtype.size_in_bytes()) as u64;
        self.operands().map(bytes).fold(0, u64::saturating_add)
    }
}

impl<S: BackendStorage> fmt::Display for Call<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.op, self.dtypes(), self.shapes())
    }
}

/// Displays items separated by commas.
struct List<F>(F);

impl<T: fmt::Display, I: Iterator<Item = T>, F: Fn() -> I> fmt::Display for List<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)().enumerate().try_for_each(|(i, item)| write!(f, "{}{item}", if i == 0 { "" } else { ", " }))
    }
}

/// Enters the span of an operation until the result is dropped; a driver's
/// [`BackendStorage::apply_into`] starts with it. The fields are `op`, `device`, `dtypes`,
/// `shapes`, `bytes` of the operands' elements, and the number of the `stream` that the operation
/// runs on. Returns `None` if nobody subscribes.
#[inline]
#[must_use = "the span ends when it is dropped"]
pub fn operation<S: BackendStorage>(call: &Call<'_, S>) -> Option<EnteredSpan> {
    if LevelFilter::current() < LevelFilter::TRACE { None } else { subscribed(call) }
}

#[cold]
fn subscribed<S: BackendStorage>(call: &Call<'_, S>) -> Option<EnteredSpan> {
    let device = call.dst.device();
    let span = tracing::trace_span!(
        target: TARGET,
        "op",
        op = call.op.name(),
        device = %device.location(),
        dtypes = %call.dtypes(),
        shapes = %call.shapes(),
        bytes = call.bytes(),
        stream = device.current_stream().ok().map(|stream| stream.id().as_u64()),
    );
    (!span.is_disabled()).then(|| span.entered())
}

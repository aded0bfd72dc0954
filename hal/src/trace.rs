//! What a device does, told to whoever subscribes with the crate `tracing`: a span for each
//! operation, made here for every driver.
//!
//! All spans and events have the target [`TARGET`]. Operations are spans named `op` at the level
//! `trace`; what happens seldom (compiling, loading modules, graphs, growth of a pool, falling back
//! from a vendor's library) is at the level `debug`. Nothing is formatted, and no more than one
//! relaxed load done, where nobody subscribes to the level.

use crate::{BackendDevice, BackendStorage, DType, Layout, Op, Src};
use std::fmt;
use tracing::level_filters::LevelFilter;
use tracing::span::EnteredSpan;

/// The target of every span and event: filter by `isobit=trace`.
pub const TARGET: &str = "isobit";

/// An operation with its operands, as it was called. Shown as name, dtypes and shapes, inputs
/// first: `add f32, f32, f32 [2, 3], [2, 3], [2, 3]`.
#[derive(Debug)]
pub struct Call<'a, S> {
    /// The operation.
    pub op: &'a Op,
    /// Its inputs.
    pub inputs: &'a [Src<'a, S>],
    /// What it writes.
    pub dst: &'a S,
    /// Where in it.
    pub dst_layout: &'a Layout,
}

impl<'a, S: BackendStorage> Call<'a, S> {
    /// Dtype and layout of each operand, inputs first.
    fn operands(&self) -> impl Iterator<Item = (DType, &'a Layout)> {
        let dst = (self.dst.dtype(), self.dst_layout);
        let inputs = self.inputs.iter().map(move |src| src.storage().map_or(dst, |(s, layout)| (s.dtype(), layout)));
        inputs.chain([dst])
    }

    /// The dtypes of the operands, inputs first.
    pub fn dtypes(&self) -> impl fmt::Display {
        List(|| self.operands().map(|(dtype, _)| dtype))
    }

    /// The shapes of the operands, inputs first.
    pub fn shapes(&self) -> impl fmt::Display {
        List(|| self.operands().map(|(_, layout)| layout.shape()))
    }

    /// How many bytes the elements of all operands have.
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

/// Items with commas between.
struct List<F>(F);

impl<T: fmt::Display, I: Iterator<Item = T>, F: Fn() -> I> fmt::Display for List<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)().enumerate().try_for_each(|(i, item)| write!(f, "{}{item}", if i == 0 { "" } else { ", " }))
    }
}

/// The span of an operation, entered until it is dropped: what a driver's
/// [`BackendStorage::apply_into`] begins with. Fields: `op`, `device`, `dtypes`, `shapes`, `bytes`
/// of the operands' elements, and the number of the `stream` that it goes to. `None` where nobody
/// subscribes.
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

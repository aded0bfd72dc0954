//! Graphs: capturing a stream, and launching what was captured.

use crate::context::Context;
use crate::error::{check, forget};
use crate::stream::RocmStream;
use hip_sys::{
    hipErrorGraphExecUpdateFailure, hipGraph_t, hipGraphExec_t, hipGraphExecUpdateSuccess, hipStreamCaptureModeRelaxed,
    hipStreamCaptureStatusNone,
};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{RawGraph, RawGraphExec};
use std::ptr::null_mut;

fn graph(raw: RawGraph) -> hipGraph_t {
    raw.0 as hipGraph_t
}

fn exec(raw: RawGraphExec) -> hipGraphExec_t {
    raw.0 as hipGraphExec_t
}

pub(crate) fn begin(context: &Context, stream: &RocmStream) -> Result<()> {
    context.bind()?;
    let mode = hipStreamCaptureModeRelaxed;
    // SAFETY: the stream lives.
    check(unsafe { (context.hip.hipStreamBeginCapture)(stream.raw(), mode) }, "beginning a capture")
}

pub(crate) fn is_capturing(context: &Context, stream: &RocmStream) -> Result<bool> {
    context.bind()?;
    let mut status = hipStreamCaptureStatusNone;
    // SAFETY: the stream lives; an out-parameter.
    let code = unsafe { (context.hip.hipStreamIsCapturing)(stream.raw(), &mut status) };
    check(code, "asking whether a stream is captured")?;
    Ok(status != hipStreamCaptureStatusNone)
}

pub(crate) fn end(context: &Context, stream: &RocmStream) -> Result<RawGraph> {
    context.bind()?;
    let mut graph = null_mut();
    // SAFETY: the stream lives; an out-parameter.
    check(unsafe { (context.hip.hipStreamEndCapture)(stream.raw(), &mut graph) }, "ending a capture")?;
    if graph.is_null() {
        return Err(Error::new(ErrorKind::CaptureViolation, "the capture was broken and gave no graph"));
    }
    Ok(RawGraph(graph as u64))
}

/// # Safety
/// As `GpuRuntime::graph_nodes`.
pub(crate) unsafe fn nodes(context: &Context, raw: RawGraph) -> Result<usize> {
    let mut count = 0;
    // SAFETY: the caller's promise; without room for nodes their number alone is written.
    let code = unsafe { (context.hip.hipGraphGetNodes)(graph(raw), null_mut(), &mut count) };
    check(code, "counting a graph's nodes")?;
    Ok(count)
}

/// # Safety
/// As `GpuRuntime::instantiate`.
pub(crate) unsafe fn instantiate(context: &Context, raw: RawGraph) -> Result<RawGraphExec> {
    context.bind()?;
    let (instantiate, mut exec) = (context.hip.hipGraphInstantiate, null_mut());
    // SAFETY: the caller's promise; an out-parameter, and none for a log.
    check(unsafe { instantiate(&mut exec, graph(raw), null_mut(), null_mut(), 0) }, "making a graph ready")?;
    Ok(RawGraphExec(exec as u64))
}

/// # Safety
/// As `GpuRuntime::update_graph`.
pub(crate) unsafe fn update(context: &Context, to: RawGraphExec, from: RawGraph) -> Result<bool> {
    context.bind()?;
    let (mut node, mut outcome) = (null_mut(), hipGraphExecUpdateSuccess);
    // SAFETY: the caller's promise; out-parameters.
    let code = unsafe { (context.hip.hipGraphExecUpdate)(exec(to), graph(from), &mut node, &mut outcome) };
    if code == hipErrorGraphExecUpdateFailure || outcome != hipGraphExecUpdateSuccess {
        forget(context.hip);
        return Ok(false);
    }
    check(code, "updating a graph").map(|()| true)
}

/// # Safety
/// As `GpuRuntime::launch_graph`.
pub(crate) unsafe fn launch(context: &Context, stream: &RocmStream, raw: RawGraphExec) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    check(unsafe { (context.hip.hipGraphLaunch)(exec(raw), stream.raw()) }, "launching a graph")
}

/// # Safety
/// As `GpuRuntime::destroy_graph`.
pub(crate) unsafe fn destroy(context: &Context, raw: RawGraph) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    check(unsafe { (context.hip.hipGraphDestroy)(graph(raw)) }, "destroying a graph")
}

/// # Safety
/// As `GpuRuntime::destroy_graph_exec`.
pub(crate) unsafe fn destroy_exec(context: &Context, raw: RawGraphExec) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise; HIP keeps what a running launch needs until it ends.
    check(unsafe { (context.hip.hipGraphExecDestroy)(exec(raw)) }, "destroying a graph that was ready")
}

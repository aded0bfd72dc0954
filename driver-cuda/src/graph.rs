//! Graphs: capturing a stream, and launching what was captured.

use crate::context::Context;
use crate::error::check;
use crate::stream::CudaStream;
use cudarc::driver::sys::{
    self, CUgraphExecUpdateResult as Update, CUresult, CUstreamCaptureMode as Mode, CUstreamCaptureStatus as Status,
};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{RawGraph, RawGraphExec};

fn graph(raw: RawGraph) -> sys::CUgraph {
    raw.0 as sys::CUgraph
}

fn exec(raw: RawGraphExec) -> sys::CUgraphExec {
    raw.0 as sys::CUgraphExec
}

pub(crate) fn begin(context: &Context, stream: &CudaStream) -> Result<()> {
    context.bind()?;
    let mode = Mode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the stream lives.
    check(unsafe { sys::cuStreamBeginCapture_v2(stream.raw(), mode) }, "beginning a capture")
}

pub(crate) fn is_capturing(context: &Context, stream: &CudaStream) -> Result<bool> {
    context.bind()?;
    let mut status = Status::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream lives; an out-parameter.
    let code = unsafe { sys::cuStreamIsCapturing(stream.raw(), &mut status) };
    check(code, "asking whether a stream is captured")?;
    Ok(status != Status::CU_STREAM_CAPTURE_STATUS_NONE)
}

pub(crate) fn end(context: &Context, stream: &CudaStream) -> Result<RawGraph> {
    context.bind()?;
    let mut graph = std::ptr::null_mut();
    // SAFETY: the stream lives; an out-parameter.
    check(unsafe { sys::cuStreamEndCapture(stream.raw(), &mut graph) }, "ending a capture")?;
    if graph.is_null() {
        return Err(Error::new(ErrorKind::CaptureViolation, "the capture was broken and gave no graph"));
    }
    Ok(RawGraph(graph as u64))
}

/// # Safety
/// As `GpuRuntime::graph_nodes`.
pub(crate) unsafe fn nodes(raw: RawGraph) -> Result<usize> {
    let mut count = 0;
    // SAFETY: the caller's promise; without room for nodes their number alone is written.
    let code = unsafe { sys::cuGraphGetNodes(graph(raw), std::ptr::null_mut(), &mut count) };
    check(code, "counting a graph's nodes")?;
    Ok(count)
}

/// # Safety
/// As `GpuRuntime::instantiate`.
pub(crate) unsafe fn instantiate(context: &Context, raw: RawGraph) -> Result<RawGraphExec> {
    context.bind()?;
    let mut exec = std::ptr::null_mut();
    // SAFETY: the caller's promise; an out-parameter.
    check(unsafe { sys::cuGraphInstantiateWithFlags(&mut exec, graph(raw), 0) }, "making a graph ready")?;
    Ok(RawGraphExec(exec as u64))
}

/// # Safety
/// As `GpuRuntime::update_graph`.
pub(crate) unsafe fn update(context: &Context, to: RawGraphExec, from: RawGraph) -> Result<bool> {
    context.bind()?;
    let mut info = sys::CUgraphExecUpdateResultInfo {
        result: Update::CU_GRAPH_EXEC_UPDATE_SUCCESS,
        errorNode: std::ptr::null_mut(),
        errorFromNode: std::ptr::null_mut(),
    };
    // SAFETY: the caller's promise; an out-parameter.
    match unsafe { sys::cuGraphExecUpdate_v2(exec(to), graph(from), &mut info) } {
        CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE => Ok(false),
        code => check(code, "updating a graph").map(|()| true),
    }
}

/// # Safety
/// As `GpuRuntime::launch_graph`.
pub(crate) unsafe fn launch(context: &Context, stream: &CudaStream, raw: RawGraphExec) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    check(unsafe { sys::cuGraphLaunch(exec(raw), stream.raw()) }, "launching a graph")
}

/// # Safety
/// As `GpuRuntime::destroy_graph`.
pub(crate) unsafe fn destroy(context: &Context, raw: RawGraph) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    check(unsafe { sys::cuGraphDestroy(graph(raw)) }, "destroying a graph")
}

/// # Safety
/// As `GpuRuntime::destroy_graph_exec`.
pub(crate) unsafe fn destroy_exec(context: &Context, raw: RawGraphExec) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise; the driver keeps what a running launch needs until it ends.
    check(unsafe { sys::cuGraphExecDestroy(exec(raw)) }, "destroying a graph that was ready")
}

//! Graphs: captures streams and launches the captured graphs.

use crate::error::check;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use cudarc::driver::sys::{
    self, CUgraphExecUpdateResult as Update, CUresult, CUstreamCaptureMode as Mode, CUstreamCaptureStatus as Status,
};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{GraphRuntime, RawGraph, RawGraphExec};

fn graph(raw: RawGraph) -> sys::CUgraph {
    raw.0 as sys::CUgraph
}

fn exec(raw: RawGraphExec) -> sys::CUgraphExec {
    raw.0 as sys::CUgraphExec
}

impl GraphRuntime for CudaRuntime {
    fn begin_capture(&self, stream: &CudaStream) -> Result<()> {
        self.context().bind()?;
        let mode = Mode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive.
        check(unsafe { sys::cuStreamBeginCapture_v2(stream.raw(), mode) }, "beginning a capture")
    }

    fn is_capturing(&self, stream: &CudaStream) -> Result<bool> {
        self.context().bind()?;
        let mut status = Status::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream is alive; the out-parameter is a valid pointer.
        let code = unsafe { sys::cuStreamIsCapturing(stream.raw(), &mut status) };
        check(code, "querying whether a stream is captured")?;
        Ok(status != Status::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    fn end_capture(&self, stream: &CudaStream) -> Result<RawGraph> {
        self.context().bind()?;
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream is alive; the out-parameter is a valid pointer.
        check(unsafe { sys::cuStreamEndCapture(stream.raw(), &mut graph) }, "ending a capture")?;
        if graph.is_null() {
            return Err(Error::new(ErrorKind::CaptureViolation, "the capture was invalidated and returned no graph"));
        }
        Ok(RawGraph(graph as u64))
    }

    unsafe fn graph_nodes(&self, raw: RawGraph) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the caller promises that the graph is not destroyed. Without a node buffer,
        // only the number of nodes is written.
        let code = unsafe { sys::cuGraphGetNodes(graph(raw), std::ptr::null_mut(), &mut count) };
        check(code, "counting a graph's nodes")?;
        Ok(count)
    }

    unsafe fn instantiate(&self, raw: RawGraph) -> Result<RawGraphExec> {
        self.context().bind()?;
        let mut exec = std::ptr::null_mut();
        // SAFETY: the caller promises that the graph is not destroyed; the out-parameter is a
        // valid pointer.
        check(unsafe { sys::cuGraphInstantiateWithFlags(&mut exec, graph(raw), 0) }, "instantiating a graph")?;
        Ok(RawGraphExec(exec as u64))
    }

    unsafe fn update_graph(&self, to: RawGraphExec, from: RawGraph) -> Result<bool> {
        self.context().bind()?;
        let mut info = sys::CUgraphExecUpdateResultInfo {
            result: Update::CU_GRAPH_EXEC_UPDATE_SUCCESS,
            errorNode: std::ptr::null_mut(),
            errorFromNode: std::ptr::null_mut(),
        };
        // SAFETY: the caller promises that neither is destroyed and `to` is not running; the
        // out-parameter is a valid pointer.
        match unsafe { sys::cuGraphExecUpdate_v2(exec(to), graph(from), &mut info) } {
            CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE => Ok(false),
            code => check(code, "updating a graph").map(|()| true),
        }
    }

    unsafe fn launch_graph(&self, stream: &CudaStream, raw: RawGraphExec) -> Result<()> {
        self.context().bind()?;
        // SAFETY: the caller promises that the graph is not destroyed and that the memory of its
        // nodes is allocated.
        check(unsafe { sys::cuGraphLaunch(exec(raw), stream.raw()) }, "launching a graph")
    }

    unsafe fn destroy_graph(&self, raw: RawGraph) {
        let destroyed = self.context().bind().and_then(|()| {
            // SAFETY: the caller promises that the graph is not destroyed yet.
            check(unsafe { sys::cuGraphDestroy(graph(raw)) }, "destroying a graph")
        });
        self.context().deferred().keep(destroyed);
    }

    unsafe fn destroy_graph_exec(&self, raw: RawGraphExec) {
        let destroyed = self.context().bind().and_then(|()| {
            // SAFETY: the caller promises that the graph is not destroyed yet; the driver keeps
            // what a running launch needs until it ends.
            check(unsafe { sys::cuGraphExecDestroy(exec(raw)) }, "destroying an executable graph")
        });
        self.context().deferred().keep(destroyed);
    }
}

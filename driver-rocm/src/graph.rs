//! Graphs: captures streams and launches the captured graphs.

use crate::error::{check, forget};
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use hip_sys::{
    hipErrorGraphExecUpdateFailure, hipGraph_t, hipGraphExec_t, hipGraphExecUpdateSuccess, hipStreamCaptureModeRelaxed,
    hipStreamCaptureStatusNone,
};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{GraphRuntime, RawGraph, RawGraphExec};
use std::ptr::null_mut;

fn graph(raw: RawGraph) -> hipGraph_t {
    raw.0 as hipGraph_t
}

fn exec(raw: RawGraphExec) -> hipGraphExec_t {
    raw.0 as hipGraphExec_t
}

impl GraphRuntime for RocmRuntime {
    fn begin_capture(&self, stream: &RocmStream) -> Result<()> {
        self.context().bind()?;
        let mode = hipStreamCaptureModeRelaxed;
        // SAFETY: the stream is alive.
        check(unsafe { (self.hip().hipStreamBeginCapture)(stream.raw(), mode) }, "beginning a capture")
    }

    fn is_capturing(&self, stream: &RocmStream) -> Result<bool> {
        self.context().bind()?;
        let mut status = hipStreamCaptureStatusNone;
        // SAFETY: the stream is alive; the out-parameter is a valid pointer.
        let code = unsafe { (self.hip().hipStreamIsCapturing)(stream.raw(), &mut status) };
        check(code, "querying whether a stream is captured")?;
        Ok(status != hipStreamCaptureStatusNone)
    }

    fn end_capture(&self, stream: &RocmStream) -> Result<RawGraph> {
        self.context().bind()?;
        let mut graph = null_mut();
        // SAFETY: the stream is alive; the out-parameter is a valid pointer.
        check(unsafe { (self.hip().hipStreamEndCapture)(stream.raw(), &mut graph) }, "ending a capture")?;
        if graph.is_null() {
            return Err(Error::new(ErrorKind::CaptureViolation, "the capture was invalidated and returned no graph"));
        }
        Ok(RawGraph(graph as u64))
    }

    unsafe fn graph_nodes(&self, raw: RawGraph) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the caller promises that the graph is not destroyed. Without a node buffer,
        // only the number of nodes is written.
        let code = unsafe { (self.hip().hipGraphGetNodes)(graph(raw), null_mut(), &mut count) };
        check(code, "counting a graph's nodes")?;
        Ok(count)
    }

    unsafe fn instantiate(&self, raw: RawGraph) -> Result<RawGraphExec> {
        self.context().bind()?;
        let (instantiate, mut exec) = (self.hip().hipGraphInstantiate, null_mut());
        // SAFETY: the caller promises that the graph is not destroyed; the out-parameter is a
        // valid pointer, and no log is requested.
        check(unsafe { instantiate(&mut exec, graph(raw), null_mut(), null_mut(), 0) }, "instantiating a graph")?;
        Ok(RawGraphExec(exec as u64))
    }

    unsafe fn update_graph(&self, to: RawGraphExec, from: RawGraph) -> Result<bool> {
        self.context().bind()?;
        let (mut node, mut outcome) = (null_mut(), hipGraphExecUpdateSuccess);
        // SAFETY: the caller promises that neither is destroyed and `to` is not running; the
        // out-parameters are valid pointers.
        let code = unsafe { (self.hip().hipGraphExecUpdate)(exec(to), graph(from), &mut node, &mut outcome) };
        if code == hipErrorGraphExecUpdateFailure || outcome != hipGraphExecUpdateSuccess {
            forget(self.hip());
            return Ok(false);
        }
        check(code, "updating a graph").map(|()| true)
    }

    unsafe fn launch_graph(&self, stream: &RocmStream, raw: RawGraphExec) -> Result<()> {
        self.context().bind()?;
        // SAFETY: the caller promises that the graph is not destroyed and that the memory of its
        // nodes is allocated.
        check(unsafe { (self.hip().hipGraphLaunch)(exec(raw), stream.raw()) }, "launching a graph")
    }

    unsafe fn destroy_graph(&self, raw: RawGraph) {
        let destroyed = self.context().bind().and_then(|()| {
            // SAFETY: the caller promises that the graph is not destroyed yet.
            check(unsafe { (self.hip().hipGraphDestroy)(graph(raw)) }, "destroying a graph")
        });
        self.context().deferred().keep(destroyed);
    }

    unsafe fn destroy_graph_exec(&self, raw: RawGraphExec) {
        let destroyed = self.context().bind().and_then(|()| {
            // SAFETY: the caller promises that the graph is not destroyed yet; HIP keeps what a
            // running launch needs until it ends.
            check(unsafe { (self.hip().hipGraphExecDestroy)(exec(raw)) }, "destroying an executable graph")
        });
        self.context().deferred().keep(destroyed);
    }
}

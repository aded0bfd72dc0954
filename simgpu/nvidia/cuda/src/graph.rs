//! Graphs: creation, instantiation, launch and update.

use crate::Code;
use crate::error::{Result, bail, call, put, put_if_wanted, read};
use crate::process::process;
use isobit_simgpu_core::queue::Graph;
use isobit_simgpu_runtime_common::graph::ExecUpdate;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_char, c_int, c_uint, c_ulonglong};

/// Creates an empty graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphCreate(to: *mut Handle, flags: c_uint) -> Code {
    call("cuGraphCreate", || {
        if to.is_null() || flags != 0 {
            bail!(INVALID_VALUE, "the pointer to the graph is null, or the flags are not 0: {flags:#x}");
        }
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, process()?.graphs.insert(Graph::default()), "the graph") }
    })
}

/// Destroys a graph and the handles of its nodes.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphDestroy(handle: Handle) -> Code {
    call("cuGraphDestroy", || process()?.graphs.destroy(handle))
}

/// Copies a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphClone(to: *mut Handle, handle: Handle) -> Code {
    call("cuGraphClone", || {
        let graphs = &process()?.graphs;
        let copy = graphs.graph::<Code>(handle)?.with(|graph| graph.clone());
        if to.is_null() {
            bail!(INVALID_VALUE, "the pointer to the graph is null");
        }
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, graphs.insert(copy), "the graph") }
    })
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`, `UPLOAD`, `USE_NODE_PRIORITY`. They have no
/// effect here: there are no allocation nodes, no uploads and no priorities.
const FLAGS: c_ulonglong = 1 | UPLOAD | 8;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD`, which needs a stream for the upload.
const UPLOAD: c_ulonglong = 2;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
const DEVICE_LAUNCH: c_ulonglong = 4;

fn instantiate(to: *mut Handle, handle: Handle, flags: c_ulonglong) -> Result {
    let process = process()?;
    if flags == DEVICE_LAUNCH {
        bail!(NOT_SUPPORTED, "graph launches from kernels are not supported");
    }
    if to.is_null() || flags & !FLAGS != 0 {
        bail!(INVALID_VALUE, "the pointer to the executable graph is null, or the flags are unknown: {flags:#x}");
    }
    process.machine.queues.refuse_in_capture()?;
    // SAFETY: not null, and the caller of CUDA promises room for a handle.
    unsafe { put(to, process.graphs.instantiate(handle)?, "the executable graph") }
}

/// Instantiates a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiateWithFlags(to: *mut Handle, graph: Handle, flags: c_ulonglong) -> Code {
    call("cuGraphInstantiateWithFlags", || {
        if flags & UPLOAD != 0 {
            bail!(INVALID_VALUE, "there is no stream for the upload of the graph");
        }
        instantiate(to, graph, flags)
    })
}

/// Instantiates a graph; the log is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiate_v2(
    to: *mut Handle,
    graph: Handle,
    error_node: *mut Handle,
    log: *mut c_char,
    log_bytes: usize,
) -> Code {
    call("cuGraphInstantiate_v2", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(error_node, std::ptr::null_mut());
            put_if_wanted(if log_bytes > 0 { log } else { std::ptr::null_mut() }, 0);
        }
        instantiate(to, graph, 0)
    })
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct InstantiateParams {
    /// Flags.
    pub flags: c_ulonglong,
    /// The stream for the upload.
    pub upload: Handle,
    /// The node that caused the error.
    pub error_node: Handle,
    /// `CUgraphInstantiateResult`.
    pub result: c_int,
}

/// Instantiates a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiateWithParams(
    to: *mut Handle,
    graph: Handle,
    params: *mut InstantiateParams,
) -> Code {
    /// `CUDA_GRAPH_INSTANTIATE_ERROR`.
    const ERROR: c_int = 1;
    call("cuGraphInstantiateWithParams", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let given = unsafe { read(params, "the parameters") }?;
        let made = instantiate(to, graph, given.flags);
        let result = if made.is_ok() { 0 } else { ERROR };
        // SAFETY: as above.
        unsafe { put(params, InstantiateParams { error_node: std::ptr::null_mut(), result, ..given }, "the result") }?;
        made
    })
}

/// Launches a graph on a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphLaunch(handle: Handle, stream: Handle) -> Code {
    call("cuGraphLaunch", || {
        let process = process()?;
        let exec = process.graphs.exec::<Code>(handle)?;
        Ok(process.machine.queues.launch_graph(&exec, process.stream(stream)?.id)?)
    })
}

/// Uploads a graph to the device, which does nothing here.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphUpload(handle: Handle, stream: Handle) -> Code {
    call("cuGraphUpload", || {
        let process = process()?;
        process.graphs.exec::<Code>(handle)?;
        process.stream(stream).map(drop)
    })
}

/// Destroys an executable graph. Pending launches continue.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecDestroy(handle: Handle) -> Code {
    call("cuGraphExecDestroy", || {
        let process = process()?;
        process.machine.queues.refuse_in_capture()?;
        process.graphs.destroy_exec(handle)
    })
}

/// `CUgraphExecUpdateResultInfo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct UpdateResult {
    /// `CUgraphExecUpdateResult`.
    pub result: c_int,
    /// The node that does not match.
    pub node: Handle,
    /// The source of the edge that does not match.
    pub from: Handle,
}

/// Updates an executable graph with the work of another graph's nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecUpdate_v2(handle: Handle, graph: Handle, to: *mut UpdateResult) -> Code {
    call("cuGraphExecUpdate_v2", || {
        let (outcome, node) = process()?.graphs.update::<Code>(handle, graph)?;
        let result = UpdateResult { result: outcome as c_int, node, from: std::ptr::null_mut() };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, result, "the result") }?;
        if outcome != ExecUpdate::Success {
            bail!(GRAPH_EXEC_UPDATE_FAILURE, "the graph has other nodes or edges");
        }
        Ok(())
    })
}

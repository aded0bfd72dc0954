//! Graphs: creation, instantiation and launch.

use crate::Code;
use crate::error::{Result, bail, call, put, put_if_wanted};
use crate::process::process;
use isobit_simgpu_core::queue::Graph;
use isobit_simgpu_runtime_common::graph::ExecUpdate;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_char, c_uint, c_ulonglong};

/// Creates a graph without nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphCreate(to: *mut Handle, flags: c_uint) -> Code {
    call("hipGraphCreate", || {
        if to.is_null() || flags != 0 {
            bail!(INVALID_VALUE, "the pointer to the graph is null, or the flags are not 0: {flags:#x}");
        }
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, process()?.graphs.insert(Graph::default()), "the graph") }
    })
}

/// Destroys a graph and the handles of its nodes.
#[unsafe(no_mangle)]
pub extern "C" fn hipGraphDestroy(handle: Handle) -> Code {
    call("hipGraphDestroy", || process()?.graphs.destroy(handle))
}

/// Instantiates a graph, so that it can be launched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphInstantiate(
    to: *mut Handle,
    graph: Handle,
    error_node: *mut Handle,
    log: *mut c_char,
    log_bytes: usize,
) -> Code {
    call("hipGraphInstantiate", || {
        // SAFETY: as the caller promises; writes an empty log.
        unsafe {
            put_if_wanted(error_node, std::ptr::null_mut());
            put_if_wanted(if log_bytes > 0 { log } else { std::ptr::null_mut() }, 0);
        }
        instantiate(to, graph)
    })
}

/// As [`hipGraphInstantiate`], with flags. Only `hipGraphInstantiateFlagAutoFreeOnLaunch` is
/// supported; it has no effect, because there are no nodes that allocate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphInstantiateWithFlags(to: *mut Handle, graph: Handle, flags: c_ulonglong) -> Code {
    call("hipGraphInstantiateWithFlags", || {
        if flags > 1 {
            bail!(INVALID_VALUE, "unknown or unsupported flags {flags:#x}");
        }
        instantiate(to, graph)
    })
}

fn instantiate(to: *mut Handle, handle: Handle) -> Result {
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to the executable graph is null");
    }
    // SAFETY: the pointer is not null, and the caller of HIP promises that it has room for a
    // handle.
    unsafe { put(to, process()?.graphs.instantiate(handle)?, "the executable graph") }
}

/// Updates the nodes of an executable graph from another graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphExecUpdate(
    handle: Handle,
    graph: Handle,
    error_node: *mut Handle,
    result: *mut c_uint,
) -> Code {
    call("hipGraphExecUpdate", || {
        if error_node.is_null() || result.is_null() {
            bail!(INVALID_VALUE, "the pointer to the node or to the result is null");
        }
        let (outcome, node) = process()?.graphs.update::<Code>(handle, graph)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put(error_node, node, "the node")?;
            put(result, outcome as c_uint, "the result")?;
        }
        if outcome != ExecUpdate::Success {
            bail!(GRAPH_EXEC_UPDATE_FAILURE, "the graph has other nodes or edges");
        }
        Ok(())
    })
}

/// Launches a graph on a stream.
#[unsafe(no_mangle)]
pub extern "C" fn hipGraphLaunch(handle: Handle, stream: Handle) -> Code {
    call("hipGraphLaunch", || {
        let process = process()?;
        let exec = process.graphs.exec::<Code>(handle)?;
        Ok(process.machine.queues.launch_graph(&exec, process.stream(stream)?)?)
    })
}

/// Destroys an executable graph. Pending launches still run.
#[unsafe(no_mangle)]
pub extern "C" fn hipGraphExecDestroy(handle: Handle) -> Code {
    call("hipGraphExecDestroy", || process()?.graphs.destroy_exec(handle))
}

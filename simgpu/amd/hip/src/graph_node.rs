//! Graph nodes: adding and querying them, and changing kernel parameters.

use crate::Code;
use crate::copy_kinds::of_bytes;
use crate::error::{Result, bail, call, put, read};
use crate::launch::{Dim3, Prepared};
use crate::process::{Process, process};
use crate::registered;
use isobit_simgpu_core::queue::Work;
use isobit_simgpu_runtime_common::graph::list;
use isobit_simgpu_runtime_common::handles::Handle;
use isobit_simgpu_runtime_common::host::{HostFn, work as host_work};
use isobit_simgpu_runtime_common::payload::{Labelled, Payload};
use isobit_simgpu_runtime_common::set::Set;
use std::ffi::{c_int, c_uint, c_void};

/// `hipKernelNodeParams`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct KernelNodeParams {
    /// Threads per block.
    pub block: Dim3,
    /// The arguments as `HIP_LAUNCH_PARAM_*`, or null.
    pub extra: *mut *mut c_void,
    /// A host function that is registered for a kernel, or a kernel's handle.
    pub func: *mut c_void,
    /// Blocks in the grid.
    pub grid: Dim3,
    /// A pointer to each argument, or null.
    pub params: *mut *mut c_void,
    /// Dynamic shared memory in bytes.
    pub shared: c_uint,
}

/// `hipHostNodeParams`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct HostNodeParams {
    /// The function.
    pub func: Option<HostFn>,
    /// Its argument.
    pub data: *mut c_void,
}

/// `hipMemsetParams`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct MemsetParams {
    /// The address of the first byte.
    pub to: *mut c_void,
    /// The size of an element in bytes: 1, 2 or 4.
    pub element: c_uint,
    /// The number of rows.
    pub height: usize,
    /// The distance from one row to the next in bytes.
    pub pitch: usize,
    /// The value that elements are set to.
    pub value: c_uint,
    /// The number of elements per row.
    pub width: usize,
}

const PARAMS: &str = "the parameters";

/// # Safety
/// As HIP requires for `hipKernelNodeParams`: the arguments point to values of the kernel's
/// parameters.
unsafe fn kernel_work(process: &'static Process, params: *const KernelNodeParams) -> Result<Work> {
    // SAFETY: the caller promises what HIP requires for `hipKernelNodeParams`: the arguments point
    // to values of the kernel's parameters.
    let params = unsafe { read(params, PARAMS) }?;
    let function = match process.functions.get(params.func) {
        Some(function) => function,
        None => registered::function(process, params.func)?,
    };
    process.check(function.device)?;
    // SAFETY: the caller promises what HIP requires for `hipKernelNodeParams`: the arguments point
    // to values of the kernel's parameters.
    let prepared = unsafe {
        let shared = params.shared as usize;
        Prepared::new(function, params.func, params.grid, params.block, shared, params.params, params.extra)
    }?;
    Ok(prepared.work(process))
}

/// # Safety
/// `to` is null or has room for a handle; `after` is null or points to `count` handles.
unsafe fn add(to: *mut Handle, graph: Handle, after: *const Handle, count: usize, work: Work) -> Result {
    // SAFETY: the caller promises that `to` is null or has room for a handle; `after` is null or
    // points to `count` handles.
    unsafe { process()?.graphs.add(to, graph, after, count, work) }
}

/// Adds a kernel node to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphAddKernelNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const KernelNodeParams,
) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipGraphAddKernelNode", || unsafe { add(to, graph, after, count, kernel_work(process()?, params)?) })
}

/// Adds an empty node to a graph, which does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphAddEmptyNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
) -> Code {
    let work = Work::nothing().labelled(Payload::Empty);
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipGraphAddEmptyNode", || unsafe { add(to, graph, after, count, work) })
}

/// Adds a call of a host function to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphAddHostNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const HostNodeParams,
) -> Code {
    call("hipGraphAddHostNode", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let params = unsafe { read(params, PARAMS) }?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { add(to, graph, after, count, host_work(params.func, params.data)?) }
    })
}

/// Adds a copy of bytes to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphAddMemcpyNode1D(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    dst: *mut c_void,
    src: *const c_void,
    bytes: usize,
    kind: c_int,
) -> Code {
    call("hipGraphAddMemcpyNode1D", || {
        let process = process()?;
        let copy = of_bytes(dst as u64, src as u64, bytes, kind)?;
        copy.check::<Code>(&process.machine)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { add(to, graph, after, count, copy.work(&process.machine)) }
    })
}

/// Adds a memset to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphAddMemsetNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const MemsetParams,
) -> Code {
    call("hipGraphAddMemsetNode", || {
        let process = process()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let params = unsafe { read(params, PARAMS) }?;
        let MemsetParams { to: first, element, height, pitch, value, width } = params;
        let set = Set::of_rows::<Code>(first as u64, pitch, value, element as usize, width, height)?;
        set.check::<Code>(&process.machine)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { add(to, graph, after, count, set.work(&process.machine)) }
    })
}

/// Lists the nodes of a graph; if `nodes` is null, only counts them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipGraphGetNodes", || unsafe { list(nodes, count, &process()?.graphs.nodes::<Code>(graph, false)?) })
}

/// Lists the nodes of a graph that have no dependencies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipGraphGetRootNodes", || unsafe { list(nodes, count, &process()?.graphs.nodes::<Code>(graph, true)?) })
}

/// Lists the dependencies of a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphNodeGetDependencies(handle: Handle, nodes: *mut Handle, count: *mut usize) -> Code {
    call("hipGraphNodeGetDependencies", || {
        let graphs = &process()?.graphs;
        let node = graphs.node::<Code>(handle)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { list(nodes, count, &graphs.node_handles(&node.graph, node.after())) }
    })
}

/// Writes the type of a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphNodeGetType(handle: Handle, to: *mut c_int) -> Code {
    call("hipGraphNodeGetType", || {
        let kind = process()?.graphs.node::<Code>(handle)?.payload::<Code>()?.number();
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, kind, "the kind") }
    })
}

/// Writes the parameters of a kernel node. The node owns the arguments; they stay valid until it is
/// changed or destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphKernelNodeGetParams(handle: Handle, to: *mut KernelNodeParams) -> Code {
    call("hipGraphKernelNodeGetParams", || {
        let payload = process()?.graphs.node::<Code>(handle)?.payload::<Code>()?;
        let Some(prepared) = payload.kernel::<Prepared>() else { bail!(INVALID_VALUE, "the node is no kernel") };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, prepared.params(), "the parameters") }
    })
}

/// Replaces the parameters of a kernel node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphKernelNodeSetParams(handle: Handle, params: *const KernelNodeParams) -> Code {
    call("hipGraphKernelNodeSetParams", || {
        let process = process()?;
        let node = process.graphs.node::<Code>(handle)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        node.replace(unsafe { kernel_work(process, params) }?)
    })
}

/// Replaces the parameters of a kernel node in an executable graph, starting with the next launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphExecKernelNodeSetParams(
    handle: Handle,
    node_handle: Handle,
    params: *const KernelNodeParams,
) -> Code {
    call("hipGraphExecKernelNodeSetParams", || {
        let process = process()?;
        let (exec, node) = (process.graphs.exec::<Code>(handle)?, process.graphs.node::<Code>(node_handle)?);
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        node.replace_in(&exec, unsafe { kernel_work(process, params) }?)
    })
}

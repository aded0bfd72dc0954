//! Nodes of graphs: adding them, asking for them, changing kernels.

use crate::Code;
use crate::copy_kinds::Copy as CopyOf;
use crate::error::{Error, Result, bail, call, put};
use crate::graph::{NodeHandle, add, exec, graph};
use crate::handles::Handle;
use crate::host::{HostFn, work as host_work};
use crate::launch::{Dim3, Prepared};
use crate::process::{Process, process};
use crate::registered;
use crate::set::Set;
use isobit_simgpu_core::queue::Work;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

/// `hipKernelNodeParams`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct KernelNodeParams {
    /// Threads of a block.
    pub block: Dim3,
    /// Arguments as `HIP_LAUNCH_PARAM_*`, or null.
    pub extra: *mut *mut c_void,
    /// A host function that stands for a kernel, or a kernel's handle.
    pub func: *mut c_void,
    /// Blocks.
    pub grid: Dim3,
    /// A pointer to each argument, or null.
    pub params: *mut *mut c_void,
    /// Bytes of dynamic shared memory.
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
    /// The first byte.
    pub to: *mut c_void,
    /// Bytes of an element: 1, 2 or 4.
    pub element: c_uint,
    /// Rows.
    pub height: usize,
    /// Bytes from a row to the next.
    pub pitch: usize,
    /// What elements are set to.
    pub value: c_uint,
    /// Elements of a row.
    pub width: usize,
}

/// What kind of node work is, by HIP 6's `hipGraphNodeType`. Captured nodes carry it as their payload too.
#[derive(Debug, Clone)]
pub(crate) enum Payload {
    Kernel(Arc<Prepared>),
    Copy,
    Set,
    Host,
    Empty,
}

impl Payload {
    fn number(&self) -> c_int {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy => 1,
            Self::Set => 2,
            Self::Host => 3,
            Self::Empty => 5,
        }
    }

    fn of(work: &Work) -> Option<&Self> {
        work.payload.as_ref().and_then(|payload| payload.downcast_ref())
    }
}

/// Work that knows what kind of node it is.
pub(crate) trait Labelled {
    fn labelled(self, payload: Payload) -> Self;
}

impl Labelled for Work {
    fn labelled(self, payload: Payload) -> Self {
        self.with_payload(Arc::new(payload))
    }
}

/// # Safety
/// `from` is null or may be read.
unsafe fn read<T: Copy>(from: *const T) -> Result<T> {
    if from.is_null() {
        bail!(INVALID_VALUE, "the pointer to the parameters is null");
    }
    // SAFETY: not null, and the caller's promise.
    Ok(unsafe { from.read_unaligned() })
}

/// # Safety
/// As HIP asks for `hipKernelNodeParams`: the arguments point to values of the kernel's parameters.
unsafe fn kernel_work(process: &'static Process, params: *const KernelNodeParams) -> Result<Work> {
    // SAFETY: the caller's promise.
    let params = unsafe { read(params) }?;
    let function = match process.functions.get(params.func) {
        Some(function) => function,
        None => registered::function(process, params.func)?,
    };
    // SAFETY: the caller's promise.
    let prepared = unsafe {
        let shared = params.shared as usize;
        Prepared::new(function, params.func, params.grid, params.block, shared, params.params, params.extra)
    }?;
    Ok(prepared.work(process))
}

/// Adds a kernel to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphAddKernelNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const KernelNodeParams,
) -> Code {
    // SAFETY: the caller's promise.
    call("hipGraphAddKernelNode", || unsafe { add(to, graph, after, count, kernel_work(process()?, params)?) })
}

/// Adds a node that does nothing to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphAddEmptyNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
) -> Code {
    let work = Work::nothing().labelled(Payload::Empty);
    // SAFETY: the caller's promise.
    call("hipGraphAddEmptyNode", || unsafe { add(to, graph, after, count, work) })
}

/// Adds a function of the host to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphAddHostNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const HostNodeParams,
) -> Code {
    call("hipGraphAddHostNode", || {
        // SAFETY: the caller's promise.
        let params = unsafe { read(params) }?;
        // SAFETY: the caller's promise.
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
        let copy = CopyOf::of_bytes(dst as u64, src as u64, bytes);
        copy.check(process, kind)?;
        // SAFETY: the caller's promise.
        unsafe { add(to, graph, after, count, copy.work(process)) }
    })
}

/// Adds a set of memory to a graph.
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
        // SAFETY: the caller's promise.
        let params = unsafe { read(params) }?;
        let size = params.element as usize;
        if !matches!(size, 1 | 2 | 4) {
            bail!(INVALID_VALUE, "elements of {size} bytes; they have 1, 2 or 4");
        }
        let Some(width) = params.width.checked_mul(size) else { bail!(INVALID_VALUE, "{} elements", params.width) };
        let pitch = if params.height > 1 { params.pitch } else { width };
        if pitch < width || pitch.checked_mul(params.height).is_none() {
            bail!(INVALID_VALUE, "{} rows of {width} bytes, {pitch} bytes apart", params.height);
        }
        let set = Set { to: params.to as u64, value: params.value, size, width, rows: params.height, pitch };
        set.check(process)?;
        // SAFETY: the caller's promise.
        unsafe { add(to, graph, after, count, set.work(process)) }
    })
}

fn node(process: &Process, handle: Handle) -> Result<Arc<NodeHandle>> {
    let unknown = || Error::new(Code::INVALID_VALUE, format!("{handle:p} is no node of a graph"));
    process.nodes.get(handle).ok_or_else(unknown)
}

/// The nodes of a graph; with a null `nodes`, how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphGetNodes(handle: Handle, nodes: *mut Handle, count: *mut usize) -> Code {
    call("hipGraphGetNodes", || {
        let process = process()?;
        let graph = graph(process, handle)?;
        let all: Vec<usize> = (0..graph.with(|graph| graph.len())).collect();
        // SAFETY: the caller's promise.
        unsafe { list(nodes, count, all.into_iter().map(|n| graph.node(process, n)).collect()) }
    })
}

/// The nodes of a graph that come after none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphGetRootNodes(handle: Handle, nodes: *mut Handle, count: *mut usize) -> Code {
    call("hipGraphGetRootNodes", || {
        let process = process()?;
        let graph = graph(process, handle)?;
        let is_root = |graph: &isobit_simgpu_core::queue::Graph, n: usize| graph.after(n).is_some_and(<[_]>::is_empty);
        let roots: Vec<usize> = graph.with(|graph| (0..graph.len()).filter(|&n| is_root(graph, n)).collect());
        // SAFETY: the caller's promise.
        unsafe { list(nodes, count, roots.into_iter().map(|n| graph.node(process, n)).collect()) }
    })
}

/// The nodes that a node comes after.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphNodeGetDependencies(handle: Handle, nodes: *mut Handle, count: *mut usize) -> Code {
    call("hipGraphNodeGetDependencies", || {
        let process = process()?;
        let node = node(process, handle)?;
        let after = node.graph.with(|graph| graph.after(node.node).unwrap_or_default().to_vec());
        // SAFETY: the caller's promise.
        unsafe { list(nodes, count, after.into_iter().map(|n| node.graph.node(process, n)).collect()) }
    })
}

/// Writes as many handles as there is room for, nulls behind them, and how many there are.
///
/// # Safety
/// `count` is null or holds how many handles `to` has room for, unless that is null.
unsafe fn list(to: *mut Handle, count: *mut usize, handles: Vec<Handle>) -> Result {
    // SAFETY: the caller's promise.
    let room = unsafe { read(count) }?;
    if !to.is_null() {
        for index in 0..room {
            let handle = handles.get(index).copied().unwrap_or(std::ptr::null_mut());
            // SAFETY: below the room that the caller gives.
            unsafe { to.add(index).write_unaligned(handle) };
        }
    }
    let written = if to.is_null() { handles.len() } else { handles.len().min(room) };
    // SAFETY: the caller's promise.
    unsafe { put(count, written, "the number of nodes") }
}

/// What kind of node it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphNodeGetType(handle: Handle, to: *mut c_int) -> Code {
    call("hipGraphNodeGetType", || {
        let node = node(process()?, handle)?;
        let kind = node.graph.with(|graph| graph.work(node.node).and_then(Payload::of).map(Payload::number));
        let Some(kind) = kind else { bail!(INVALID_VALUE, "a node of no kind that HIP has") };
        // SAFETY: the caller's promise.
        unsafe { put(to, kind, "the kind") }
    })
}

/// What a kernel's node was made with. The arguments are the node's own, and stay until it is changed or destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphKernelNodeGetParams(handle: Handle, to: *mut KernelNodeParams) -> Code {
    call("hipGraphKernelNodeGetParams", || {
        let node = node(process()?, handle)?;
        let prepared = node.graph.with(|graph| match graph.work(node.node).and_then(Payload::of) {
            Some(Payload::Kernel(prepared)) => Ok(prepared.clone()),
            _ => bail!(INVALID_VALUE, "the node is no kernel"),
        })?;
        // SAFETY: the caller's promise.
        unsafe { put(to, prepared.params(), "the parameters") }
    })
}

/// Gives a kernel's node other parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphKernelNodeSetParams(handle: Handle, params: *const KernelNodeParams) -> Code {
    call("hipGraphKernelNodeSetParams", || {
        let process = process()?;
        let node = node(process, handle)?;
        // SAFETY: the caller's promise.
        let work = unsafe { kernel_work(process, params) }?;
        node.graph.with(|graph| {
            replace_kernel(graph.work(node.node))?;
            graph.set_work(node.node, work).map_err(|error| Error::new(Code::INVALID_VALUE, error.to_string()))
        })
    })
}

/// Gives a kernel's node other parameters in an executable graph, from the next launch on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphExecKernelNodeSetParams(
    handle: Handle,
    node_handle: Handle,
    params: *const KernelNodeParams,
) -> Code {
    call("hipGraphExecKernelNodeSetParams", || {
        let process = process()?;
        let (exec, node) = (exec(process, handle)?, node(process, node_handle)?);
        // SAFETY: the caller's promise.
        let work = unsafe { kernel_work(process, params) }?;
        replace_kernel(exec.graph().work(node.node))?;
        exec.set_work(node.node, work).map_err(|error| Error::new(Code::INVALID_VALUE, error.to_string()))
    })
}

/// Refuses to make something else a kernel.
fn replace_kernel(old: Option<&Work>) -> Result {
    match old.and_then(Payload::of) {
        Some(Payload::Kernel(_)) => Ok(()),
        _ => bail!(INVALID_VALUE, "the node is no kernel of the graph"),
    }
}

//! Nodes of graphs: adding them.

use crate::Code;
use crate::copy_shapes::Memcpy3D;
use crate::error::{Result, call, read};
use crate::launch::{Prepared, Shape};
use crate::process::{Process, process};
use isobit_simgpu_core::queue::Work;
use isobit_simgpu_runtime_common::handles::Handle;
use isobit_simgpu_runtime_common::host::{HostFn, work as host_work};
use isobit_simgpu_runtime_common::payload::{Labelled, Payload};
use isobit_simgpu_runtime_common::set::Set;
use std::ffi::{c_uint, c_void};

/// `CUDA_KERNEL_NODE_PARAMS` up to CUDA 11.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct KernelNodeParams {
    /// The kernel.
    pub func: Handle,
    /// Blocks.
    pub grid: [c_uint; 3],
    /// Threads of a block.
    pub block: [c_uint; 3],
    /// Bytes of dynamic shared memory.
    pub shared: c_uint,
    /// A pointer to each argument, or null.
    pub params: *mut *mut c_void,
    /// Arguments as `CU_LAUNCH_PARAM_*`, or null.
    pub extra: *mut *mut c_void,
}

/// `CUDA_KERNEL_NODE_PARAMS` since CUDA 12.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct KernelNodeParamsV2 {
    /// What it was before.
    pub launch: KernelNodeParams,
    /// A kernel of a library, where `func` is null.
    pub kernel: Handle,
    /// The context in which that is launched; null is the current one.
    pub context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct MemsetNodeParams {
    /// The first byte.
    pub to: u64,
    /// Bytes from a row to the next.
    pub pitch: usize,
    /// What elements are set to.
    pub value: c_uint,
    /// Bytes of an element: 1, 2 or 4.
    pub element: c_uint,
    /// Elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct HostNodeParams {
    /// The function.
    pub func: Option<HostFn>,
    /// Its argument.
    pub data: *mut c_void,
}

/// # Safety
/// As CUDA asks for the parameters: the arguments point to values of the kernel's parameters.
pub(crate) unsafe fn kernel_work(process: &'static Process, params: *const KernelNodeParams) -> Result<Work> {
    // SAFETY: the caller promises what CUDA asks for the parameters: the arguments point to values
    // of the kernel's parameters.
    let params = unsafe { read(params, "the parameters") }?;
    let shape = Shape { grid: params.grid, block: params.block, shared: params.shared };
    // SAFETY: the caller promises what CUDA asks for the parameters: the arguments point to values
    // of the kernel's parameters.
    Ok(unsafe { Prepared::new(process, params.func, shape, params.params, params.extra) }?.work(process))
}

/// # Safety
/// As [`kernel_work`].
pub(crate) unsafe fn kernel_work_v2(process: &'static Process, params: *const KernelNodeParamsV2) -> Result<Work> {
    // SAFETY: the caller promises what `kernel_work` asks.
    let mut params = unsafe { read(params, "the parameters") }?;
    if params.launch.func.is_null() {
        let context = crate::context::slot(process, params.context)?.context()?;
        params.launch.func = crate::library::function_in(process, params.kernel, &context)?;
    }
    // SAFETY: the caller promises what `kernel_work` asks.
    unsafe { kernel_work(process, &params.launch) }
}

/// # Safety
/// `params` is null or may be read.
pub(crate) unsafe fn copy_work(process: &'static Process, params: *const Memcpy3D) -> Result<Work> {
    // SAFETY: the caller promises that `params` is null or may be read.
    let copy = unsafe { read(params, "the parameters") }?.copy()?;
    copy.check::<Code>(&process.machine)?;
    Ok(copy.work(&process.machine))
}

/// # Safety
/// `params` is null or may be read.
pub(crate) unsafe fn set_work(process: &'static Process, params: *const MemsetNodeParams) -> Result<Work> {
    // SAFETY: the caller promises that `params` is null or may be read.
    let MemsetNodeParams { to, pitch, value, element, width, height } = unsafe { read(params, "the parameters") }?;
    let set = Set::of_rows::<Code>(to, pitch, value, element as usize, width, height)?;
    set.check::<Code>(&process.machine)?;
    Ok(set.work(&process.machine))
}

/// # Safety
/// `params` is null or may be read.
pub(crate) unsafe fn call_work(params: *const HostNodeParams) -> Result<Work> {
    // SAFETY: the caller promises that `params` is null or may be read.
    let params = unsafe { read(params, "the parameters") }?;
    host_work(params.func, params.data)
}

/// # Safety
/// `to` is null or has room for a handle; `after` is null or points to `count` handles.
unsafe fn add(to: *mut Handle, graph: Handle, after: *const Handle, count: usize, work: Work) -> Result {
    // SAFETY: the caller promises that `to` is null or has room for a handle; `after` is null or
    // points to `count` handles.
    unsafe { process()?.graphs.add(to, graph, after, count, work) }
}

/// Adds a kernel to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddKernelNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const KernelNodeParams,
) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphAddKernelNode", || unsafe { add(to, graph, after, count, kernel_work(process()?, params)?) })
}

/// Adds a kernel to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddKernelNode_v2(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const KernelNodeParamsV2,
) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphAddKernelNode_v2", || unsafe { add(to, graph, after, count, kernel_work_v2(process()?, params)?) })
}

/// Adds a copy to a graph. All contexts share the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddMemcpyNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const Memcpy3D,
    context: Handle,
) -> Code {
    call("cuGraphAddMemcpyNode", || {
        let process = process()?;
        crate::context::slot(process, context)?.context()?.check()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { add(to, graph, after, count, copy_work(process, params)?) }
    })
}

/// Adds a set of memory to a graph. All contexts share the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddMemsetNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const MemsetNodeParams,
    context: Handle,
) -> Code {
    call("cuGraphAddMemsetNode", || {
        let process = process()?;
        crate::context::slot(process, context)?.context()?.check()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { add(to, graph, after, count, set_work(process, params)?) }
    })
}

/// Adds a function of the host to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddHostNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    params: *const HostNodeParams,
) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphAddHostNode", || unsafe { add(to, graph, after, count, call_work(params)?) })
}

/// Adds a copy of another graph to a graph, as one node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddChildGraphNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    child: Handle,
) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphAddChildGraphNode", || unsafe {
        add(to, graph, after, count, process()?.graphs.child::<Code>(child)?)
    })
}

/// Adds a node that does nothing to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddEmptyNode(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
) -> Code {
    let work = Work::nothing().labelled(Payload::Empty);
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphAddEmptyNode", || unsafe { add(to, graph, after, count, work) })
}

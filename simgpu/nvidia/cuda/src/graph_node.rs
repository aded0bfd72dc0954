//! Adds nodes to graphs.

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
    /// Blocks in the grid.
    pub grid: [c_uint; 3],
    /// Threads per block.
    pub block: [c_uint; 3],
    /// Bytes of dynamic shared memory.
    pub shared: c_uint,
    /// Pointers to the arguments, or null.
    pub params: *mut *mut c_void,
    /// Arguments as `CU_LAUNCH_PARAM_*`, or null.
    pub extra: *mut *mut c_void,
}

/// `CUDA_KERNEL_NODE_PARAMS` since CUDA 12.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct KernelNodeParamsV2 {
    /// The fields of the older structure.
    pub launch: KernelNodeParams,
    /// A library kernel, used if `func` is null.
    pub kernel: Handle,
    /// The context in which the library kernel runs; null is the current context.
    pub context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct MemsetNodeParams {
    /// The first byte.
    pub to: u64,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// The value to set each element to.
    pub value: c_uint,
    /// Bytes per element: 1, 2 or 4.
    pub element: c_uint,
    /// Elements per row.
    pub width: usize,
    /// Number of rows.
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
/// CUDA's requirements for the parameters: the argument pointers point to values of the kernel's
/// parameters.
pub(crate) unsafe fn kernel_work(process: &'static Process, params: *const KernelNodeParams) -> Result<Work> {
    // SAFETY: the caller meets CUDA's requirements for the parameters: the argument pointers point
    // to values of the kernel's parameters.
    let params = unsafe { read(params, "the parameters") }?;
    let shape = Shape { grid: params.grid, block: params.block, shared: params.shared };
    // SAFETY: the caller meets CUDA's requirements for the parameters: the argument pointers point
    // to values of the kernel's parameters.
    Ok(unsafe { Prepared::new(process, params.func, shape, params.params, params.extra) }?.work(process))
}

/// # Safety
/// The requirements of [`kernel_work`].
pub(crate) unsafe fn kernel_work_v2(process: &'static Process, params: *const KernelNodeParamsV2) -> Result<Work> {
    // SAFETY: the caller meets the requirements of `kernel_work`.
    let mut params = unsafe { read(params, "the parameters") }?;
    if params.launch.func.is_null() {
        let context = crate::context::slot(process, params.context)?.context()?;
        params.launch.func = crate::library::function_in(process, params.kernel, &context)?;
    }
    // SAFETY: the caller meets the requirements of `kernel_work`.
    unsafe { kernel_work(process, &params.launch) }
}

/// # Safety
/// `params` is null or readable.
pub(crate) unsafe fn copy_work(process: &'static Process, params: *const Memcpy3D) -> Result<Work> {
    // SAFETY: the caller promises that `params` is null or readable.
    let copy = unsafe { read(params, "the parameters") }?.copy()?;
    copy.check::<Code>(&process.machine)?;
    Ok(copy.work(&process.machine))
}

/// # Safety
/// `params` is null or readable.
pub(crate) unsafe fn set_work(process: &'static Process, params: *const MemsetNodeParams) -> Result<Work> {
    // SAFETY: the caller promises that `params` is null or readable.
    let MemsetNodeParams { to, pitch, value, element, width, height } = unsafe { read(params, "the parameters") }?;
    let set = Set::of_rows::<Code>(to, pitch, value, element as usize, width, height)?;
    set.check::<Code>(&process.machine)?;
    Ok(set.work(&process.machine))
}

/// # Safety
/// `params` is null or readable.
pub(crate) unsafe fn call_work(params: *const HostNodeParams) -> Result<Work> {
    // SAFETY: the caller promises that `params` is null or readable.
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

/// Adds a kernel node to a graph.
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

/// Adds a kernel node to a graph.
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

/// Adds a copy node to a graph. All contexts share the memory.
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

/// Adds a memset node to a graph. All contexts share the memory.
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

/// Adds a host function node to a graph.
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

/// Adds a node that runs a copy of another graph.
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

/// Adds an empty node to a graph.
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

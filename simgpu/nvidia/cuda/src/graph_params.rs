//! Node parameters: reads them, and changes them in a graph or in an executable graph.

use crate::Code;
use crate::copy_shapes::Memcpy3D;
use crate::error::{Result, bail, call, put};
use crate::graph_node::{
    HostNodeParams, KernelNodeParams, KernelNodeParamsV2, MemsetNodeParams, call_work, copy_work, kernel_work,
    kernel_work_v2, set_work,
};
use crate::launch::Prepared;
use crate::process::process;
use isobit_simgpu_core::queue::Work;
use isobit_simgpu_runtime_common::handles::Handle;
use isobit_simgpu_runtime_common::payload::Payload;
use std::sync::Arc;

fn payload(node: Handle) -> Result<Payload> {
    process()?.graphs.node::<Code>(node)?.payload()
}

fn replace(node: Handle, work: Work) -> Result {
    process()?.graphs.node::<Code>(node)?.replace(work)
}

fn replace_in(exec: Handle, node: Handle, work: Work) -> Result {
    let graphs = &process()?.graphs;
    let exec = graphs.exec::<Code>(exec)?;
    graphs.node::<Code>(node)?.replace_in(&exec, work)
}

fn prepared(node: Handle) -> Result<Arc<Prepared>> {
    match payload(node)?.kernel::<Prepared>() {
        Some(prepared) => Ok(prepared),
        None => bail!(INVALID_VALUE, "the node is no kernel"),
    }
}

fn kernel_params(node: Handle) -> Result<KernelNodeParams> {
    let prepared = prepared(node)?;
    let shape = prepared.shape;
    Ok(KernelNodeParams {
        func: prepared.handle as Handle,
        grid: shape.grid,
        block: shape.block,
        shared: shape.shared,
        params: prepared.arguments.pointers(),
        extra: std::ptr::null_mut(),
    })
}

/// Returns the parameters of a kernel node. The argument buffers belong to the node and live until
/// it is changed or destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphKernelNodeGetParams(node: Handle, to: *mut KernelNodeParams) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphKernelNodeGetParams", || unsafe { put(to, kernel_params(node)?, "the parameters") })
}

/// Like [`cuGraphKernelNodeGetParams`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphKernelNodeGetParams_v2(node: Handle, to: *mut KernelNodeParamsV2) -> Code {
    call("cuGraphKernelNodeGetParams_v2", || {
        let (launch, null) = (kernel_params(node)?, std::ptr::null_mut());
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, KernelNodeParamsV2 { launch, kernel: null, context: null }, "the parameters") }
    })
}

/// Returns the parameters of a copy node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphMemcpyNodeGetParams(node: Handle, to: *mut Memcpy3D) -> Code {
    call("cuGraphMemcpyNodeGetParams", || {
        let Payload::Copy(copy) = payload(node)? else { bail!(INVALID_VALUE, "the node is not a copy node") };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, Memcpy3D::of(&copy), "the parameters") }
    })
}

/// Returns the parameters of a memset node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphMemsetNodeGetParams(node: Handle, to: *mut MemsetNodeParams) -> Code {
    call("cuGraphMemsetNodeGetParams", || {
        let Payload::Set(set) = payload(node)? else { bail!(INVALID_VALUE, "the node is not a memset node") };
        let params = MemsetNodeParams {
            to: set.to,
            pitch: set.pitch,
            value: set.value,
            element: set.size as u32,
            width: set.width / set.size,
            height: set.rows,
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, params, "the parameters") }
    })
}

/// Returns the parameters of a host function node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphHostNodeGetParams(node: Handle, to: *mut HostNodeParams) -> Code {
    call("cuGraphHostNodeGetParams", || {
        let Payload::Host(Some(call)) = payload(node)? else {
            bail!(INVALID_VALUE, "the node is not a host function node")
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, HostNodeParams { func: Some(call.func), data: call.data() }, "the parameters") }
    })
}

/// Returns the graph of a child graph node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphChildGraphNodeGetGraph(node: Handle, to: *mut Handle) -> Code {
    call("cuGraphChildGraphNodeGetGraph", || {
        let Payload::Child(graph) = payload(node)? else { bail!(INVALID_VALUE, "the node is not a child graph node") };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, process()?.graphs.insert(graph), "the graph") }
    })
}

/// Changes the parameters of a kernel node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphKernelNodeSetParams(node: Handle, params: *const KernelNodeParams) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphKernelNodeSetParams", || replace(node, unsafe { kernel_work(process()?, params) }?))
}

/// Changes the parameters of a kernel node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphKernelNodeSetParams_v2(node: Handle, params: *const KernelNodeParamsV2) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphKernelNodeSetParams_v2", || replace(node, unsafe { kernel_work_v2(process()?, params) }?))
}

/// Changes the parameters of a copy node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphMemcpyNodeSetParams(node: Handle, params: *const Memcpy3D) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphMemcpyNodeSetParams", || replace(node, unsafe { copy_work(process()?, params) }?))
}

/// Changes the parameters of a memset node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphMemsetNodeSetParams(node: Handle, params: *const MemsetNodeParams) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphMemsetNodeSetParams", || replace(node, unsafe { set_work(process()?, params) }?))
}

/// Changes the parameters of a host function node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphHostNodeSetParams(node: Handle, params: *const HostNodeParams) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphHostNodeSetParams", || replace(node, unsafe { call_work(params) }?))
}

/// Changes the parameters of a kernel node in an executable graph, from the next launch on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecKernelNodeSetParams(
    exec: Handle,
    node: Handle,
    params: *const KernelNodeParams,
) -> Code {
    call("cuGraphExecKernelNodeSetParams", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        replace_in(exec, node, unsafe { kernel_work(process()?, params) }?)
    })
}

/// Like [`cuGraphExecKernelNodeSetParams`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecKernelNodeSetParams_v2(
    exec: Handle,
    node: Handle,
    params: *const KernelNodeParamsV2,
) -> Code {
    call("cuGraphExecKernelNodeSetParams_v2", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        replace_in(exec, node, unsafe { kernel_work_v2(process()?, params) }?)
    })
}

/// Changes the parameters of a copy node in an executable graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecMemcpyNodeSetParams(
    exec: Handle,
    node: Handle,
    params: *const Memcpy3D,
    _context: Handle,
) -> Code {
    call("cuGraphExecMemcpyNodeSetParams", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        replace_in(exec, node, unsafe { copy_work(process()?, params) }?)
    })
}

/// Changes the parameters of a memset node in an executable graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecMemsetNodeSetParams(
    exec: Handle,
    node: Handle,
    params: *const MemsetNodeParams,
    _context: Handle,
) -> Code {
    call("cuGraphExecMemsetNodeSetParams", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        replace_in(exec, node, unsafe { set_work(process()?, params) }?)
    })
}

/// Changes the parameters of a host function node in an executable graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecHostNodeSetParams(
    exec: Handle,
    node: Handle,
    params: *const HostNodeParams,
) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphExecHostNodeSetParams", || replace_in(exec, node, unsafe { call_work(params) }?))
}

/// Changes the graph of a child graph node in an executable graph.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecChildGraphNodeSetParams(exec: Handle, node: Handle, child: Handle) -> Code {
    call("cuGraphExecChildGraphNodeSetParams", || replace_in(exec, node, process()?.graphs.child::<Code>(child)?))
}

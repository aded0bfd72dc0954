//! Queries for the nodes and edges of graphs.

use crate::Code;
use crate::error::{Result, bail, call, put, read};
use crate::process::process;
use isobit_simgpu_runtime_common::graph::list;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::c_int;

/// Lists the nodes of a graph; if `nodes` is null, returns their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphGetNodes", || unsafe { list(nodes, count, &process()?.graphs.nodes::<Code>(graph, false)?) })
}

/// Lists the nodes of a graph that have no dependencies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphGetRootNodes", || unsafe { list(nodes, count, &process()?.graphs.nodes::<Code>(graph, true)?) })
}

/// The data of an edge, `CUgraphEdgeData`. It is all zero, because every edge waits for the whole
/// source node.
pub type EdgeData = u64;

/// Writes default data for as many edges as the caller has room for.
///
/// # Safety
/// `edges` is null or has room for the number of elements that `count` holds before the call.
unsafe fn ordinary(edges: *mut EdgeData, count: *const usize) -> Result {
    if edges.is_null() {
        return Ok(());
    }
    // SAFETY: the caller promises that `edges` is null or has room for the number of elements that
    // `count` holds before the call.
    let room = unsafe { read(count, "the number of edges") }?;
    // SAFETY: the caller promises that `edges` is null or has room for the number of elements that
    // `count` holds before the call.
    (0..room).for_each(|at| unsafe { edges.add(at).write_unaligned(0) });
    Ok(())
}

/// Lists the edges of a graph by their ends; if `from` and `to` are null, returns their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetEdges_v2(
    graph: Handle,
    from: *mut Handle,
    to: *mut Handle,
    edges: *mut EdgeData,
    count: *mut usize,
) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphGetEdges_v2", || unsafe { list_edges(graph, from, to, edges, count) })
}

/// # Safety
/// Each pointer is null or has room for the number of elements that `count` holds before the call.
unsafe fn list_edges(
    graph: Handle,
    from: *mut Handle,
    to: *mut Handle,
    edges: *mut EdgeData,
    count: *mut usize,
) -> Result {
    if from.is_null() != to.is_null() {
        bail!(INVALID_VALUE, "only one of the two node arrays is null");
    }
    let graphs = &process()?.graphs;
    let graph = graphs.graph::<Code>(graph)?;
    let pairs: Vec<(usize, usize)> = graph.with(|graph| {
        let after = |node| graph.after(node).unwrap_or_default().iter().map(move |&before| (before, node));
        (0..graph.len()).flat_map(after).collect()
    });
    let ends = [pairs.iter().map(|pair| pair.0).collect::<Vec<_>>(), pairs.iter().map(|pair| pair.1).collect()];
    let [first, second] = ends.map(|nodes| graphs.node_handles(&graph, nodes));
    // SAFETY: as the caller promises. The first list overwrites the capacity with the number of
    // elements that it wrote, so the second list is given the original capacity.
    unsafe {
        ordinary(edges, count)?;
        let room = read(count, "the number of edges")?;
        list(from, count, &first)?;
        put(count, room, "the number of edges")?;
        list(to, count, &second)
    }
}

/// Like [`cuGraphGetEdges_v2`], without the edge data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphGetEdges", || unsafe { list_edges(graph, from, to, std::ptr::null_mut(), count) })
}

/// # Safety
/// The requirements of the functions below.
unsafe fn neighbours(
    node: Handle,
    nodes: *mut Handle,
    edges: *mut EdgeData,
    count: *mut usize,
    before: bool,
) -> Result {
    let graphs = &process()?.graphs;
    let node = graphs.node::<Code>(node)?;
    let found = if before { node.after() } else { node.before() };
    // SAFETY: the caller meets the requirements of the functions below.
    unsafe {
        ordinary(edges, count)?;
        list(nodes, count, &graphs.node_handles(&node.graph, found))
    }
}

/// Lists the dependencies of a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphNodeGetDependencies_v2(
    node: Handle,
    nodes: *mut Handle,
    edges: *mut EdgeData,
    count: *mut usize,
) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphNodeGetDependencies_v2", || unsafe { neighbours(node, nodes, edges, count, true) })
}

/// Like [`cuGraphNodeGetDependencies_v2`], without the edge data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphNodeGetDependencies(node: Handle, nodes: *mut Handle, count: *mut usize) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphNodeGetDependencies", || unsafe { neighbours(node, nodes, std::ptr::null_mut(), count, true) })
}

/// Lists the nodes that depend on a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphNodeGetDependentNodes_v2(
    node: Handle,
    nodes: *mut Handle,
    edges: *mut EdgeData,
    count: *mut usize,
) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphNodeGetDependentNodes_v2", || unsafe { neighbours(node, nodes, edges, count, false) })
}

/// Like [`cuGraphNodeGetDependentNodes_v2`], without the edge data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphNodeGetDependentNodes(node: Handle, nodes: *mut Handle, count: *mut usize) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuGraphNodeGetDependentNodes", || unsafe { neighbours(node, nodes, std::ptr::null_mut(), count, false) })
}

/// Returns the type of a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphNodeGetType(node: Handle, to: *mut c_int) -> Code {
    call("cuGraphNodeGetType", || {
        let kind = process()?.graphs.node::<Code>(node)?.payload::<Code>()?.number();
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, kind, "the kind") }
    })
}

/// Returns the node of a cloned graph that corresponds to a node of the original graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphNodeFindInClone(to: *mut Handle, node: Handle, clone: Handle) -> Code {
    call("cuGraphNodeFindInClone", || {
        let graphs = &process()?.graphs;
        let (node, clone) = (graphs.node::<Code>(node)?, graphs.graph::<Code>(clone)?);
        if node.node >= clone.with(|graph| graph.len()) {
            bail!(INVALID_VALUE, "the graph is not a clone of the node's graph");
        }
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, graphs.node_handle(&clone, node.node), "the node") }
    })
}

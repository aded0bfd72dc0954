//! Graphs: making, instantiating, launching them.

use crate::Code;
use crate::error::{Error, Result, bail, call, put};
use crate::handles::Handle;
use crate::process::{Process, process};
use isobit_simgpu_core::queue::{Graph, GraphExec, Work};
use std::ffi::{c_char, c_uint, c_ulonglong};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A graph that callers hold, and the handles of those of its nodes that were asked for.
#[derive(Debug)]
pub(crate) struct GraphHandle {
    graph: Mutex<(Graph, Vec<Option<u64>>)>,
}

/// A node that callers hold.
#[derive(Debug, Clone)]
pub(crate) struct NodeHandle {
    pub(crate) graph: Arc<GraphHandle>,
    pub(crate) node: usize,
}

impl GraphHandle {
    pub(crate) fn new(graph: Graph) -> Self {
        Self { graph: Mutex::new((graph, Vec::new())) }
    }

    fn lock(&self) -> MutexGuard<'_, (Graph, Vec<Option<u64>>)> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at, or changes, the graph.
    pub(crate) fn with<T>(&self, body: impl FnOnce(&mut Graph) -> T) -> T {
        body(&mut self.lock().0)
    }

    /// The handle of a node, the same whenever it is asked for.
    pub(crate) fn node(self: &Arc<Self>, process: &Process, node: usize) -> Handle {
        let mut locked = self.lock();
        let nodes = locked.0.len();
        let handles = &mut locked.1;
        handles.resize(nodes, None);
        let make = || process.nodes.add(Arc::new(NodeHandle { graph: self.clone(), node })) as u64;
        *handles[node].get_or_insert_with(make) as Handle
    }
}

/// The graph that a handle names.
pub(crate) fn graph(process: &Process, handle: Handle) -> Result<Arc<GraphHandle>> {
    let unknown = || Error::new(Code::INVALID_VALUE, format!("{handle:p} is no graph"));
    process.graphs.get(handle).ok_or_else(unknown)
}

/// The executable graph that a handle names.
pub(crate) fn exec(process: &Process, handle: Handle) -> Result<Arc<GraphExec>> {
    let unknown = || Error::new(Code::INVALID_VALUE, format!("{handle:p} is no executable graph"));
    process.execs.get(handle).ok_or_else(unknown)
}

/// A new graph without nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphCreate(to: *mut Handle, flags: c_uint) -> Code {
    call("hipGraphCreate", || {
        if to.is_null() || flags != 0 {
            bail!(INVALID_VALUE, "the pointer to the graph is null, or the flags are not 0: {flags:#x}");
        }
        let handle = process()?.graphs.add(Arc::new(GraphHandle::new(Graph::default())));
        // SAFETY: the caller's promise.
        unsafe { put(to, handle, "the graph") }
    })
}

/// Destroys a graph and the handles of its nodes.
#[unsafe(no_mangle)]
pub extern "C" fn hipGraphDestroy(handle: Handle) -> Code {
    call("hipGraphDestroy", || {
        let process = process()?;
        let graph = graph(process, handle)?;
        process.graphs.remove(handle);
        process.nodes.remove_if(|node| Arc::ptr_eq(&node.graph, &graph));
        Ok(())
    })
}

/// Makes a graph that can be launched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphInstantiate(
    to: *mut Handle,
    graph: Handle,
    error_node: *mut Handle,
    log: *mut c_char,
    log_bytes: usize,
) -> Code {
    call("hipGraphInstantiate", || {
        if !error_node.is_null() {
            // SAFETY: the caller's promise.
            unsafe { put(error_node, std::ptr::null_mut(), "the node") }?;
        }
        if !log.is_null() && log_bytes > 0 {
            // SAFETY: the caller's promise; an empty log.
            unsafe { put(log, 0, "the log") }?;
        }
        instantiate(to, graph)
    })
}

/// As [`hipGraphInstantiate`], with flags, of which only `hipGraphInstantiateFlagAutoFreeOnLaunch` is understood: there are no nodes that
/// allocate.
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
    let process = process()?;
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to the executable graph is null");
    }
    let exec = graph(process, handle)?.with(|graph| GraphExec::new(graph));
    let handle = process.execs.add(Arc::new(exec));
    // SAFETY: not null, and the caller of HIP promises room for a handle.
    unsafe { put(to, handle, "the executable graph") }
}

/// Launches a graph on a stream.
#[unsafe(no_mangle)]
pub extern "C" fn hipGraphLaunch(handle: Handle, stream: Handle) -> Code {
    call("hipGraphLaunch", || {
        let process = process()?;
        let exec = exec(process, handle)?;
        Ok(process.queues.launch_graph(&exec, process.stream(stream)?)?)
    })
}

/// Destroys an executable graph. Launches that are pending go on.
#[unsafe(no_mangle)]
pub extern "C" fn hipGraphExecDestroy(handle: Handle) -> Code {
    call("hipGraphExecDestroy", || {
        let process = process()?;
        exec(process, handle)?;
        process.execs.remove(handle);
        Ok(())
    })
}

/// Adds work to a graph after other nodes of it.
///
/// # Safety
/// `to` is null or has room for a handle; `after` is null or points to `count` handles.
pub(crate) unsafe fn add(to: *mut Handle, handle: Handle, after: *const Handle, count: usize, work: Work) -> Result {
    let process = process()?;
    let graph = graph(process, handle)?;
    if to.is_null() || (after.is_null() && count > 0) {
        bail!(INVALID_VALUE, "the pointer to the node or to its dependencies is null");
    }
    let mut nodes = Vec::with_capacity(count);
    for index in 0..count {
        // SAFETY: the caller's promise.
        let handle = unsafe { after.add(index).read_unaligned() };
        match process.nodes.get(handle).filter(|node| Arc::ptr_eq(&node.graph, &graph)) {
            Some(node) => nodes.push(node.node),
            None => bail!(INVALID_VALUE, "{handle:p} is no node of the graph"),
        }
    }
    let added = graph.with(|graph| graph.add(work, &nodes));
    let node = added.map_err(|error| Error::new(Code::INVALID_VALUE, error.to_string()))?;
    // SAFETY: not null, and the caller's promise.
    unsafe { put(to, graph.node(process, node), "the node") }
}

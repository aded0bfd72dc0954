//! Graphs and nodes that callers access through handles.

use crate::error::{Error, Result, put, read};
use crate::handles::{Handle, Kind, Table};
use crate::payload::{Labelled, Payload};
use crate::{ResultCode, bail};
use isobit_simgpu_core::queue::{Graph, GraphExec, Work};
use parking_lot::Mutex;
use std::sync::Arc;

/// A graph with a handle, and the handles of its nodes that were requested.
#[derive(Debug)]
pub struct GraphHandle {
    graph: Mutex<(Graph, Vec<Option<u64>>)>,
}

/// A node with a handle.
#[derive(Debug, Clone)]
pub struct NodeHandle {
    /// Its graph.
    pub graph: Arc<GraphHandle>,
    /// Its number in the graph.
    pub node: usize,
}

/// The result of updating an executable graph, with the numbers of both vendors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum ExecUpdate {
    /// The update was made.
    Success = 0,
    /// The graph has other nodes or edges.
    TopologyChanged = 2,
    /// A node has a different kind.
    NodeTypeChanged = 3,
}

/// All graphs, nodes and executable graphs, by handle.
#[derive(Debug)]
pub struct Graphs {
    graphs: Table<GraphHandle>,
    nodes: Table<NodeHandle>,
    execs: Table<GraphExec>,
}

impl GraphHandle {
    /// Runs a function on the graph.
    pub fn with<T>(&self, body: impl FnOnce(&mut Graph) -> T) -> T {
        body(&mut self.graph.lock().0)
    }
}

impl NodeHandle {
    /// Returns what the node does.
    ///
    /// # Errors
    /// Fails if the node's work has no payload.
    pub fn payload<C: ResultCode>(&self) -> Result<Payload, C> {
        let payload = self.graph.with(|graph| graph.work(self.node).and_then(Payload::of).cloned());
        payload.ok_or_else(|| Error::new(C::INVALID_VALUE, "the node has a kind that the interface does not have"))
    }

    /// Returns the nodes that this one depends on.
    pub fn after(&self) -> Vec<usize> {
        self.graph.with(|graph| graph.after(self.node).unwrap_or_default().to_vec())
    }

    /// Returns the nodes that depend on this one.
    pub fn before(&self) -> Vec<usize> {
        let follows = |graph: &Graph, n: usize| graph.after(n).is_some_and(|after| after.contains(&self.node));
        self.graph.with(|graph| (0..graph.len()).filter(|&n| follows(graph, n)).collect())
    }

    /// Replaces the node's work by other work of the same kind.
    ///
    /// # Errors
    /// Fails if the work has a different kind.
    pub fn replace<C: ResultCode>(&self, work: Work) -> Result<(), C> {
        self.graph.with(|graph| {
            same_kind(graph.work(self.node), &work)?;
            graph.set_work(self.node, work).map_err(|error| Error::new(C::INVALID_VALUE, error.to_string()))
        })
    }

    /// Replaces the work of the node's copy in an executable graph by other work of the same kind,
    /// from the next launch on.
    ///
    /// # Errors
    /// Fails if the work has a different kind.
    pub fn replace_in<C: ResultCode>(&self, exec: &GraphExec, work: Work) -> Result<(), C> {
        same_kind(exec.graph().work(self.node), &work)?;
        exec.set_work(self.node, work).map_err(|error| Error::new(C::INVALID_VALUE, error.to_string()))
    }
}

/// Fails if the kinds of work differ.
fn same_kind<C: ResultCode>(old: Option<&Work>, new: &Work) -> Result<(), C> {
    let number = |work| Payload::of(work).map(Payload::number);
    if old.and_then(number) != number(new) {
        bail!(C, INVALID_VALUE, "the node has a different kind");
    }
    Ok(())
}

impl Default for Graphs {
    fn default() -> Self {
        Self { graphs: Table::new(Kind::Graph), nodes: Table::new(Kind::Node), execs: Table::new(Kind::Exec) }
    }
}

impl Graphs {
    /// Adds a graph and returns its handle.
    pub fn insert(&self, graph: Graph) -> Handle {
        self.graphs.add(Arc::new(GraphHandle { graph: Mutex::new((graph, Vec::new())) }))
    }

    /// Returns the graph of a handle.
    ///
    /// # Errors
    /// Fails if the handle is not a graph.
    pub fn graph<C: ResultCode>(&self, handle: Handle) -> Result<Arc<GraphHandle>, C> {
        let unknown = || Error::new(C::INVALID_VALUE, format!("{handle:p} is not a graph"));
        self.graphs.get(handle).ok_or_else(unknown)
    }

    /// Returns the node of a handle.
    ///
    /// # Errors
    /// Fails if the handle is not a node.
    pub fn node<C: ResultCode>(&self, handle: Handle) -> Result<Arc<NodeHandle>, C> {
        let unknown = || Error::new(C::INVALID_VALUE, format!("{handle:p} is not a node of a graph"));
        self.nodes.get(handle).ok_or_else(unknown)
    }

    /// Returns the executable graph of a handle.
    ///
    /// # Errors
    /// Fails if the handle is not an executable graph.
    pub fn exec<C: ResultCode>(&self, handle: Handle) -> Result<Arc<GraphExec>, C> {
        let unknown = || Error::new(C::INVALID_VALUE, format!("{handle:p} is not an executable graph"));
        self.execs.get(handle).ok_or_else(unknown)
    }

    /// Returns work that runs a graph as a node of another graph.
    ///
    /// # Errors
    /// Fails if there is no such graph.
    pub fn child<C: ResultCode>(&self, handle: Handle) -> Result<Work, C> {
        let graph = self.graph(handle)?.with(|graph| graph.clone());
        Ok(graph.as_work().labelled(Payload::Child(graph)))
    }

    /// Destroys a graph and the handles of its nodes.
    ///
    /// # Errors
    /// Fails if there is no such graph.
    pub fn destroy<C: ResultCode>(&self, handle: Handle) -> Result<(), C> {
        let graph = self.graph(handle)?;
        self.graphs.remove(handle);
        self.nodes.remove_if(|node| Arc::ptr_eq(&node.graph, &graph));
        Ok(())
    }

    /// Creates an executable graph.
    ///
    /// # Errors
    /// Fails if there is no such graph.
    pub fn instantiate<C: ResultCode>(&self, handle: Handle) -> Result<Handle, C> {
        let exec = self.graph(handle)?.with(|graph| GraphExec::new(graph));
        Ok(self.execs.add(Arc::new(exec)))
    }

    /// Updates an executable graph with the work of a graph of the same structure. If the structure
    /// differs, changes nothing and returns the reason and the first node that differs.
    ///
    /// # Errors
    /// Fails if there is no such graph.
    pub fn update<C: ResultCode>(&self, exec: Handle, handle: Handle) -> Result<(ExecUpdate, Handle), C> {
        let (exec, graph) = (self.exec(exec)?, self.graph(handle)?);
        let (old, new, null) = (exec.graph(), graph.with(|graph| graph.clone()), std::ptr::null_mut());
        if !old.is_like(&new) {
            return Ok((ExecUpdate::TopologyChanged, null));
        }
        let kind = |graph: &Graph, node| graph.work(node).and_then(Payload::of).map(Payload::number);
        if let Some(node) = (0..new.len()).find(|&node| kind(&old, node) != kind(&new, node)) {
            return Ok((ExecUpdate::NodeTypeChanged, self.node_handle(&graph, node)));
        }
        for node in 0..new.len() {
            let Some(work) = new.work(node) else { continue };
            exec.set_work(node, work.clone()).map_err(|error| Error::new(C::INVALID_VALUE, error.to_string()))?;
        }
        Ok((ExecUpdate::Success, null))
    }

    /// Destroys an executable graph. Pending launches continue.
    ///
    /// # Errors
    /// Fails if there is no such graph.
    pub fn destroy_exec<C: ResultCode>(&self, handle: Handle) -> Result<(), C> {
        self.exec(handle)?;
        self.execs.remove(handle);
        Ok(())
    }

    /// Returns the handle of a node, which is always the same.
    pub fn node_handle(&self, graph: &Arc<GraphHandle>, node: usize) -> Handle {
        let mut locked = graph.graph.lock();
        let nodes = locked.0.len();
        let handles = &mut locked.1;
        handles.resize(nodes, None);
        let make = || self.nodes.add(Arc::new(NodeHandle { graph: graph.clone(), node })) as u64;
        *handles[node].get_or_insert_with(make) as Handle
    }

    /// Returns the handles of nodes.
    pub fn node_handles(&self, graph: &Arc<GraphHandle>, nodes: impl IntoIterator<Item = usize>) -> Vec<Handle> {
        nodes.into_iter().map(|node| self.node_handle(graph, node)).collect()
    }

    /// Returns the handles of all nodes of a graph, or only of its roots.
    ///
    /// # Errors
    /// Fails if there is no such graph.
    pub fn nodes<C: ResultCode>(&self, handle: Handle, roots: bool) -> Result<Vec<Handle>, C> {
        let graph = self.graph(handle)?;
        let is_root = |graph: &Graph, n: usize| graph.after(n).is_some_and(<[_]>::is_empty);
        let nodes: Vec<usize> = graph.with(|graph| (0..graph.len()).filter(|&n| !roots || is_root(graph, n)).collect());
        Ok(self.node_handles(&graph, nodes))
    }

    /// Adds work to a graph after other nodes of the graph.
    ///
    /// # Errors
    /// Fails for a null pointer, or a handle that is not a node of the graph.
    ///
    /// # Safety
    /// `to` must be null or have room for a handle; `after` must be null or point to `count`
    /// handles.
    pub unsafe fn add<C: ResultCode>(
        &self,
        to: *mut Handle,
        handle: Handle,
        after: *const Handle,
        count: usize,
        work: Work,
    ) -> Result<(), C> {
        let graph = self.graph(handle)?;
        if to.is_null() || (after.is_null() && count > 0) {
            bail!(C, INVALID_VALUE, "the pointer to the node or to its dependencies is null");
        }
        let mut nodes = Vec::with_capacity(count);
        for index in 0..count {
            // SAFETY: not null; the caller promises that `after` points to `count` handles.
            let handle = unsafe { after.add(index).read_unaligned() };
            match self.nodes.get(handle).filter(|node| Arc::ptr_eq(&node.graph, &graph)) {
                Some(node) => nodes.push(node.node),
                None => bail!(C, INVALID_VALUE, "{handle:p} is not a node of the graph"),
            }
        }
        let added = graph.with(|graph| graph.add(work, &nodes));
        let node = added.map_err(|error| Error::new(C::INVALID_VALUE, error.to_string()))?;
        // SAFETY: not null; the caller promises that `to` has room for a handle.
        unsafe { put(to, self.node_handle(&graph, node), "the node") }
    }
}

/// Writes as many handles as there is room for, fills the rest with nulls, and writes the number of
/// handles.
///
/// # Errors
/// Fails if `count` is null.
///
/// # Safety
/// `count` must be null or valid. Unless `to` is null, `count` must hold the number of handles that
/// `to` has room for.
pub unsafe fn list<C: ResultCode>(to: *mut Handle, count: *mut usize, handles: &[Handle]) -> Result<(), C> {
    // SAFETY: the caller promises that `count` is null or holds how many handles `to` has room for,
    // unless that is null.
    let room = unsafe { read(count, "the number of nodes") }?;
    if !to.is_null() {
        for index in 0..room {
            let handle = handles.get(index).copied().unwrap_or(std::ptr::null_mut());
            // SAFETY: the index is within the room that the caller promises.
            unsafe { to.add(index).write_unaligned(handle) };
        }
    }
    let written = if to.is_null() { handles.len() } else { handles.len().min(room) };
    // SAFETY: the caller promises that `count` is null or holds how many handles `to` has room for,
    // unless that is null.
    unsafe { put(count, written, "the number of nodes") }
}

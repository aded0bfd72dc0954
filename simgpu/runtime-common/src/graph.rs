//! Graphs and their nodes as callers hold them.

use crate::error::{Error, Result, put, read};
use crate::handles::{Handle, Kind, Table};
use crate::payload::{Labelled, Payload};
use crate::{ResultCode, bail};
use isobit_simgpu_core::queue::{Graph, GraphExec, Work};
use parking_lot::Mutex;
use std::sync::Arc;

/// A graph that callers hold, and the handles of those of its nodes that were asked for.
#[derive(Debug)]
pub struct GraphHandle {
    graph: Mutex<(Graph, Vec<Option<u64>>)>,
}

/// A node that callers hold.
#[derive(Debug, Clone)]
pub struct NodeHandle {
    /// The graph that it is of.
    pub graph: Arc<GraphHandle>,
    /// Its number there.
    pub node: usize,
}

/// What an update of an executable graph came to, numbered as both vendors do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum ExecUpdate {
    /// Done.
    Success = 0,
    /// The graph has other nodes or edges.
    TopologyChanged = 2,
    /// A node is of another kind.
    NodeTypeChanged = 3,
}

/// Everything of graphs that has a handle.
#[derive(Debug)]
pub struct Graphs {
    graphs: Table<GraphHandle>,
    nodes: Table<NodeHandle>,
    execs: Table<GraphExec>,
}

impl GraphHandle {
    /// Looks at, or changes, the graph.
    pub fn with<T>(&self, body: impl FnOnce(&mut Graph) -> T) -> T {
        body(&mut self.graph.lock().0)
    }
}

impl NodeHandle {
    /// What the node does.
    ///
    /// # Errors
    /// It does nothing that nodes are known for.
    pub fn payload<C: ResultCode>(&self) -> Result<Payload, C> {
        let payload = self.graph.with(|graph| graph.work(self.node).and_then(Payload::of).cloned());
        payload.ok_or_else(|| Error::new(C::INVALID_VALUE, "a node of no kind that the interface has"))
    }

    /// What the node comes after.
    pub fn after(&self) -> Vec<usize> {
        self.graph.with(|graph| graph.after(self.node).unwrap_or_default().to_vec())
    }

    /// The nodes that come after this one.
    pub fn before(&self) -> Vec<usize> {
        let follows = |graph: &Graph, n: usize| graph.after(n).is_some_and(|after| after.contains(&self.node));
        self.graph.with(|graph| (0..graph.len()).filter(|&n| follows(graph, n)).collect())
    }

    /// Gives the node other work of the same kind.
    ///
    /// # Errors
    /// It is of another kind.
    pub fn replace<C: ResultCode>(&self, work: Work) -> Result<(), C> {
        self.graph.with(|graph| {
            same_kind(graph.work(self.node), &work)?;
            graph.set_work(self.node, work).map_err(|error| Error::new(C::INVALID_VALUE, error.to_string()))
        })
    }

    /// Gives the node's copy in an executable graph other work of the same kind, from the next
    /// launch on.
    ///
    /// # Errors
    /// It is of another kind.
    pub fn replace_in<C: ResultCode>(&self, exec: &GraphExec, work: Work) -> Result<(), C> {
        same_kind(exec.graph().work(self.node), &work)?;
        exec.set_work(self.node, work).map_err(|error| Error::new(C::INVALID_VALUE, error.to_string()))
    }
}

/// Refuses to make work of one kind another.
fn same_kind<C: ResultCode>(old: Option<&Work>, new: &Work) -> Result<(), C> {
    let number = |work| Payload::of(work).map(Payload::number);
    if old.and_then(number) != number(new) {
        bail!(C, INVALID_VALUE, "the node is of another kind");
    }
    Ok(())
}

impl Default for Graphs {
    fn default() -> Self {
        Self { graphs: Table::new(Kind::Graph), nodes: Table::new(Kind::Node), execs: Table::new(Kind::Exec) }
    }
}

impl Graphs {
    /// Gives a graph its handle.
    pub fn insert(&self, graph: Graph) -> Handle {
        self.graphs.add(Arc::new(GraphHandle { graph: Mutex::new((graph, Vec::new())) }))
    }

    /// The graph that a handle names.
    ///
    /// # Errors
    /// It names none.
    pub fn graph<C: ResultCode>(&self, handle: Handle) -> Result<Arc<GraphHandle>, C> {
        let unknown = || Error::new(C::INVALID_VALUE, format!("{handle:p} is no graph"));
        self.graphs.get(handle).ok_or_else(unknown)
    }

    /// The node that a handle names.
    ///
    /// # Errors
    /// It names none.
    pub fn node<C: ResultCode>(&self, handle: Handle) -> Result<Arc<NodeHandle>, C> {
        let unknown = || Error::new(C::INVALID_VALUE, format!("{handle:p} is no node of a graph"));
        self.nodes.get(handle).ok_or_else(unknown)
    }

    /// The executable graph that a handle names.
    ///
    /// # Errors
    /// It names none.
    pub fn exec<C: ResultCode>(&self, handle: Handle) -> Result<Arc<GraphExec>, C> {
        let unknown = || Error::new(C::INVALID_VALUE, format!("{handle:p} is no executable graph"));
        self.execs.get(handle).ok_or_else(unknown)
    }

    /// The work of a graph as a node of another.
    ///
    /// # Errors
    /// There is no such graph.
    pub fn child<C: ResultCode>(&self, handle: Handle) -> Result<Work, C> {
        let graph = self.graph(handle)?.with(|graph| graph.clone());
        Ok(graph.as_work().labelled(Payload::Child(graph)))
    }

    /// Destroys a graph and the handles of its nodes.
    ///
    /// # Errors
    /// There is no such graph.
    pub fn destroy<C: ResultCode>(&self, handle: Handle) -> Result<(), C> {
        let graph = self.graph(handle)?;
        self.graphs.remove(handle);
        self.nodes.remove_if(|node| Arc::ptr_eq(&node.graph, &graph));
        Ok(())
    }

    /// Makes a graph that can be launched.
    ///
    /// # Errors
    /// There is no such graph.
    pub fn instantiate<C: ResultCode>(&self, handle: Handle) -> Result<Handle, C> {
        let exec = self.graph(handle)?.with(|graph| GraphExec::new(graph));
        Ok(self.execs.add(Arc::new(exec)))
    }

    /// Gives an executable graph what the nodes of a graph do, which must be alike; else changes
    /// nothing, and says why and which node does not fit.
    ///
    /// # Errors
    /// There is no such graph.
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

    /// Destroys an executable graph. Launches that are pending go on.
    ///
    /// # Errors
    /// There is no such graph.
    pub fn destroy_exec<C: ResultCode>(&self, handle: Handle) -> Result<(), C> {
        self.exec(handle)?;
        self.execs.remove(handle);
        Ok(())
    }

    /// The handle of a node, the same whenever it is asked for.
    pub fn node_handle(&self, graph: &Arc<GraphHandle>, node: usize) -> Handle {
        let mut locked = graph.graph.lock();
        let nodes = locked.0.len();
        let handles = &mut locked.1;
        handles.resize(nodes, None);
        let make = || self.nodes.add(Arc::new(NodeHandle { graph: graph.clone(), node })) as u64;
        *handles[node].get_or_insert_with(make) as Handle
    }

    /// The handles of nodes.
    pub fn node_handles(&self, graph: &Arc<GraphHandle>, nodes: impl IntoIterator<Item = usize>) -> Vec<Handle> {
        nodes.into_iter().map(|node| self.node_handle(graph, node)).collect()
    }

    /// The handles of all nodes of a graph, or of those that come after none.
    ///
    /// # Errors
    /// There is no such graph.
    pub fn nodes<C: ResultCode>(&self, handle: Handle, roots: bool) -> Result<Vec<Handle>, C> {
        let graph = self.graph(handle)?;
        let is_root = |graph: &Graph, n: usize| graph.after(n).is_some_and(<[_]>::is_empty);
        let nodes: Vec<usize> = graph.with(|graph| (0..graph.len()).filter(|&n| !roots || is_root(graph, n)).collect());
        Ok(self.node_handles(&graph, nodes))
    }

    /// Adds work to a graph after other nodes of it.
    ///
    /// # Errors
    /// A null pointer, or a handle that names no node of the graph.
    ///
    /// # Safety
    /// `to` is null or has room for a handle; `after` is null or points to `count` handles.
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
            // SAFETY: the caller promises that `to` is null or has room for a handle; `after` is
            // null or points to `count` handles.
            let handle = unsafe { after.add(index).read_unaligned() };
            match self.nodes.get(handle).filter(|node| Arc::ptr_eq(&node.graph, &graph)) {
                Some(node) => nodes.push(node.node),
                None => bail!(C, INVALID_VALUE, "{handle:p} is no node of the graph"),
            }
        }
        let added = graph.with(|graph| graph.add(work, &nodes));
        let node = added.map_err(|error| Error::new(C::INVALID_VALUE, error.to_string()))?;
        // SAFETY: not null; the caller promises that `to` is null or has room for a handle; `after`
        // is null or points to `count` handles.
        unsafe { put(to, self.node_handle(&graph, node), "the node") }
    }
}

/// Writes as many handles as there is room for, nulls behind them, and how many there are.
///
/// # Errors
/// `count` is null.
///
/// # Safety
/// `count` is null or holds how many handles `to` has room for, unless that is null.
pub unsafe fn list<C: ResultCode>(to: *mut Handle, count: *mut usize, handles: &[Handle]) -> Result<(), C> {
    // SAFETY: the caller promises that `count` is null or holds how many handles `to` has room for,
    // unless that is null.
    let room = unsafe { read(count, "the number of nodes") }?;
    if !to.is_null() {
        for index in 0..room {
            let handle = handles.get(index).copied().unwrap_or(std::ptr::null_mut());
            // SAFETY: below the room that the caller gives.
            unsafe { to.add(index).write_unaligned(handle) };
        }
    }
    let written = if to.is_null() { handles.len() } else { handles.len().min(room) };
    // SAFETY: the caller promises that `count` is null or holds how many handles `to` has room for,
    // unless that is null.
    unsafe { put(count, written, "the number of nodes") }
}

//! Graphs: work with its dependencies, which can be enqueued as a whole, any number of times.

use super::tasks::TaskId;
use super::{QueueError, Queues, StreamId, Work, inside_work};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::fmt;

/// Work and its dependencies. Nodes are numbered in the order in which they were added and depend
/// only on lower ones.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone)]
struct Node {
    work: Work,
    after: Vec<usize>,
}

/// The reason why a node was not added or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphError {
    /// There is no node with that number.
    NoSuchNode(usize),
    /// A dependency is listed twice.
    Twice(usize),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchNode(node) => write!(f, "the graph has no node {node}"),
            Self::Twice(node) => write!(f, "the dependency on node {node} is listed twice"),
        }
    }
}

impl std::error::Error for GraphError {}

impl Graph {
    /// Adds work that depends on other nodes, and returns its number.
    ///
    /// # Errors
    /// Fails if a dependency is unknown or listed twice.
    pub fn add(&mut self, work: Work, after: &[usize]) -> Result<usize, GraphError> {
        let mut seen = HashSet::new();
        for &node in after {
            if node >= self.nodes.len() {
                return Err(GraphError::NoSuchNode(node));
            }
            if !seen.insert(node) {
                return Err(GraphError::Twice(node));
            }
        }
        Ok(self.push(work, after.to_vec()))
    }

    pub(super) fn push(&mut self, work: Work, after: Vec<usize>) -> usize {
        self.nodes.push(Node { work, after });
        self.nodes.len() - 1
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the graph has no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the work of a node.
    pub fn work(&self, node: usize) -> Option<&Work> {
        self.nodes.get(node).map(|node| &node.work)
    }

    /// Returns the dependencies of a node.
    pub fn after(&self, node: usize) -> Option<&[usize]> {
        self.nodes.get(node).map(|node| node.after.as_slice())
    }

    /// Replaces the work of a node.
    /// # Errors
    /// [`GraphError::NoSuchNode`].
    pub fn set_work(&mut self, node: usize, work: Work) -> Result<(), GraphError> {
        self.nodes.get_mut(node).ok_or(GraphError::NoSuchNode(node))?.work = work;
        Ok(())
    }

    /// Returns work that runs all nodes one after the other, for use as a node of another graph.
    pub fn as_work(&self) -> Work {
        Work::sequence(self.nodes.iter().map(|node| node.work.clone()).collect())
    }

    /// Whether another graph has the same number of nodes with the same dependencies.
    pub fn is_like(&self, other: &Self) -> bool {
        self.nodes.iter().map(|node| &node.after).eq(other.nodes.iter().map(|node| &node.after))
    }

    /// Returns the nodes and all their direct and indirect dependencies.
    pub(super) fn before(&self, nodes: &[usize]) -> HashSet<usize> {
        let mut seen: HashSet<usize> = nodes.iter().copied().collect();
        let mut stack = nodes.to_vec();
        while let Some(node) = stack.pop() {
            stack.extend(self.nodes[node].after.iter().copied().filter(|&node| seen.insert(node)));
        }
        seen
    }

    /// Returns the nodes that no other node depends on.
    fn leaves(&self) -> Vec<usize> {
        let inner: HashSet<usize> = self.nodes.iter().flat_map(|node| node.after.iter().copied()).collect();
        (0..self.nodes.len()).filter(|node| !inner.contains(node)).collect()
    }

    /// Adds the nodes of `other` after `after`, and returns the numbers of its leaves.
    fn embed(&mut self, other: &Self, after: Vec<usize>) -> Vec<usize> {
        let base = self.nodes.len();
        for node in &other.nodes {
            let own = if node.after.is_empty() { after.clone() } else { node.after.iter().map(|n| n + base).collect() };
            self.push(node.work.clone(), own);
        }
        if other.is_empty() { after } else { other.leaves().into_iter().map(|node| node + base).collect() }
    }
}

/// A graph that can be launched. Launches of the same graph wait for each other.
#[derive(Debug)]
pub struct GraphExec {
    inner: Mutex<Exec>,
}

#[derive(Debug)]
struct Exec {
    graph: Graph,
    /// The end of the last launch.
    last: Option<TaskId>,
}

impl GraphExec {
    /// Copies a graph. Later changes of the original do not affect the copy.
    pub fn new(graph: &Graph) -> Self {
        Self { inner: Mutex::new(Exec { graph: graph.clone(), last: None }) }
    }

    /// Replaces the work of a node for later launches.
    ///
    /// # Errors
    /// [`GraphError::NoSuchNode`].
    pub fn set_work(&self, node: usize, work: Work) -> Result<(), GraphError> {
        self.inner.lock().graph.set_work(node, work)
    }

    /// Returns a copy of the graph in its current state.
    pub fn graph(&self) -> Graph {
        self.inner.lock().graph.clone()
    }
}

impl Queues {
    /// Enqueues all work of a graph on a stream. On a capturing stream, the nodes become part of
    /// the capture.
    ///
    /// # Errors
    /// The errors of [`enqueue`](Self::enqueue).
    pub fn launch_graph(&self, exec: &GraphExec, stream: StreamId) -> Result<(), QueueError> {
        if inside_work() {
            return Err(QueueError::InsideWork);
        }
        let mut exec = exec.inner.lock();
        let mut state = self.state.lock();
        if let Some(capture) = state.capturing(stream)? {
            state.capture_with(capture, stream, |graph, after| graph.embed(&exec.graph, after));
            return Ok(());
        }
        let last = exec.last.into_iter().collect();
        let first = state.add_after(stream, Work::nothing(), None, last, None)?;
        let device = state.stream(stream)?.device;
        let mut tasks: Vec<TaskId> = Vec::with_capacity(exec.graph.len());
        for node in &exec.graph.nodes {
            let mut after: Vec<TaskId> = node.after.iter().map(|&node| tasks[node]).collect();
            after.push(first);
            tasks.push(state.tasks.add(device, stream, node.work.clone(), None, after, None));
        }
        let leaves = exec.graph.leaves().into_iter().map(|node| tasks[node]).collect();
        let end = state.add_after(stream, Work::nothing(), None, leaves, None)?;
        exec.last = Some(end);
        drop(exec);
        self.eagerly(state, end);
        Ok(())
    }
}

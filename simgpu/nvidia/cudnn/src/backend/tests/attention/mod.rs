//! Graphs of several operations: attention as a program describes it.

mod graph;
mod problem;
mod refused;
mod results;

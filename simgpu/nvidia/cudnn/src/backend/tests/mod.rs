//! Graphs through the C functions: what is refused, what is offered, and what comes out.

mod refused;
mod results;

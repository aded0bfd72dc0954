//! Graphs through the C functions: what is rejected, which engines are offered, and the results.

mod attention;
mod refused;
mod results;

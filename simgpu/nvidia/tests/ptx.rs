//! The parser with its unit tests. The parser is self-contained, so this file compiles it a second
//! time without the rest of the simulator, which is large.

#[allow(dead_code, reason = "parts that only the simulator uses")]
#[path = "../src/ptx/mod.rs"]
mod ptx;

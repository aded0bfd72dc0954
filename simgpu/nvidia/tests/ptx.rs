//! The parser with the tests that lie beside its code. It stands alone, so that it is compiled here
//! a second time without the rest of the simulator, which is large.

#[allow(dead_code, reason = "what only the simulator uses of it")]
#[path = "../src/ptx/mod.rs"]
mod ptx;

//! The instruction set: what an instruction is, and how its bytes are read.

mod decode;
mod inst;
mod print;
mod table;

#[doc(hidden)]
pub use decode::blank;
pub use decode::decode;
pub use inst::{Arch, Cache, DecodeError, Dpp, Encoding, Inst, Operand, Sdwa, Select, Unused, sreg};

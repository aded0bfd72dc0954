//! The instruction set: the representation of instructions, and how their bytes are decoded.

mod decode;
mod inst;
mod print;
mod table;

#[doc(hidden)]
pub use decode::blank;
pub use decode::decode;
pub use inst::{Arch, Cache, DecodeError, Dpp, Encoding, Inst, Mai, Operand, Sdwa, Select, Unused, sreg};

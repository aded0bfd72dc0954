//! What loads and stores mean beyond their opcodes: whether they are atomic, and whether they begin
//! a compare-and-swap loop. Both follow from the code around them, so they are found once, before
//! the code is lowered.

mod atomic;
mod code;
mod compared;

use crate::isa::{Arch, DecodeError, Inst};
use code::Code;
pub(crate) use code::{Kind, memory};

/// What a load or a store is for the race checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// What its opcode says.
    #[default]
    Plain,
    /// Atomic, or volatile.
    Atomic,
    /// A load whose value a compare-and-swap compares.
    Compared,
}

/// Returns the marks of consecutive instructions.
pub fn marks(arch: Arch, insts: &[Result<Inst, DecodeError>]) -> Vec<Mark> {
    let code = Code::new(insts);
    let mut marks = vec![Mark::Plain; insts.len()];
    atomic::mark(arch, &code, &mut marks);
    compared::mark(&code, &mut marks);
    marks
}

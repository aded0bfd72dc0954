//! The registers that an instruction reads and writes, as far as row allocation needs them.

use crate::ptx::ast::{Base, Instruction, Operand, RegisterId};

/// How an instruction uses a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The instruction reads it.
    Read,
    /// The instruction writes it in all running lanes.
    Write,
    /// The instruction writes it in some of them.
    WriteSome,
}

/// Calls `found` for each register of an instruction; reads come before writes.
pub fn each(inst: &Instruction, mut found: impl FnMut(RegisterId, Use)) {
    let results = usize::from(has_result(inst));
    for operand in &inst.operands[results..] {
        registers(operand, &mut |id| found(id, Use::Read));
    }
    if let Some(guard) = inst.guard {
        found(guard.register, Use::Read);
    }
    let write = if inst.guard.is_some() { Use::WriteSome } else { Use::Write };
    for operand in &inst.operands[..results] {
        if accumulates(inst) {
            registers(operand, &mut |id| found(id, Use::Read));
        }
        registers(operand, &mut |id| found(id, write));
    }
}

/// Whether the instruction writes its first operand. If that is an address, the instruction writes
/// only memory.
fn has_result(inst: &Instruction) -> bool {
    let first = inst.operands.first();
    if !matches!(first, Some(Operand::Register(_) | Operand::Pair(..) | Operand::Vector(_))) {
        return false;
    }
    match inst.opcode.as_str() {
        "bar" | "barrier" => inst.modifiers.iter().any(|modifier| modifier == "red"),
        "bra" | "brx" | "call" | "nanosleep" | "pmevent" | "setmaxnreg" | "st" | "stackrestore" | "red" => false,
        _ => true,
    }
}

/// Whether the result is also a source.
fn accumulates(inst: &Instruction) -> bool {
    inst.opcode == "wgmma"
}

fn registers(operand: &Operand, found: &mut impl FnMut(RegisterId)) {
    match operand {
        Operand::Register(id) | Operand::Negated(id) | Operand::Address(Base::Register(id), _) => found(*id),
        Operand::Pair(first, second) => first.iter().chain(second).for_each(|id| found(*id)),
        Operand::Vector(all) | Operand::List(all) => {
            all.iter().for_each(|operand| registers(operand, found));
        }
        _ => {}
    }
}

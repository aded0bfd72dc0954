//! Loads whose value a compare-and-swap compares: the first loads of loops that make other atomics
//! of it. They are found backwards from the compared operand, through copies and bitwise operations
//! (halves of a word are compared in the whole word), and through local memory, which code that was
//! compiled without optimisation uses for its variables.
//!
//! The order of the code is not regarded: every instruction that writes a register counts.
//! Compilers give each value a register of its own.

use super::Location;
use super::operands::{self, Use};
use crate::ptx::ast::{Base, Body, Instruction, Operand, RegisterId};
use std::collections::{HashMap, HashSet};

/// The loads of a body, by address.
pub type Loads = HashSet<*const Instruction>;

/// The start of an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Root<'a> {
    Register(RegisterId),
    Symbol(&'a str),
}

struct Values<'a> {
    locations: &'a HashMap<String, Location>,
    /// The instructions that write a register.
    written: HashMap<RegisterId, Vec<&'a Instruction>>,
    /// What is stored in a thread's own memory, by address.
    stored: HashMap<(Root<'a>, i64), Vec<&'a Operand>>,
}

/// Returns the loads of a body that compare-and-swaps compare with.
pub fn compared(body: &Body, locations: &HashMap<String, Location>) -> Loads {
    let mut left: Vec<RegisterId> = body.instructions().filter_map(compared_register).collect();
    if left.is_empty() {
        return Loads::new();
    }
    let mut values = Values { locations, written: HashMap::new(), stored: HashMap::new() };
    for inst in body.instructions() {
        operands::each(inst, |id, how| {
            if how != Use::Read {
                values.written.entry(id).or_default().push(inst);
            }
        });
    }
    for inst in body.instructions().filter(|inst| inst.opcode == "st") {
        if let [address, value] = &inst.operands[..]
            && let Some(place) = values.own(inst, address)
        {
            values.stored.entry(place).or_default().push(value);
        }
    }
    let (mut loads, mut seen) = (Loads::new(), HashSet::new());
    while let Some(id) = left.pop() {
        if !seen.insert(id) {
            continue;
        }
        for inst in values.written.get(&id).into_iter().flatten() {
            match inst.opcode.as_str() {
                "mov" | "cvt" | "and" | "or" | "xor" | "not" | "lop3" | "shl" | "shr" | "shf" | "prmt" | "bfe"
                | "bfi" | "selp" => operands::each(inst, |id, how| {
                    if how == Use::Read {
                        left.push(id);
                    }
                }),
                "ld" | "ldu" => match inst.operands.get(1).and_then(|address| values.own(inst, address)) {
                    Some(place) => values.stored.get(&place).into_iter().flatten().for_each(|value| {
                        registers(value, &mut left);
                    }),
                    None => {
                        loads.insert(std::ptr::from_ref(*inst));
                    }
                },
                _ => {}
            }
        }
    }
    loads
}

/// Returns the register with the compared value, if the instruction is a compare-and-swap.
fn compared_register(inst: &Instruction) -> Option<RegisterId> {
    let swap = inst.opcode == "atom" && inst.modifiers.iter().any(|modifier| modifier == "cas");
    match inst.operands.get(2) {
        Some(Operand::Register(id)) if swap => Some(*id),
        _ => None,
    }
}

/// Adds the registers of a stored value.
fn registers(value: &Operand, to: &mut Vec<RegisterId>) {
    match value {
        Operand::Register(id) => to.push(*id),
        Operand::Vector(all) => all.iter().for_each(|value| registers(value, to)),
        _ => {}
    }
}

impl<'a> Values<'a> {
    /// Returns an address if it is in the thread's own memory.
    fn own(&self, inst: &Instruction, address: &'a Operand) -> Option<(Root<'a>, i64)> {
        let Operand::Address(base, offset) = address else { return None };
        let (root, offset) = match base {
            Base::Register(id) => self.root(*id, *offset),
            Base::Symbol(name) => (Root::Symbol(name), *offset),
            Base::None => return None,
        };
        let named = inst.modifiers.iter().any(|modifier| modifier == "local" || modifier.starts_with("param"));
        let own = match root {
            Root::Symbol(name) => matches!(
                self.locations.get(name),
                Some(Location::Local(_) | Location::Frame(_) | Location::Argument(_))
            ),
            Root::Register(_) => false,
        };
        (own || named).then_some((root, offset))
    }

    /// Returns the start of an address in a register, as far as it is a constant distance away.
    fn root(&self, mut id: RegisterId, mut offset: i64) -> (Root<'a>, i64) {
        // Registers that depend on each other in a circle have no start.
        for _ in 0..self.written.len() {
            let Some([inst]) = self.written.get(&id).map(Vec::as_slice) else { break };
            match (inst.opcode.as_str(), &inst.operands[..]) {
                ("mov" | "cvta", [_, Operand::Symbol(name, more)]) => {
                    return (Root::Symbol(name), offset.wrapping_add(*more));
                }
                ("mov" | "cvta", [_, Operand::Register(from)]) => id = *from,
                ("add", [_, Operand::Register(from), Operand::Integer(more)]) => {
                    (id, offset) = (*from, offset.wrapping_add(*more as i64));
                }
                _ => break,
            }
        }
        (Root::Register(id), offset)
    }
}

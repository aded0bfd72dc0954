//! Loads whose value a compare-and-swap compares: the first loads of loops that make other atomics
//! of it. They are found backwards from the compared operand, through copies and bitwise
//! operations (halves of a word are compared in the whole word), and through the stack of code that
//! was compiled without optimisation.
//!
//! Execution masks are not regarded: an instruction that writes a register counts as writing it in
//! all lanes. Values that come from a caller are not followed.

use super::Mark;
use super::code::{Code, Kind, memory};
use crate::isa::{Inst, Operand, sreg};
use std::collections::HashSet;

/// How many places in the code are looked at for one compare-and-swap. Where the compared value
/// comes from further away, the load is not found.
const MOST: usize = 1 << 14;

/// A place that holds 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Location {
    /// A vector register.
    Vector(u16),
    /// A scalar register.
    Scalar(u8),
    /// A word of the stack, by base and offset.
    Slot(Operand, i32),
}

pub(super) fn mark(code: &Code<'_>, marks: &mut [Mark]) {
    for at in 0..code.len() {
        if let Some((operand, dwords)) = code.inst(at).and_then(compared) {
            follow(code, at, operand, dwords, marks);
        }
    }
}

/// Returns the first register of a compare-and-swap's compared value, and how many there are.
fn compared(inst: &Inst) -> Option<(Operand, u16)> {
    let name = inst.name;
    let dwords = if name.ends_with("64") { 2 } else { 1 };
    let after = |operand: Operand, dwords: u16| match operand {
        Operand::Vgpr(first) => Operand::Vgpr(first + dwords),
        other => other,
    };
    match name.split_once('_')? {
        ("global" | "flat" | "buffer", rest) if rest.starts_with("atomic_cmpswap") => {
            Some((after(inst.src[1], dwords), dwords))
        }
        // GFX9 has the compared value first, GFX11 second.
        ("ds", rest) if rest.starts_with("cmpstore") => Some((inst.src[2], dwords)),
        ("ds", rest) if rest.starts_with("cmpst") => Some((inst.src[1], dwords)),
        _ => None,
    }
}

/// Marks the loads that the value of an operand at an instruction comes from.
fn follow(code: &Code<'_>, at: usize, operand: Operand, dwords: u16, marks: &mut [Mark]) {
    let mut seen = HashSet::new();
    let mut left: Vec<(usize, Location)> = Vec::new();
    words(operand, dwords, |location| left.push((at, location)));
    while let Some((at, wanted)) = left.pop() {
        for before in code.before(at) {
            if seen.len() == MOST || !seen.insert((before, wanted)) {
                continue;
            }
            let Some(inst) = code.inst(before) else { continue };
            let mut written = false;
            for half in std::iter::once(inst).chain(inst.second.as_deref()) {
                let mut index = None;
                own_writes(half, |location, at| {
                    if location == wanted {
                        index = Some(at);
                    }
                });
                let Some(index) = index else { continue };
                written = true;
                match slot(half, index) {
                    Some((Kind::Load, slot)) => left.push((before, slot)),
                    Some(_) => left.extend(word(half.src[1], index).map(|data| (before, data))),
                    None if matches!(memory(half), Some((_, Kind::Load))) => {
                        if marks[before] == Mark::Plain {
                            marks[before] = Mark::Compared;
                        }
                    }
                    None => sources(half, index, |location| left.push((before, location))),
                }
            }
            if !written {
                left.push((before, wanted));
            }
        }
    }
}

/// Calls `found` with the sources of the word `index` of a copy or a bitwise operation.
fn sources(inst: &Inst, index: u16, mut found: impl FnMut(Location)) {
    const COPIES: &[&str] = &[
        "v_mov_b32",
        "v_mov_b64",
        "v_accvgpr_read_b32",
        "v_accvgpr_write_b32",
        "v_accvgpr_mov_b32",
        "v_readfirstlane_b32",
        "v_readlane_b32",
        "s_mov_b32",
        "s_mov_b64",
    ];
    const BITWISE: &[&str] = &[
        "v_and",
        "v_or",
        "v_xor",
        "v_not",
        "v_lshl",
        "v_lshr",
        "v_bfi",
        "v_bfe",
        "v_perm_b32",
        "v_align",
        "v_pk_mov",
        "s_and",
        "s_or",
        "s_xor",
        "s_not",
        "s_lshl",
        "s_lshr",
        "s_bfe",
    ];
    let operands = inst.src.iter().zip(&inst.src_dwords).take(inst.src_count.into());
    let choice = inst.name == "v_cndmask_b32";
    if COPIES.contains(&inst.name) {
        word(inst.src[0], index).into_iter().for_each(found);
    } else if choice || BITWISE.iter().any(|name| inst.name.starts_with(name)) {
        // The selector of a choice is not a source of the value.
        let count = if choice { 2 } else { operands.len() };
        operands.take(count).for_each(|(operand, dwords)| words(*operand, (*dwords).into(), &mut found));
    }
}

/// Returns a word of an operand, if it is a register.
fn word(operand: Operand, number: u16) -> Option<Location> {
    match operand {
        Operand::Vgpr(first) => Some(Location::Vector(first + number)),
        Operand::Sgpr(first) => Some(Location::Scalar(first.wrapping_add(number as u8))),
        _ => None,
    }
}

/// Calls `found` for each word of an operand that is a register.
fn words(operand: Operand, dwords: u16, found: impl FnMut(Location)) {
    (0..dwords).filter_map(|number| word(operand, number)).for_each(found);
}

/// Calls `found` for each register that an instruction writes, and each word of the stack, with its
/// number among them.
pub(super) fn writes(inst: &Inst, mut found: impl FnMut(Location, u16)) {
    own_writes(inst, &mut found);
    if let Some(second) = &inst.second {
        own_writes(second, found);
    }
}

fn own_writes(inst: &Inst, mut found: impl FnMut(Location, u16)) {
    let mut number = 0;
    words(inst.dst, inst.dst_dwords.into(), |location| {
        found(location, number);
        number += 1;
    });
    // Of a mask that takes two, the first is enough: masks are neither compared values nor
    // addresses, so another write comes before a use of the second as one.
    words(inst.sdst, 1, |location| found(location, 0));
    if matches!(memory(inst), Some((_, Kind::Store))) {
        for word in 0..inst.src_dwords[1].into() {
            if let Some((_, location)) = slot(inst, word) {
                found(location, word);
            }
        }
    }
}

/// Calls `found` for each register that a load reads.
pub(super) fn reads(inst: &Inst, mut found: impl FnMut(Location)) {
    for (operand, dwords) in inst.src.iter().zip(&inst.src_dwords).take(inst.src_count.into()) {
        words(*operand, (*dwords).into(), &mut found);
    }
}

/// Returns what an instruction does with the stack, and the word of it that belongs to a word of
/// its data.
fn slot(inst: &Inst, word: u16) -> Option<(Kind, Location)> {
    let (space, kind) = memory(inst)?;
    let base = match (space, kind) {
        _ if inst.src[0] != Operand::None => return None,
        ("scratch", Kind::Load) => inst.src[1],
        ("scratch", Kind::Store) => inst.src[2],
        // gfx90a accesses the stack through a resource.
        ("buffer", Kind::Load | Kind::Store) if inst.src[2] == Operand::Sgpr(0) => inst.src[3],
        _ => return None,
    };
    (base != Operand::Sgpr(sreg::NULL)).then(|| (kind, Location::Slot(base, inst.imm + 4 * i32::from(word))))
}

//! Decoded code with its jumps.

use crate::isa::{DecodeError, Inst};
use std::collections::HashMap;

/// Consecutive instructions, by number.
pub(super) struct Code<'a> {
    insts: &'a [Result<Inst, DecodeError>],
    /// The targets of jumps, and where those come from.
    sources: HashMap<usize, Vec<usize>>,
    /// The jumps, and where they go.
    targets: HashMap<usize, usize>,
}

impl<'a> Code<'a> {
    pub(super) fn new(insts: &'a [Result<Inst, DecodeError>]) -> Self {
        let mut at = 0;
        let places: Vec<i64> = insts
            .iter()
            .map(|inst| {
                let place = at;
                at += inst.as_ref().map_or(1, |inst| i64::from(inst.size) / 4);
                place
            })
            .collect();
        let mut code = Self { insts, sources: HashMap::new(), targets: HashMap::new() };
        for (from, inst) in insts.iter().enumerate() {
            let Some(inst) = inst.as_ref().ok().filter(|inst| is_jump(inst)) else { continue };
            if let Ok(to) = places.binary_search(&(places[from] + 1 + i64::from(inst.imm as i16))) {
                code.sources.entry(to).or_default().push(from);
                code.targets.insert(from, to);
            }
        }
        code
    }

    pub(super) fn len(&self) -> usize {
        self.insts.len()
    }

    /// Returns an instruction, if there is one that is valid.
    pub(super) fn inst(&self, at: usize) -> Option<&'a Inst> {
        self.insts.get(at)?.as_ref().ok()
    }

    /// Returns the jumps with their targets.
    pub(super) fn jumps(&self) -> impl Iterator<Item = (usize, usize)> {
        self.targets.iter().map(|(from, to)| (*from, *to))
    }

    /// Returns where an instruction jumps to, if it does.
    pub(super) fn target(&self, at: usize) -> Option<usize> {
        self.targets.get(&at).copied()
    }

    /// Whether an instruction is the target of a jump.
    pub(super) fn is_target(&self, at: usize) -> bool {
        self.sources.contains_key(&at)
    }

    /// Returns the instructions that may run directly before one.
    pub(super) fn before(&self, at: usize) -> impl Iterator<Item = usize> {
        let above = at.checked_sub(1).filter(|above| self.inst(*above).is_some_and(|inst| !ends(inst)));
        above.into_iter().chain(self.sources.get(&at).into_iter().flatten().copied())
    }
}

/// Whether an instruction may jump to a constant place.
pub(super) fn is_jump(inst: &Inst) -> bool {
    inst.name.starts_with("s_branch") || inst.name.starts_with("s_cbranch")
}

/// Whether the next instruction never follows.
pub(super) fn ends(inst: &Inst) -> bool {
    matches!(inst.name, "s_branch" | "s_endpgm" | "s_setpc_b64")
}

/// What an instruction does with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Store,
    Atomic,
}

/// Returns the address space of a memory instruction (`global`, `flat`, `buffer`, `ds`, `scratch`,
/// or `s` for scalar memory), and what it does.
pub(crate) fn memory(inst: &Inst) -> Option<(&'static str, Kind)> {
    let (space, rest) = inst.name.split_once('_')?;
    let kind = match space {
        "global" | "flat" | "buffer" | "ds" | "scratch" | "s" if rest.starts_with("load") => Kind::Load,
        "s" if rest.starts_with("buffer_load") => Kind::Load,
        "global" | "flat" | "buffer" | "ds" | "scratch" if rest.starts_with("store_") => Kind::Store,
        "global" | "flat" | "buffer" if rest.starts_with("atomic") => Kind::Atomic,
        // What else there is in group memory are atomics, and exchanges between lanes, which do not
        // access it.
        "ds" if ["permute", "bpermute", "swizzle", "nop"].iter().all(|name| !rest.starts_with(name)) => Kind::Atomic,
        _ => return None,
    };
    Some((space, kind))
}

//! Atomic loads and stores. They are the instructions of plain ones, with cache bits and with waits
//! around them, as the memory models of LLVM's AMDGPU backend list them:
//!
//! * Loads bypass a cache from work-group scope on (`glc`; `sc0` and `sc1` on gfx942), as volatile
//!   ones do. Those of group memory, and those of work-group scope on gfx90a, have no mark at all.
//!   But a load that is repeated in a loop in which nothing else happens is atomic or volatile: a
//!   plain one would have been moved out of the loop. The compiler may peel off the first
//!   iteration, so the same load directly in front of such a loop is one too.
//! * Stores have marks on gfx942. On the other targets, and in group memory, only a release shows,
//!   as a wait for earlier stores. It is missing if there are none that the wave could wait for.
//!   The race checks therefore know of unmarked stores
//!   ([`UnmarkedStores`](isobit_simgpu_core::check::UnmarkedStores)).

use super::Mark;
use super::code::{Code, Kind, ends, is_jump, memory};
use super::compared::{Location, reads, writes};
use crate::isa::{Arch, Inst};
use std::ops::RangeInclusive;

/// The largest loop that can be one that waits, and the largest distance between a release and its
/// store, in instructions.
const NEAR: usize = 64;

pub(super) fn mark(arch: Arch, code: &Code<'_>, marks: &mut [Mark]) {
    for (at, mark) in marks.iter_mut().enumerate() {
        let Some(inst) = code.inst(at) else { continue };
        let atomic = match memory(inst) {
            Some(("global" | "flat" | "buffer", Kind::Load)) => bypasses(arch, inst),
            Some(("global" | "flat" | "buffer", Kind::Store)) => {
                is_marked(arch, inst) || arch != Arch::Gfx942 && releases(arch, code, at)
            }
            _ => false,
        };
        if atomic {
            *mark = Mark::Atomic;
        }
    }
    for (from, to) in code.jumps() {
        if to <= from && from - to < NEAR && waits(code, to..=from) {
            mark_repeated(code, to..=from, marks);
        }
    }
}

/// Whether a load has the cache bits of an atomic or a volatile one. Non-temporal loads have `slc`
/// too, or only the bits of `nt`.
fn bypasses(arch: Arch, inst: &Inst) -> bool {
    match arch {
        Arch::Gfx942 => inst.cache.glc || inst.cache.dlc,
        Arch::Gfx90a | Arch::Gfx1100 => inst.cache.glc && !inst.cache.slc,
    }
}

/// Whether a store has the cache bits of an atomic or a volatile one.
fn is_marked(arch: Arch, inst: &Inst) -> bool {
    match arch {
        Arch::Gfx942 => inst.cache.glc || inst.cache.dlc,
        Arch::Gfx1100 => inst.cache.dlc && !inst.cache.slc,
        Arch::Gfx90a => false,
    }
}

/// Whether the store at `at` comes after a wait for earlier stores, with no access to memory
/// between.
fn releases(arch: Arch, code: &Code<'_>, at: usize) -> bool {
    let mut waited = false;
    for before in (at.saturating_sub(NEAR)..at).rev() {
        // Other code may also lead here, so what comes before does not tell.
        if code.is_target(before + 1) {
            return false;
        }
        let Some(inst) = code.inst(before) else { return false };
        match inst.name {
            "s_waitcnt_vscnt" if inst.imm == 0 => return true,
            "buffer_wbl2" => return true,
            // On gfx90a loads count too, so the access that the wave waits for decides.
            "s_waitcnt" if arch == Arch::Gfx90a && inst.imm & 0xc00f == 0 => waited = true,
            "s_barrier" | "s_swappc_b64" => return false,
            _ if is_jump(inst) => return false,
            _ => match memory(inst) {
                Some(("global" | "flat" | "buffer" | "scratch", kind)) => {
                    // The result of an atomic is waited for without a release too.
                    return waited && (kind == Kind::Store || kind == Kind::Atomic && !inst.cache.glc);
                }
                Some(_) if !waited => return false,
                _ => {}
            },
        }
    }
    false
}

/// Whether an instruction does more than arithmetic, a load or a jump within the code.
fn acts(inst: &Inst) -> bool {
    matches!(inst.name, "s_barrier" | "s_swappc_b64" | "s_call_b64" | "s_setpc_b64" | "s_endpgm")
        || memory(inst).is_some_and(|(_, kind)| kind != Kind::Load)
}

/// Whether nothing happens in a loop but loads and arithmetic.
fn waits(code: &Code<'_>, range: RangeInclusive<usize>) -> bool {
    let end = *range.end();
    range.into_iter().all(|at| {
        let Some(inst) = code.inst(at) else { return false };
        if is_jump(inst) {
            return at == end || code.target(at).is_some_and(|to| to > end);
        }
        !acts(inst)
    })
}

/// Marks the loads of a loop whose address the loop does not change, and the same loads in front of
/// it.
fn mark_repeated(code: &Code<'_>, range: RangeInclusive<usize>, marks: &mut [Mark]) {
    let mut changed: Vec<Location> = Vec::new();
    range.clone().filter_map(|at| code.inst(at)).for_each(|inst| writes(inst, |location, _| changed.push(location)));
    for at in range.clone() {
        let Some(inst) = code.inst(at) else { continue };
        if !matches!(memory(inst), Some(("global" | "flat" | "buffer" | "ds", Kind::Load))) {
            continue;
        }
        let mut fixed = true;
        reads(inst, |location| fixed &= !changed.contains(&location));
        if fixed {
            marks[at] = Mark::Atomic;
            mark_peeled(code, inst, *range.start(), marks);
        }
    }
}

/// Marks a load of the loop at `start` in the iterations that the compiler has peeled off: where it
/// is followed by the loop, with the same address, and with nothing between that the loop could not
/// contain.
fn mark_peeled(code: &Code<'_>, load: &Inst, start: usize, marks: &mut [Mark]) {
    let mut address: Vec<Location> = Vec::new();
    reads(load, |location| address.push(location));
    for at in (start.saturating_sub(NEAR)..start).rev() {
        let Some(inst) = code.inst(at) else { return };
        let goes_back = is_jump(inst) && code.target(at).is_none_or(|to| to <= at);
        if acts(inst) || ends(inst) || goes_back {
            return;
        }
        let mut changes = false;
        writes(inst, |location, _| changes |= address.contains(&location));
        if changes {
            return;
        }
        if is_same(inst, load) {
            marks[at] = Mark::Atomic;
        }
        // Other code also leads here, so what comes before does not belong to the loop alone.
        if code.is_target(at) {
            return;
        }
    }
}

/// Whether two loads read the same bytes if the registers of the address have the same values.
fn is_same(one: &Inst, other: &Inst) -> bool {
    let place = |inst: &Inst| (inst.name, inst.src, inst.imm, inst.imm1, inst.offen, inst.idxen);
    place(one) == place(other)
}

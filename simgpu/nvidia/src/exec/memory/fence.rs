//! Fences. The simulated card executes the accesses of a thread in order and has no caches, so
//! fences do nothing; the simulator does not check whether a kernel has the fences that it needs.
//! For the race checks, only barriers and atomics order threads: each atomic releases what its
//! thread did before and acquires what other threads released at its address, with or without a
//! fence.

use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

/// Fences.
pub const TABLE: Table = &[("membar", membar), ("fence", fence)];

fn membar(_: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    if modifiers.take("proxy") {
        take_proxy(&mut modifiers)?;
    } else {
        modifiers.take_any(&["cta", "gl", "sys"]).ok_or("it has no level")?;
    }
    finish(inst, modifiers)
}

fn fence(_: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    if modifiers.take("proxy") {
        take_proxy(&mut modifiers)?;
    } else {
        modifiers.take_any(&["sc", "acq_rel", "acquire", "release"]);
        modifiers.take_any(&["cta", "cluster", "gpu", "sys"]).ok_or("it has no scope")?;
    }
    finish(inst, modifiers)
}

fn take_proxy(modifiers: &mut Modifiers<'_>) -> Result<(), String> {
    const KINDS: [&str; 6] =
        ["alias", "async", "async.global", "async::generic", "async.shared::cta", "async.shared::cluster"];
    modifiers.take_any(&KINDS).ok_or("it is for a proxy that is not simulated")?;
    modifiers.take_any(&["global", "shared::cta", "shared::cluster"]);
    Ok(())
}

fn finish(inst: &Instruction, modifiers: Modifiers<'_>) -> Result<(), String> {
    modifiers.finish()?;
    if inst.operands.is_empty() { Ok(()) } else { Err("it has operands, but needs none".into()) }
}

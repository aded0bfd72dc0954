//! Fences. The simulated card executes the accesses of a thread in their order and has no caches,
//! so that they do nothing; whether the kernel has them where it must is not looked at. What orders
//! threads for the race checks are barriers and atomics: each atomic counts as releasing what its
//! thread did before and as acquiring what others of its address released, with a fence beside it
//! or without.

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
    if inst.operands.is_empty() { Ok(()) } else { Err("it takes no operands".into()) }
}

//! Asynchronous copies from global to shared memory: `cp.async`.
//!
//! A copy may read its source at any time between the instruction and the end of the wait for it,
//! and may write its destination at any time in the same period. Here the instruction reads and
//! checks the source. The destination is checked twice: at the instruction, because another warp
//! that still reads there has a race with the copy from then on; and at the end of the wait, when
//! other threads may see the written data. Between the two checks, the destination counts as not
//! written.

use super::address::{address, addresses};
use super::checked_access::{self, low};
use super::load_store::take_hints;
use super::operation::{Form, lanes_in};
use super::pending::{form, take, wait};
use crate::exec::lane::row;
use crate::exec::{Env, Flow, LANES, Place, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand, Space, Type};
use isobit_simgpu_core::check::Access;

/// Asynchronous copies.
pub const TABLE: Table = &[("cp", lower)];

fn lower(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    if !modifiers.take("async") {
        return Err("only asynchronous copies are simulated".into());
    }
    match modifiers.take_any(&["commit_group", "wait_group", "wait_all"]) {
        None => copy(lower, inst, modifiers),
        Some("commit_group") => group(lower, inst, modifiers, false, commit).map(|step| lower.push(step)),
        // A wait makes the copies.
        Some("wait_group") => group(lower, inst, modifiers, true, wait_group).map(|step| lower.push_access(step)),
        Some(_) => group(lower, inst, modifiers, false, wait_all).map(|step| lower.push_access(step)),
    }
}

type Run = fn(&mut Warp, &Step, &mut Env<'_>) -> Flow;

fn group(
    lower: &Lower<'_>,
    inst: &Instruction,
    modifiers: Modifiers<'_>,
    number: bool,
    run: Run,
) -> Result<Step, String> {
    modifiers.finish()?;
    let extra = match inst.operands.as_slice() {
        [] if !number => 0,
        [Operand::Integer(left)] if number => {
            u32::try_from(*left).map_err(|_| format!("{left} groups are too many"))?
        }
        _ => return Err("its only possible operand is the number of groups".into()),
    };
    Ok(Step { extra, ..lower.step(run) })
}

fn commit(warp: &mut Warp, _: &Step, _: &mut Env<'_>) -> Flow {
    let lanes = warp.active;
    warp.pending.commit(lanes);
    Flow::Next
}

fn wait_group(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    wait(warp, env, Some(step.extra));
    Flow::Next
}

fn wait_all(warp: &mut Warp, _: &Step, env: &mut Env<'_>) -> Flow {
    wait(warp, env, None);
    Flow::Next
}

/// Indices of a step's sources.
const TO: usize = 0;
/// See [`TO`].
const FROM: usize = 1;
/// See [`TO`]: the number of bytes to read; the remaining bytes are zeros.
const READ: usize = 2;
/// See [`TO`]: the predicate that skips the read.
const IGNORED: usize = 3;

fn copy(lower: &mut Lower<'_>, inst: &Instruction, mut modifiers: Modifiers<'_>) -> Result<(), String> {
    let through = modifiers.take_any(&["ca", "cg"]).ok_or("this kind of copy is not simulated")?;
    if !modifiers.take("shared") && !modifiers.take("shared::cta") || !modifiers.take("global") {
        return Err("it must copy from global to shared memory".into());
    }
    let policy = take_hints(&mut modifiers);
    modifiers.finish()?;
    let (operands, policies) = inst.operands.split_at(inst.operands.len().saturating_sub(usize::from(policy)));
    for policy in policies {
        lower.source(policy, Type { kind: Kind::Bits, bits: 64 })?;
    }
    let [to, from, Operand::Integer(bytes), rest @ ..] = operands else {
        return Err("it needs two addresses and a constant size".into());
    };
    if !matches!((through, bytes), ("ca", 4 | 8 | 16) | ("cg", 16)) {
        return Err(format!("it cannot copy {bytes} bytes"));
    }
    let (to, from) = (address(lower, to, Space::Shared)?, address(lower, from, Space::Global)?);
    let (mut read, mut ignored) = (Place::NONE, Place::NONE);
    match rest {
        [] => {}
        [Operand::Register(id)] if lower.register(*id).ty.kind == Kind::Predicate => ignored = lower.place(*id),
        [size] => read = lower.source(size, Type { kind: Kind::Unsigned, bits: 32 })?,
        _ => return Err("it has more than one source size".into()),
    }
    let bytes = *bytes as u32;
    let mut step = lower.step(run);
    step.src = [to.base, from.base, read, ignored];
    step.extra = lower.program.forms.len() as u32;
    lower.push_access(step);
    for (at, access) in [(to, Access::Store), (from, Access::Load)] {
        let form = form(access, bytes, take);
        lower.program.forms.push(Form { offset: at.offset, narrow: at.narrow, ..form });
    }
    lower.program.granules.note_global(bytes);
    lower.program.granules.note_local(bytes);
    Ok(())
}

fn run(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let program = env.program;
    let [store, load] = [0, 1].map(|at| &program.forms[step.extra as usize + at]);
    let to = addresses(warp, program, step.src[TO], store);
    let from = addresses(warp, program, step.src[FROM], load);
    let mut sizes = match step.src[READ] {
        Place::NONE => [load.bytes; LANES],
        // SAFETY: lowering gave the step a 32-bit source.
        place => unsafe { *row(warp, program, place).cast::<[u32; LANES]>() },
    };
    let mask = warp.active;
    if step.src[IGNORED] != Place::NONE {
        let ignored = warp.predicate(step.src[IGNORED]);
        lanes_in(ignored).for_each(|lane| sizes[lane] = 0);
    }
    if let Some(lane) = lanes_in(mask).find(|lane| sizes[*lane] > load.bytes) {
        env.fault = Some(format!("a copy of {} bytes cannot read {} bytes", load.bytes, sizes[lane]).into());
        return Flow::Fault;
    }
    let checked = checked_access::check_shared(warp, env, Access::Store, (store.bytes, store.align), mask, &to);
    let (mask, clipped) = ((checked.lanes | checked.clipped) as u32, checked.clipped as u32);
    for lane in lanes_in(mask) {
        if let Some(part) = env.shared.part(low(to[lane]), store.bytes) {
            env.shared.forget(part.address as u32, part.bytes as u32);
        }
    }
    warp.pending.ask(warp.pc, store.bytes, to);
    let mut left = mask;
    let mut copied = 0;
    while left != 0 {
        let bytes = sizes[left.trailing_zeros() as usize];
        let lanes = lanes_in(left).filter(|lane| sizes[*lane] == bytes).fold(0, |lanes, lane| lanes | 1 << lane);
        left &= !lanes;
        if bytes == 0 {
            copied |= lanes;
        } else if bytes == load.bytes {
            checked_access::global(warp, env, load, lanes, &from);
        } else {
            checked_access::global(warp, env, &Form { bytes, ..load.clone() }, lanes, &from);
        }
    }
    copied |= warp.pending.taken();
    for lane in lanes_in(copied & clipped) {
        if let Some(part) = env.shared.part(low(to[lane]), store.bytes) {
            warp.pending.asked_part(lane, part);
        }
    }
    warp.pending.asked(copied & !clipped);
    Flow::Next
}

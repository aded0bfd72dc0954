//! Calls: of functions that may call themselves, and through pointers.
//!
//! A call copies its arguments to a new frame on the stack of each lane ([`stack`](super::stack)),
//! keeps the caller's registers there, and goes on in the function; lanes that call different
//! functions part. Lanes that are deeper in calls run first, so that lanes which called together
//! meet again where the call returns.

use super::calls::{Calls, Known, MOST_VALUES, Move, Reach, Site, Slots, What};
use super::lane::row;
use super::memory::FUNCTION_APERTURE;
use super::program::{Exec, Flow, Step};
use super::row::LANES;
use super::warp::{Env, Fragment, Wait, Warp};
use crate::lower::{CALL, COLLECT, Location, Lower, Table};
use crate::ptx::ast::{Instruction, Kind, Operand, Signature, Type};
use isobit_simgpu_core::finding::{Fault, FaultKind};

fn direct(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let Reach::Function(callee) = env.program.calls.sites[step.extra as usize].reach else {
        return Flow::Fault;
    };
    enter(warp, env, step.extra, &[(callee, warp.active)])
}

fn indirect(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let calls = &env.program.calls;
    // SAFETY: lowering gave the step a 64-bit source.
    let pointers = unsafe { *row(warp, env.program, step.src[0]).cast::<[u64; LANES]>() };
    let Reach::Pointer(callees) = &calls.sites[step.extra as usize].reach else { return Flow::Fault };
    let mut groups = Vec::with_capacity(1);
    let mut left = warp.active;
    while left != 0 {
        let pointer = pointers[left.trailing_zeros() as usize];
        let same = pointers.iter().enumerate().fold(0, |same, (lane, p)| same | u32::from(*p == pointer) << lane);
        let lanes = same & left;
        let found = callees.iter().find(|callee| calls.callees[**callee as usize].address == pointer);
        let Some(callee) = found else {
            warp.active = lanes;
            env.fault = Some(Fault::of(FaultKind::Jump, no_function(calls, step.extra, pointer)));
            return Flow::Fault;
        };
        groups.push((*callee, lanes));
        left &= !lanes;
    }
    enter(warp, env, step.extra, &groups)
}

/// Says why a call through a pointer cannot be made.
#[cold]
fn no_function(calls: &Calls, site: u32, pointer: u64) -> String {
    if pointer == 0 {
        return "a call through a null pointer".to_owned();
    }
    let wanted = &calls.sites[site as usize].signature;
    match calls.known.iter().find(|known| known.address == pointer) {
        Some(Known { name, what: What::Pure, .. }) => format!("a call of a pure virtual function ({name})"),
        Some(Known { name, what: What::Kernel, .. }) => format!("a call of the kernel {name} through a pointer"),
        Some(Known { name, what: What::Function(signature), .. }) if signature != wanted => {
            format!("a call through a pointer passes {}, but {name} takes {}", values(wanted), values(signature))
        }
        Some(Known { name, .. }) => {
            format!("a call through a pointer reaches {name}, which it does not name as a target")
        }
        None if pointer >= FUNCTION_APERTURE => {
            format!("a call through {pointer:#x}, which is not the address of a function of this module")
        }
        None => format!("a call through {pointer:#x}, which is not the address of a function"),
    }
}

/// Describes the values of a call in words.
fn values(signature: &Signature) -> String {
    let list = |sizes: &[u64]| match sizes {
        [] => "nothing".to_owned(),
        sizes => sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ") + " bytes",
    };
    format!("{} (returning {})", list(&signature.parameters), list(&signature.returns))
}

/// Lets groups of lanes call functions.
fn enter(warp: &mut Warp, env: &mut Env<'_>, site: u32, groups: &[(u32, u32)]) -> Flow {
    let program = env.program;
    let back = warp.pc as u32;
    for &(callee, lanes) in groups {
        if let Err((lane, why)) = warp.call(program, site, callee, lanes, back) {
            warp.active = 1 << lane;
            env.fault = Some(Fault::of(FaultKind::Stack, why));
            return Flow::Fault;
        }
    }
    if let &[(callee, lanes)] = groups
        && warp.stack.is_level(lanes)
    {
        warp.pc = program.calls.callees[callee as usize].entry as usize;
        warp.depth = warp.stack.depth(lanes.trailing_zeros() as usize);
        warp.meet();
        return Flow::Next;
    }
    for &(callee, lanes) in groups {
        let pc = program.calls.callees[callee as usize].entry as usize;
        part(warp, lanes, |_, _| pc);
    }
    warp.active = 0;
    warp.resume();
    Flow::Next
}

/// Sets lanes aside, those of the same depth and the same next step together.
fn part(warp: &mut Warp, lanes: u32, next: impl Fn(&Warp, usize) -> usize) {
    let mut left = lanes;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let at = |lane: usize| (next(warp, lane), warp.stack.depth(lane));
        let (pc, depth) = at(first);
        let same = (0..LANES).filter(|lane| left >> lane & 1 != 0 && at(*lane) == (pc, depth));
        let same = same.fold(0, |same, lane| same | 1 << lane);
        warp.set_aside(Fragment { pc, lanes: same, wait: Wait::Ready, depth, told: false });
        left &= !same;
    }
}

/// Returns from a function with a frame; `extra` is its number.
fn ret(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let lanes = warp.active;
    let back = warp.leave(env.program, step.extra, lanes);
    let first = lanes.trailing_zeros() as usize & 31;
    let same = (0..LANES).all(|lane| lanes >> lane & 1 == 0 || back[lane] == back[first]);
    if same && warp.stack.is_level(lanes) {
        (warp.pc, warp.depth) = (back[first] as usize, warp.stack.depth(first));
        warp.meet();
    } else {
        part(warp, lanes, |_, lane| back[lane] as usize);
        warp.active = 0;
        warp.resume();
    }
    Flow::Next
}

/// The step function that returns.
pub const RET: Exec = ret;

/// Copies the results of a call from the frame that the function has left.
fn collect(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    warp.collect(env.program, step.extra, warp.active);
    Flow::Next
}

/// Calls.
pub const TABLE: Table = &[(CALL, lower_call), (COLLECT, lower_collect)];

/// Returns the site of a call.
fn number(inst: &Instruction) -> Result<usize, String> {
    match inst.operands.first() {
        Some(Operand::Integer(number)) => Ok(*number as usize),
        _ => Err("it is not an instruction of PTX".into()),
    }
}

/// Returns what moves between the caller's variables and places in the frame.
fn moves(lower: &Lower<'_>, names: &[String], places: &[u32], sizes: &[u64]) -> Result<Vec<Move>, String> {
    let one = |((name, there), bytes): ((&String, &u32), &u64)| {
        let (here, framed) = match lower.locations.get(name) {
            Some(Location::Local(at)) => (*at, false),
            Some(Location::Frame(at)) => (*at, true),
            _ => return Err(format!("{name} is not a variable of the caller")),
        };
        Ok(Move { here, framed, there: *there, bytes: *bytes as u32 })
    };
    names.iter().zip(places).zip(sizes).map(one).collect()
}

fn lower_call(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let number = number(inst)?;
    let (sites, reach) = (lower.calling.sites, lower.calling.reach.get(number).cloned());
    let (Some(site), Some(reach)) = (sites.get(number), reach) else { return Err("there is no such call".into()) };
    let reach = reach.ok_or("the function that it calls has no code")?;
    let signature = site.signature.clone();
    let slots = Slots::new(&signature);
    if u64::from(slots.end) >= MOST_VALUES {
        return Err(format!("its values exceed {MOST_VALUES} bytes"));
    }
    let arguments = moves(lower, &site.arguments, &slots.parameters, &signature.parameters)?;
    let results = moves(lower, &site.results, &slots.returns, &signature.returns)?;
    let mut step = lower.step(if inst.operands.len() > 1 { indirect } else { direct });
    if let Some(pointer) = inst.operands.get(1) {
        step.src[0] = lower.source(pointer, Type { kind: Kind::Unsigned, bits: 64 })?;
    }
    step.extra = lower.program.calls.sites.len() as u32;
    let kept = std::mem::take(&mut lower.calling.live);
    lower.program.calls.sites.push(Site { reach, arguments, results, kept, signature });
    lower.program.calls.stack = true;
    lower.push(step);
    Ok(())
}

fn lower_collect(lower: &mut Lower<'_>, _: &Instruction) -> Result<(), String> {
    let mut step = lower.step(collect);
    // It follows its call.
    step.extra = (lower.program.calls.sites.len() as u32).wrapping_sub(1);
    lower.push(step);
    Ok(())
}

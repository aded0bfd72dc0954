//! Control flow: branches, exits, and barriers. The lowering of a whole function emits the
//! branches; the other instructions have a table here.

use super::lane::row;
use super::program::{Exec, Flow, Place, Program, Step};
use super::row::LANES;
use super::warp::{Barrier, Env, Fragment, Reduction, Wait, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Type};
use isobit_simgpu_core::finding::{Fault, FaultKind};

/// Jumps forward to step `extra`.
pub fn jump(warp: &mut Warp, step: &Step, _: &mut Env<'_>) -> Flow {
    warp.pc = step.extra as usize;
    Flow::Next
}

/// Jumps back to step `extra`.
pub fn jump_back(warp: &mut Warp, step: &Step, _: &mut Env<'_>) -> Flow {
    warp.pc = step.extra as usize;
    Flow::Back
}

/// Jumps forward to step `extra` in the lanes whose predicate is true.
pub fn branch(warp: &mut Warp, step: &Step, _: &mut Env<'_>) -> Flow {
    let taken = warp.active & warp.predicate(step.src[0]);
    if taken == warp.active {
        warp.pc = step.extra as usize;
    } else if taken != 0 {
        warp.fork(step.extra as usize, taken);
    }
    Flow::Next
}

/// Jumps back to step `extra` in the lanes whose predicate is true.
pub fn branch_back(warp: &mut Warp, step: &Step, _: &mut Env<'_>) -> Flow {
    let taken = warp.active & warp.predicate(step.src[0]);
    if taken == 0 {
        return Flow::Next;
    }
    if taken != warp.active {
        warp.fork(warp.pc, warp.active & !taken);
    }
    warp.pc = step.extra as usize;
    Flow::Back
}

/// Jumps to one of the targets in list `extra`; the first source is the index.
pub fn switch(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let targets = &env.program.targets[step.extra as usize];
    let index = words(warp, env.program, step.src[0]);
    let from = warp.pc;
    while warp.active != 0 {
        let which = index[warp.active.trailing_zeros() as usize];
        let Some(&target) = targets.get(which as usize) else {
            env.fault = Some(format!("brx.idx takes target {which} of {}", targets.len()).into());
            return Flow::Fault;
        };
        let lanes = lanes_with(warp.active, &index, which);
        warp.fork(target as usize, lanes);
    }
    warp.resume();
    if warp.pc < from { Flow::Back } else { Flow::Next }
}

/// Ends the threads.
pub fn exit(_: &mut Warp, _: &Step, _: &mut Env<'_>) -> Flow {
    Flow::Exit
}

fn trap(_: &mut Warp, _: &Step, env: &mut Env<'_>) -> Flow {
    env.fault = Some("the kernel executed a trap".into());
    Flow::Fault
}

fn assertion(_: &mut Warp, _: &Step, env: &mut Env<'_>) -> Flow {
    env.fault = Some(Fault::of(FaultKind::Assert, "an assertion of the kernel failed"));
    Flow::Fault
}

fn breakpoint(_: &mut Warp, _: &Step, env: &mut Env<'_>) -> Flow {
    env.fault = Some("the kernel hit a breakpoint, but there is no debugger".into());
    Flow::Fault
}

fn sleep(_: &mut Warp, _: &Step, _: &mut Env<'_>) -> Flow {
    Flow::Yield
}

/// Returns the lanes of `mask` whose word is `word`.
fn lanes_with(mask: u32, words: &[u32; LANES], word: u32) -> u32 {
    words.iter().enumerate().fold(0, |lanes, (lane, w)| lanes | u32::from(*w == word) << lane) & mask
}

fn words(warp: &Warp, program: &Program, place: Place) -> [u32; LANES] {
    // SAFETY: lowering accepted it as a 32-bit source of this program.
    unsafe { (*row(warp, program, place)).0 }
}

/// Bits of [`Step::extra`] of a barrier; the reduction is in the bits above.
const ALIGNED: u32 = 1;
const ARRIVE_ONLY: u32 = 2;
const REDUCTIONS: [Option<Reduction>; 4] = [None, Some(Reduction::Count), Some(Reduction::All), Some(Reduction::Any)];

/// A barrier of the block. The sources are its number and, optionally, the number of participating
/// threads.
fn barrier(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let first = warp.active.trailing_zeros() as usize;
    let number = words(warp, env.program, step.src[0]);
    let mut same = lanes_with(warp.active, &number, number[first]);
    let threads = (step.src[1] != Place::NONE).then(|| words(warp, env.program, step.src[1]));
    if let Some(threads) = threads {
        same &= lanes_with(warp.active, &threads, threads[first]);
    }
    // Threads whose register names another barrier come to that barrier separately.
    if same != warp.active {
        warp.fork(warp.pc - 1, warp.active & !same);
    }
    let (number, threads) = (number[first], threads.map(|threads| threads[first]));
    if number >= BARRIERS || threads.is_some_and(|threads| threads == 0 || threads % LANES as u32 != 0) {
        let why = match threads {
            Some(threads) if number < BARRIERS => format!("a barrier for {threads} threads, not a multiple of 32"),
            _ => format!("barrier {number} does not exist: a block has {BARRIERS} barriers"),
        };
        env.fault = Some(why.into());
        return Flow::Fault;
    }
    warp.barrier = Some(Barrier {
        number,
        threads,
        arrive_only: step.extra & ARRIVE_ONLY != 0,
        aligned: step.extra & ALIGNED != 0,
        reduction: REDUCTIONS[(step.extra >> 2) as usize],
    });
    Flow::Barrier
}

/// Barriers per block.
pub const BARRIERS: u32 = 16;

/// `bar.warp.sync`: the lanes of a mask wait for each other.
fn warp_sync(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let members = words(warp, env.program, step.src[0]);
    if warp.converged(members[warp.active.trailing_zeros() as usize]) { Flow::Next } else { Flow::Converge }
}

/// The step function of `bar.warp.sync`.
pub const WARP_SYNC: Exec = warp_sync;

/// Lets lanes continue that wait for each other at different `bar.warp.sync` instructions with the
/// same mask, which PTX allows. Returns whether there were any.
pub fn open_warp_barrier(warp: &mut Warp, program: &Program) -> bool {
    let mask_at = |other: &Fragment| {
        let step = program.steps.get(other.pc).filter(|step| std::ptr::fn_addr_eq(step.exec, WARP_SYNC))?;
        (other.wait == Wait::Members).then(|| words(warp, program, step.src[0])[other.lanes.trailing_zeros() as usize])
    };
    let masks: Vec<Option<u32>> = warp.others.iter().map(mask_at).collect();
    let open = masks.iter().flatten().copied().find(|mask| {
        let there = warp.others.iter().zip(&masks).filter(|(_, m)| **m == Some(*mask));
        mask & warp.live & !there.fold(0, |lanes, (other, _)| lanes | other.lanes) == 0
    });
    for (other, _) in warp.others.iter_mut().zip(&masks).filter(|(_, mask)| open.is_some() && **mask == open) {
        (other.pc, other.wait) = (other.pc + 1, Wait::Ready);
    }
    open.is_some()
}

const WORD: Type = Type { kind: Kind::Bits, bits: 32 };

/// The control-flow instructions other than branches.
pub const TABLE: Table = &[
    ("trap", |lower, inst| plain(lower, inst, trap)),
    ("brkpt", |lower, inst| plain(lower, inst, breakpoint)),
    (ASSERTION, |lower, inst| plain(lower, inst, assertion)),
    ("nanosleep", |lower, inst| {
        let mut modifiers = Modifiers::of(inst);
        modifiers.take("u32");
        modifiers.finish()?;
        let [time] = &inst.operands[..] else { return Err("it needs one operand".into()) };
        lower.source(time, WORD)?;
        lower.push(lower.step(sleep));
        Ok(())
    }),
    ("bar", |lower, inst| lower_barrier(lower, inst, true)),
    ("barrier", |lower, inst| lower_barrier(lower, inst, false)),
];

/// The opcode for a call of `__assertfail`; PTX text cannot contain it.
pub const ASSERTION: &str = "(assertion)";

fn plain(lower: &mut Lower<'_>, inst: &Instruction, exec: Exec) -> Result<(), String> {
    Modifiers::of(inst).finish()?;
    if !inst.operands.is_empty() {
        return Err("it has operands, but needs none".into());
    }
    lower.push(lower.step(exec));
    Ok(())
}

/// `bar` is `barrier` with `.aligned`, and also has the warp-level forms.
fn lower_barrier(lower: &mut Lower<'_>, inst: &Instruction, aligned: bool) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    if modifiers.take("warp") {
        if !aligned || !modifiers.take("sync") {
            return Err("the only warp barrier is bar.warp.sync".into());
        }
        modifiers.finish()?;
        let [members] = &inst.operands[..] else { return Err("it needs a member mask".into()) };
        let members = lower.source(members, WORD)?;
        let mut step = lower.step(WARP_SYNC);
        step.src[0] = members;
        lower.push(step);
        return Ok(());
    }
    modifiers.take("cta");
    let form =
        modifiers.take_any(&["sync", "arrive", "red"]).ok_or("it has none of the modifiers .sync, .arrive and .red")?;
    let aligned = modifiers.take("aligned") || aligned;
    let mut step = lower.step(barrier);
    let mut operands = &inst.operands[..];
    let mut kind = 0;
    if form == "red" {
        let operation = modifiers.take_any(&["popc", "and", "or"]).ok_or("it has no reduction operation")?;
        let ty = modifiers.take_type()?;
        let [destination, middle @ .., condition] = operands else { return Err("it has too few operands".into()) };
        let predicate = ty.kind == Kind::Predicate;
        kind = match (operation, predicate, ty) {
            ("popc", false, Type { kind: Kind::Unsigned, bits: 32 }) => 1,
            ("and", true, _) => 2,
            ("or", true, _) => 3,
            _ => return Err(format!("it has no {operation} of that type")),
        };
        step.dst =
            if predicate { lower.written_predicate(destination)? } else { lower.destination(destination, ty)? };
        step.src[2] = lower.predicate(condition)?;
        operands = middle;
    }
    modifiers.finish()?;
    (step.src[0], step.src[1]) = match (operands, form) {
        ([number], "sync" | "red") => (lower.source(number, WORD)?, Place::NONE),
        ([number, threads], _) => (lower.source(number, WORD)?, lower.source(threads, WORD)?),
        _ => return Err(format!("it does not accept {} operands", operands.len())),
    };
    step.extra = kind << 2 | if aligned { ALIGNED } else { 0 } | if form == "arrive" { ARRIVE_ONLY } else { 0 };
    lower.push(step);
    Ok(())
}

/// Gives lanes the result of a barrier's reduction. `step` is the barrier's step, and `count` of
/// `of` conditions are true.
pub fn reduced(warp: &mut Warp, step: &Step, lanes: u32, reduction: Reduction, count: u32, of: u32) {
    let active = std::mem::replace(&mut warp.active, lanes);
    match reduction {
        // SAFETY: lowering gave the step a 32-bit destination.
        Reduction::Count => unsafe { super::lane::write(warp, step.dst, &[count; LANES]) },
        Reduction::All => warp.set_predicate(step.dst, if count == of { u32::MAX } else { 0 }),
        Reduction::Any => warp.set_predicate(step.dst, if count > 0 { u32::MAX } else { 0 }),
    }
    warp.active = active;
}

/// Returns the lanes among `lanes` whose condition at the barrier `step` is true.
pub fn condition(warp: &Warp, step: &Step, lanes: u32) -> u32 {
    warp.predicate(step.src[2]) & lanes
}

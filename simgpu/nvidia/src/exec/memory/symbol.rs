//! Addresses as values: of variables (`mov`), converted between state spaces (`cvta`), and tested
//! for a state space (`isspacep`).

use super::address::{location, take_space};
use super::{APERTURE, LOCAL_APERTURE, SHARED_APERTURE};
use crate::exec::lane::{self, Lanes};
use crate::exec::{Env, Flow, LANES, Place, Step, Warp};
use crate::lower::{Location, Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand, Space, Type};

/// Conversions and tests of addresses.
pub const TABLE: Table = &[("cvta", convert), ("isspacep", inside)];

const WIDE: Type = Type { kind: Kind::Bits, bits: 64 };

/// `mov` of a variable's address in its own state space: for device memory and the argument buffer
/// that is the generic address, for shared and local memory an offset.
///
/// # Errors
/// Fails if the variable does not exist, or the register cannot hold its address.
pub fn symbol(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    let [to, Operand::Symbol(name, offset)] = inst.operands.as_slice() else {
        return Err("it needs a register and a variable".into());
    };
    if !matches!((ty.kind, ty.bits), (Kind::Bits | Kind::Unsigned | Kind::Signed, 32 | 64)) {
        return Err(format!("an address is not a {ty:?}"));
    }
    let dst = lower.destination(to, ty)?;
    let at = match location(lower, name)? {
        Location::Argument(at) if ty.bits == 64 => {
            let at = lower.constant(u64::from(at).wrapping_add_signed(*offset), 64);
            let step = Step { dst, src: [at, Place::NONE, Place::NONE, Place::NONE], ..lower.step(argument) };
            lower.push(step);
            return Ok(());
        }
        Location::Memory(at) if ty.bits == 64 => at,
        Location::Memory(_) => return Err(format!("the address of {name} has 64 bits")),
        Location::Frame(at) => {
            push_framed(lower, dst, u64::from(at).wrapping_add_signed(*offset), ty.bits);
            return Ok(());
        }
        Location::Shared(at) | Location::Local(at) | Location::Argument(at) => at.into(),
    };
    let at = lower.constant(at.wrapping_add_signed(*offset), ty.bits);
    let exec = if ty.bits == 64 { lane::exec::<Copy64>(lower) } else { lane::exec::<Copy32>(lower) };
    let step = Step { dst, src: [at, Place::NONE, Place::NONE, Place::NONE], ..lower.step(exec) };
    lower.push(step);
    Ok(())
}

/// `mov` of a function's address, through which it can be called.
///
/// # Errors
/// Fails if there is no such function, or the register cannot hold its address.
pub fn function(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    let [to, Operand::Name(name)] = inst.operands.as_slice() else {
        return Err("it needs a register and a function".into());
    };
    if !matches!((ty.kind, ty.bits), (Kind::Bits | Kind::Unsigned | Kind::Signed, 64)) {
        return Err(format!("the address of {name} has 64 bits"));
    }
    let Some(Location::Memory(at)) = lower.locations.get(name).copied() else {
        return Err(format!("{name} is not a function that this module defines"));
    };
    let (dst, at) = (lower.destination(to, ty)?, lower.constant(at, 64));
    let exec = lane::exec::<Copy64>(lower);
    lower.push(Step { dst, src: [at, Place::NONE, Place::NONE, Place::NONE], ..lower.step(exec) });
    Ok(())
}

/// Adds the step that computes an address in the frame of a function.
fn push_framed(lower: &mut Lower<'_>, dst: Place, offset: u64, bits: u32) {
    let src = [lower.calling.frame, lower.constant(offset, bits), Place::NONE, Place::NONE];
    let exec = if bits == 64 { lane::exec::<Framed64>(lower) } else { lane::exec::<Framed32>(lower) };
    lower.push(Step { dst, src, ..lower.step(exec) });
}

struct Framed32;

impl Lanes for Framed32 {
    type In = (u32, u32);
    type Out = u32;

    #[inline(always)]
    fn lane((frame, offset): Self::In) -> u32 {
        frame.wrapping_add(offset)
    }
}

struct Framed64;

impl Lanes for Framed64 {
    type In = (u32, u64);
    type Out = u64;

    #[inline(always)]
    fn lane((frame, offset): Self::In) -> u64 {
        u64::from(frame).wrapping_add(offset)
    }
}

struct Copy32;

impl Lanes for Copy32 {
    type In = (u32,);
    type Out = u32;

    #[inline(always)]
    fn lane((value,): Self::In) -> u32 {
        value
    }
}

struct Copy64;

impl Lanes for Copy64 {
    type In = (u64,);
    type Out = u64;

    #[inline(always)]
    fn lane((value,): Self::In) -> u64 {
        value
    }
}

struct Add;

impl Lanes for Add {
    type In = (u64, u64);
    type Out = u64;

    #[inline(always)]
    fn lane((address, start): Self::In) -> u64 {
        address.wrapping_add(start)
    }
}

/// Returns the address of a parameter, which is known only at the launch.
fn argument(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    // SAFETY: lowering gave the step a constant and a 64-bit register.
    unsafe {
        let offset = &*lane::row(warp, env.program, step.src[0]).cast::<[u64; LANES]>();
        lane::write(warp, step.dst, &offset.map(|offset| env.arguments_at.wrapping_add(offset)));
    }
    Flow::Next
}

/// Returns the start of a state space in the generic address space.
fn start(space: Space) -> Result<u64, String> {
    match space {
        Space::Shared => Ok(SHARED_APERTURE),
        Space::Local => Ok(LOCAL_APERTURE),
        Space::Global | Space::Const | Space::Param => Ok(0),
        Space::Generic => Err("it has no state space".into()),
    }
}

fn convert(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let to = modifiers.take("to");
    let space = take_space(&mut modifiers);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    if ty != (Type { kind: Kind::Unsigned, bits: 64 }) {
        return Err(format!("a generic address has 64 bits and is not a {ty:?}"));
    }
    let start = start(space)?;
    let start = if to { start.wrapping_neg() } else { start };
    let [result, from] = inst.operands.as_slice() else { return Err("it needs two operands".into()) };
    let dst = lower.destination(result, WIDE)?;
    let from = match from {
        Operand::Symbol(name, offset) if !to => {
            let at = match (location(lower, name)?, space) {
                (Location::Memory(at), Space::Global | Space::Const) => at,
                (Location::Shared(at), Space::Shared) | (Location::Local(at), Space::Local) => at.into(),
                (Location::Argument(at), Space::Param) => {
                    let at = lower.constant(u64::from(at).wrapping_add_signed(*offset), 64);
                    let step = Step { dst, src: [at, Place::NONE, Place::NONE, Place::NONE], ..lower.step(argument) };
                    lower.push(step);
                    return Ok(());
                }
                (Location::Frame(at), Space::Local) => {
                    let at = u64::from(at).wrapping_add_signed(*offset).wrapping_add(LOCAL_APERTURE);
                    push_framed(lower, dst, at, 64);
                    return Ok(());
                }
                (found, _) => return Err(format!("{name} is in another state space ({found:?})")),
            };
            lower.constant(at.wrapping_add_signed(*offset), 64)
        }
        other => lower.source(other, WIDE)?,
    };
    let start = lower.constant(start, 64);
    let exec = lane::exec::<Add>(lower);
    let step = Step { dst, src: [from, start, Place::NONE, Place::NONE], ..lower.step(exec) };
    lower.push(step);
    Ok(())
}

fn inside(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let space = take_space(&mut modifiers);
    modifiers.finish()?;
    let [result, from] = inst.operands.as_slice() else { return Err("it needs two operands".into()) };
    let dst = lower.written_predicate(result)?;
    let src = [lower.source(from, WIDE)?, Place::NONE, Place::NONE, Place::NONE];
    let exec = match space {
        Space::Shared => lane::exec::<Within<SHARED_APERTURE>>(lower),
        Space::Local => lane::exec::<Within<LOCAL_APERTURE>>(lower),
        Space::Global => lane::exec::<Outside>(lower),
        Space::Param => in_arguments,
        Space::Const => return Err("the generic addresses of constants are those of global memory".into()),
        Space::Generic => return Err("it has no state space".into()),
    };
    let step = Step { dst, src, ..lower.step(exec) };
    lower.push(step);
    Ok(())
}

struct Within<const START: u64>;

impl<const START: u64> Lanes for Within<START> {
    type In = (u64,);
    type Out = bool;

    #[inline(always)]
    fn lane((address,): Self::In) -> bool {
        address.wrapping_sub(START) < APERTURE
    }
}

struct Outside;

impl Lanes for Outside {
    type In = (u64,);
    type Out = bool;

    #[inline(always)]
    fn lane((address,): Self::In) -> bool {
        address.wrapping_sub(SHARED_APERTURE) >= APERTURE && address.wrapping_sub(LOCAL_APERTURE) >= APERTURE
    }
}

fn in_arguments(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    // SAFETY: lowering gave the step a 64-bit source.
    let addresses = unsafe { &*lane::row(warp, env.program, step.src[0]).cast::<[u64; LANES]>() };
    let bytes = env.arguments.len() as u64;
    let within = |address: &u64| u32::from(address.wrapping_sub(env.arguments_at) < bytes);
    let bits = addresses.iter().enumerate().fold(0, |bits, (lane, address)| bits | within(address) << lane);
    warp.set_predicate(step.dst, bits);
    Flow::Next
}

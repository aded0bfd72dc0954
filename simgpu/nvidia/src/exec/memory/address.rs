//! Address operands: their parts, the memory that they refer to, and the addresses of all lanes.

use super::operation::Form;
use super::{arguments, checked_access};
use crate::exec::lane::row;
use crate::exec::{Env, Exec, Flow, LANES, Place, Program, Step, Warp};
use crate::lower::{Location, Lower, Modifiers};
use crate::ptx::ast::{Base, Operand, Space};

/// The memory that an address refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Writable device memory: `.global`.
    Global,
    /// Read-only device memory: `.const`, and the argument buffer by its address.
    Constant,
    /// `.shared`
    Shared,
    /// `.local`, and the parameters of calls.
    Local,
    /// The argument buffer, by offset.
    Arguments,
    /// The address decides.
    Generic,
}

/// An address operand.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    /// The memory that it refers to.
    pub memory: Memory,
    /// The base register, if any.
    pub base: Place,
    /// Whether the base register has 32 bits.
    pub narrow: bool,
    /// Added to the register, or the complete address.
    pub offset: u64,
}

/// Takes the state space of an instruction; the default is generic.
pub fn take_space(modifiers: &mut Modifiers<'_>) -> Space {
    let names = [
        ("global", Space::Global),
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        // Without clusters, each block is a cluster of its own.
        ("shared::cluster", Space::Shared),
        ("local", Space::Local),
        ("param", Space::Param),
        ("param::entry", Space::Param),
        ("param::func", Space::Param),
        ("const", Space::Const),
    ];
    names.into_iter().find(|(name, _)| modifiers.take(name)).map_or(Space::Generic, |(_, space)| space)
}

/// Returns the address of an operand in a state space.
///
/// # Errors
/// Fails if it is not an address, or is one of another space.
pub fn address(lower: &Lower<'_>, operand: &Operand, space: Space) -> Result<Address, String> {
    let Operand::Address(base, offset) = operand else { return Err(format!("operand {operand:?} is not an address")) };
    let memory = match space {
        Space::Global => Memory::Global,
        Space::Const => Memory::Constant,
        Space::Shared => Memory::Shared,
        Space::Local => Memory::Local,
        // A register holds the generic address of a parameter; only a named parameter has a known
        // offset in the buffer.
        Space::Param => Memory::Constant,
        Space::Generic => Memory::Generic,
    };
    let none = Place::NONE;
    match base {
        Base::None => {
            let memory = if space == Space::Param { Memory::Arguments } else { memory };
            Ok(Address { memory, base: none, narrow: false, offset: *offset as u64 })
        }
        Base::Register(id) => {
            let base = lower.place(*id);
            match (lower.width(*id), memory) {
                (64, _) => Ok(Address { memory, base, narrow: false, offset: *offset as u64 }),
                (32, Memory::Shared | Memory::Local) => {
                    Ok(Address { memory, base, narrow: true, offset: *offset as u64 })
                }
                (32, _) if space == Space::Param => {
                    Ok(Address { memory: Memory::Arguments, base, narrow: true, offset: *offset as u64 })
                }
                (bits, _) => Err(format!("{} has {bits} bits, but the address has 64", lower.register(*id).name)),
            }
        }
        Base::Symbol(name) => {
            let (memory, at) = match (location(lower, name)?, space) {
                (Location::Memory(at), Space::Global | Space::Const | Space::Generic) => (memory, at),
                (Location::Shared(at), Space::Shared) => (memory, at.into()),
                (Location::Local(at), Space::Local | Space::Param) => (Memory::Local, at.into()),
                (Location::Argument(at), Space::Param) => (Memory::Arguments, at.into()),
                (Location::Frame(at), Space::Local | Space::Param) => {
                    let offset = i64::from(at).wrapping_add(*offset) as u64;
                    return Ok(Address { memory: Memory::Local, base: lower.calling.frame, narrow: true, offset });
                }
                (found, _) => return Err(format!("{name} is in another state space ({found:?})")),
            };
            Ok(Address { memory, base: none, narrow: false, offset: at.wrapping_add_signed(*offset) })
        }
    }
}

/// Returns the location of a variable.
///
/// # Errors
/// Fails if no variable has this name.
pub fn location(lower: &Lower<'_>, name: &str) -> Result<Location, String> {
    lower.locations.get(name).copied().ok_or_else(|| format!("{name} is not a variable"))
}

/// Returns the addresses of all lanes, active or not.
#[inline(always)]
pub fn addresses(warp: &Warp, program: &Program, base: Place, form: &Form) -> [u64; LANES] {
    let offset = form.offset;
    if base == Place::NONE {
        return [offset; LANES];
    }
    // SAFETY: lowering checked that the register has this width.
    unsafe {
        let base = row(warp, program, base);
        if form.narrow {
            let base = &*base.cast::<[u32; LANES]>();
            std::array::from_fn(|lane| base[lane].wrapping_add(offset as u32).into())
        } else {
            let base = &*base.cast::<[u64; LANES]>();
            std::array::from_fn(|lane| base[lane].wrapping_add(offset))
        }
    }
}

/// Adds the step of a form with an address.
pub fn push(lower: &mut Lower<'_>, mut form: Form, address: Address) {
    (form.offset, form.narrow) = (address.offset, address.narrow);
    let (fast, base) = match address.memory {
        Memory::Global | Memory::Constant => (fast::<GLOBAL> as Exec, base::<GLOBAL> as Exec),
        Memory::Shared => (fast::<SHARED> as Exec, base::<SHARED> as Exec),
        Memory::Local => (fast::<LOCAL> as Exec, base::<LOCAL> as Exec),
        Memory::Arguments => (fast::<ARGUMENTS> as Exec, base::<ARGUMENTS> as Exec),
        Memory::Generic => (fast::<GENERIC> as Exec, base::<GENERIC> as Exec),
    };
    if matches!(address.memory, Memory::Global | Memory::Generic) {
        lower.program.granules.note_global(form.bytes);
    }
    if matches!(address.memory, Memory::Shared | Memory::Generic) {
        lower.program.granules.note_local(form.bytes);
    }
    let mut step = lower.step(lower.choose(fast, base));
    step.src[0] = address.base;
    step.extra = lower.program.forms.len() as u32;
    lower.program.forms.push(form);
    match address.memory {
        Memory::Local | Memory::Arguments => lower.push(step),
        Memory::Global | Memory::Constant | Memory::Shared | Memory::Generic => lower.push_access(step),
    }
}

const GLOBAL: u8 = 0;
const SHARED: u8 = 1;
const LOCAL: u8 = 2;
const ARGUMENTS: u8 = 3;
const GENERIC: u8 = 4;

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn fast<const MEMORY: u8>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    run::<MEMORY>(warp, step, env)
}

fn base<const MEMORY: u8>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    run::<MEMORY>(warp, step, env)
}

#[inline(always)]
fn run<const MEMORY: u8>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let program = env.program;
    let form = &program.forms[step.extra as usize];
    let addresses = addresses(warp, program, step.src[0], form);
    let mask = warp.active;
    match MEMORY {
        GLOBAL => checked_access::global(warp, env, form, mask, &addresses),
        SHARED => checked_access::shared(warp, env, form, mask, &addresses),
        LOCAL => checked_access::local(warp, env, form, mask, &addresses),
        ARGUMENTS => arguments::load(warp, env, form, mask, &addresses),
        _ => checked_access::generic(warp, env, form, mask, &addresses),
    }
    Flow::Next
}

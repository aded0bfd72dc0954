//! Loads and stores: `ld`, `ldu`, `st`.

use super::address::{Memory, address, push, take_space};
use super::operation::{Form, MOST, MOST_BYTES};
use super::width::moving;
use crate::exec::Place;
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand, Space, Type};
use isobit_simgpu_core::check::Access;

/// Loads and stores.
pub const TABLE: Table = &[("ld", load), ("ldu", load), ("st", store)];

/// The ordering of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Not ordered.
    Weak,
    /// Ordered with other strong accesses: `.relaxed` and stronger, and `.volatile`.
    Strong,
}

/// Takes the ordering of an instruction. Scopes matter only for caches, which the simulated card
/// does not have.
pub fn take_order(modifiers: &mut Modifiers<'_>) -> Order {
    modifiers.take("mmio");
    let strong = modifiers.take_any(&["volatile", "relaxed", "acquire", "release", "acq_rel"]).is_some();
    modifiers.take("weak");
    modifiers.take_any(&["cta", "cluster", "gpu", "sys"]);
    if strong { Order::Strong } else { Order::Weak }
}

/// Takes the cache hints of an instruction. Returns whether a policy follows as an operand.
pub fn take_hints(modifiers: &mut Modifiers<'_>) -> bool {
    modifiers.take("nc");
    modifiers.take_any(&["ca", "cg", "cs", "lu", "cv", "wb", "wt"]);
    modifiers.take_any(&[
        "L1::evict_normal",
        "L1::evict_unchanged",
        "L1::evict_first",
        "L1::evict_last",
        "L1::no_allocate",
    ]);
    modifiers.take_any(&["L2::evict_normal", "L2::evict_first", "L2::evict_last"]);
    modifiers.take_any(&["L2::64B", "L2::128B", "L2::256B"]);
    modifiers.take("L2::cache_hint")
}

/// Checks that an instruction has `count` operands, plus a cache policy if its modifiers announce
/// one.
///
/// # Errors
/// Fails if the operands differ.
pub fn expect_operands(lower: &Lower<'_>, inst: &Instruction, count: usize, policy: bool) -> Result<(), String> {
    if inst.operands.len() != count + usize::from(policy) {
        return Err(format!(
            "it has {} operands, but {} are expected",
            inst.operands.len(),
            count + usize::from(policy)
        ));
    }
    if policy {
        lower.destination(&inst.operands[count], Type { kind: Kind::Bits, bits: 64 })?;
    }
    Ok(())
}

/// The modifiers of `ld` and `st`.
struct Said {
    order: Order,
    space: Space,
    policy: bool,
    count: usize,
    ty: Type,
}

fn said(inst: &Instruction) -> Result<Said, String> {
    let mut modifiers = Modifiers::of(inst);
    let order = take_order(&mut modifiers);
    let space = take_space(&mut modifiers);
    let policy = take_hints(&mut modifiers);
    let count = match modifiers.take_any(&["v2", "v4", "v8"]) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
        None => 1,
    };
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    let moved = match ty.kind {
        Kind::Bits | Kind::Unsigned | Kind::Signed => true,
        Kind::Float => ty.bits >= 32,
        _ => false,
    };
    if !moved {
        return Err(format!("memory cannot be accessed with this type: {ty:?}"));
    }
    let bytes = count * ty.bytes() as usize;
    if bytes > MOST_BYTES || count == 8 && bytes < MOST_BYTES || ty.bits == 128 && count > 1 {
        return Err(format!("vectors of {count} elements of {} bits do not exist", ty.bits));
    }
    if bytes > 16 && !matches!(space, Space::Global | Space::Generic) {
        return Err(format!("accesses of {bytes} bytes are possible in global memory only"));
    }
    Ok(Said { order, space, policy, count, ty })
}

/// Returns the elements of the operand, one for each element of the vector.
fn elements(operand: &Operand, count: usize) -> Result<&[Operand], String> {
    match operand {
        Operand::Vector(elements) if elements.len() == count && count > 1 => Ok(elements),
        Operand::Vector(elements) => Err(format!("a vector of {} elements, but {count} are expected", elements.len())),
        one if count == 1 => Ok(std::slice::from_ref(one)),
        other => Err(format!("the operand {other:?} is not a vector of {count} elements")),
    }
}

/// Returns the common width of the registers of a vector, or the width of the type if there are no
/// registers.
fn width(lower: &Lower<'_>, elements: &[Operand], ty: Type) -> Result<u32, String> {
    let mut widths = elements.iter().filter_map(|element| match element {
        Operand::Register(id) => Some(lower.width(*id)),
        _ => None,
    });
    let width = widths.next().unwrap_or(ty.bits.max(16));
    if widths.any(|other| other != width) {
        return Err("the registers of a vector do not have the same width".into());
    }
    if width < ty.bits {
        return Err(format!("a register of {width} bits is too narrow for {} bits", ty.bits));
    }
    Ok(width)
}

fn form(said: &Said, lower: &mut Lower<'_>, load: bool, width: u32, registers: [Place; MOST]) -> Result<Form, String> {
    let access = match (load, said.order) {
        (true, Order::Weak) if lower.compared => Access::ComparedLoad,
        (true, Order::Weak) => Access::Load,
        (false, Order::Weak) => Access::Store,
        (true, Order::Strong) => Access::AtomicLoad,
        (false, Order::Strong) => Access::AtomicStore,
    };
    lower.program.atomics |= access.orders();
    let moving = moving(lower, load, said.ty, width, said.count)?;
    let bytes = said.count as u32 * said.ty.bytes();
    Ok(Form {
        access,
        bytes,
        align: bytes,
        offset: 0,
        narrow: false,
        count: said.count,
        registers,
        old: Place::NONE,
        row: moving.row,
        same: moving.same,
        lanes: moving.lanes,
        shared: moving.lanes,
    })
}

fn load(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let said = said(inst)?;
    expect_operands(lower, inst, 2, said.policy)?;
    let at = address(lower, &inst.operands[1], said.space)?;
    let elements = elements(&inst.operands[0], said.count)?;
    let width = width(lower, elements, said.ty)?;
    let mut registers = [Place::NONE; MOST];
    for (place, element) in registers.iter_mut().zip(elements) {
        *place = match element {
            Operand::Sink => Place::NONE,
            element => lower.destination(element, Type { kind: Kind::Bits, bits: width })?,
        };
    }
    let form = form(&said, lower, true, width, registers)?;
    push(lower, form, at);
    Ok(())
}

fn store(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let said = said(inst)?;
    expect_operands(lower, inst, 2, said.policy)?;
    let at = address(lower, &inst.operands[0], said.space)?;
    if said.space == Space::Const
        || at.memory == Memory::Arguments
        || said.space == Space::Param && at.memory != Memory::Local
    {
        return Err("constants and kernel parameters cannot be written".into());
    }
    let elements = elements(&inst.operands[1], said.count)?;
    let width = width(lower, elements, said.ty)?;
    let mut registers = [Place::NONE; MOST];
    for (place, element) in registers.iter_mut().zip(elements) {
        *place = match element {
            Operand::Register(id) => lower.place(*id),
            constant if width <= 64 => lower.source(constant, Type { bits: width, ..said.ty })?,
            other => return Err(format!("the operand {other:?} is not a source of {width} bits")),
        };
    }
    let form = form(&said, lower, false, width, registers)?;
    push(lower, form, at);
    Ok(())
}

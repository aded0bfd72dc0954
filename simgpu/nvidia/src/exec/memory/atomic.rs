//! Atomics: `atom`, which returns the old value, and `red`, which does not.

use super::address::{Memory, address, push, take_space};
use super::atomic_op::change;
use super::load_store::{expect_operands, take_hints, take_order};
use super::operation::{Form, MOST};
use crate::exec::Place;
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand, Type};
use isobit_simgpu_core::check::Access;

/// Atomics.
pub const TABLE: Table =
    &[("atom", |lower, inst| atomic(lower, inst, true)), ("red", |lower, inst| atomic(lower, inst, false))];

fn atomic(lower: &mut Lower<'_>, inst: &Instruction, returns: bool) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    take_order(&mut modifiers);
    let space = take_space(&mut modifiers);
    let operation = modifiers
        .take_any(&["add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas"])
        .ok_or("it has no known operation")?;
    if !returns && matches!(operation, "exch" | "cas") {
        return Err(format!("a reduction cannot have the operation .{operation}"));
    }
    let policy = take_hints(&mut modifiers);
    let kept = modifiers.take("noftz");
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    let halves =
        matches!(ty.kind, Kind::BFloat | Kind::HalfPair | Kind::BFloatPair) || ty.kind == Kind::Float && ty.bits == 16;
    if halves != kept {
        return Err(".noftz is required for the addition of halves and invalid otherwise".into());
    }
    if ty.bits == 128 && !is_x86_feature_detected!("cmpxchg16b") {
        return Err("the host processor has no 16-byte atomics".into());
    }
    let name = type_name(ty);
    let (global, shared) =
        change(operation, &name).ok_or_else(|| format!("the atomic .{operation} does not support {name}"))?;

    let first = usize::from(returns);
    let sources = if operation == "cas" { 2 } else { 1 };
    expect_operands(lower, inst, first + 1 + sources, policy)?;
    let at = address(lower, &inst.operands[first], space)?;
    if !matches!(at.memory, Memory::Global | Memory::Shared | Memory::Generic) {
        return Err("atomics support only global and shared memory".into());
    }
    let mut registers = [Place::NONE; MOST];
    for (place, operand) in registers.iter_mut().zip(&inst.operands[first + 1..][..sources]) {
        *place = match operand {
            Operand::Register(_) => lower.source(operand, ty)?,
            constant if ty.bits <= 64 => lower.source(constant, ty)?,
            other => return Err(format!("the operand {other:?} is not a source of {} bits", ty.bits)),
        };
    }
    let old = match &inst.operands[0] {
        _ if !returns => Place::NONE,
        Operand::Sink => Place::NONE,
        to => lower.destination(to, ty)?,
    };
    lower.program.atomics = true;
    let bytes = ty.bytes();
    let form = Form {
        access: Access::Atomic,
        bytes,
        align: bytes,
        offset: 0,
        narrow: false,
        count: sources,
        registers,
        old,
        row: None,
        same: None,
        lanes: global,
        shared,
    };
    push(lower, form, at);
    Ok(())
}

/// Returns the PTX name of a type.
fn type_name(ty: Type) -> String {
    match ty.kind {
        Kind::Bits => format!("b{}", ty.bits),
        Kind::Unsigned => format!("u{}", ty.bits),
        Kind::Signed => format!("s{}", ty.bits),
        Kind::Float => format!("f{}", ty.bits),
        Kind::BFloat => "bf16".into(),
        Kind::HalfPair => "f16x2".into(),
        Kind::BFloatPair => "bf16x2".into(),
        Kind::TensorFloat => "tf32".into(),
        Kind::Predicate => "pred".into(),
    }
}

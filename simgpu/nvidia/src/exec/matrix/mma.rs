//! `mma.sync.aligned` of 8-bit integers.

use super::layout::{N, Shape};
use crate::exec::emit::{name, ptx};
use crate::exec::lane::{row, write};
use crate::exec::{Env, Exec, Flow, LANES, Place, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand, Type};

/// Bits of [`Step::extra`] above the list's number: the first matrix is signed, the second matrix
/// is signed, the sum saturates.
const A_SIGNED: u32 = 1 << 31;
const B_SIGNED: u32 = 1 << 30;
const SATURATED: u32 = 1 << 29;

/// Returns the elements as signed words, whatever their signedness.
fn elements(word: u32, signed: bool) -> [i16; 4] {
    word.to_le_bytes().map(|byte| if signed { (byte as i8).into() } else { byte.into() })
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn fast<const M: usize, const K: usize>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    product::<M, K>(warp, step, env)
}

fn base<const M: usize, const K: usize>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    product::<M, K>(warp, step, env)
}

/// Computes the product and sum. The step's list holds the registers of the result, of both
/// matrices and of the addend, in this order.
#[inline(always)]
fn product<const M: usize, const K: usize>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    if !warp.converged(u32::MAX) {
        return Flow::Converge;
    }
    let shape = Shape { m: M, k: K };
    let list = &env.program.lists[(step.extra & !(A_SIGNED | B_SIGNED | SATURATED)) as usize];
    // SAFETY: lowering gave the step 32-bit registers.
    let read = |place: &Place| unsafe { &(*row(warp, env.program, *place)).0 };
    let (results, sources) = list.split_at(shape.c_registers());
    let (a_places, sources) = sources.split_at(shape.a_registers());
    let (b_places, c_places) = sources.split_at(shape.b_registers());

    let (mut a, mut b) = ([[0i16; K]; M], [[0i16; K]; N]);
    for (register, place) in a_places.iter().enumerate() {
        for (lane, word) in read(place).iter().enumerate() {
            let (row, column) = shape.a_at(lane, register);
            a[row][column..column + 4].copy_from_slice(&elements(*word, step.extra & A_SIGNED != 0));
        }
    }
    for (register, place) in b_places.iter().enumerate() {
        for (lane, word) in read(place).iter().enumerate() {
            let (row, column) = shape.b_at(lane, register);
            b[column][row..row + 4].copy_from_slice(&elements(*word, step.extra & B_SIGNED != 0));
        }
    }
    let mut out = [[0u32; LANES]; 4];
    for (register, (place, out)) in c_places.iter().zip(&mut out).enumerate() {
        for (lane, (summand, out)) in read(place).iter().zip(out).enumerate() {
            let (row, column) = shape.c_at(lane, register);
            // The sum of at most 32 products of 16 bits fits.
            let dot: i32 = a[row].iter().zip(&b[column]).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
            let summand = *summand as i32;
            let sum = if step.extra & SATURATED != 0 { summand.saturating_add(dot) } else { summand.wrapping_add(dot) };
            *out = sum as u32;
        }
    }
    for (place, out) in results.iter().zip(&out) {
        // SAFETY: lowering gave the step 32-bit registers.
        unsafe { write(warp, *place, out) };
    }
    Flow::Next
}

/// Returns the registers of a fragment, which is a vector or a single register.
fn fragment(low: &mut Lower<'_>, operand: &Operand, count: usize, result: bool) -> Result<Vec<Place>, String> {
    let parts = match operand {
        Operand::Vector(parts) => parts.as_slice(),
        single => std::slice::from_ref(single),
    };
    if parts.len() != count {
        return Err(format!("a fragment has {} registers, but {count} are expected", parts.len()));
    }
    let word = ptx!(b32);
    parts.iter().map(|part| if result { low.destination(part, word) } else { low.source(part, word) }).collect()
}

/// Returns whether an element is signed; accepts only types whose sums are exact.
fn element(ty: Type) -> Result<bool, String> {
    match ty {
        ptx!(u8) | ptx!(s8) => Ok(ty.kind == Kind::Signed),
        Type { kind: Kind::Float | Kind::BFloat | Kind::TensorFloat, .. } => {
            Err(format!("mma of {} is not simulated: its rounding is not documented", name(ty)))
        }
        other => Err(format!("mma of {} is not simulated", name(other))),
    }
}

fn mma(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    for wanted in ["sync", "aligned"] {
        if !modifiers.take(wanted) {
            return Err(format!("it needs .{wanted}"));
        }
    }
    let types: Vec<Type> = inst.modifiers.iter().filter_map(|modifier| Type::named(modifier)).collect();
    let [d, a, b, c] = types.as_slice() else { return Err("it needs four types".into()) };
    let (a_signed, b_signed) = (element(*a)?, element(*b)?);
    if [*d, *c] != [ptx!(s32); 2] {
        return Err("its sum must be .s32".into());
    }
    for _ in 0..4 {
        modifiers.take_type()?;
    }
    let named = inst.modifiers.iter().find(|modifier| Shape::named(modifier).is_some());
    let named = named.ok_or("this shape is not simulated")?;
    let shape = Shape::named(named).ok_or("it has no shape")?;
    modifiers.take(named);
    if !modifiers.take("row") || !modifiers.take("col") {
        return Err("its matrices must be .row.col".into());
    }
    let saturated = modifiers.take("satfinite");
    modifiers.finish()?;
    let [d, a, b, c] = inst.operands.as_slice() else { return Err("it needs four operands".into()) };
    let mut list = fragment(low, d, shape.c_registers(), true)?;
    list.extend(fragment(low, a, shape.a_registers(), false)?);
    list.extend(fragment(low, b, shape.b_registers(), false)?);
    list.extend(fragment(low, c, shape.c_registers(), false)?);
    let mut step = low.step(match (shape.m, shape.k) {
        (8, _) => low.choose(fast::<8, 16> as Exec, base::<8, 16> as Exec),
        (_, 16) => low.choose(fast::<16, 16> as Exec, base::<16, 16> as Exec),
        _ => low.choose(fast::<16, 32> as Exec, base::<16, 32> as Exec),
    });
    step.extra = low.program.lists.len() as u32;
    for (flag, set) in [(A_SIGNED, a_signed), (B_SIGNED, b_signed), (SATURATED, saturated)] {
        step.extra |= if set { flag } else { 0 };
    }
    low.program.lists.push(list);
    low.push(step);
    Ok(())
}

/// `mma`
pub const TABLE: Table = &[("mma", mma)];

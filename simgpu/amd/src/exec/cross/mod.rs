//! Instructions that cross lanes.

mod count;
mod lds;
mod permlane;
mod single;

use super::lower::{Lower, modifier};
use super::program::{Exec, Step, Unsupported};
use super::row::Row;
use super::source::fetch;
use super::value::Kind;
use super::wave::{Env, Wave};
use crate::isa::{Inst, Operand};

/// Their tables.
pub const TABLES: &[super::Table] = &[count::TABLE, lds::TABLE, permlane::TABLE, single::TABLE];

/// The step of an instruction whose first `vectors` sources are read whole and whose other
/// `scalars` are the same for all lanes.
///
/// # Errors
/// A modifier, too few operands, a vector register where a scalar is read.
fn step(lower: &mut Lower, inst: &Inst, exec: Exec, vectors: usize, scalars: usize) -> Result<Step, Unsupported> {
    let mut step = lower.whole(inst, exec, &[])?;
    if usize::from(inst.src_count) < vectors + scalars {
        return Err(modifier(inst, "fewer operands than it takes"));
    }
    for at in 0..vectors {
        step.rows[at] = lower.rows(inst, inst.src[at], Kind::Int32)?[0];
    }
    for at in 0..scalars {
        step.scalars[at] = lower.scalar(inst, inst.src[vectors + at], Kind::Int32)?;
    }
    Ok(step)
}

/// As [`step`], of an instruction whose destination is a vector register.
///
/// # Errors
/// As [`step`]'s; another destination.
fn vector(lower: &mut Lower, inst: &Inst, exec: Exec, vectors: usize, scalars: usize) -> Result<Step, Unsupported> {
    let mut step = step(lower, inst, exec, vectors, scalars)?;
    step.dst = lower.vgpr(inst, inst.dst)?;
    Ok(step)
}

/// As [`step`], of an instruction whose destination is a scalar register.
///
/// # Errors
/// As [`step`]'s; another destination.
fn scalar(lower: &mut Lower, inst: &Inst, exec: Exec, vectors: usize, scalars: usize) -> Result<Step, Unsupported> {
    match inst.dst {
        Operand::Sgpr(_) => step(lower, inst, exec, vectors, scalars),
        _ => Err(modifier(inst, "a destination that is no scalar register")),
    }
}

/// A vector source.
fn read(wave: &mut Wave, step: &Step, env: &Env<'_>, at: usize) -> Row {
    let words = fetch(wave, env, step.rows[at], Kind::Int32, at);
    // SAFETY: `fetch` points to a whole row, of the wave or of the program, and nothing writes it
    // meanwhile.
    unsafe { *words.cast::<Row>() }
}

/// Writes the active lanes of the destination.
fn write(wave: &mut Wave, step: &Step, row: &Row) {
    let old = &mut wave.v[usize::from(step.dst) & 511].0;
    for ((old, new), active) in old.iter_mut().zip(&row.0).zip(&wave.active.0) {
        *old = new & active | *old & !active;
    }
}

//! Instructions that move data between lanes.

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

/// The tables of these instructions.
pub const TABLES: &[super::Table] = &[count::TABLE, lds::TABLE, permlane::TABLE, single::TABLE];

/// Returns the step of an instruction whose first `vectors` sources are read as whole vectors and
/// whose other `scalars` sources are the same for all lanes.
///
/// # Errors
/// A modifier, too few operands, or a vector register in place of a scalar.
fn step(lower: &mut Lower, inst: &Inst, exec: Exec, vectors: usize, scalars: usize) -> Result<Step, Unsupported> {
    let mut step = lower.whole(inst, exec, &[])?;
    if usize::from(inst.src_count) < vectors + scalars {
        return Err(modifier(inst, "too few operands"));
    }
    for at in 0..vectors {
        step.rows[at] = lower.rows(inst, inst.src[at], Kind::Int32)?[0];
    }
    for at in 0..scalars {
        step.scalars[at] = lower.scalar(inst, inst.src[vectors + at], Kind::Int32)?;
    }
    Ok(step)
}

/// As [`step`], for an instruction whose destination is a vector register.
///
/// # Errors
/// Those of [`step`]; another destination.
fn vector(lower: &mut Lower, inst: &Inst, exec: Exec, vectors: usize, scalars: usize) -> Result<Step, Unsupported> {
    let mut step = step(lower, inst, exec, vectors, scalars)?;
    step.dst = lower.vgpr(inst, inst.dst)?;
    Ok(step)
}

/// As [`step`], for an instruction whose destination is a scalar register.
///
/// # Errors
/// Those of [`step`]; another destination.
fn scalar(lower: &mut Lower, inst: &Inst, exec: Exec, vectors: usize, scalars: usize) -> Result<Step, Unsupported> {
    match inst.dst {
        Operand::Sgpr(_) => step(lower, inst, exec, vectors, scalars),
        _ => Err(modifier(inst, "a destination that is not a scalar register")),
    }
}

/// Reads a vector source.
fn read(wave: &mut Wave, step: &Step, env: &Env<'_>, at: usize) -> Row {
    let words = fetch(wave, env, step.rows[at], Kind::Int32, at);
    // SAFETY: `fetch` points to a whole row of the wave or of the program, and nothing writes to it
    // during the read.
    unsafe { *words.cast::<Row>() }
}

/// Writes the active lanes of the destination.
fn write(wave: &mut Wave, step: &Step, row: &Row) {
    let old = &mut wave.v[usize::from(step.dst) & 511].0;
    for ((old, new), active) in old.iter_mut().zip(&row.0).zip(&wave.active.0) {
        *old = new & active | *old & !active;
    }
}
